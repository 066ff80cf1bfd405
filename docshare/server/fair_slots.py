"""Slots that owners share fairly: for requests that wait for other hosts, and for conversions."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import count

from docshare.server.http import parking

MAX_SLOTS = 8
MAX_WAITING = 12
MAX_REMEMBERED = 1_000


class TicketState(Enum):
    """The state of a request for a slot."""

    WAITING = 0
    HELD = 1
    ENDED = 2  # rejected, withdrawn, or released after it was held


@dataclass(eq=False)
class Ticket:
    """A request of ``owner`` for a slot. ``notify`` is called once, when the request gets its slot or is rejected. The
    caller may be the thread of another owner, so ``notify`` must be quick and must not use the slots."""

    owner: Hashable
    notify: Callable[[], None]
    state: TicketState = TicketState.WAITING


class FairSlots:
    """A fixed number of slots, and a queue for them. Thread-safe. An owner is an account, or the address of a sender
    without one.

    A free slot is given to the waiting owner that holds the fewest slots, and among equals to the one served least
    recently. An owner that holds a slot gets another one only while more than half of the slots are free, so slow
    requests of one owner leave slots for all others. An owner occupies at most half of the queue. When the queue is
    full, the newest request of the owner with the most requests is rejected.

    ``is_over_budget`` returns whether an owner has used more than its share. Such owners are served last and rejected
    first, and all of them together hold at most half of the slots.

    ``max_remembered``: number of owners whose last turn is remembered. All other owners are served before these. Where
    the number of owners is unlimited, choose a low value, so that a returning owner waits no longer than a new one.
    """

    def __init__(
        self,
        max_slots: int = MAX_SLOTS,
        max_waiting: int = MAX_WAITING,
        is_over_budget: Callable[[Hashable], bool] = lambda owner: False,
        max_remembered: int = MAX_REMEMBERED,
    ) -> None:
        self._max_slots = max_slots
        self._max_waiting = max_waiting
        self._is_over_budget = is_over_budget
        self._max_remembered = max_remembered
        self._lock = threading.Lock()
        self._held: Counter[Hashable] = Counter()
        self._queue: list[Ticket] = []
        self._turn_numbers = count(1)
        self._last_turns: OrderedDict[Hashable, int] = OrderedDict()  # owner -> number of its last turn
        self._is_closed = False

    @contextmanager
    def hold(self, owner: Hashable, wait_s: float) -> Iterator[bool]:
        """Hold a slot for the duration of the block; yield whether it is held. It is not if none was free within
        ``wait_s`` seconds, if the request was rejected, or after ``close``."""
        event = threading.Event()
        ticket = self.request(owner, event.set)
        try:
            if not event.is_set():
                parking.report_wait()
            event.wait(wait_s)
            if ticket.state is not TicketState.HELD:
                self.release(ticket)
            yield ticket.state is TicketState.HELD
        finally:
            self.release(ticket)

    def request(self, owner: Hashable, notify: Callable[[], None]) -> Ticket:
        """Request a slot without waiting for it; the caller must ``release`` the ticket."""
        ticket = Ticket(owner, notify)
        with self._lock:
            self._queue.append(ticket)
            self._grant_free_slots()
            if self._is_closed:
                self._settle(ticket, TicketState.ENDED)
            elif ticket.state is TicketState.WAITING:
                self._reject_surplus(ticket)
        return ticket

    def release(self, ticket: Ticket) -> None:
        """Release the slot of ``ticket``, or withdraw its request. May be called twice."""
        with self._lock:
            if ticket.state is TicketState.HELD:
                self._held[ticket.owner] -= 1
                self._held += Counter()  # drop owners without slots
            elif ticket.state is TicketState.WAITING:
                self._queue.remove(ticket)
            ticket.state = TicketState.ENDED
            self._grant_free_slots()

    def close(self) -> None:
        """Reject all waiting and later requests."""
        with self._lock:
            self._is_closed = True
            for ticket in list(self._queue):
                self._settle(ticket, TicketState.ENDED)

    def _grant_free_slots(self) -> None:
        """Give the free slots to the requests that are next."""
        while not self._is_closed and (ticket := self._find_next()) is not None:
            self._held[ticket.owner] += 1
            self._last_turns[ticket.owner] = next(self._turn_numbers)
            self._last_turns.move_to_end(ticket.owner)
            if len(self._last_turns) > self._max_remembered:
                self._last_turns.popitem(last=False)
            self._settle(ticket, TicketState.HELD)

    def _settle(self, ticket: Ticket, state: TicketState) -> None:
        self._queue.remove(ticket)
        ticket.state = state
        ticket.notify()

    def _reject_surplus(self, newcomer: Ticket) -> None:
        """Reject one request if ``newcomer`` makes the queue, or its owner's part of the queue, too long."""
        waiting = Counter(ticket.owner for ticket in self._queue)
        if waiting[newcomer.owner] > self._max_waiting // 2:
            owner = newcomer.owner
        elif len(self._queue) > self._max_waiting:
            # Among owners with equally many requests, the one whose first request came last.
            owner = max(
                reversed(waiting), key=lambda each: (self._is_over_budget(each), waiting[each] + self._held[each])
            )
        else:
            return
        newest = next(ticket for ticket in reversed(self._queue) if ticket.owner == owner)
        self._settle(newest, TicketState.ENDED)

    def _find_next(self) -> Ticket | None:
        ready = [ticket for ticket in self._queue if self._may_acquire(ticket.owner)]
        return min(ready, key=self._rank, default=None)

    def _rank(self, ticket: Ticket) -> tuple[bool, int, int]:
        return self._is_over_budget(ticket.owner), self._held[ticket.owner], self._last_turns.get(ticket.owner, 0)

    def _may_acquire(self, owner: Hashable) -> bool:
        free = self._max_slots - self._held.total()
        if owner in self._held and free <= self._max_slots // 2:
            return False
        if self._is_over_budget(owner) and self._count_held_over_budget() >= max(1, self._max_slots // 2):
            return False
        return free > 0

    def _count_held_over_budget(self) -> int:
        return sum(held for owner, held in self._held.items() if self._is_over_budget(owner))
