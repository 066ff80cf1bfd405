"""Erase the free memory of this process, so that its core dump or its swap has nothing of earlier requests.

``docshare serve`` starts with a C library that erases each block when it is freed. Python's own allocator, which has
all blocks of up to 512 bytes, does not: parts of documents and their keys would stay there until something else needs
the memory. While the process is idle, all of those free blocks are allocated here, and so overwritten.
"""

import gc
from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from pathlib import Path

_MAPS = Path("/proc/self/maps")
_STEP_BYTES, _LARGEST_BYTES = 16, 512  # of the sizes of blocks
_BYTES_HEADER = bytes(0).__sizeof__()
_NEW_BYTES = 64 << 10
_READINGS = 8  # at most: other threads map memory, too
_MAX_BYTES = 512 << 20  # if something is wrong: it takes some tens of megabytes


class FreeMemory:
    """Erases the free memory of this process once after requests."""

    def __init__(self) -> None:
        self._last = self._erased = 0

    def is_due(self, requests: int) -> bool:
        """Return whether ``requests``, their number so far, has changed since it was erased, but not since the last
        call."""
        was, self._last = self._last, requests
        return requests == was != self._erased

    def erase(self) -> None:
        """Erase it."""
        self._erased = self._last
        gc.collect()  # such as requests and their contexts, which refer to each other
        erase_free_objects()


class _MappedMemory:
    """The memory that the process has now. An allocator that returns another address had no free block of that size."""

    def __init__(self) -> None:
        self._bounds = list[int]()
        # Reading it may itself map memory. Blocks there would be taken before those of memory that has more of them.
        for _ in range(_READINGS):
            before, self._bounds = self._bounds, _read_bounds()
            if self._bounds == before:
                break

    def has(self, made: object) -> bool:
        """Return whether the object ``made`` is in it."""
        return bisect_right(self._bounds, id(made)) % 2 == 1


def _read_bounds() -> list[int]:
    """Return the first and the end address of each mapped part, one after another."""
    spans = (line.split(None, 1)[0].split("-") for line in _MAPS.read_text(encoding="ascii").splitlines())
    return [int(bound, 16) for span in spans for bound in span]


def erase_free_objects() -> None:
    """Overwrite the free blocks of Python's own allocator. Only where the system lists the memory of a process."""
    if not _MAPS.exists():
        return
    mapped, held = _MappedMemory(), list[object]()
    # The smallest first: where memory is divided into larger blocks, the rest behind the last one is in none of them.
    for size, make in ((16, object), (32, lambda: (1 << 40) + len(held))):
        _hold_objects(held, size, mapped, make)
    for size in range(48, _LARGEST_BYTES + 1, _STEP_BYTES):
        _hold_objects(held, size, mapped, partial(bytes, size - _BYTES_HEADER))


def _hold_objects(held: list[object], size: int, mapped: _MappedMemory, make: Callable[[], object]) -> None:
    """Append objects of ``size`` bytes to ``held`` until there is no free block for them."""
    new_bytes = 0  # in a row; a free block may be in memory that was mapped a moment ago
    for _ in range(_MAX_BYTES // size):
        held.append(made := make())
        new_bytes = 0 if mapped.has(made) else new_bytes + size
        if new_bytes > _NEW_BYTES:
            break
