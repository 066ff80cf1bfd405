"""Start, assign and end the worker processes of one engine, as ``schedule`` decides."""

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
from docshare.server.pdf.template import WorkerTemplate

_log = logging.getLogger(__name__)

_MAX_RECENT_PATHS = 4  # equals the number of documents that a worker keeps open
_POLL_S = 0.25  # interval at which a waiting thread checks whether running jobs are slow
_RESTART_DELAY_S = 5.0
_BUSY_TEXTS = {
    JobLane.PAGES: "Too many pages are being rendered.",
    JobLane.CHECKS: "Too many documents are being checked.",
}


@dataclass(eq=False)
class WorkerSlot:
    """A slot for one worker: ``child`` is the process once it is started, ``ticket`` the job that holds the slot.

    ``owner``: the party whose documents the worker may read (``_find_owner``). ``spent_s``: processor time of the last
    job. ``path``: the document of the last job; ``recent``: the documents that the worker read last.
    """

    child: WorkerProcess | None = None
    ticket: WorkerJob | None = None
    owner: str = ""
    path: str = ""
    spent_s: float = 0.0
    recent: OrderedDict[str, None] = field(default_factory=OrderedDict)


class WorkerPool:
    """Workers for the jobs of all lanes, started on demand and replaced after ``recycle_after`` jobs. Thread-safe.

    Parameters: ``places`` is the number of parallel jobs of each lane; ``max_waiting`` the number of jobs of a lane
    that can wait behind slow ones (``WorkerSchedule``); the others are those of ``PdfEngine``.
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
        self._changed = threading.Condition()  # guards everything below
        self._schedule = WorkerSchedule(places, max_waiting)
        self._template = WorkerTemplate()
        self._slots = [WorkerSlot() for _ in range(sum(places.values()))]  # the least recently used one is the first
        self._held: dict[WorkerJob, WorkerSlot] = {}
        self._paths: dict[WorkerJob, str] = {}
        self._refused: set[WorkerJob] = set()
        self._reserve: WorkerProcess | None = (
            None  # a spare worker, which replaces one that a hostile document crashed without delay
        )
        self._refilling = False
        self._start_after = 0.0
        self._closed = False

    def list_pids(self) -> list[int]:
        """Return the process IDs of the running workers."""
        with self._changed:
            children = [slot.child for slot in self._slots] + [self._reserve]
            return [child.pid for child in children if child is not None]

    def count_jobs(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return, by lane, how many jobs are running and how many wait."""
        with self._changed:
            held, queued = list(self._held), [ticket for ticket in self._paths if ticket not in self._held]
        running, waiting = (
            {lane.value: sum(ticket.lane is lane for ticket in tickets) for lane in JobLane}
            for tickets in (held, queued)
        )
        return running, waiting

    @contextlib.contextmanager
    def hold(self, path: str, tenant: Tenant, lane: JobLane, *, patience_s: float) -> Iterator[WorkerSlot]:
        """Yield a slot for a job on the document at ``path``; release it afterwards.

        Waits at most ``patience_s`` seconds, less behind slow jobs. Raises Problem ``unavailable``.
        """
        slot = self._wait_for_slot(path, tenant, lane, patience_s)
        try:
            yield slot
        finally:
            self._return_slot(slot)

    @contextlib.contextmanager
    def hold_spare(self, path: str, tenant: Tenant) -> Iterator[WorkerSlot | None]:
        """Yield a spare slot, or None: one slot always stays free for readers."""
        with self._changed:
            ticket = None if self._closed else self._schedule.start_spare(JobLane.PAGES, tenant, time.monotonic())
            slot = None if ticket is None else self._assign_slot(ticket, path)
        try:
            yield slot
        finally:
            if slot is not None:
                self._return_slot(slot)

    def is_risky(self, tenant: Tenant) -> bool:
        """Return whether jobs of ``tenant`` are expected to be slow."""
        with self._changed:
            return self._schedule.budget.is_risky(tenant, time.monotonic())

    def is_costly(self, tenant: Tenant) -> bool:
        """Return whether jobs of ``tenant`` should leave the processors to others."""
        with self._changed:
            return self._schedule.is_costly(tenant, time.monotonic())

    def wait_for_spare(self, timeout_s: float) -> bool:
        """Wait until a slot is spare; return False after ``timeout_s`` seconds."""

        def has_spare() -> bool:
            return not self._closed and self._schedule.has_spare(JobLane.PAGES, time.monotonic())

        with self._changed:
            return self._changed.wait_for(has_spare, timeout_s)

    def has_worker(self, slot: WorkerSlot) -> bool:
        """Return whether ``worker`` would return a running worker."""
        assert slot.ticket is not None
        return slot.child is not None and slot.owner == _find_owner(slot.ticket.tenant)

    def worker(self, slot: WorkerSlot) -> WorkerProcess:
        """Return the worker of a slot that the caller holds, and start it if needed, also in place of one that has read
        documents of another owner. Raises Problem ``unavailable``."""
        ticket = slot.ticket
        assert ticket is not None
        if not self.has_worker(slot):
            self.discard(slot)
            child = self._take_reserve(ticket) or self._start()
            with self._changed:
                slot.child, slot.owner = child, _find_owner(ticket.tenant)
                closed = self._closed
            if closed:
                self.discard(slot)
                raise _unavailable_problem("The server is stopping.", 5)
        assert slot.child is not None
        with self._changed:
            slot.recent[slot.path] = None
            slot.recent.move_to_end(slot.path)
            if len(slot.recent) > _MAX_RECENT_PATHS:
                slot.recent.popitem(last=False)
            now = time.monotonic()
            idle, costly = self._schedule.comes_last(ticket.tenant, now), self._schedule.is_costly(ticket.tenant, now)
        if (idle and not slot.child.is_idle) or (costly and not slot.child.is_demoted):
            slot.child.demote(idle=idle)
        return slot.child

    def limit_s(self, slot: WorkerSlot) -> float:
        """Return the limit in processor seconds for the next job on a slot that the caller holds."""
        assert slot.ticket is not None
        with self._changed:
            return self._schedule.limit_s(slot.ticket, self._timeout_s, time.monotonic())

    def charge(self, slot: WorkerSlot, seconds: float, *, stalled: bool) -> None:
        """Charge a job on a slot that the caller holds: its processor time, and whether it stalled its worker.

        Raises Problem ``unavailable`` if the job was preempted.
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
        """Return whether the job on a slot that the caller holds was stopped in favor of others."""
        return slot.ticket is not None and slot.ticket.is_preempted

    def discard(self, slot: WorkerSlot) -> None:
        """Kill the worker of a slot that the caller holds. The next job gets a new one."""
        with self._changed:
            child, slot.child = slot.child, None
            slot.recent.clear()
        if child is not None:
            child.kill()

    def end_idle(self) -> None:
        """End the idle workers that have had jobs: their memory still has parts of documents, and data keys."""
        ended = []
        with self._changed:
            for slot in self._slots:
                if slot.ticket is None and slot.child is not None and slot.child.jobs:
                    ended.append(slot.child)
                    slot.child = None
                    slot.recent.clear()
        for child in ended:
            child.close()

    def close(self) -> None:
        """End all workers. Running jobs fail; waiting callers get Problem ``unavailable``."""
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
        self._template.close()

    @property
    def is_closed(self) -> bool:
        """True after ``close`` was called."""
        return self._closed

    def _wait_for_slot(self, path: str, tenant: Tenant, lane: JobLane, patience_s: float) -> WorkerSlot:
        deadline = time.monotonic() + patience_s
        with self._changed:
            ticket = self._schedule.enqueue(lane, tenant)
            self._paths[ticket] = path
            try:
                is_due = True
                while True:
                    now = time.monotonic()
                    if is_due and not self._closed:
                        self._apply_schedule(now)
                    if ticket in self._held:
                        return self._held[ticket]
                    if self._closed:
                        raise _unavailable_problem("The server is stopping.", 5)
                    if ticket in self._refused or now >= deadline:
                        raise _unavailable_problem(_BUSY_TEXTS[lane], 2)
                    # A thread that notifies this one has already applied the schedule.
                    is_due = not self._changed.wait(min(_POLL_S, deadline - now))
            finally:
                self._refused.discard(ticket)
                del self._paths[ticket]
                if ticket not in self._held:
                    self._schedule.remove(ticket)

    def _apply_schedule(self, now: float) -> None:
        """Apply the decisions of the schedule at ``now``: start, reject and preempt jobs."""
        moved = False
        for running, slot in self._held.items():
            running.spent_s = 0.0 if slot.child is None else slot.child.current_job_s()
        while (ticket := self._schedule.start_next(now)) is not None:
            self._assign_slot(ticket, self._paths[ticket])
            moved = True
        surplus = self._schedule.remove_surplus(now)
        self._refused.update(surplus)
        if moved or surplus:
            self._changed.notify_all()
        victim = self._schedule.preempt(now)
        if victim is not None:
            child = self._held[victim].child
            if child is not None:
                child.interrupt()

    def _assign_slot(self, ticket: WorkerJob, path: str) -> WorkerSlot:
        """Assign the best idle slot to ``ticket``."""
        costly = self._schedule.is_costly(ticket.tenant, time.monotonic())
        owner = _find_owner(ticket.tenant)
        idle = (slot for slot in self._slots if slot.ticket is None)
        slot = max(idle, key=lambda slot: _rank_slot(slot, owner, path, costly=costly))
        slot.ticket, slot.path = ticket, path
        self._held[ticket] = slot
        return slot

    def _release(self, slot: WorkerSlot) -> None:
        ticket, slot.ticket = slot.ticket, None
        assert ticket is not None
        del self._held[ticket]
        self._schedule.remove(ticket)
        self._slots.remove(slot)
        self._slots.append(slot)

    def _return_slot(self, slot: WorkerSlot) -> None:
        worn = None
        with self._changed:
            child = slot.child
            if child is not None and (self._closed or child.jobs >= self._recycle_after):
                worn, slot.child = child, None
                slot.recent.clear()
            self._release(slot)
            if not self._closed:
                self._apply_schedule(time.monotonic())
            self._changed.notify_all()
        if worn is not None:
            worn.close()

    def _take_reserve(self, ticket: WorkerJob) -> WorkerProcess | None:
        """Return the spare worker, or None if there is none or ``ticket`` is likely to crash it too."""
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
        """Start a worker. After a failed start, fail fast for a few seconds instead of trying again."""
        if self._closed:
            raise _unavailable_problem("The server is stopping.", 5)
        if time.monotonic() < self._start_after:
            raise _unavailable_problem("The PDF engine cannot be started.", 10)
        try:
            return WorkerProcess(
                memory_bytes=self._memory_bytes,
                timeout_s=self._timeout_s,
                required=self._required,
                start=self._template.start_worker,
            )
        except (BrokenWorkerError, WorkerTimeoutError) as error:
            self._start_after = time.monotonic() + _RESTART_DELAY_S
            _log.error("The PDF engine cannot be started: %s", error)
            raise _unavailable_problem("The PDF engine cannot be started.", 10) from error


def _find_owner(tenant: Tenant) -> str:
    """Return the party whose documents a worker may read together with that of ``tenant``. A document without an owner
    is charged to the address of its reader or sender, and may not be read together with any other."""
    return tenant.content if tenant.owner == tenant.reader else tenant.owner


def _rank_slot(slot: WorkerSlot, owner: str, path: str, *, costly: bool) -> tuple[bool, bool, bool, bool]:
    """Return a sort key: how well an idle slot suits a job of ``owner``. A costly job gets a demoted worker or a new
    one, because it may crash its worker. Among the workers of other owners, a demoted one is replaced first.
    """
    is_empty = slot.child is None
    is_own = not is_empty and slot.owner == owner
    is_demoted = slot.child is not None and slot.child.is_demoted
    if costly:
        return is_own and is_demoted, is_empty, is_own, is_demoted
    return is_own and not is_demoted, is_own and not is_demoted and path in slot.recent, is_empty, is_demoted


def _unavailable_problem(detail: str, retry_after: int) -> Problem:
    return Problem("unavailable", detail, headers={"Retry-After": str(retry_after)})
