"""The order of jobs: fairness by owner, document and reader, limits for slow jobs, and rejected jobs.

The tests pass the time to the schedule, so they do not wait.
"""

import pytest

from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.schedule import JobLane, WorkerJob, WorkerSchedule

LIMIT_S = 10.0


def make_tenant(owner: str, content: str = "", reader: str = "") -> Tenant:
    return Tenant(owner, content or f"{owner}'s", reader)


def make_schedule(places: int = 2, max_waiting: int = 2) -> WorkerSchedule:
    return WorkerSchedule({JobLane.PAGES: places, JobLane.CHECKS: places}, max_waiting)


def start_all(schedule: WorkerSchedule, now: float = 0.0) -> list[WorkerJob]:
    """Start all jobs that can start now; return them in order."""
    started = []
    while (job := schedule.start_next(now)) is not None:
        started.append(job)
    return started


def list_owners(jobs: list[WorkerJob]) -> list[str]:
    return [job.tenant.owner for job in jobs]


def spend_time(jobs: list[WorkerJob], seconds: float) -> None:
    """Set the processor time that running jobs have used."""
    for job in jobs:
        job.spent_s = seconds


def serve_one_by_one(schedule: WorkerSchedule, now: float = 0.0) -> list[Tenant]:
    """Run all waiting jobs one after another."""
    served = []
    while (job := schedule.start_next(now)) is not None:
        served.append(job.tenant)
        schedule.remove(job)
    return served


# --- round robin ------------------------------------------------------------------------------------------------------


def test_owners_are_served_in_turn() -> None:
    schedule = make_schedule()
    for owner in ("mal",) * 6 + ("ann",) * 2 + ("bob",):
        schedule.enqueue(JobLane.PAGES, make_tenant(owner))
    assert "".join(each.owner[0] for each in serve_one_by_one(schedule)) == "mabmammmm"


def test_documents_of_an_owner_and_readers_of_a_document_are_served_in_turn() -> None:
    schedule = make_schedule()
    for content, reader in (("x", "1"), ("x", "1"), ("x", "1"), ("x", "2"), ("y", "1")):
        schedule.enqueue(JobLane.PAGES, make_tenant("ann", content, reader))
    served = [(each.content, each.reader) for each in serve_one_by_one(schedule)]
    assert served == [("x", "1"), ("y", "1"), ("x", "2"), ("x", "1"), ("x", "1")]


def test_an_owner_over_the_budget_goes_last() -> None:
    schedule = make_schedule()
    schedule.budget.charge(make_tenant("mal"), 31.0, 0.0)
    for owner in ("mal", "ann", "ann"):
        schedule.enqueue(JobLane.PAGES, make_tenant(owner))
    assert [each.owner for each in serve_one_by_one(schedule)] == ["ann", "ann", "mal"]


def test_an_owner_gets_both_workers_if_no_other_owner_waits() -> None:
    schedule = make_schedule()
    for _ in range(3):
        schedule.enqueue(JobLane.PAGES, make_tenant("ann"))
    assert len(start_all(schedule, 0.0)) == 2


@pytest.mark.parametrize("tenant", [make_tenant("mal"), make_tenant("mallory", "mal's")], ids=["owner", "document"])
def test_an_owner_or_a_document_gets_one_worker_if_another_owner_waits(tenant: Tenant) -> None:
    schedule = make_schedule()
    schedule.enqueue(JobLane.PAGES, make_tenant("mal"))
    assert len(start_all(schedule, 0.0)) == 1
    schedule.enqueue(JobLane.PAGES, tenant)
    schedule.enqueue(JobLane.PAGES, make_tenant("ann"))
    assert list_owners(start_all(schedule, 0.0)) == ["ann"]


def test_the_last_worker_is_not_for_an_owner_with_a_slow_job_while_others_are_active() -> None:
    schedule = make_schedule()
    schedule.budget.charge(make_tenant("ann"), 0.05, 0.0)
    schedule.enqueue(JobLane.PAGES, make_tenant("mal"))
    spend_time(start_all(schedule), 0.3)
    schedule.enqueue(JobLane.PAGES, make_tenant("mal", "another"))
    assert start_all(schedule, 0.5) == []
    schedule.enqueue(JobLane.PAGES, make_tenant("ann"))
    assert list_owners(start_all(schedule, 0.5)) == ["ann"]


def test_a_reader_does_not_wait_for_a_slow_page_of_the_same_owner_if_no_other_is_active() -> None:
    schedule = make_schedule()
    schedule.budget.charge(make_tenant("ann"), 0.02, 0.0)
    ahead = schedule.start_spare(JobLane.PAGES, make_tenant("ann"), 1.0)
    assert ahead is not None
    spend_time([ahead], 0.3)
    schedule.enqueue(JobLane.PAGES, make_tenant("ann"))
    assert list_owners(start_all(schedule, 1.3)) == ["ann"]


@pytest.mark.parametrize("owners", [["mal", "mal"], ["mal", "mallory"]], ids=["one owner", "two owners"])
def test_heavy_pages_do_not_take_the_last_worker_while_owners_of_quick_pages_are_active(owners: list[str]) -> None:
    schedule = make_schedule()
    schedule.budget.charge(make_tenant("ann"), 0.05, 0.0)
    for owner in owners:
        schedule.budget.charge(make_tenant(owner), 0.2, 0.0)
        schedule.enqueue(JobLane.PAGES, make_tenant(owner))
    assert len(start_all(schedule, 50.0)) == 1
    assert len(start_all(schedule, 100.0)) == 1  # the last quick page is more than a minute old


def test_a_new_document_does_not_withhold_a_worker_from_heavy_pages() -> None:
    """Before its first page is drawn, nobody knows that it is slow."""
    schedule = make_schedule()
    schedule.budget.charge(make_tenant("bob"), 0.12, 0.0)
    schedule.enqueue(JobLane.PAGES, make_tenant("mal"))
    spend_time(start_all(schedule), 5.0)
    schedule.enqueue(JobLane.PAGES, make_tenant("bob"))
    assert list_owners(start_all(schedule, 6.0)) == ["bob"]


def test_a_slow_job_is_preempted_if_it_withholds_a_worker_from_heavy_pages() -> None:
    schedule = make_schedule()
    schedule.budget.charge(make_tenant("ann"), 0.05, 0.0)
    schedule.budget.charge(make_tenant("bob"), 0.12, 0.0)
    schedule.enqueue(JobLane.PAGES, make_tenant("mal"))
    running = start_all(schedule)
    spend_time(running, 0.2)
    schedule.enqueue(JobLane.PAGES, make_tenant("bob"))
    assert start_all(schedule, 1.0) == []
    assert schedule.preempt(1.0) is None
    spend_time(running, 0.4)
    assert schedule.preempt(1.0) is running[0]


def test_a_likely_slow_document_does_not_withhold_a_worker_within_the_budget() -> None:
    schedule = make_schedule()
    schedule.budget.charge(make_tenant("ann"), 0.05, 0.0)
    schedule.budget.charge(make_tenant("mal"), 5.0, 0.0, stalled=True)
    schedule.enqueue(JobLane.PAGES, make_tenant("mal"))
    assert list_owners(start_all(schedule)) == ["mal"]
    for _ in range(240):
        schedule.budget.charge(make_tenant("bob"), 0.12, 0.0)
    schedule.enqueue(JobLane.PAGES, make_tenant("bob"))
    assert list_owners(start_all(schedule, 1.0)) == ["bob"]


def test_an_owner_of_heavy_pages_over_the_budget_leaves_the_last_worker_to_owners_of_quick_pages() -> None:
    schedule = make_schedule()
    schedule.budget.charge(make_tenant("ann"), 0.05, 0.0)
    schedule.budget.charge(make_tenant("mal"), 5.0, 0.0, stalled=True)
    schedule.enqueue(JobLane.PAGES, make_tenant("mal"))
    start_all(schedule)
    for _ in range(260):
        schedule.budget.charge(make_tenant("mallory"), 0.12, 0.0)
    schedule.enqueue(JobLane.PAGES, make_tenant("mallory"))
    assert start_all(schedule, 1.0) == []


def test_owners_of_heavy_pages_share_all_workers() -> None:
    schedule = make_schedule()
    for owner in ("ann", "bob"):
        schedule.budget.charge(make_tenant(owner), 0.2, 0.0)
        schedule.enqueue(JobLane.PAGES, make_tenant(owner))
    assert len(start_all(schedule, 1.0)) == 2


def test_owners_of_heavy_pages_and_owners_over_the_budget_are_costly() -> None:
    schedule = make_schedule()
    schedule.budget.charge(make_tenant("mal"), 0.6, 0.0)
    for _ in range(1000):
        schedule.budget.charge(make_tenant("bob"), 0.05, 0.0)
    schedule.budget.charge(make_tenant("ann"), 0.05, 0.0)
    owners = [owner for owner in ("ann", "bob", "eve", "mal") if schedule.is_costly(make_tenant(owner), 1.0)]
    assert owners == ["bob", "mal"]


def test_slow_documents_share_one_worker() -> None:
    schedule = make_schedule()
    for owner in ("mal", "mallory"):
        schedule.budget.charge(make_tenant(owner), 5.0, 0.0, stalled=True)
        schedule.enqueue(JobLane.PAGES, make_tenant(owner))
    assert len(start_all(schedule, 1.0)) == 1
    schedule.enqueue(JobLane.PAGES, make_tenant("ann"))
    assert list_owners(start_all(schedule, 1.0)) == ["ann"]


def test_uploads_do_not_wait_for_pages() -> None:
    schedule = make_schedule()
    for _ in range(4):
        schedule.enqueue(JobLane.PAGES, make_tenant("mal"))
    assert len(start_all(schedule, 0.0)) == 2
    schedule.enqueue(JobLane.CHECKS, make_tenant("mal", "upload"))
    assert [each.tenant.content for each in start_all(schedule)] == ["upload"]


def test_pages_are_rendered_ahead_only_with_a_spare_worker_and_not_for_slow_documents() -> None:
    schedule = make_schedule()
    schedule.budget.charge(make_tenant("mal"), 5.0, 0.0, stalled=True)
    assert schedule.start_spare(JobLane.PAGES, make_tenant("mal"), 1.0) is None
    assert schedule.start_spare(JobLane.PAGES, make_tenant("ann"), 1.0) is not None
    assert schedule.start_spare(JobLane.PAGES, make_tenant("ann"), 1.0) is None


def test_quick_pages_of_a_document_do_not_skip_the_turn_of_other_owners() -> None:
    schedule = make_schedule(places=1)
    schedule.budget.charge(make_tenant("mal"), 0.02, 0.0)
    for owner in ("mal", "mal", "mal", "ann"):
        schedule.enqueue(JobLane.PAGES, make_tenant(owner))
    assert [each.owner for each in serve_one_by_one(schedule)] == ["mal", "ann", "mal", "mal"]


def test_a_likely_slow_document_goes_last() -> None:
    schedule = make_schedule()
    schedule.budget.charge(make_tenant("mal"), 3.0, 0.0)
    for owner in ("mal", "ann", "bea"):
        schedule.enqueue(JobLane.PAGES, make_tenant(owner))
    assert [each.owner for each in serve_one_by_one(schedule)] == ["ann", "bea", "mal"]


# --- rejected and preempted -------------------------------------------------------------------------------------------


def test_only_jobs_queued_after_a_slow_job_of_their_owner_are_rejected() -> None:
    schedule = make_schedule(places=1)
    schedule.enqueue(JobLane.PAGES, make_tenant("mal"))
    running = start_all(schedule)
    schedule.budget.charge(make_tenant("ann"), 0.02, 0.0)
    for owner in ("mal",) * 6 + ("ann",) * 3:
        schedule.enqueue(JobLane.PAGES, make_tenant(owner))
    assert schedule.remove_surplus(0.0) == []
    spend_time(running, 1.1)
    assert list_owners(schedule.remove_surplus(1.1)) == ["mal"] * 4
    assert schedule.remove_surplus(1.1) == []


def test_only_a_few_jobs_on_unproven_documents_may_wait_while_all_workers_are_busy() -> None:
    schedule = make_schedule()
    for number in range(12):
        schedule.enqueue(JobLane.PAGES, make_tenant(f"mal{number}"))
    schedule.enqueue(JobLane.PAGES, make_tenant("ann"))
    running = start_all(schedule)
    schedule.budget.charge(make_tenant("ann"), 0.02, 0.0)
    assert schedule.remove_surplus(0.4) == []
    spend_time(running, 0.6)
    assert list_owners(schedule.remove_surplus(0.6)) == ["mal10", "mal11"]


def test_waiting_jobs_of_slow_documents_are_shared_evenly_among_their_owners() -> None:
    schedule = make_schedule()
    for owner in ("mal", "mallory"):
        schedule.budget.charge(make_tenant(owner), 5.0, 0.0, stalled=True)
    for owner in ("mal", "mal", "mal", "mallory"):
        schedule.enqueue(JobLane.PAGES, make_tenant(owner))
    assert list_owners(schedule.remove_surplus(1.0)) == ["mal", "mal"]


def test_a_slow_job_is_preempted_if_another_owner_waits_and_no_worker_is_free() -> None:
    schedule = make_schedule()
    schedule.budget.charge(make_tenant("mallory"), 5.0, 0.0)
    for owner in ("mal", "mallory"):
        schedule.budget.charge(make_tenant(owner), 0.02, 0.0)
        schedule.enqueue(JobLane.PAGES, make_tenant(owner))
    running = start_all(schedule)
    spend_time(running, 5.0)
    assert schedule.preempt(5.0) is None
    schedule.enqueue(JobLane.PAGES, make_tenant("ann"))
    spend_time(running[:1], 0.9)
    assert schedule.preempt(0.9) is None
    spend_time(running, 1.1)
    victim = schedule.preempt(1.1)
    assert victim is not None
    assert victim.tenant.owner == "mallory"
    assert schedule.preempt(1.2) is None  # one at a time


def test_a_document_without_a_quick_page_is_preempted_sooner() -> None:
    schedule = make_schedule(places=1)
    schedule.enqueue(JobLane.PAGES, make_tenant("mal"))
    running = start_all(schedule)
    schedule.enqueue(JobLane.PAGES, make_tenant("ann"))
    spend_time(running, 0.2)
    assert schedule.preempt(0.2) is None
    spend_time(running, 0.4)
    assert schedule.preempt(0.4) is running[0]


def test_jobs_are_not_preempted_for_the_same_owner_or_for_a_slow_document() -> None:
    schedule = make_schedule(places=1)
    schedule.enqueue(JobLane.PAGES, make_tenant("ann"))
    spend_time(start_all(schedule), 5.0)
    schedule.budget.charge(make_tenant("mal"), 5.0, 0.0, stalled=True)
    for owner in ("ann", "mal"):
        schedule.enqueue(JobLane.PAGES, make_tenant(owner))
    assert schedule.preempt(5.0) is None


def test_many_readers_of_a_document_with_quick_pages_may_wait() -> None:
    schedule = make_schedule()
    schedule.budget.charge(make_tenant("ann"), 0.08, 0.0)
    for reader in range(40):
        schedule.enqueue(JobLane.PAGES, make_tenant("ann", reader=str(reader)))
    assert schedule.remove_surplus(1.0) == []


def test_the_jobs_of_an_owner_with_too_much_expected_work_are_rejected() -> None:
    schedule = make_schedule()
    for _ in range(10):
        schedule.budget.charge(make_tenant("mal"), 0.8, 0.0)
    waiting = [schedule.enqueue(JobLane.PAGES, make_tenant("mal")) for _ in range(12)]
    ann = schedule.enqueue(JobLane.PAGES, make_tenant("ann"))
    assert schedule.remove_surplus(1.0) == waiting[5:]
    assert schedule.start_next(1.0) in (waiting[0], ann)


def test_a_document_with_a_slow_page_is_limited_to_two_seconds_while_others_wait() -> None:
    schedule = make_schedule()
    schedule.budget.charge(make_tenant("mal"), 3.0, 0.0)
    job = schedule.enqueue(JobLane.PAGES, make_tenant("mal"))
    assert schedule.start_next(1.0) is job
    assert schedule.limit_s(job, LIMIT_S, 1.0) == LIMIT_S
    schedule.enqueue(JobLane.PAGES, make_tenant("ann"))
    assert schedule.limit_s(job, LIMIT_S, 1.0) == 2.0
