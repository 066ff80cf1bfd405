"""Places for requests that wait for a machine of one of many people, shared fairly among these."""

import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

PLACES = 8
WAITING = 12


class Places:
    """A fixed number of places, and a queue before them. Safe to use from many threads.

    A free place goes to whoever holds the fewest, then to whoever has waited longest. Nobody takes a second one while
    half of them are taken, so the slow machines of one person leave places for everybody else.
    """

    def __init__(self, most: int = PLACES, waiting: int = WAITING) -> None:
        self._most = most
        self._waiting = waiting
        self._changed = threading.Condition()
        self._held: Counter[Hashable] = Counter()
        self._queue: list[tuple[object, Hashable]] = []

    @contextmanager
    def taken(self, who: Hashable, wait_s: float) -> Iterator[bool]:
        """Hold a place for the length of the block; the value is False where ``who`` got none within ``wait_s``
        seconds, or at once where too many wait already."""
        if not self._enter(who, wait_s):
            yield False
            return
        try:
            yield True
        finally:
            with self._changed:
                self._held[who] -= 1
                self._held += Counter()  # forget who holds none
                self._changed.notify_all()

    def _enter(self, who: Hashable, wait_s: float) -> bool:
        ticket = (object(), who)
        with self._changed:
            self._queue.append(ticket)
            try:
                patience = wait_s if self._has_room(who) else 0
                if not self._changed.wait_for(lambda: self._next() is ticket, patience):
                    return False
                self._held[who] += 1
                return True
            finally:
                self._queue.remove(ticket)
                self._changed.notify_all()

    def _has_room(self, who: Hashable) -> bool:
        own = sum(other == who for _, other in self._queue)
        return len(self._queue) <= self._waiting and own <= self._waiting // 2

    def _next(self) -> tuple[object, Hashable] | None:
        ready = [ticket for ticket in self._queue if self._may_take(ticket[1])]
        return min(ready, key=lambda ticket: self._held[ticket[1]], default=None)

    def _may_take(self, who: Hashable) -> bool:
        free = self._most - sum(self._held.values())
        return free > (self._most // 2 if who in self._held else 0)
