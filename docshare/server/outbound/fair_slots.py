"""Places for requests that wait for a machine of one of many people, shared fairly among these."""

import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MAX_SLOTS = 8
MAX_WAITING = 12


@dataclass(eq=False)
class _WaitingRequest:
    """A request of ``who`` that waits; ``refused`` once it has to leave for one of somebody else."""

    who: Hashable
    is_refused: bool = False


class FairSlots:
    """A fixed number of places, and a queue before them. Safe to use from many threads.

    A free place goes to the holder with the fewest, then to the one that has waited longest. Nobody gets a second one
    while half of them are taken, so the slow machines of one person leave places for everybody else. When the queue is
    full, the newest request of the holder with the most entries is refused.
    """

    def __init__(self, most: int = MAX_SLOTS, waiting: int = MAX_WAITING) -> None:
        self._most = most
        self._waiting = waiting
        self._changed = threading.Condition()
        self._held: Counter[Hashable] = Counter()
        self._queue: list[_WaitingRequest] = []

    @contextmanager
    def hold(self, who: Hashable, wait_s: float) -> Iterator[bool]:
        """Hold a place for the length of the block; the value is False where ``who`` got none within ``wait_s``
        seconds, or at once where too many wait already."""
        if not self._acquire(who, wait_s):
            yield False
            return
        try:
            yield True
        finally:
            with self._changed:
                self._held[who] -= 1
                self._held += Counter()  # forget who holds none
                self._changed.notify_all()

    def _acquire(self, who: Hashable, wait_s: float) -> bool:
        ticket = _WaitingRequest(who)
        with self._changed:
            self._queue.append(ticket)
            self._refuse_surplus()
            try:
                self._changed.wait_for(lambda: ticket.is_refused or self._next_waiting() is ticket, wait_s)
                if self._next_waiting() is not ticket:
                    return False
                self._held[who] += 1
                return True
            finally:
                self._queue.remove(ticket)
                self._changed.notify_all()

    def _refuse_surplus(self) -> None:
        """Choose who leaves now that one more has come. Nobody may fill more than half of the queue."""
        waiting = Counter(ticket.who for ticket in self._queue if not ticket.is_refused)
        who, own = max(waiting.items(), key=lambda item: item[1])
        if own > self._waiting // 2 or waiting.total() > self._waiting:
            newest = next(ticket for ticket in reversed(self._queue) if ticket.who == who and not ticket.is_refused)
            if self._next_waiting() is not newest:  # it takes its place at once
                newest.is_refused = True
                self._changed.notify_all()

    def _next_waiting(self) -> _WaitingRequest | None:
        ready = [ticket for ticket in self._queue if not ticket.is_refused and self._may_acquire(ticket.who)]
        return min(ready, key=lambda ticket: self._held[ticket.who], default=None)

    def _may_acquire(self, who: Hashable) -> bool:
        free = self._most - sum(self._held.values())
        return free > (self._most // 2 if who in self._held else 0)
