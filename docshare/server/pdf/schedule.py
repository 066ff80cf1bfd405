"""Decide which job runs next, which is rejected, and which running job is stopped.

This module only decides: it has no threads, no processes and no clock. Jobs run round-robin by owner, then by document,
then by reader. Terms, all by processor time:

- A job is *quick* up to ``QUICK_JOB_S``, *heavy* above it, and *slow* above ``SLOW_JOB_S``. A slow job is also heavy.
- A tenant is *likely heavy* or *likely slow* if ``ProcessorBudget`` expects its next job to be. A likely slow job never
  gets the last free place of its lane; a likely heavy one gets it only while no other owner has quick jobs.
- A document is *proven* once a page job on it ended without being slow. On an *unproven* document, jobs are preempted
  sooner, and fewer can wait.
- A tenant is *deferred* if it is likely slow or its owner is over budget: its jobs run after all others.
- A tenant is *costly* if it is deferred or likely heavy: its jobs should leave the processors to others.
- A job is *preempted* if it is stopped because a job of another owner waits for its place.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import count

from docshare.server.pdf.budget import QUICK_JOB_S, SLOW_JOB_S, ProcessorBudget, Tenant

_MAX_TURN_KEYS = 1_000
_BLOCKED_LANE_S = 0.5  # a lane is blocked if it has no free place and every running job has used more than this
_UNPROVEN_FACTOR = 4  # multiplies max_waiting for the jobs on unproven documents that can wait in a blocked lane
_UNPROVEN_PREEMPT_S = 0.3  # a page job on an unproven document can be preempted above this, any other once it is slow
_OWNER_QUEUE_S = 4.0  # expected processor time of the waiting jobs of one owner
_LANE_QUEUE_S = 8.0  # and of all owners
_HEAVY_QUEUE = 12  # likely heavy jobs of all owners that can wait; each occupies a thread of the server

JobRank = tuple[bool, bool, int, bool, int, int, int]


class JobLane(Enum):
    """Kinds of jobs that do not compete for places."""

    PAGES = "pages"
    CHECKS = "checks"


@dataclass(eq=False)
class WorkerJob:
    """One job, waiting or running. ``spent_s``: the processor time used so far, updated by the pool."""

    lane: JobLane
    tenant: Tenant
    number: int
    spent_s: float = 0.0
    is_preempted: bool = False

    @property
    def is_heavy(self) -> bool:
        """Whether the job has used more than ``QUICK_JOB_S`` of processor time."""
        return self.spent_s > QUICK_JOB_S

    @property
    def is_slow(self) -> bool:
        """Whether the job has used more than ``SLOW_JOB_S`` of processor time."""
        return self.spent_s > SLOW_JOB_S


class WorkerSchedule:
    """The waiting and running jobs of all lanes. ``places`` is the number of parallel jobs of each lane; at most
    ``max_waiting`` jobs of a lane wait behind slow ones. Not thread-safe."""

    def __init__(self, places: Mapping[JobLane, int], max_waiting: int) -> None:
        self.budget = ProcessorBudget()
        self._places = dict(places)
        self._max_waiting = max_waiting
        self._waiting: list[WorkerJob] = []
        self._running: list[WorkerJob] = []
        self._numbers = count(1)
        self._turns: OrderedDict[tuple[str, ...], int] = OrderedDict()  # the number of the last turn of each key

    def enqueue(self, lane: JobLane, tenant: Tenant) -> WorkerJob:
        """Add a waiting job."""
        job = WorkerJob(lane, tenant, next(self._numbers))
        self._waiting.append(job)
        return job

    def remove(self, job: WorkerJob) -> None:
        """Remove a job, waiting or running."""
        for jobs in (self._waiting, self._running):
            if job in jobs:
                jobs.remove(job)

    def start_next(self, now: float) -> WorkerJob | None:
        """Move the next job from waiting to running and return it; return None if no job can start now."""
        for lane in self._places:
            fitting = [job for job in self._list_waiting(lane) if self._has_capacity(job, now)]
            ready = [job for job in fitting if self._is_its_turn(job, fitting)]
            if ready:
                first = min(ready, key=lambda job: self._rank(job, now))
                self._waiting.remove(first)
                self._run(first)
                return first
        return None

    def start_spare(self, lane: JobLane, tenant: Tenant, now: float) -> WorkerJob | None:
        """Start a background job and return it; return None unless another place stays free for waiting jobs."""
        if not self.has_spare(lane, now) or self.budget.is_likely_slow(tenant, now):
            return None
        job = WorkerJob(lane, tenant, next(self._numbers))
        self._run(job)
        return job

    def has_spare(self, lane: JobLane, now: float) -> bool:
        """Return whether ``start_spare`` would start a job of a tenant that is not likely slow."""
        running, places = self._list_running(lane), self._places[lane]
        not_slow = sum(not self.budget.is_likely_slow(job.tenant, now) for job in running)
        is_awaited = any(not self.budget.is_likely_slow(job.tenant, now) for job in self._list_waiting(lane))
        return not is_awaited and len(running) < places and places - not_slow >= min(2, places)

    def remove_surplus(self, now: float) -> list[WorkerJob]:
        """Remove and return the waiting jobs to reject, so that slow jobs do not occupy the threads of the server.

        In each lane, at most ``max_waiting`` jobs can wait that are likely slow or whose owner runs a slow job. Three
        limits apply to all others:

        - at most ``_HEAVY_QUEUE`` likely heavy jobs
        - in a blocked lane, at most ``_UNPROVEN_FACTOR`` times ``max_waiting`` jobs on unproven documents
        - ``_OWNER_QUEUE_S`` of expected time for each owner and ``_LANE_QUEUE_S`` in total; this limit never rejects
          the first ``max_waiting`` jobs of an owner

        The first job of each owner is kept before the second of any.
        """
        rejected = []
        for lane in self._places:
            waiting = self._list_waiting(lane)
            behind_slow = [job for job in waiting if self._is_behind_slow(job, now)]
            rejected += self._order_by_owner(behind_slow, now)[self._max_waiting :]
            others = [job for job in waiting if job not in behind_slow]
            if self._is_blocked(lane):
                unproven = [job for job in others if not self.budget.is_proven(job.tenant, now)]
                rejected += self._order_by_owner(unproven, now)[_UNPROVEN_FACTOR * self._max_waiting :]
            rejected += self._list_excess([job for job in others if job not in rejected], now)
        for job in rejected:
            self._waiting.remove(job)
        return rejected

    def is_costly(self, tenant: Tenant, now: float) -> bool:
        """Return whether jobs of ``tenant`` should leave the processors to others: it is deferred or likely heavy."""
        return self.is_deferred(tenant, now) or self.budget.is_likely_heavy(tenant)

    def is_deferred(self, tenant: Tenant, now: float) -> bool:
        """Return whether jobs of ``tenant`` run after all others: it is likely slow, or its owner is over budget."""
        return self.budget.is_likely_slow(tenant, now) or self.budget.is_over_budget(tenant.owner, now)

    def limit_s(self, job: WorkerJob, most_s: float, now: float) -> float:
        """Return the limit in processor seconds of a job that starts now: see ``ProcessorBudget.limit_s``."""
        is_contended = any(other.tenant.owner != job.tenant.owner for other in self._list_waiting(job.lane))
        return self.budget.limit_s(job.tenant, most_s, now, is_contended=is_contended)

    def preempt(self, now: float) -> WorkerJob | None:
        """Mark a running job as preempted and return it, or return None.

        A job is preempted if a job of another owner waits that is not likely slow, and every job in its way has used
        enough time: those in all places of the lane, or, if one is free but kept for quick jobs, the heavy ones. Among
        them, the owner with the most jobs and processor time loses a place.
        """
        for lane, places in self._places.items():
            running = self._list_running(lane)
            blocking = running if len(running) >= places else self._list_heavy(lane)
            if any(job.is_preempted or not self._can_preempt(job, now) for job in blocking):
                continue
            waiting_owners = {
                job.tenant.owner
                for job in self._list_waiting(lane)
                if not self.budget.is_likely_slow(job.tenant, now) and not self._has_capacity(job, now)
            }
            candidates = [job for job in blocking if waiting_owners - {job.tenant.owner}]
            if candidates:
                victim = max(candidates, key=lambda job: (self._weigh(job, running, now), job.number))
                victim.is_preempted = True
                return victim
        return None

    def _list_waiting(self, lane: JobLane) -> list[WorkerJob]:
        return [job for job in self._waiting if job.lane is lane]

    def _list_running(self, lane: JobLane) -> list[WorkerJob]:
        return [job for job in self._running if job.lane is lane]

    def _list_heavy(self, lane: JobLane) -> list[WorkerJob]:
        """Return the running jobs of ``lane`` that are heavy or likely heavy."""
        return [job for job in self._list_running(lane) if job.is_heavy or self.budget.is_likely_heavy(job.tenant)]

    def _list_excess(self, jobs: Iterable[WorkerJob], now: float) -> list[WorkerJob]:
        """Return those of ``jobs`` that exceed ``_HEAVY_QUEUE``, or the limits of the expected time and
        ``max_waiting`` jobs of their owner."""
        excess: list[WorkerJob] = []
        owner_s: dict[str, float] = {}
        kept: Counter[str] = Counter()
        lane_s, heavy = 0.0, 0
        for job in self._order_by_owner(jobs, now):
            owner, expected_s = job.tenant.owner, self.budget.expected_s(job.tenant)
            total_s = owner_s.get(owner, 0.0) + expected_s
            fits = total_s <= _OWNER_QUEUE_S and lane_s + expected_s <= _LANE_QUEUE_S
            is_heavy = self.budget.is_likely_heavy(job.tenant)
            if (not fits and kept[owner] >= self._max_waiting) or (is_heavy and heavy >= _HEAVY_QUEUE):
                excess.append(job)
                continue
            heavy += is_heavy
            kept[owner] += 1
            owner_s[owner] = total_s
            lane_s += expected_s
        return excess

    def _is_blocked(self, lane: JobLane) -> bool:
        running = self._list_running(lane)
        return len(running) >= self._places[lane] and all(job.spent_s > _BLOCKED_LANE_S for job in running)

    def _can_preempt(self, job: WorkerJob, now: float) -> bool:
        """Return whether a running job has used so much time that it can be preempted."""
        if job.lane is JobLane.PAGES and not self.budget.is_proven(job.tenant, now):
            return job.spent_s > _UNPROVEN_PREEMPT_S
        return job.is_slow

    def _has_capacity(self, job: WorkerJob, now: float) -> bool:
        """Return whether its lane has a free place that ``job`` may take."""
        running, places = self._list_running(job.lane), self._places[job.lane]
        if len(running) >= places or self._is_place_withheld(job, now):
            return False
        if not self.budget.is_likely_slow(job.tenant, now):
            return True
        return sum(self.budget.is_likely_slow(other.tenant, now) for other in running) < max(1, places - 1)

    def _is_place_withheld(self, job: WorkerJob, now: float) -> bool:
        """Return whether the last place must stay free for quick jobs of other owners.

        A likely heavy job does not have to wait for likely slow ones unless its owner is over budget: otherwise, an
        attacker could make the owners of documents with heavy pages wait.
        """
        owner = job.tenant.owner
        if not self.budget.has_other_quick_owner(owner, now):
            return False
        heavy = self._list_heavy(job.lane)
        all_but_last = max(1, self._places[job.lane] - 1)
        if len(heavy) >= all_but_last and any(other.tenant.owner == owner and other.is_heavy for other in heavy):
            return True
        if not self.budget.is_likely_heavy(job.tenant):
            return False
        if not self.budget.is_over_budget(owner, now):
            heavy = [other for other in heavy if not self.budget.is_likely_slow(other.tenant, now)]
        return len(heavy) >= all_but_last

    def _is_its_turn(self, job: WorkerJob, fitting: Iterable[WorkerJob]) -> bool:
        """Return whether ``job`` can run now. An owner, or a document, that already runs a job must wait while a job
        of another one among ``fitting`` could use the place."""
        running = [each.tenant for each in self._list_running(job.lane)]
        fitting_tenants = [each.tenant for each in fitting]
        owner, content = job.tenant.owner, job.tenant.content
        if any(each.owner == owner for each in running) and any(each.owner != owner for each in fitting_tenants):
            return False
        has_same = any(each.content == content for each in running)
        return not has_same or all(each.content == content for each in fitting_tenants)

    def _order_by_owner(self, jobs: Iterable[WorkerJob], now: float) -> list[WorkerJob]:
        """Return ``jobs`` in order, the first of each owner before the second of any."""
        counts: Counter[str] = Counter()
        ranked: list[tuple[int, int, WorkerJob]] = []
        for job in sorted(jobs, key=lambda each: self._rank(each, now)):
            ranked.append((counts[job.tenant.owner], len(ranked), job))
            counts[job.tenant.owner] += 1
        return [job for _, _, job in sorted(ranked)]

    def _rank(self, job: WorkerJob, now: float) -> JobRank:
        """Return the sort key of a waiting job.

        Owners within their budget come first, then tenants that are not likely slow, then the owner, the document and
        the reader served least recently. Within an owner, proven documents come before unproven ones.
        """
        owner, content, reader = job.tenant.owner, job.tenant.content, job.tenant.reader
        return (
            self.budget.is_over_budget(owner, now),
            self.budget.is_likely_slow(job.tenant, now),
            self._turns.get((owner,), 0),
            not self.budget.is_proven(job.tenant, now),
            self._turns.get((owner, content), 0),
            self._turns.get((owner, content, reader), 0),
            job.number,
        )

    def _run(self, job: WorkerJob) -> None:
        self._running.append(job)
        owner, content, reader = job.tenant.owner, job.tenant.content, job.tenant.reader
        turn = next(self._numbers)
        for key in ((owner,), (owner, content), (owner, content, reader)):
            self._turns[key] = turn
            self._turns.move_to_end(key)
        while len(self._turns) > _MAX_TURN_KEYS:
            self._turns.popitem(last=False)

    def _is_behind_slow(self, job: WorkerJob, now: float) -> bool:
        """Return whether ``job`` is likely slow, or its owner runs a slow job."""
        if self.budget.is_likely_slow(job.tenant, now):
            return True
        return any(other.is_slow and other.tenant.owner == job.tenant.owner for other in self._list_running(job.lane))

    def _weigh(self, job: WorkerJob, running: Iterable[WorkerJob], now: float) -> tuple[int, float]:
        """Return how many of the ``running`` jobs the owner of ``job`` has, and its processor time."""
        jobs = sum(other.tenant.owner == job.tenant.owner for other in running)
        return jobs, self.budget.used_s(job.tenant.owner, now) + job.spent_s
