"""Denied views of links, counted in memory until a job stores them, so that a denied request writes nothing.

A revoked link must be answered exactly like an unknown one, also at the same speed, so the only difference between
them is a number in memory.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from docshare.contract.limits import DENIED_COALESCE_MS, MAX_DENIED_COUNT

_MAX_KEYS = 10_000  # different keys between two runs of the job, which limits the memory


@dataclass(frozen=True)
class DenialKey:
    """The key of a count. ``variant_id`` 0 for a link that is not a variant's; ``minute`` since 1970."""

    file_id: int
    reason: str
    variant_id: int
    minute: int


class DenialCounter:
    """Counts denials by key since the last call of ``take_counts``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[DenialKey, int] = {}

    def add(self, file_id: int, reason: str, variant_id: int, clock: Callable[[], int]) -> None:
        """Count one denial that happens now, by ``clock``."""
        with self._lock:
            # Read inside the lock, so that nothing can be added to a minute that was over when the counts were taken.
            key = DenialKey(file_id, reason, variant_id, clock() // DENIED_COALESCE_MS)
            if key in self._counts or len(self._counts) < _MAX_KEYS:
                self._counts[key] = min(self._counts.get(key, 0) + 1, MAX_DENIED_COUNT)

    def take_counts(self, clock: Callable[[], int]) -> tuple[dict[DenialKey, int], int]:
        """Return and reset the counts; also return the current minute by ``clock``, to which later denials can still
        be added."""
        with self._lock:
            counts, self._counts = self._counts, {}
            return counts, clock() // DENIED_COALESCE_MS

    def put_back(self, counts: Mapping[DenialKey, int]) -> None:
        """Add ``counts``, which were taken but could not be stored, so that the next call returns them again."""
        with self._lock:
            for key, count in counts.items():
                if key in self._counts or len(self._counts) < _MAX_KEYS:
                    self._counts[key] = min(self._counts.get(key, 0) + count, MAX_DENIED_COUNT)
