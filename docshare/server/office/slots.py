"""Limit the number of parallel conversions and of callers that wait for one."""

import contextlib
import threading
from collections.abc import Iterator

from docshare.contract.problems import Problem


class ConversionSlots:
    """``count`` slots, for which at most ``max_waiting`` callers wait up to ``patience_s`` seconds. Thread-safe.

    Each waiting caller occupies a thread of the server, so only a few can wait.
    """

    def __init__(self, count: int, *, patience_s: float, max_waiting: int) -> None:
        self._free = count
        self._patience_s = patience_s
        self._queue_space = max_waiting
        self._changed = threading.Condition()
        self._closed = False

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Hold a slot for the duration of the block. Raises Problem ``unavailable``."""
        self._acquire()
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify()

    def close(self) -> None:
        """Reject all waiting and later callers."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _acquire(self) -> None:
        with self._changed:
            if not self._free:
                self._wait()
            if self._closed:
                raise Problem("unavailable", "The server is stopping.", headers={"Retry-After": "5"})
            self._free -= 1

    def _wait(self) -> None:
        if not self._queue_space:
            raise _queue_full_problem()
        self._queue_space -= 1
        try:
            if not self._changed.wait_for(lambda: self._free or self._closed, self._patience_s):
                raise _queue_full_problem()
        finally:
            self._queue_space += 1


def _queue_full_problem() -> Problem:
    return Problem("unavailable", "Too many documents are being converted.", headers={"Retry-After": "30"})
