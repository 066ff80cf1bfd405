"""Something that happens while a request waits for the database: before one of its transactions."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tests.support.people.cast import World
from tests.support.polling import wait_until


class Interruption:
    """Calls ``act`` once, before the transaction ``number`` (from 1) of the thread that created it.

    The transaction begins when ``act`` has returned, or waits for a lock of the request, which keeps it until its end.
    ``has_happened``: whether there were that many transactions.
    """

    def __init__(self, world: World, number: int, act: Callable[[], object]) -> None:
        self.has_happened = False
        self._world, self._act, self._left = world, act, number
        self._thread, self._write = threading.get_ident(), world.rt.db.write
        self._acting: threading.Thread | None = None

    def __enter__(self) -> "Interruption":
        self._world.rt.db.write = self._begin_write  # type: ignore[method-assign]
        return self

    def __exit__(self, *args: object) -> None:
        del self._world.rt.db.write
        if self._acting is not None:
            self._acting.join()

    def _begin_write(self, *args: Any) -> AbstractContextManager[None]:
        is_first = threading.get_ident() == self._thread and not self._world.rt.db.engine.in_transaction()
        if is_first and not self.has_happened:
            self._left -= 1
            if self._left == 0:
                self.has_happened = True
                self._acting = acting = threading.Thread(target=self._act)
                acting.start()
                wait_until(lambda: not acting.is_alive() or is_lock_contended(self._world))
        return self._write(*args)


def is_lock_contended(world: World) -> bool:
    """Return whether one thread waits for a lock that another one holds."""
    return any(users > 1 for _, users in list(world.rt.db._key_locks._locks.values()))
