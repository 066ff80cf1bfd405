"""Background work of two instances on one database."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from docshare.server.runtime import Runtime
from docshare.server.services.webhooks import dispatch
from docshare.server.store.postgresql import PostgresqlStore
from docshare.server.workers.dispatcher import deliver_due
from docshare.server.workers.jobs import Job, run_job
from tests.support.cast import World
from tests.support.receivers import (
    LOOPBACK_NETWORKS,
    OK,
    FakeReceiver,
    add_webhook,
    open_receiver,
    record_replacements,
)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, make: Callable[..., World]) -> World:
    """An instance whose rows are in PostgreSQL, whatever the run uses."""
    monkeypatch.setenv("DOCSHARE_TEST_DATABASE", "postgresql")
    return make(webhook_allow=LOOPBACK_NETWORKS)


@pytest.fixture
def other(world: World) -> Iterator[Runtime]:
    """Another instance on the same database."""
    store = PostgresqlStore(world.rt.db.engine.pool.conninfo)
    yield replace(world.rt, db=store)
    store.close()


@pytest.fixture
def receiver() -> Iterator[FakeReceiver]:
    with open_receiver(OK) as running:
        yield running


def test_each_delivery_is_sent_by_one_of_them(world: World, other: Runtime, receiver: FakeReceiver) -> None:
    file = str(world.pia.upload()["uuid"])
    for _ in range(3):
        add_webhook(world.pia, receiver.url)
    for _ in range(8):
        record_replacements(world, file)
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(deliver_due, (world.rt, other)))
    assert sum(made) == 24
    assert sorted(len(requests) for requests in receiver.group_by_delivery().values()) == [1] * 24


def test_the_claims_of_an_instance_that_died_are_taken_over_after_half_a_minute(
    world: World, other: Runtime, receiver: FakeReceiver
) -> None:
    add_webhook(world.pia, receiver.url)
    record_replacements(world, str(world.pia.upload()["uuid"]))
    (claimed,) = dispatch.claim_due(other, 8)
    world.clock.advance(seconds=29)
    assert dispatch.release_claims(world.rt) == 0
    assert deliver_due(world.rt) == 0
    world.clock.advance(seconds=1)
    assert dispatch.release_claims(world.rt) == 1
    assert deliver_due(world.rt) == 1
    dispatch.record_attempts(other, [dispatch.send(other, claimed)])  # it was only slow, and comes too late
    deliveries = receiver.group_by_delivery()
    assert [len(requests) for requests in deliveries.values()] == [2]
    assert world.rt.db.fetch_all("SELECT tries, delivered_at IS NOT NULL, claimed_at FROM deliveries") == [
        (1, True, None)
    ]


def test_a_job_runs_in_one_of_them_at_a_time(world: World, other: Runtime) -> None:
    runs: list[str] = []

    def make_job(name: str, record: str, *, is_local: bool = False) -> Job:
        return Job(name, 5, lambda _: len(runs.append(record) or runs), is_local)

    def run_beside(_: Runtime) -> int:
        run_job(other, make_job("shared", "other"))
        run_job(other, make_job("local", "local", is_local=True))
        runs.append("first")
        return 1

    run_job(world.rt, Job("shared", 5, run_beside))
    run_job(other, make_job("shared", "later"))
    assert runs == ["local", "first", "later"]
