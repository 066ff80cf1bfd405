"""Requests by which ``docshare doctor`` checks how clients reach this server.

The holder of the instance key starts a probe and gets a token; a request to ``/healthz`` with that token is recorded
as it arrived. Records are kept in memory for a few minutes. Untrusted proxies are detected without a probe.

The public URL may reach another instance than the one that started the probe, so instances that share Redis store
the records there. Without Redis only the instance that started a probe records its requests.
"""

import ipaddress
import json
import re
import threading
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from docshare.contract.limits import HOUR, MINUTE
from docshare.contract.plans import DAY

if TYPE_CHECKING:
    from redis import Redis

    from docshare.server.outbound.shared_memory import SharedMemory

LIFETIME_MS = 5 * MINUTE
_MAX_PROBES = 16  # concurrent probes
_MAX_REQUESTS_PER_PROBE = 32  # requests of one probe
_TOKEN_CHARS = 32
_TOKEN = re.compile(rf"[0-9A-Za-z]{{{_TOKEN_CHARS}}}", re.ASCII)  # for any other text Redis is not queried
_KIND = "probe"
_MAX_PEERS = 32
# Listed explicitly: Python's definition of private includes addresses for documentation.
_PRIVATE_NETWORKS = tuple(
    ipaddress.ip_network(text)
    for text in (
        "127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10",
        "::1/128", "fc00::/7", "fe80::/10",
    )
)  # fmt: skip


class Probes:
    """The running probes, here and in ``shared``. Thread-safe; times are ms."""

    def __init__(self, shared: "SharedMemory | None" = None) -> None:
        self._shared = shared
        self._lock = threading.Lock()
        self._open: dict[str, tuple[int, list[dict[str, Any]]]] = {}

    def begin(self, token: Callable[[int], str], now: int) -> str:
        """Start a probe and return its token. The oldest probe is dropped if there are too many."""
        name = token(_TOKEN_CHARS)
        with self._lock:
            self._open = {key: probe for key, probe in self._open.items() if now - probe[0] < LIFETIME_MS}
            while len(self._open) >= _MAX_PROBES:
                del self._open[next(iter(self._open))]
            self._open[name] = (now, [])
        self._use_shared(name, _begin_shared)
        return name

    def is_active(self, token: str, now: int) -> bool:
        """Return whether ``token`` belongs to a running probe."""
        probe = self._open.get(token)
        if probe is not None:
            return now - probe[0] < LIFETIME_MS
        return bool(self._use_shared(token, lambda client, key: client.exists(key)))

    def record(self, token: str, sighting: dict[str, Any]) -> None:
        """Record a request of the probe ``token``; requests above the limit are dropped."""
        with self._lock:
            probe = self._open.get(token)
            if probe is not None:
                if len(probe[1]) < _MAX_REQUESTS_PER_PROBE:
                    probe[1].append(sighting)
                return
        self._use_shared(token, lambda client, key: _record_shared(client, key, sighting))

    def end(self, token: str) -> list[dict[str, Any]]:
        """End a probe; return its requests: those of this instance, then those of others, oldest first."""
        with self._lock:
            seen = self._open.pop(token, (0, []))[1]
        return seen + (self._use_shared(token, _end_shared) or [])

    def _use_shared(self, token: str, action: "Callable[[Redis, str], Any]") -> Any:
        """Return what ``action`` returns for the list of ``token``; None without Redis."""
        if self._shared is None or not _TOKEN.fullmatch(token):
            return None
        shared = self._shared
        return shared.run(lambda client: action(client, shared.build_key(_KIND, token)))


# A probe is a list in Redis. An empty list does not exist there, so its first element represents the probe itself.


def _begin_shared(client: "Redis", key: str) -> None:
    pipeline = client.pipeline()
    pipeline.rpush(key, "")
    pipeline.pexpire(key, LIFETIME_MS)
    pipeline.execute()


def _record_shared(client: "Redis", key: str, sighting: dict[str, Any]) -> None:
    # Only if the list exists: a probe may have ended since its token was checked.
    pipeline = client.pipeline()
    pipeline.rpushx(key, json.dumps(sighting))
    pipeline.ltrim(key, 0, _MAX_REQUESTS_PER_PROBE)
    pipeline.execute()


def _end_shared(client: "Redis", key: str) -> list[dict[str, Any]]:
    pipeline = client.pipeline()
    pipeline.lrange(key, 1, -1)
    pipeline.delete(key)
    found, _ = pipeline.execute()
    return [json.loads(text) for text in found]


class UntrustedProxies:
    """Peers that send ``X-Forwarded-For`` and are not trusted.

    Each is probably a proxy, and all of its readers seem to have one address. Kept in memory for a day. Thread-safe;
    times are ms.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[int, int]] = {}  # peer -> when it was last seen, and last reported

    def record(self, peer: str, now: int) -> bool:
        """Record a request of the untrusted ``peer``; return whether to report it: once an hour for each peer.

        Public addresses are not recorded: any reader can send that header.
        """
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
    address = _parse_address(peer)
    return address is not None and any(address in network for network in networks)


# Every request asks for its peer, and parsing an address takes longer than the check.
@lru_cache(maxsize=4096)
def _parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address
