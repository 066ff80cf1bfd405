"""Record how requests arrive: the probes of ``docshare doctor``, and proxies that are not trusted.

``docshare doctor`` starts a probe with the instance key and gets a token. It sends requests to ``/healthz`` with that
token through the public URL. The server records how each of them arrived, and returns the records at the end of the
probe. They are kept in memory for a few minutes.

The public URL may lead to another instance than the one that started the probe, so instances that share Redis store the
records there. Without Redis, only the instance that started a probe records its requests.
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
_MAX_PROBES = 16  # at the same time
_MAX_REQUESTS_PER_PROBE = 32  # further ones are not recorded
_TOKEN_CHARS = 32
_TOKEN = re.compile(rf"[0-9A-Za-z]{{{_TOKEN_CHARS}}}", re.ASCII)  # Redis is not queried for any other text
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
    """The running probes of this instance, and those of all instances in ``shared``. Thread-safe; times are ms."""

    def __init__(self, shared: "SharedMemory | None" = None) -> None:
        self._shared = shared
        self._lock = threading.Lock()
        self._running: dict[str, tuple[int, list[dict[str, Any]]]] = {}  # token -> start, and facts of its requests

    def begin(self, random_token: Callable[[int], str], now: int) -> str:
        """Start a probe and return its token. The oldest probe is dropped if there are too many."""
        token = random_token(_TOKEN_CHARS)
        with self._lock:
            self._running = {key: probe for key, probe in self._running.items() if now - probe[0] < LIFETIME_MS}
            while len(self._running) >= _MAX_PROBES:
                del self._running[next(iter(self._running))]
            self._running[token] = (now, [])
        self._use_shared(token, _begin_shared)
        return token

    def is_active(self, token: str, now: int) -> bool:
        """Return whether ``token`` belongs to a running probe."""
        probe = self._running.get(token)
        if probe is not None:
            return now - probe[0] < LIFETIME_MS
        return bool(self._use_shared(token, lambda client, key: client.exists(key)))

    def record(self, token: str, facts: dict[str, Any]) -> None:
        """Record the ``facts`` about a request of the probe ``token``; requests above the limit are dropped."""
        with self._lock:
            probe = self._running.get(token)
            if probe is not None:
                if len(probe[1]) < _MAX_REQUESTS_PER_PROBE:
                    probe[1].append(facts)
                return
        self._use_shared(token, lambda client, key: _record_shared(client, key, facts))

    def end(self, token: str) -> list[dict[str, Any]]:
        """End a probe. Return the facts about its requests: those of this instance, then those of the others, oldest
        first."""
        with self._lock:
            own = self._running.pop(token, (0, []))[1]
        return own + (self._use_shared(token, _end_shared) or [])

    def _use_shared(self, token: str, action: "Callable[[Redis, str], Any]") -> Any:
        """Return the result of ``action`` for the list of ``token`` in Redis; None if Redis is not configured or not
        reachable."""
        if self._shared is None or not _TOKEN.fullmatch(token):
            return None
        shared = self._shared
        return shared.run(lambda client: action(client, shared.build_key(_KIND, token)))


# In Redis, a probe is a list. Redis deletes empty lists, so the first element is always an empty text.


def _begin_shared(client: "Redis", key: str) -> None:
    pipeline = client.pipeline()
    pipeline.rpush(key, "")
    pipeline.pexpire(key, LIFETIME_MS)
    pipeline.execute()


def _record_shared(client: "Redis", key: str, facts: dict[str, Any]) -> None:
    # rpushx appends only to a list that exists: the probe may have ended since its token was checked.
    pipeline = client.pipeline()
    pipeline.rpushx(key, json.dumps(facts))
    pipeline.ltrim(key, 0, _MAX_REQUESTS_PER_PROBE)
    pipeline.execute()


def _end_shared(client: "Redis", key: str) -> list[dict[str, Any]]:
    pipeline = client.pipeline()
    pipeline.lrange(key, 1, -1)
    pipeline.delete(key)
    found, _ = pipeline.execute()
    return [json.loads(text) for text in found]


class UntrustedProxies:
    """Peers in private networks that send ``X-Forwarded-For`` and are not trusted.

    Each of them is probably a proxy, so the server sees all readers behind it under one address. They are kept in
    memory for a day. Thread-safe; times are ms.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[int, int]] = {}  # peer -> when it was last seen, and last reported

    def record(self, peer: str, now: int) -> bool:
        """Record a request of the untrusted ``peer``; return whether to report it, which is once an hour.

        Public addresses are not recorded, because any reader can send that header.
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


# Cached, because every request checks its peer, and parsing the address takes longer than the check.
@lru_cache(maxsize=4096)
def _parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address
