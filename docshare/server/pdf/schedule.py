"""Decide which job runs next, which is rejected, and which running job is stopped. Decisions only: no threads, no
processes, no clock.

Owners are served in turn, their documents in turn within, and the readers of a document in turn within that. A job that
is expected to be slow never gets the last free place of its lane, so that others find one; a job of unknown length that
turns out to be slow is stopped when others wait for its place.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import count

from docshare.server.pdf.budget import SLOW_JOB_S, ProcessorBudget, Tenant

_MAX_TURN_KEYS = 1_000
_QUICK_S = 0.25  # most jobs take less
_SLOW_S = 0.5
_UNPROVEN_LIMIT_S = 0.3
_UNPROVEN_SHARE = 4  # jobs of unknown documents are stopped soon when others wait, so more of them may

JobRank = tuple[bool, bool, int, bool, int, int, int]


class JobLane(Enum):
    """Kinds of jobs that do not wait for each other."""

    PAGES = "pages"
    CHECKS = "checks"


@dataclass(eq=False)
class WorkerJob:
    """One job, waiting or running. ``spent_s``: the processor time that it has used so far, kept up by the pool."""

    lane: JobLane
    tenant: Tenant
    number: int
    spent_s: float = 0.0
    is_preempted: bool = False

    @property
    def is_long(self) -> bool:
        """Whether it has been running for longer than a job should."""
        return self.spent_s > SLOW_JOB_S


class WorkerSchedule:
    """The jobs that wait and run, by lane; ``places`` how many may run in each. At most ``max_waiting`` jobs of a lane
    wait behind slow ones. Not thread-safe."""

    def __init__(self, places: Mapping[JobLane, int], max_waiting: int) -> None:
        self.budget = ProcessorBudget()
        self._places = dict(places)
        self._max_waiting = max_waiting
        self._waiting: list[WorkerJob] = []
        self._running: list[WorkerJob] = []
        self._numbers = count(1)
        self._turns: OrderedDict[tuple[str, ...], int] = OrderedDict()  # when each was served last

    def join(self, lane: JobLane, tenant: Tenant) -> WorkerJob:
        """Add a waiting job."""
        ticket = WorkerJob(lane, tenant, next(self._numbers))
        self._waiting.append(ticket)
        return ticket

    def leave(self, ticket: WorkerJob) -> None:
        """Remove a job, waiting or running."""
        for jobs in (self._waiting, self._running):
            if ticket in jobs:
                jobs.remove(ticket)

    def next(self, now: float) -> WorkerJob | None:
        """Move the next job from waiting to running and return it; None when nothing may start now."""
        for lane in self._places:
            fitting = [t for t in self._waiting if t.lane is lane and self._has_place(t, now)]
            ready = [ticket for ticket in fitting if self._is_its_turn(ticket, fitting)]
            if ready:
                ticket = min(ready, key=lambda each: self._order(each, now))
                self._waiting.remove(ticket)
                self._run(ticket)
                return ticket
        return None

    def start_spare(self, lane: JobLane, tenant: Tenant, now: float) -> WorkerJob | None:
        """Run a job that nobody waits for, None unless a place stays free for those who do."""
        if not self.has_spare(lane, now) or self.budget.is_risky(tenant, now):
            return None
        ticket = WorkerJob(lane, tenant, next(self._numbers))
        self._run(ticket)
        return ticket

    def has_spare(self, lane: JobLane, now: float) -> bool:
        """Return whether ``start_spare`` would start a job of a document that is not expected to be slow."""
        running = self._of(lane)
        places = self._places[lane]
        quick = sum(not self.budget.is_risky(ticket.tenant, now) for ticket in running)
        waits = any(t.lane is lane and not self.budget.is_risky(t.tenant, now) for t in self._waiting)
        return not waits and len(running) < places and places - quick >= min(2, places)

    def surplus(self, now: float) -> list[WorkerJob]:
        """Remove and return the waiting jobs to turn away.

        So that slow jobs do not hold the threads of the server, only ``max_waiting`` jobs of a lane stay that are
        expected to be slow or whose owner has a slow job running; and where all places hold jobs that are not quick,
        only four times as many about documents that nothing is known of. One of each owner stays before the second of
        any.
        """
        turned_away = []
        for lane, places in self._places.items():
            waiting = [ticket for ticket in self._waiting if ticket.lane is lane]
            crowd = [ticket for ticket in waiting if self._is_behind_slow(ticket, now)]
            turned_away += self._in_turn(crowd, now)[self._max_waiting :]
            running = self._of(lane)
            if len(running) >= places and all(job.spent_s > _SLOW_S for job in running):
                unknown = [t for t in waiting if t not in crowd and not self.budget.is_proven(t.tenant, now)]
                turned_away += self._in_turn(unknown, now)[_UNPROVEN_SHARE * self._max_waiting :]
        for ticket in turned_away:
            self._waiting.remove(ticket)
        return turned_away

    def preempt(self, now: float) -> WorkerJob | None:
        """Return a running job to stop: all places of a lane hold slow jobs, and another owner waits there with a job
        that is not expected to be slow. The most expensive owner gives way."""
        for lane, places in self._places.items():
            running = self._of(lane)
            if len(running) < places or any(t.is_preempted or not self._may_stop(t, now) for t in running):
                continue
            waiting = [t for t in self._waiting if t.lane is lane and not self.budget.is_risky(t.tenant, now)]
            others = [job for job in running if any(t.tenant.owner != job.tenant.owner for t in waiting)]
            if others:
                victim = max(others, key=lambda job: (self._weight(job, running, now), job.number))
                victim.is_preempted = True
                return victim
        return None

    def _may_stop(self, job: WorkerJob, now: float) -> bool:
        """Whether a running job had its share: less, where no page of the document is known to be quick."""
        if job.lane is JobLane.PAGES and not self.budget.is_proven(job.tenant, now):
            return job.spent_s > _UNPROVEN_LIMIT_S
        return job.is_long

    def _has_place(self, ticket: WorkerJob, now: float) -> bool:
        running, places = self._of(ticket.lane), self._places[ticket.lane]
        if len(running) >= places:
            return False
        if len(running) == places - 1 and any(
            job.tenant.owner == ticket.tenant.owner and job.spent_s > _QUICK_S for job in running
        ):
            return False  # the last place is for other owners: this one may have more such jobs
        if not self.budget.is_risky(ticket.tenant, now):
            return True
        return sum(self.budget.is_risky(job.tenant, now) for job in running) < max(1, places - 1)

    def _is_its_turn(self, ticket: WorkerJob, others: Iterable[WorkerJob]) -> bool:
        """One worker for each owner and each document while another of ``others`` could use the place."""
        for job in self._of(ticket.lane):
            if job.tenant.owner == ticket.tenant.owner and any(
                each.tenant.owner != ticket.tenant.owner for each in others
            ):
                return False
            if job.tenant.content == ticket.tenant.content and any(
                each.tenant.content != ticket.tenant.content for each in others
            ):
                return False
        return True

    def _in_turn(self, tickets: Iterable[WorkerJob], now: float) -> list[WorkerJob]:
        """``tickets`` in order, one of each owner before the second of any."""
        ranks: Counter[str] = Counter()
        ranked: list[tuple[int, int, WorkerJob]] = []
        for ticket in sorted(tickets, key=lambda each: self._order(each, now)):
            ranked.append((ranks[ticket.tenant.owner], len(ranked), ticket))
            ranks[ticket.tenant.owner] += 1
        return [ticket for _, _, ticket in sorted(ranked)]

    def _order(self, ticket: WorkerJob, now: float) -> JobRank:
        """Owners within their budget first, then documents not expected to be slow, then the owner, the document and
        the reader that was served longest ago; of one owner, documents known to be quick before unknown ones."""
        owner, content, reader = ticket.tenant.owner, ticket.tenant.content, ticket.tenant.reader
        return (
            self.budget.is_over(owner, now),
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
        return any(job.tenant.owner == ticket.tenant.owner and job.is_long for job in self._of(ticket.lane))

    def _weight(self, job: WorkerJob, running: Iterable[WorkerJob], now: float) -> tuple[int, float]:
        jobs = sum(each.tenant.owner == job.tenant.owner for each in running)
        return jobs, self.budget.used(job.tenant.owner, now) + job.spent_s

    def _of(self, lane: JobLane) -> list[WorkerJob]:
        return [ticket for ticket in self._running if ticket.lane is lane]
