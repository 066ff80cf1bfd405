"""Slots that owners share fairly: for requests that wait for other hosts, and for conversions."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import count

MAX_SLOTS = 8
MAX_WAITING = 12
MAX_REMEMBERED = 1_000


class TicketState(Enum):
    """The state of a request for a slot."""

    WAITING = 0
    HELD = 1
    REFUSED = 2  # in favor of another owner, or withdrawn


@dataclass(eq=False)
class Ticket:
    """A request of ``who`` for a slot. ``notify`` is called once it does not wait any more, possibly in the thread of
    another owner, so it must be quick and must not use the slots."""

    who: Hashable
    notify: Callable[[], None]
    state: TicketState = TicketState.WAITING


class FairSlots:
    """A fixed number of slots, and a queue for them. Thread-safe. An owner is an account, or the address of a sender
    without one.

    A free slot is given to the owner that holds the fewest, then to the one served least recently. Nobody gets a
    second one while half of them are in use, so slow requests of one owner leave slots for all others. Nobody occupies
    more than half of the queue; when it is full, the newest request of the owner with the most requests is rejected.

    ``is_over_budget`` returns whether an owner has used more than its share. Such owners come last and are rejected
    first, and all of them together hold at most half of the slots.

    ``remembered``: how many of the owners served last are not new. Others come before them, so if an endless series
    of new owners is possible, it must be so low that owners who return are soon as good as new ones.
    """

    def __init__(
        self,
        most: int = MAX_SLOTS,
        waiting: int = MAX_WAITING,
        is_over_budget: Callable[[Hashable], bool] = lambda who: False,
        remembered: int = MAX_REMEMBERED,
    ) -> None:
        self._most = most
        self._waiting = waiting
        self._is_over_budget = is_over_budget
        self._remembered = remembered
        self._lock = threading.Lock()
        self._held: Counter[Hashable] = Counter()
        self._queue: list[Ticket] = []
        self._numbers = count(1)
        self._turns: OrderedDict[Hashable, int] = OrderedDict()  # the number of the last turn of each owner
        self._is_closed = False

    @contextmanager
    def hold(self, who: Hashable, wait_s: float) -> Iterator[bool]:
        """Hold a slot for the duration of the block; yield False if none was free within ``wait_s`` seconds, if too
        many wait already, or after ``close``."""
        event = threading.Event()
        ticket = self.request(who, event.set)
        try:
            event.wait(wait_s)
            if ticket.state is not TicketState.HELD:
                self.release(ticket)
            yield ticket.state is TicketState.HELD
        finally:
            self.release(ticket)

    def request(self, who: Hashable, notify: Callable[[], None]) -> Ticket:
        """Request a slot without waiting for it; the caller must ``release`` the ticket."""
        ticket = Ticket(who, notify)
        with self._lock:
            self._queue.append(ticket)
            self._grant_free()
            if self._is_closed:
                self._settle(ticket, TicketState.REFUSED)
            elif ticket.state is TicketState.WAITING:
                self._refuse_surplus(ticket)
        return ticket

    def release(self, ticket: Ticket) -> None:
        """Release the slot of ``ticket``, or withdraw its request. May be called twice."""
        with self._lock:
            if ticket.state is TicketState.HELD:
                self._held[ticket.who] -= 1
                self._held += Counter()  # drop owners without slots
            elif ticket.state is TicketState.WAITING:
                self._queue.remove(ticket)
            ticket.state = TicketState.REFUSED
            self._grant_free()

    def close(self) -> None:
        """Reject all waiting and later requests."""
        with self._lock:
            self._is_closed = True
            for ticket in list(self._queue):
                self._settle(ticket, TicketState.REFUSED)

    def _grant_free(self) -> None:
        """Give the free slots to the requests that are next."""
        while not self._is_closed and (ticket := self._next_waiting()) is not None:
            self._held[ticket.who] += 1
            self._turns[ticket.who] = next(self._numbers)
            self._turns.move_to_end(ticket.who)
            if len(self._turns) > self._remembered:
                self._turns.popitem(last=False)
            self._settle(ticket, TicketState.HELD)

    def _settle(self, ticket: Ticket, state: TicketState) -> None:
        self._queue.remove(ticket)
        ticket.state = state
        ticket.notify()

    def _refuse_surplus(self, newcomer: Ticket) -> None:
        """Reject a request if ``newcomer`` makes the queue too long."""
        waits = Counter(ticket.who for ticket in self._queue)
        if waits[newcomer.who] > self._waiting // 2:
            who = newcomer.who
        elif len(self._queue) > self._waiting:
            # Of several owners with the most requests, the one that came last.
            who = max(reversed(waits), key=lambda each: (self._is_over_budget(each), waits[each] + self._held[each]))
        else:
            return
        newest = next(ticket for ticket in reversed(self._queue) if ticket.who == who)
        self._settle(newest, TicketState.REFUSED)

    def _next_waiting(self) -> Ticket | None:
        ready = [ticket for ticket in self._queue if self._may_acquire(ticket.who)]
        return min(ready, key=self._rank, default=None)

    def _rank(self, ticket: Ticket) -> tuple[bool, int, int]:
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
