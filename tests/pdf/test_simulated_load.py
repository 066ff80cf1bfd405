"""Simulated attacks on the schedule: how long an innocent reader waits. The tests pass the time to it."""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count, cycle

import pytest

from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.schedule import JobLane, WorkerJob, WorkerSchedule

LIMIT_S = 10.0
RETRY_S = 0.05  # delay before a rejected client sends a new request


def make_tenant(owner: str, content: str = "") -> Tenant:
    return Tenant(owner, content or f"{owner}'s")


@dataclass
class SimulatedClient:
    """A client that sends one job after another: ``jobs`` yields tenants and seconds, ``pause_s`` separates them."""

    jobs: Iterator[tuple[Tenant, float]]
    pause_s: float = 0.0
    waits: list[float] = field(default_factory=list)
    rejected: int = 0


def simulate(clients: list[SimulatedClient], seconds: float, threads: int) -> WorkerSchedule:
    """Simulate ``clients`` of a schedule for ``seconds``.

    The server handles ``threads`` requests at a time, in order of arrival. Each job uses its time, up to its limit.
    """
    schedule, now = WorkerSchedule({JobLane.PAGES: 2, JobLane.CHECKS: 2}, max_waiting=2), 0.0
    arrivals = [(0.0, number, client) for number, client in enumerate(clients)]
    numbers = count(len(clients))
    waiting_requests: dict[WorkerJob, tuple[SimulatedClient, float, float]] = {}
    end_times: dict[WorkerJob, tuple[float, bool]] = {}
    begun: dict[WorkerJob, float] = {}
    while now < seconds:
        while arrivals and arrivals[0][0] <= now and len(waiting_requests) < threads:
            arrived, _, client = heapq.heappop(arrivals)
            tenant, takes_s = next(client.jobs)
            waiting_requests[schedule.enqueue(JobLane.PAGES, tenant)] = (client, arrived, takes_s)
        for job, start in begun.items():
            job.spent_s = now - start
        for job, (end, stalled) in list(end_times.items()):
            if end <= now or job.is_preempted:
                client, _, _ = waiting_requests.pop(job)
                del end_times[job], begun[job]
                schedule.remove(job)
                schedule.budget.charge(job.tenant, job.spent_s, now, stalled=stalled or job.is_preempted)
                heapq.heappush(arrivals, (now + client.pause_s, next(numbers), client))
        while (started := schedule.start_next(now)) is not None:
            client, arrived, takes_s = waiting_requests[started]
            client.waits.append(now - arrived)
            limit_s = schedule.limit_s(started, LIMIT_S, now)
            begun[started] = now
            end_times[started] = (now + min(takes_s, limit_s), takes_s > limit_s)
        for job in schedule.remove_surplus(now):
            client, _, _ = waiting_requests.pop(job)
            client.rejected += 1
            heapq.heappush(arrivals, (now + RETRY_S, next(numbers), client))
        schedule.preempt(now)
        now += 0.01
    return schedule


def make_bomb_jobs(accounts: int, documents: int) -> Callable[[], Iterator[tuple[Tenant, float]]]:
    """Return jobs of one minute from the given accounts and documents, with a harmless job after each."""
    names = [
        make_tenant(f"mal{owner}", f"bomb{owner}.{number}") for owner in range(accounts) for number in range(documents)
    ]
    turn = cycle(names)

    def jobs() -> Iterator[tuple[Tenant, float]]:
        for tenant in turn:
            yield tenant, 60.0
            yield tenant, 0.02

    return jobs


@pytest.mark.parametrize(("accounts", "documents"), [(1, 3), (6, 3), (1, 100)])
def test_an_innocent_reader_hardly_waits_for_an_attacker(accounts: int, documents: int) -> None:
    ann = SimulatedClient(((make_tenant("ann"), 0.03) for _ in count()), pause_s=0.05)
    jobs = make_bomb_jobs(accounts, documents)
    simulate([ann, *(SimulatedClient(jobs()) for _ in range(12))], 120.0, threads=8)
    assert len(ann.waits) > 120.0 / 0.1 * 0.75
    assert ann.rejected == 0
    waits = sorted(ann.waits)
    assert waits[int(len(waits) * 0.95)] < 0.03  # less time than the page itself takes
    assert waits[-1] < 2.5


@pytest.mark.parametrize(
    ("accounts", "page_s"), [(1, 0.12), (1, 0.22), (1, 0.6), (1, 0.95), (6, 0.12), (6, 0.22), (6, 0.6), (20, 0.3)]
)
def test_heavy_pages_leave_a_thread_and_a_worker_to_an_innocent_reader(accounts: int, page_s: float) -> None:
    """Such pages are never stopped, so fifty clients could fill all threads with them."""
    ann = SimulatedClient(((make_tenant("ann"), 0.03) for _ in count()), pause_s=0.05)
    pages = cycle([(make_tenant(f"mal{owner}"), page_s) for owner in range(accounts)])
    schedule = simulate([ann, *(SimulatedClient(pages) for _ in range(50))], 30.0, threads=28)
    assert ann.rejected == 0
    waits = sorted(ann.waits)
    assert waits[int(len(waits) * 0.95)] < 0.03  # less time than the page itself takes
    assert len(schedule.remove_surplus(30.0)) == 0


def test_slow_documents_of_several_owners_are_rendered_in_turn() -> None:
    """An attacker does not lock out an owner whose pages are slow."""
    bob = SimulatedClient((make_tenant("bob"), 1.5) for _ in count())
    jobs = make_bomb_jobs(1, 3)
    simulate([bob, *(SimulatedClient(jobs()) for _ in range(12))], 120.0, threads=8)
    assert len(bob.waits) > 15
