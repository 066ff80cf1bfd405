"""Slots that owners share fairly: for requests that wait for other hosts, and for conversions."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

MAX_SLOTS = 8
MAX_WAITING = 12
_MAX_TURN_KEYS = 1_000


@dataclass(eq=False)
class _WaitingRequest:
    """A waiting request of ``who``; ``is_refused`` if it was rejected in favor of another owner."""

    who: Hashable
    is_refused: bool = False


class FairSlots:
    """A fixed number of slots, and a queue for them. Thread-safe. An owner is an account, or the address of a sender
    without one.

    A free slot is given to the owner that holds the fewest, then to the one served least recently. Nobody gets a
    second one while half of them are in use, so slow requests of one owner leave slots for all others. Nobody occupies
    more than half of the queue; when it is full, the newest request of the owner with the most requests is rejected.

    ``is_over_budget`` returns whether an owner has used more than its share. Such owners come last and are rejected
    first, and all of them together hold at most half of the slots.
    """

    def __init__(
        self,
        most: int = MAX_SLOTS,
        waiting: int = MAX_WAITING,
        is_over_budget: Callable[[Hashable], bool] = lambda who: False,
    ) -> None:
        self._most = most
        self._waiting = waiting
        self._is_over_budget = is_over_budget
        self._changed = threading.Condition()
        self._held: Counter[Hashable] = Counter()
        self._queue: list[_WaitingRequest] = []
        self._numbers = count(1)
        self._turns: OrderedDict[Hashable, int] = OrderedDict()  # the number of the last turn of each owner
        self._is_closed = False

    @contextmanager
    def hold(self, who: Hashable, wait_s: float) -> Iterator[bool]:
        """Hold a slot for the duration of the block; yield False if none was free within ``wait_s`` seconds, if too
        many wait already, or after ``close``."""
        if not self._acquire(who, wait_s):
            yield False
            return
        try:
            yield True
        finally:
            with self._changed:
                self._held[who] -= 1
                self._held += Counter()  # drop owners without slots
                self._changed.notify_all()

    def close(self) -> None:
        """Reject all waiting and later requests."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _acquire(self, who: Hashable, wait_s: float) -> bool:
        ticket = _WaitingRequest(who)
        with self._changed:
            self._queue.append(ticket)
            self._refuse_surplus(ticket)
            try:
                self._changed.wait_for(
                    lambda: self._is_closed or ticket.is_refused or self._next_waiting() is ticket, wait_s
                )
                if self._is_closed or self._next_waiting() is not ticket:
                    return False
                self._held[who] += 1
                self._turns[who] = next(self._numbers)
                self._turns.move_to_end(who)
                if len(self._turns) > _MAX_TURN_KEYS:
                    self._turns.popitem(last=False)
                return True
            finally:
                self._queue.remove(ticket)
                self._changed.notify_all()

    def _refuse_surplus(self, newcomer: _WaitingRequest) -> None:
        """Reject a request if ``newcomer`` makes the queue too long."""
        served = self._next_waiting()
        waiting = [ticket for ticket in self._queue if not ticket.is_refused and ticket is not served]
        waits = Counter(ticket.who for ticket in waiting)
        if waits[newcomer.who] > self._waiting // 2:
            who = newcomer.who
        elif len(waiting) > self._waiting:
            # Of several owners with the most requests, the one that came last.
            who = max(reversed(waits), key=lambda each: (self._is_over_budget(each), waits[each] + self._held[each]))
        else:
            return
        next(ticket for ticket in reversed(waiting) if ticket.who == who).is_refused = True
        self._changed.notify_all()

    def _next_waiting(self) -> _WaitingRequest | None:
        ready = [ticket for ticket in self._queue if not ticket.is_refused and self._may_acquire(ticket.who)]
        return min(ready, key=self._rank, default=None)

    def _rank(self, ticket: _WaitingRequest) -> tuple[bool, int, int]:
        return self._is_over_budget(ticket.who), self._held[ticket.who], self._turns.get(ticket.who, 0)

    def _may_acquire(self, who: Hashable) -> bool:
        free = self._most - self._held.total()
        if who in self._held and free <= self._most // 2:
            return False
        if self._is_over_budget(who) and self._count_held_over_budget() >= max(1, self._most // 2):
            return False
        return free > 0

    def _count_held_over_budget(self) -> int:
        return sum(held for who, held in self._held.items() if self._is_over_budget(who))
