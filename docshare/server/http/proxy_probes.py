"""Requests by which ``docshare doctor`` checks how clients reach this server.

The holder of the instance key starts a probe and gets a token; a request to ``/healthz`` with that token is recorded as
it arrived. Records are kept in memory for a few minutes. Untrusted proxies are noticed without a probe.
"""

import ipaddress
import threading
from collections.abc import Callable, Iterable
from typing import Any

from docshare.contract.limits import HOUR, MINUTE
from docshare.contract.plans import DAY

LIFETIME_MS = 5 * MINUTE
_MAX_PROBES = 16  # probes at once
_MAX_REQUESTS_PER_PROBE = 32  # requests of one probe
_TOKEN_CHARS = 32
_MAX_PEERS = 32
# Spelled out: what Python calls private has addresses for documentation too.
_PRIVATE_NETWORKS = tuple(
    ipaddress.ip_network(text)
    for text in (
        "127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10",
        "::1/128", "fc00::/7", "fe80::/10",
    )
)  # fmt: skip


class Probes:
    """The probes under way. Safe to use from many threads; times are ms."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, tuple[int, list[dict[str, Any]]]] = {}

    def begin(self, token: Callable[[int], str], now: int) -> str:
        """A new probe; returns its token. The oldest makes room where there are too many."""
        name = token(_TOKEN_CHARS)
        with self._lock:
            self._open = {key: probe for key, probe in self._open.items() if now - probe[0] < LIFETIME_MS}
            while len(self._open) >= _MAX_PROBES:
                del self._open[next(iter(self._open))]
            self._open[name] = (now, [])
        return name

    def is_active(self, token: str, now: int) -> bool:
        """Whether ``token`` is that of a probe under way."""
        probe = self._open.get(token)
        return probe is not None and now - probe[0] < LIFETIME_MS

    def record(self, token: str, sighting: dict[str, Any]) -> None:
        """Write down a request of the probe ``token``; what is too much is dropped."""
        with self._lock:
            _, seen = self._open.get(token, (0, []))
            if len(seen) < _MAX_REQUESTS_PER_PROBE:
                seen.append(sighting)

    def end(self, token: str) -> list[dict[str, Any]]:
        """End a probe; returns the requests it made, oldest first."""
        with self._lock:
            return self._open.pop(token, (0, []))[1]


class UntrustedProxies:
    """The neighbors that send ``X-Forwarded-For`` and are not trusted: each is probably a proxy, and all of its readers
    seem to have one address. Held in memory for a day. Safe to use from many threads; times are ms."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[int, int]] = {}  # peer -> when it was seen last, and when that was reported

    def record(self, peer: str, now: int) -> bool:
        """Record a request of ``peer``, which is not trusted; returns whether to report it: once an hour for each peer.
        Addresses of the public network are not recorded: any reader can send that header."""
        if not is_private_address(peer):
            return False
        with self._lock:
            _, reported = self._seen.pop(peer, (now, now - HOUR))
            due = now - reported >= HOUR
            while len(self._seen) >= _MAX_PEERS:
                del self._seen[next(iter(self._seen))]
            self._seen[peer] = (now, now if due else reported)
        return due

    def list_recent(self, now: int) -> list[str]:
        """Return the peers of the last day, sorted."""
        with self._lock:
            return sorted(peer for peer, (seen, _) in self._seen.items() if now - seen < DAY)


def is_private_address(peer: str) -> bool:
    """Return whether ``peer`` is an address of this machine or of a private network."""
    return is_within(peer, _PRIVATE_NETWORKS)


def is_within(peer: str, networks: Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    """Return whether ``peer`` is an address in one of ``networks``; an IPv4 address may be written as IPv6."""
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    return any(address in network for network in networks)
