"""The worker processes of one engine: who may use which, who waits, and who has to come back later.

``schedule`` decides; this module starts, hands out and ends the processes.
"""

import contextlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from docshare.contract.problems import Problem
from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.child import BrokenWorkerError, WorkerProcess, WorkerTimeoutError
from docshare.server.pdf.schedule import JobLane, WorkerJob, WorkerSchedule

_log = logging.getLogger(__name__)

_MAX_RECENT_PATHS = 4  # as many documents as a worker keeps open
_POLL_S = 0.25  # how often a waiting thread looks for jobs that turned out to be slow
_RESTART_DELAY_S = 5.0
_BUSY_TEXTS = {
    JobLane.PAGES: "Too many pages are being drawn at the moment.",
    JobLane.CHECKS: "Too many documents are being read.",
}


@dataclass(eq=False)
class WorkerSlot:
    """A place for one worker: ``child`` once started, ``ticket`` the job that holds it.

    ``is_demoted``: its worker yields the processor to others, which cannot be taken back. ``spent_s``: processor time
    of the last job.
    """

    child: WorkerProcess | None = None
    ticket: WorkerJob | None = None
    is_demoted: bool = False
    spent_s: float = 0.0
    recent: OrderedDict[str, None] = field(default_factory=OrderedDict)


class WorkerPool:
    """Workers for the jobs of all lanes, started when first needed, replaced after ``recycle_after`` jobs.

    Parameters: ``places`` how many jobs of each lane run at a time; ``max_waiting`` how many of a lane wait behind slow
    ones (``Schedule``). Thread-safe.
    """

    def __init__(
        self,
        *,
        places: dict[JobLane, int],
        memory_bytes: int,
        timeout_s: float,
        recycle_after: int,
        max_waiting: int,
        required: bool = False,
    ) -> None:
        self._memory_bytes = memory_bytes
        self._timeout_s = timeout_s
        self._recycle_after = recycle_after
        self._required = required
        self._changed = threading.Condition()  # around everything below
        self._schedule = WorkerSchedule(places, max_waiting)
        self._slots = [WorkerSlot() for _ in range(sum(places.values()))]
        self._held: dict[WorkerJob, WorkerSlot] = {}
        self._paths: dict[WorkerJob, str] = {}
        self._refused: set[WorkerJob] = set()
        self._reserve: WorkerProcess | None = (
            None  # started ahead, so that nobody waits for what a hostile document ended
        )
        self._refilling = False
        self._start_after = 0.0
        self._closed = False

    def pids(self) -> list[int]:
        """Process ids of the workers that run now."""
        with self._changed:
            children = [slot.child for slot in self._slots] + [self._reserve]
            return [child.pid for child in children if child is not None]

    @contextlib.contextmanager
    def taken(self, path: str, tenant: Tenant, lane: JobLane, *, patience_s: float) -> Iterator[WorkerSlot]:
        """A slot for a job about the document at ``path``, given back afterwards.

        Waits at most ``patience_s`` seconds, less behind slow jobs. Raises Problem ``unavailable``.
        """
        slot = self._wait_for_slot(path, tenant, lane, patience_s)
        try:
            yield slot
        finally:
            self._give_back(slot)

    @contextlib.contextmanager
    def spare(self, path: str, tenant: Tenant) -> Iterator[WorkerSlot | None]:
        """A slot nobody else needs now, or None: one place always stays free for readers who wait."""
        with self._changed:
            ticket = None if self._closed else self._schedule.start_spare(JobLane.PAGES, tenant, time.monotonic())
            slot = None if ticket is None else self._take(ticket, path)
        try:
            yield slot
        finally:
            if slot is not None:
                self._give_back(slot)

    def is_risky(self, tenant: Tenant) -> bool:
        """Whether jobs of ``tenant`` are expected to be slow."""
        with self._changed:
            return self._schedule.budget.is_risky(tenant, time.monotonic())

    def wait_for_spare(self, timeout_s: float) -> bool:
        """Wait until ``spare`` would probably give a slot; False after ``timeout_s`` seconds."""

        def has_spare() -> bool:
            return not self._closed and self._schedule.has_spare(JobLane.PAGES, time.monotonic())

        with self._changed:
            return self._changed.wait_for(has_spare, timeout_s)

    def worker(self, slot: WorkerSlot) -> WorkerProcess:
        """The running worker of a slot the caller holds, started if need be. Raises Problem ``unavailable``."""
        ticket = slot.ticket
        assert ticket is not None
        if slot.child is None:
            child = self._from_reserve(ticket) or self._start()
            with self._changed:
                slot.child, slot.is_demoted = child, False
                closed = self._closed
            if closed:
                self.discard(slot)
                raise _unavailable_problem("The server is stopping.", 5)
        assert slot.child is not None
        with self._changed:
            demote = not slot.is_demoted and self._schedule.budget.is_risky(ticket.tenant, time.monotonic())
            slot.is_demoted = slot.is_demoted or demote
        if demote:
            slot.child.demote()
        return slot.child

    def limit_s(self, slot: WorkerSlot) -> float:
        """Processor seconds that the next job of a slot the caller holds may take."""
        assert slot.ticket is not None
        with self._changed:
            return self._schedule.budget.limit_s(slot.ticket.tenant, self._timeout_s, time.monotonic())

    def charge(self, slot: WorkerSlot, seconds: float, *, stalled: bool) -> None:
        """Account for a job on a slot the caller holds: its processor time, and whether it broke its worker.

        Raises Problem ``unavailable`` when the job was stopped so that others get its place.
        """
        ticket = slot.ticket
        assert ticket is not None
        slot.spent_s = seconds
        with self._changed:
            self._schedule.budget.charge(
                ticket.tenant, seconds, time.monotonic(), stalled=stalled, proves=ticket.lane is JobLane.PAGES
            )
            refill = stalled and self._reserve is None and not (self._refilling or self._closed)
            self._refilling = self._refilling or refill
        if refill:
            threading.Thread(target=self._refill, name="pdf-worker-start", daemon=True).start()
        if stalled and ticket.is_preempted:
            raise _unavailable_problem(_BUSY_TEXTS[ticket.lane], 5)

    def is_preempted(self, slot: WorkerSlot) -> bool:
        """Whether the job on a slot the caller holds was stopped so that others get its place."""
        return slot.ticket is not None and slot.ticket.is_preempted

    def discard(self, slot: WorkerSlot) -> None:
        """Kill the worker of a slot the caller holds; the next job gets a new one."""
        with self._changed:
            child, slot.child = slot.child, None
            slot.recent.clear()
        if child is not None:
            child.kill()

    def close(self) -> None:
        """End all workers. Callers inside a job see their worker die; waiting callers get ``unavailable``."""
        with self._changed:
            self._closed = True
            idle = [slot for slot in self._slots if slot.ticket is None]
            for slot in self._held.values():
                if slot.child is not None:
                    slot.child.interrupt()
            reserve, self._reserve = self._reserve, None
            self._changed.notify_all()
        for slot in idle:
            if slot.child is not None:
                slot.child.close()
                slot.child = None
        if reserve is not None:
            reserve.close()

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed

    def _wait_for_slot(self, path: str, tenant: Tenant, lane: JobLane, patience_s: float) -> WorkerSlot:
        give_up = time.monotonic() + patience_s
        with self._changed:
            ticket = self._schedule.join(lane, tenant)
            self._paths[ticket] = path
            try:
                while True:
                    now = time.monotonic()
                    if not self._closed:
                        self._decide(now)
                    if ticket in self._held:
                        return self._held[ticket]
                    if self._closed:
                        raise _unavailable_problem("The server is stopping.", 5)
                    if ticket in self._refused or now >= give_up:
                        raise _unavailable_problem(_BUSY_TEXTS[lane], 2)
                    self._changed.wait(min(_POLL_S, give_up - now))
            finally:
                self._refused.discard(ticket)
                del self._paths[ticket]
                if ticket not in self._held:
                    self._schedule.leave(ticket)

    def _decide(self, now: float) -> None:
        """Carry out what the schedule says for this moment."""
        moved = False
        for running, slot in self._held.items():
            running.spent_s = 0.0 if slot.child is None else slot.child.spending_s()
        while (ticket := self._schedule.next(now)) is not None:
            self._take(ticket, self._paths[ticket])
            moved = True
        surplus = self._schedule.surplus(now)
        self._refused.update(surplus)
        if moved or surplus:
            self._changed.notify_all()
        victim = self._schedule.preempt(now)
        if victim is not None:
            child = self._held[victim].child
            if child is not None:
                child.interrupt()

    def _take(self, ticket: WorkerJob, path: str) -> WorkerSlot:
        """Give ``ticket`` the best idle slot."""
        risky = self._schedule.budget.is_risky(ticket.tenant, time.monotonic())
        idle = (slot for slot in self._slots if slot.ticket is None)
        slot = max(idle, key=lambda slot: _rank_slot(slot, path, risky=risky))
        slot.ticket = ticket
        self._held[ticket] = slot
        slot.recent[path] = None
        slot.recent.move_to_end(path)
        if len(slot.recent) > _MAX_RECENT_PATHS:
            slot.recent.popitem(last=False)
        return slot

    def _release(self, slot: WorkerSlot) -> None:
        ticket, slot.ticket = slot.ticket, None
        assert ticket is not None
        del self._held[ticket]
        self._schedule.leave(ticket)

    def _give_back(self, slot: WorkerSlot) -> None:
        worn = None
        with self._changed:
            child = slot.child
            if child is not None and (self._closed or child.jobs >= self._recycle_after):
                worn, slot.child = child, None
                slot.recent.clear()
            self._release(slot)
            if not self._closed:
                self._decide(time.monotonic())
            self._changed.notify_all()
        if worn is not None:
            worn.close()

    def _from_reserve(self, ticket: WorkerJob) -> WorkerProcess | None:
        """The worker that was started ahead, unless ``ticket`` will likely end it too."""
        with self._changed:
            if self._reserve is None or self._schedule.budget.is_risky(ticket.tenant, time.monotonic()):
                return None
            child, self._reserve = self._reserve, None
            return child

    def _refill(self) -> None:
        child = None
        with contextlib.suppress(Problem):
            child = self._start()
        with self._changed:
            self._refilling = False
            if not self._closed:
                self._reserve, child = child, None
        if child is not None:
            child.close()

    def _start(self) -> WorkerProcess:
        """A new worker; after a failed start the next attempt waits a little, so that requests fail fast."""
        if self._closed:
            raise _unavailable_problem("The server is stopping.", 5)
        if time.monotonic() < self._start_after:
            raise _unavailable_problem("The PDF engine does not start.", 10)
        try:
            return WorkerProcess(memory_bytes=self._memory_bytes, timeout_s=self._timeout_s, required=self._required)
        except (BrokenWorkerError, WorkerTimeoutError) as error:
            self._start_after = time.monotonic() + _RESTART_DELAY_S
            _log.error("The PDF engine does not start: %s", error)
            raise _unavailable_problem("The PDF engine does not start.", 10) from error


def _rank_slot(slot: WorkerSlot, path: str, *, risky: bool) -> tuple[bool, bool, bool]:
    """How well an idle slot fits. A risky job leaves the workers that others use alone: it will likely end its own."""
    runs = slot.child is not None
    if risky:
        return runs and slot.is_demoted, not runs, path in slot.recent
    return not (runs and slot.is_demoted), runs and path in slot.recent, runs


def _unavailable_problem(detail: str, retry_after: int) -> Problem:
    return Problem("unavailable", detail, headers={"Retry-After": str(retry_after)})
