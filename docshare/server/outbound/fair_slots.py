"""Slots for outgoing requests, shared fairly between the accounts whose hosts they connect to."""

import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MAX_SLOTS = 8
MAX_WAITING = 12


@dataclass(eq=False)
class _WaitingRequest:
    """A waiting request of ``who``; ``is_refused`` if it was rejected in favor of another account."""

    who: Hashable
    is_refused: bool = False


class FairSlots:
    """A fixed number of slots, and a queue for them. Thread-safe.

    A free slot is given to the account that holds the fewest, then to the one that has waited longest. Nobody gets a
    second one while half of them are in use, so slow hosts of one account leave slots for all others. When the queue
    is full, the newest request of the account with the most entries is rejected.
    """

    def __init__(self, most: int = MAX_SLOTS, waiting: int = MAX_WAITING) -> None:
        self._most = most
        self._waiting = waiting
        self._changed = threading.Condition()
        self._held: Counter[Hashable] = Counter()
        self._queue: list[_WaitingRequest] = []

    @contextmanager
    def hold(self, who: Hashable, wait_s: float) -> Iterator[bool]:
        """Hold a slot for the duration of the block; yield False if none was free within ``wait_s`` seconds, or if
        too many wait already."""
        if not self._acquire(who, wait_s):
            yield False
            return
        try:
            yield True
        finally:
            with self._changed:
                self._held[who] -= 1
                self._held += Counter()  # drop accounts without slots
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
        """Reject a request if the queue is too long. Nobody may occupy more than half of it."""
        waiting = Counter(ticket.who for ticket in self._queue if not ticket.is_refused)
        who, own = max(waiting.items(), key=lambda item: item[1])
        if own > self._waiting // 2 or waiting.total() > self._waiting:
            newest = next(ticket for ticket in reversed(self._queue) if ticket.who == who and not ticket.is_refused)
            if self._next_waiting() is not newest:  # it gets a slot at once
                newest.is_refused = True
                self._changed.notify_all()

    def _next_waiting(self) -> _WaitingRequest | None:
        ready = [ticket for ticket in self._queue if not ticket.is_refused and self._may_acquire(ticket.who)]
        return min(ready, key=lambda ticket: self._held[ticket.who], default=None)

    def _may_acquire(self, who: Hashable) -> bool:
        free = self._most - sum(self._held.values())
        return free > (self._most // 2 if who in self._held else 0)
