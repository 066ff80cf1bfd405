"""Locks of keys between the threads of one process."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


class KeyLocks:
    """One lock for each key that is in use."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[threading.Lock, int]] = {}
        self._guard = threading.Lock()

    @contextmanager
    def hold(self, *keys: object) -> Iterator[None]:
        """Hold the locks of all ``keys`` for this block. They are taken in one order, so that threads do not wait for
        each other."""
        with ExitStack() as stack:
            for name in sorted(map(repr, keys)):
                stack.enter_context(self._hold(name))
            yield

    @contextmanager
    def _hold(self, name: str) -> Iterator[None]:
        with self._guard:
            lock, waiting = self._locks.get(name, (threading.Lock(), 0))
            self._locks[name] = lock, waiting + 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, waiting = self._locks[name]
                self._locks[name] = lock, waiting - 1
                if waiting == 1:
                    del self._locks[name]
