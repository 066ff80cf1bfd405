"""Decide which job runs next, which is rejected, and which running job is stopped.

This module only decides: it has no threads, no processes and no clock. Jobs run round-robin by owner, then by document,
then by reader. A job that is expected to be slow never gets the last free place of its lane, and one that takes more
than a moment only gets it while no other owner has quick jobs. A job of unknown length that turns out to be slow is
stopped when others wait for its place.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import count

from docshare.server.pdf.budget import QUICK_JOB_S, SLOW_JOB_S, ProcessorBudget, Tenant

_MAX_TURN_KEYS = 1_000
_SLOW_S = 0.5
_UNPROVEN_LIMIT_S = 0.3
_UNPROVEN_SHARE = 4  # multiplies max_waiting for unknown documents, whose jobs are stopped early when others wait
_OWNER_QUEUE_S = 4.0  # expected processor time of the waiting jobs of one owner
_LANE_QUEUE_S = 8.0  # and of all owners
_LASTING_QUEUE = 12  # jobs of all owners that take more than a moment; each holds one of the server's 28 threads

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
    def is_long(self) -> bool:
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
        ticket = WorkerJob(lane, tenant, next(self._numbers))
        self._waiting.append(ticket)
        return ticket

    def remove(self, ticket: WorkerJob) -> None:
        """Remove a job, waiting or running."""
        for jobs in (self._waiting, self._running):
            if ticket in jobs:
                jobs.remove(ticket)

    def start_next(self, now: float) -> WorkerJob | None:
        """Move the next job from waiting to running and return it; return None if no job can start now."""
        for lane in self._places:
            fitting = [t for t in self._waiting if t.lane is lane and self._has_capacity(t, now)]
            ready = [ticket for ticket in fitting if self._is_its_turn(ticket, fitting)]
            if ready:
                ticket = min(ready, key=lambda each: self._rank(each, now))
                self._waiting.remove(ticket)
                self._run(ticket)
                return ticket
        return None

    def start_spare(self, lane: JobLane, tenant: Tenant, now: float) -> WorkerJob | None:
        """Start a background job and return it; return None unless another place stays free for waiting jobs."""
        if not self.has_spare(lane, now) or self.budget.is_risky(tenant, now):
            return None
        ticket = WorkerJob(lane, tenant, next(self._numbers))
        self._run(ticket)
        return ticket

    def has_spare(self, lane: JobLane, now: float) -> bool:
        """Return whether ``start_spare`` would start a job on a document that is not expected to be slow."""
        running = self._running_in(lane)
        places = self._places[lane]
        quick = sum(not self.budget.is_risky(ticket.tenant, now) for ticket in running)
        waits = any(t.lane is lane and not self.budget.is_risky(t.tenant, now) for t in self._waiting)
        return not waits and len(running) < places and places - quick >= min(2, places)

    def remove_surplus(self, now: float) -> list[WorkerJob]:
        """Remove and return the waiting jobs to reject, so that slow jobs do not occupy the threads of the server.

        In each lane, at most ``max_waiting`` jobs can wait that are expected to be slow or whose owner has a slow job
        running. If no running job of a full lane is quick, at most four times as many jobs on unknown documents can
        wait. Of all others, as many can wait as will probably take ``_OWNER_QUEUE_S`` of one owner and
        ``_LANE_QUEUE_S`` of all, and ``_LASTING_QUEUE`` of those that take more than a moment. The first job of each
        owner is kept before the second of any.
        """
        rejected = []
        for lane, places in self._places.items():
            waiting = [ticket for ticket in self._waiting if ticket.lane is lane]
            slow = [ticket for ticket in waiting if self._is_behind_slow(ticket, now)]
            rejected += self._order_by_owner(slow, now)[self._max_waiting :]
            running = self._running_in(lane)
            if len(running) >= places and all(job.spent_s > _SLOW_S for job in running):
                unknown = [t for t in waiting if t not in slow and not self.budget.is_proven(t.tenant, now)]
                rejected += self._order_by_owner(unknown, now)[_UNPROVEN_SHARE * self._max_waiting :]
            rejected += self._list_overlong([t for t in waiting if t not in slow and t not in rejected], now)
        for ticket in rejected:
            self._waiting.remove(ticket)
        return rejected

    def is_costly(self, tenant: Tenant, now: float) -> bool:
        """Return whether jobs of ``tenant`` should leave the processors to others: they come last, or take more than a
        moment each."""
        return self.comes_last(tenant, now) or self.budget.is_lasting(tenant)

    def comes_last(self, tenant: Tenant, now: float) -> bool:
        """Return whether jobs of ``tenant`` run after all others: they are slow, or the owner is over its budget."""
        return self.budget.is_risky(tenant, now) or self.budget.is_over_budget(tenant.owner, now)

    def _list_overlong(self, tickets: Iterable[WorkerJob], now: float) -> list[WorkerJob]:
        """Return those of ``tickets`` that would have to wait for too much expected work, except for ``max_waiting``
        jobs of each owner, and those that would hold too many threads for more than a moment each."""
        overlong: list[WorkerJob] = []
        owner_s: dict[str, float] = {}
        kept: Counter[str] = Counter()
        lane_s, lasting = 0.0, 0
        for ticket in self._order_by_owner(tickets, now):
            owner, seconds = ticket.tenant.owner, self.budget.expected_s(ticket.tenant)
            waits_s = owner_s.get(owner, 0.0) + seconds
            fits = waits_s <= _OWNER_QUEUE_S and lane_s + seconds <= _LANE_QUEUE_S
            is_lasting = self.budget.is_lasting(ticket.tenant)
            if (not fits and kept[owner] >= self._max_waiting) or (is_lasting and lasting >= _LASTING_QUEUE):
                overlong.append(ticket)
                continue
            lasting += is_lasting
            kept[owner] += 1
            owner_s[owner] = waits_s
            lane_s += seconds
        return overlong

    def limit_s(self, ticket: WorkerJob, most_s: float, now: float) -> float:
        """Return the limit in processor seconds of a job that starts now: see ``ProcessorBudget.limit_s``."""
        is_contended = any(
            each.lane is ticket.lane and each.tenant.owner != ticket.tenant.owner for each in self._waiting
        )
        return self.budget.limit_s(ticket.tenant, most_s, now, is_contended=is_contended)

    def preempt(self, now: float) -> WorkerJob | None:
        """Return a running job to stop, or None.

        A job is stopped if another owner waits with a job that is not expected to be slow, and only slow jobs are in
        its way: they hold all places of the lane, or all but the one that is kept for quick jobs. The owner with the
        most jobs and processor time loses a place.
        """
        for lane, places in self._places.items():
            running = self._running_in(lane)
            blocking = running if len(running) >= places else self._list_lasting(lane)
            if any(job.is_preempted or not self._may_stop(job, now) for job in blocking):
                continue
            waiting = [
                t
                for t in self._waiting
                if t.lane is lane and not self.budget.is_risky(t.tenant, now) and not self._has_capacity(t, now)
            ]
            others = [job for job in blocking if any(t.tenant.owner != job.tenant.owner for t in waiting)]
            if others:
                victim = max(others, key=lambda job: (self._weight(job, running, now), job.number))
                victim.is_preempted = True
                return victim
        return None

    def _may_stop(self, job: WorkerJob, now: float) -> bool:
        """Return whether a running job has used its share, which is smaller while no page of the document has proved
        quick."""
        if job.lane is JobLane.PAGES and not self.budget.is_proven(job.tenant, now):
            return job.spent_s > _UNPROVEN_LIMIT_S
        return job.is_long

    def _has_capacity(self, ticket: WorkerJob, now: float) -> bool:
        running, places = self._running_in(ticket.lane), self._places[ticket.lane]
        if len(running) >= places:
            return False
        if self._is_place_withheld(ticket, now):
            return False
        if not self.budget.is_risky(ticket.tenant, now):
            return True
        return sum(self.budget.is_risky(job.tenant, now) for job in running) < max(1, places - 1)

    def _is_place_withheld(self, ticket: WorkerJob, now: float) -> bool:
        """Return whether the last place must stay free for quick jobs of other owners.

        Only an owner over its budget also waits for a job that is expected to be slow: otherwise, an attacker could
        make the owner of a document with lasting pages wait.
        """
        if not self.budget.expects_quick_jobs(ticket.tenant.owner, now):
            return False
        lasting = self._list_lasting(ticket.lane)
        others = max(1, self._places[ticket.lane] - 1)
        if len(lasting) >= others and any(
            job.tenant.owner == ticket.tenant.owner and job.spent_s > QUICK_JOB_S for job in lasting
        ):
            return True
        if not self.budget.is_lasting(ticket.tenant):
            return False
        if not self.budget.is_over_budget(ticket.tenant.owner, now):
            lasting = [job for job in lasting if not self.budget.is_risky(job.tenant, now)]
        return len(lasting) >= others

    def _list_lasting(self, lane: JobLane) -> list[WorkerJob]:
        """Return the running jobs of ``lane`` that take, or will probably take, more than a moment."""
        running = self._running_in(lane)
        return [job for job in running if job.spent_s > QUICK_JOB_S or self.budget.is_lasting(job.tenant)]

    def _is_its_turn(self, ticket: WorkerJob, others: Iterable[WorkerJob]) -> bool:
        """Return whether ``ticket`` can run now. An owner, or a document, that already runs a job must wait while
        another of ``others`` could use the place."""
        for job in self._running_in(ticket.lane):
            if job.tenant.owner == ticket.tenant.owner and any(
                each.tenant.owner != ticket.tenant.owner for each in others
            ):
                return False
            if job.tenant.content == ticket.tenant.content and any(
                each.tenant.content != ticket.tenant.content for each in others
            ):
                return False
        return True

    def _order_by_owner(self, tickets: Iterable[WorkerJob], now: float) -> list[WorkerJob]:
        """Return ``tickets`` in order, the first of each owner before the second of any."""
        ranks: Counter[str] = Counter()
        ranked: list[tuple[int, int, WorkerJob]] = []
        for ticket in sorted(tickets, key=lambda each: self._rank(each, now)):
            ranked.append((ranks[ticket.tenant.owner], len(ranked), ticket))
            ranks[ticket.tenant.owner] += 1
        return [ticket for _, _, ticket in sorted(ranked)]

    def _rank(self, ticket: WorkerJob, now: float) -> JobRank:
        """Return the sort key of a waiting job.

        Owners within their budget come first, then documents not expected to be slow, then the owner, the document and
        the reader served least recently. Within an owner, documents known to be quick come before unknown ones.
        """
        owner, content, reader = ticket.tenant.owner, ticket.tenant.content, ticket.tenant.reader
        return (
            self.budget.is_over_budget(owner, now),
            self.budget.is_risky(ticket.tenant, now),
            self._turns.get((owner,), 0),
            not self.budget.is_proven(ticket.tenant, now),
            self._turns.get((owner, content), 0),
            self._turns.get((owner, content, reader), 0),
            ticket.number,
        )

    def _run(self, ticket: WorkerJob) -> None:
        self._running.append(ticket)
        owner, content, reader = ticket.tenant.owner, ticket.tenant.content, ticket.tenant.reader
        turn = next(self._numbers)
        for key in ((owner,), (owner, content), (owner, content, reader)):
            self._turns[key] = turn
            self._turns.move_to_end(key)
        while len(self._turns) > _MAX_TURN_KEYS:
            self._turns.popitem(last=False)

    def _is_behind_slow(self, ticket: WorkerJob, now: float) -> bool:
        if self.budget.is_risky(ticket.tenant, now):
            return True
        return any(job.tenant.owner == ticket.tenant.owner and job.is_long for job in self._running_in(ticket.lane))

    def _weight(self, job: WorkerJob, running: Iterable[WorkerJob], now: float) -> tuple[int, float]:
        jobs = sum(each.tenant.owner == job.tenant.owner for each in running)
        return jobs, self.budget.used_s(job.tenant.owner, now) + job.spent_s

    def _running_in(self, lane: JobLane) -> list[WorkerJob]:
        return [ticket for ticket in self._running if ticket.lane is lane]
