"""Which addresses a webhook may have. Pure.

This module checks the form of the address. The permit checks every IP address that its host resolves to, at the
registration and again for each connection.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from docshare.contract import fields
from docshare.contract.problems import Problem
from docshare.server.outbound.addresses import Address, AddressPolicy, is_operator_allowed, is_public
from docshare.server.outbound.targets import OutboundTarget, parse_target

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_HOST_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?", re.ASCII)
# Hosts that resolvers parse as a number: 127.1, 0177.0.0.1, 0x7f000001, 2130706433.
_NUMERIC_HOST = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)", re.ASCII)


@dataclass(frozen=True)
class AllowedHosts:
    """Private targets that the operator allows for webhooks, over http too: hosts by their ``names``, and addresses
    in ``networks``."""

    names: frozenset[str]
    networks: tuple[Network, ...]


LOOPBACK = AllowedHosts(frozenset(), (ipaddress.IPv4Network("127.0.0.0/8"), ipaddress.IPv6Network("::1/128")))
"""The addresses allowed for a listener on this machine."""


def parse_allowed(entries: Iterable[str]) -> AllowedHosts:
    """Parse ``entries``, each a host name in lower case, an IP address or a CIDR. Raises ValueError, which names the
    entry."""
    names, networks = set(), []
    for entry in entries:
        network = _parse_network(entry)
        if network is not None:
            networks.append(network)
        elif _is_name(entry):
            names.add(entry)
        else:
            raise ValueError(f"expected a host name, an IP address, or a CIDR, not '{entry}'")
    return AllowedHosts(frozenset(names), tuple(networks))


def vet_url(url: object, allowed: AllowedHosts) -> tuple[OutboundTarget, AddressPolicy]:
    """Return the target of ``url`` and the permit for the IP addresses of its host.

    Raises ``bad_request`` for anything but a web address without user name of at most 2048 characters, for plain http
    unless the operator allowed it, and for an IP address that is not permitted.
    """
    text = fields.parse_web_url("url", url)
    if "@" in text:  # anywhere: some parsers interpret the text before it as a user name
        raise fields.field_problem("url", "an address without @; in a path or a query write %40")
    try:
        target = parse_target(text)
    except ValueError as error:  # brackets around a text that is not an IPv6 address
        raise fields.field_problem("url", "an address with a valid host") from error
    if target.scheme == "http" and target.host not in allowed.names and not allowed.networks:
        raise target_problem(target)
    permit = _make_permit(target, allowed)
    literal = _parse_address(target.host)
    fits = _is_name(target.host) if literal is None else permit(literal)
    if not fits:
        raise target_problem(target)
    return target, permit


def target_problem(target: OutboundTarget) -> Problem:
    """Return the problem for a forbidden or unknown host.

    It is the same for both, so that nobody learns which names resolve in the operator's network. A host that does not
    resolve at registration is rejected too.
    """
    if target.scheme == "http":
        detail = "url must be an https:// address."
    else:
        detail = "The host of url cannot be called: its name must resolve to public addresses only."
    hint = "The operator of this server can allow private hosts in DOCSHARE_WEBHOOK_ALLOW."
    return Problem("bad_request", detail, hint=hint, field="url")


def _make_permit(target: OutboundTarget, allowed: AllowedHosts) -> AddressPolicy:
    if target.host in allowed.names:
        return is_operator_allowed

    def is_listed(address: Address) -> bool:
        return is_operator_allowed(address) and any(address in network for network in allowed.networks)

    # Plain http only goes to targets that the operator allowed, thus to no public address that is not listed.
    return is_listed if target.scheme == "http" else lambda address: is_public(address) or is_listed(address)


def _is_name(host: str) -> bool:
    # A final dot would make a second name of the same host, which lists and certificates do not contain.
    return _HOST_NAME.fullmatch(host) is not None and _NUMERIC_HOST.fullmatch(host) is None


def _parse_address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _parse_network(entry: str) -> Network | None:
    try:
        return ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return None
