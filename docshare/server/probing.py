"""Requests by which ``docshare doctor`` finds out how the world reaches this server.

Whoever holds the instance key begins a probe and gets a token; a request to ``/healthz`` that brings it is written down
as it arrived. Held in memory, for a few minutes.
"""

import threading
from collections.abc import Callable
from typing import Any

from docshare.contract.limits import MINUTE

LIFETIME_MS = 5 * MINUTE
_MOST = 16  # probes at once
_SIGHTINGS = 32  # requests of one probe
_TOKEN_CHARS = 32


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
            while len(self._open) >= _MOST:
                del self._open[next(iter(self._open))]
            self._open[name] = (now, [])
        return name

    def known(self, token: str, now: int) -> bool:
        """Whether ``token`` is that of a probe under way."""
        probe = self._open.get(token)
        return probe is not None and now - probe[0] < LIFETIME_MS

    def note(self, token: str, sighting: dict[str, Any]) -> None:
        """Write down a request of the probe ``token``; what is too much is dropped."""
        with self._lock:
            _, seen = self._open.get(token, (0, []))
            if len(seen) < _SIGHTINGS:
                seen.append(sighting)

    def end(self, token: str) -> list[dict[str, Any]]:
        """End a probe; returns the requests it made, oldest first."""
        with self._lock:
            return self._open.pop(token, (0, []))[1]
