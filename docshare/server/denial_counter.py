"""Refused openings of links, remembered until a job writes them down: the request that was refused writes nothing.

A link that was revoked must answer exactly like one that never was, at the same speed too, so what
happens for it between question and answer is a number in memory.
"""

import threading
from collections.abc import Callable
from typing import NamedTuple

from docshare.contract.limits import DENIED_COALESCE_MS, MAX_DENIED_COUNT

_MAX_KEYS = 10_000  # of different refusals between two runs of the job; nobody can fill the memory with them


class DenialKey(NamedTuple):
    """The key of a count. ``variant_id`` 0 for a link that is not a variant's; ``minute`` since 1970."""

    file_id: int
    reason: str
    variant_id: int
    minute: int


class DenialCounter:
    """How often each refusal happened since it was last asked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[DenialKey, int] = {}

    def add(self, file_id: int, reason: str, variant_id: int, clock: Callable[[], int]) -> None:
        """Count one more that happens now, by ``clock``."""
        with self._lock:
            # Read inside, so that nothing can be added to a minute that was over when the counts were taken.
            key = DenialKey(file_id, reason, variant_id, clock() // DENIED_COALESCE_MS)
            if key in self._counts or len(self._counts) < _MAX_KEYS:
                self._counts[key] = min(self._counts.get(key, 0) + 1, MAX_DENIED_COUNT)

    def take_counts(self, clock: Callable[[], int]) -> tuple[dict[DenialKey, int], int]:
        """The counts, which are forgotten here, and the minute by ``clock`` that is not over yet: what is counted
        from now on belongs to it or to a later one."""
        with self._lock:
            counts, self._counts = self._counts, {}
            return counts, clock() // DENIED_COALESCE_MS
