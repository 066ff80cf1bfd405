"""Start, assign and end the worker processes of one engine, as ``schedule`` decides."""

import contextlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from docshare.contract.problems import Problem
from docshare.server.http import parking
from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.child import BrokenWorkerError, WorkerProcess, WorkerTimeoutError
from docshare.server.pdf.schedule import JobLane, WorkerJob, WorkerSchedule
from docshare.server.pdf.template import WorkerTemplate

_log = logging.getLogger(__name__)

_MAX_RECENT_PATHS = 4  # equals the number of documents that a worker keeps open
_POLL_S = 0.25  # interval at which a waiting thread applies the schedule again, because running jobs become slow
_RESTART_DELAY_S = 5.0
_BUSY_TEXTS = {
    JobLane.PAGES: "Too many pages are being rendered.",
    JobLane.CHECKS: "Too many documents are being checked.",
}


@dataclass(eq=False)
class WorkerSlot:
    """A slot for one running job: ``job`` is the job that holds the slot, ``worker`` the process started for it or
    for an earlier job, None before the first one.

    ``owner``: the party whose documents the worker may read (``_find_owner``). ``spent_s``: processor time of the last
    job. ``path``: the document of the last job; ``recent``: the documents that the worker read last.
    """

    worker: WorkerProcess | None = None
    job: WorkerJob | None = None
    owner: str = ""
    path: str = ""
    spent_s: float = 0.0
    recent: OrderedDict[str, None] = field(default_factory=OrderedDict)


class WorkerPool:
    """Worker processes for the jobs of all lanes, started on demand and replaced after ``recycle_after`` jobs.

    A job holds a slot from its start to its end; a worker stays in its slot for later jobs. A slot is *spare* if
    another one stays free for readers. The *standby* worker has no slot yet: after a job stalled, it is started in
    advance, so that the next job does not have to wait for the start of a worker. Thread-safe.

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
        self._rejected: set[WorkerJob] = set()
        self._standby: WorkerProcess | None = None
        self._is_starting_standby = False
        self._start_after = 0.0
        self._closed = False

    def list_pids(self) -> list[int]:
        """Return the process IDs of the running workers; empty before the first job."""
        with self._changed:
            workers = [slot.worker for slot in self._slots] + [self._standby]
            return [worker.pid for worker in workers if worker is not None]

    def count_jobs(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return, by lane, how many jobs are running and how many wait."""
        with self._changed:
            held, queued = list(self._held), [job for job in self._paths if job not in self._held]
        running, waiting = (
            {lane.value: sum(job.lane is lane for job in jobs) for lane in JobLane} for jobs in (held, queued)
        )
        return running, waiting

    @contextlib.contextmanager
    def hold(self, path: str, tenant: Tenant, lane: JobLane, *, patience_s: float) -> Iterator[WorkerSlot]:
        """Yield a slot for a job on the document at ``path``; release it afterwards.

        Waits at most ``patience_s`` seconds, less behind slow jobs. Raises Problem ``unavailable``.
        """
        if lane is JobLane.PAGES:
            parking.report_wait()
        slot = self._wait_for_slot(path, tenant, lane, patience_s)
        try:
            yield slot
        finally:
            self._return_slot(slot)

    @contextlib.contextmanager
    def hold_spare(self, path: str, tenant: Tenant) -> Iterator[WorkerSlot | None]:
        """Yield a spare slot for a page job in the background; yield None if there is none."""
        with self._changed:
            job = None if self._closed else self._schedule.start_spare(JobLane.PAGES, tenant, time.monotonic())
            slot = None if job is None else self._assign_slot(job, path)
        try:
            yield slot
        finally:
            if slot is not None:
                self._return_slot(slot)

    def is_likely_slow(self, tenant: Tenant) -> bool:
        """Return whether the next job of ``tenant`` is likely slow: see ``WorkerSchedule``."""
        with self._changed:
            return self._schedule.budget.is_likely_slow(tenant, time.monotonic())

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

    def has_usable_worker(self, slot: WorkerSlot) -> bool:
        """Return whether a slot that the caller holds has a worker that may read the document of the job."""
        assert slot.job is not None
        return slot.worker is not None and slot.owner == _find_owner(slot.job.tenant)

    def prepare_worker(self, slot: WorkerSlot) -> WorkerProcess:
        """Return a worker for the job that holds ``slot``: the worker of the slot, or a new one if there is none or it
        has read documents of another owner. Lower its priority if the job is costly. Raises Problem ``unavailable``."""
        job = slot.job
        assert job is not None
        if not self.has_usable_worker(slot):
            self.discard(slot)
            worker = self._take_standby(job) or self._start_worker()
            with self._changed:
                slot.worker, slot.owner = worker, _find_owner(job.tenant)
                closed = self._closed
            if closed:
                self.discard(slot)
                raise _unavailable_problem("The server is stopping.", 5)
        assert slot.worker is not None
        with self._changed:
            slot.recent[slot.path] = None
            slot.recent.move_to_end(slot.path)
            if len(slot.recent) > _MAX_RECENT_PATHS:
                slot.recent.popitem(last=False)
            now = time.monotonic()
            deferred, costly = self._schedule.is_deferred(job.tenant, now), self._schedule.is_costly(job.tenant, now)
        if (deferred and not slot.worker.is_idle) or (costly and not slot.worker.is_demoted):
            slot.worker.demote(idle=deferred)
        return slot.worker

    def limit_s(self, slot: WorkerSlot) -> float:
        """Return the limit in processor seconds for the next job on a slot that the caller holds."""
        assert slot.job is not None
        with self._changed:
            return self._schedule.limit_s(slot.job, self._timeout_s, time.monotonic())

    def charge(self, slot: WorkerSlot, seconds: float, *, stalled: bool) -> None:
        """Charge the job on a slot that the caller holds with ``seconds`` of processor time. ``stalled``: its worker
        crashed or was killed.

        Raises Problem ``unavailable`` if the job was preempted.
        """
        job = slot.job
        assert job is not None
        slot.spent_s = seconds
        with self._changed:
            self._schedule.budget.charge(
                job.tenant, seconds, time.monotonic(), stalled=stalled, proves=job.lane is JobLane.PAGES
            )
            needs_standby = stalled and self._standby is None and not (self._is_starting_standby or self._closed)
            self._is_starting_standby = self._is_starting_standby or needs_standby
        if needs_standby:
            threading.Thread(target=self._start_standby, name="pdf-worker-start", daemon=True).start()
        if stalled and job.is_preempted:
            raise _unavailable_problem(_BUSY_TEXTS[job.lane], 5)

    def is_preempted(self, slot: WorkerSlot) -> bool:
        """Return whether the job on a slot that the caller holds was preempted."""
        return slot.job is not None and slot.job.is_preempted

    def discard(self, slot: WorkerSlot) -> None:
        """Kill the worker of a slot that the caller holds. The next job gets a new one."""
        with self._changed:
            worker, slot.worker = slot.worker, None
            slot.recent.clear()
        if worker is not None:
            worker.kill()

    def end_idle(self) -> None:
        """End the workers that have run jobs and have none now: their memory still has parts of documents, and keys."""
        ended = []
        with self._changed:
            for slot in self._slots:
                if slot.job is None and slot.worker is not None and slot.worker.jobs:
                    ended.append(slot.worker)
                    slot.worker = None
                    slot.recent.clear()
        for worker in ended:
            worker.close()

    def close(self) -> None:
        """End all workers. Running jobs fail; waiting callers get Problem ``unavailable``."""
        with self._changed:
            self._closed = True
            idle = [slot for slot in self._slots if slot.job is None]
            for slot in self._held.values():
                if slot.worker is not None:
                    slot.worker.interrupt()
            standby, self._standby = self._standby, None
            self._changed.notify_all()
        for slot in idle:
            if slot.worker is not None:
                slot.worker.close()
                slot.worker = None
        if standby is not None:
            standby.close()
        self._template.close()

    @property
    def is_closed(self) -> bool:
        """True after ``close`` was called."""
        return self._closed

    def _wait_for_slot(self, path: str, tenant: Tenant, lane: JobLane, patience_s: float) -> WorkerSlot:
        deadline = time.monotonic() + patience_s
        with self._changed:
            job = self._schedule.enqueue(lane, tenant)
            self._paths[job] = path
            try:
                is_due = True
                while True:
                    now = time.monotonic()
                    if is_due and not self._closed:
                        self._apply_schedule(now)
                    if job in self._held:
                        return self._held[job]
                    if self._closed:
                        raise _unavailable_problem("The server is stopping.", 5)
                    if job in self._rejected or now >= deadline:
                        raise _unavailable_problem(_BUSY_TEXTS[lane], 2)
                    # A thread that notifies this one has already applied the schedule.
                    is_due = not self._changed.wait(min(_POLL_S, deadline - now))
            finally:
                self._rejected.discard(job)
                del self._paths[job]
                if job not in self._held:
                    self._schedule.remove(job)

    def _apply_schedule(self, now: float) -> None:
        """Apply the decisions of the schedule at ``now``: start, reject and preempt jobs."""
        moved = False
        for running, slot in self._held.items():
            running.spent_s = 0.0 if slot.worker is None else slot.worker.current_job_s()
        while (job := self._schedule.start_next(now)) is not None:
            self._assign_slot(job, self._paths[job])
            moved = True
        surplus = self._schedule.remove_surplus(now)
        self._rejected.update(surplus)
        if moved or surplus:
            self._changed.notify_all()
        victim = self._schedule.preempt(now)
        if victim is not None:
            worker = self._held[victim].worker
            if worker is not None:
                worker.interrupt()

    def _assign_slot(self, job: WorkerJob, path: str) -> WorkerSlot:
        """Assign the best idle slot to ``job``."""
        costly = self._schedule.is_costly(job.tenant, time.monotonic())
        owner = _find_owner(job.tenant)
        idle = (slot for slot in self._slots if slot.job is None)
        slot = max(idle, key=lambda slot: _rank_slot(slot, owner, path, costly=costly))
        slot.job, slot.path = job, path
        self._held[job] = slot
        return slot

    def _release(self, slot: WorkerSlot) -> None:
        job, slot.job = slot.job, None
        assert job is not None
        del self._held[job]
        self._schedule.remove(job)
        self._slots.remove(slot)
        self._slots.append(slot)

    def _return_slot(self, slot: WorkerSlot) -> None:
        worn = None
        with self._changed:
            worker = slot.worker
            if worker is not None and (self._closed or worker.jobs >= self._recycle_after):
                worn, slot.worker = worker, None
                slot.recent.clear()
            self._release(slot)
            if not self._closed:
                self._apply_schedule(time.monotonic())
            self._changed.notify_all()
        if worn is not None:
            worn.close()

    def _take_standby(self, job: WorkerJob) -> WorkerProcess | None:
        """Return the standby worker, or None if there is none or ``job`` is likely slow and may crash it too."""
        with self._changed:
            if self._standby is None or self._schedule.budget.is_likely_slow(job.tenant, time.monotonic()):
                return None
            worker, self._standby = self._standby, None
            return worker

    def _start_standby(self) -> None:
        worker = None
        with contextlib.suppress(Problem):
            worker = self._start_worker()
        with self._changed:
            self._is_starting_standby = False
            if not self._closed:
                self._standby, worker = worker, None
        if worker is not None:
            worker.close()

    def _start_worker(self) -> WorkerProcess:
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
    """Return a sort key: how well an idle slot suits a job of ``owner``. A costly job gets a demoted worker of its
    owner or a new one, because it may crash its worker. Among the workers of other owners, a demoted one is replaced
    first.
    """
    is_empty = slot.worker is None
    is_own = not is_empty and slot.owner == owner
    is_demoted = slot.worker is not None and slot.worker.is_demoted
    if costly:
        return is_own and is_demoted, is_empty, is_own, is_demoted
    return is_own and not is_demoted, is_own and not is_demoted and path in slot.recent, is_empty, is_demoted


def _unavailable_problem(detail: str, retry_after: int) -> Problem:
    return Problem("unavailable", detail, headers={"Retry-After": str(retry_after)})
