"""Which addresses a webhook may have. Pure.

The shape of the address is judged here; every address that its host is found at is judged by the permit, at the
registration and again at every connection.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from docshare.contract import fields
from docshare.contract.problems import Problem
from docshare.server.outbound.addresses import Address, Permit, operator_named, public_only
from docshare.server.outbound.targets import Target, parse_target

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?", re.ASCII)
# What name services read as a number: 127.1, 0177.0.0.1, 0x7f000001, 2130706433.
_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)", re.ASCII)


@dataclass(frozen=True)
class Allowed:
    """What the operator lets webhooks call although it is private, over http too: hosts by their ``names``, and
    whatever is found in ``networks``."""

    names: frozenset[str]
    networks: tuple[Network, ...]


LOOPBACK = Allowed(frozenset(), (ipaddress.IPv4Network("127.0.0.0/8"), ipaddress.IPv6Network("::1/128")))
"""All that a listener on this machine may be called at."""


def parse_allowed(entries: Iterable[str]) -> Allowed:
    """Read ``entries``, each a host name in lower case, an IP address or a CIDR. Raises ValueError, which names the
    entry."""
    names, networks = set(), []
    for entry in entries:
        network = _network(entry)
        if network is not None:
            networks.append(network)
        elif _is_name(entry):
            names.add(entry)
        else:
            raise ValueError(f"expected a host name, an IP address or a CIDR, not '{entry}'")
    return Allowed(frozenset(names), tuple(networks))


def judge(url: object, allowed: Allowed) -> tuple[Target, Permit]:
    """The target of ``url`` and what its host may be found at.

    Raises ``bad_request`` for another shape than that of a web address without user name of at most 2048 characters,
    for plain http unless the operator allowed it, and for an IP address that is not permitted.
    """
    text = fields.web_url("url", url)
    if "@" in text:  # wherever it stands: to some readers what is before it is a user name
        raise fields.refusal("url", "an address without @; in a path or a query write %40")
    try:
        target = parse_target(text)
    except ValueError as error:  # brackets around what is no IPv6 address
        raise fields.refusal("url", "an address with a host that can exist") from error
    if target.scheme == "http" and target.host not in allowed.names and not allowed.networks:
        raise refused(target)
    permit = _permit(target, allowed)
    literal = _address(target.host)
    fits = _is_name(target.host) if literal is None else permit(literal)
    if not fits:
        raise refused(target)
    return target, permit


def refused(target: Target) -> Problem:
    """The refusal of ``target`` for where its host is, or because it is nowhere: one for all, so that nobody learns
    which names the operator's network knows. A host that is not found when it is registered is refused too.
    """
    if target.scheme == "http":
        detail = "url must be an https:// address."
    else:
        detail = "The host of url cannot be called: it must be found by its name, at public addresses only."
    return Problem(
        "bad_request", detail, hint="The operator of this server can allow hosts of its own in DOCSHARE_WEBHOOK_ALLOW."
    )


def _permit(target: Target, allowed: Allowed) -> Permit:
    if target.host in allowed.names:
        return operator_named

    def listed(address: Address) -> bool:
        return operator_named(address) and any(address in network for network in allowed.networks)

    # Plain http goes only where the operator said so, thus to no public address that is not listed.
    return listed if target.scheme == "http" else lambda address: public_only(address) or listed(address)


def _is_name(host: str) -> bool:
    # A final dot would be a second name of the same host, one that no list and no certificate knows.
    return _NAME.fullmatch(host) is not None and _NUMERIC.fullmatch(host) is None


def _address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _network(entry: str) -> Network | None:
    try:
        return ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return None
