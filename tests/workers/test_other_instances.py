"""Background work of two instances on one database."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from docshare.contract.webhooks import DISABLE_AFTER
from docshare.server.admin import run_command
from docshare.server.denial_counter import DenialCounter
from docshare.server.pdf.pages import PageStore
from docshare.server.runtime import Runtime
from docshare.server.services.files import purge
from docshare.server.services.files.sealed_blobs import open_blob
from docshare.server.services.links import denials
from docshare.server.services.operations import sweeps
from docshare.server.services.webhooks import dispatch
from docshare.server.store.postgresql import PostgresqlStore
from docshare.server.workers import dispatcher
from docshare.server.workers.dispatcher import Dispatcher
from docshare.server.workers.jobs import JOBS, Job, run_job
from tests.support.outside.due_deliveries import deliver_due
from tests.support.outside.import_source import http_response
from tests.support.outside.queued_deliveries import list_activity
from tests.support.outside.receivers import (
    LOOPBACK_NETWORKS,
    OK,
    FakeReceiver,
    add_webhook,
    open_receiver,
    record_replacements,
)
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader
from tests.support.polling import wait_until


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, make: Callable[..., World]) -> World:
    """Return an instance on PostgreSQL, even if other tests of this run use SQLite."""
    monkeypatch.setenv("DOCSHARE_TEST_DATABASE", "postgresql")
    return make(webhook_allow=LOOPBACK_NETWORKS)


@pytest.fixture
def other(world: World) -> Iterator[Runtime]:
    """Yield another instance on the same database."""
    store = PostgresqlStore(world.rt.db.engine.pool.conninfo)
    yield replace(world.rt, db=store)
    store.close()


@pytest.fixture
def receiver() -> Iterator[FakeReceiver]:
    with open_receiver(OK) as running:
        yield running


def test_each_delivery_is_sent_by_one_instance(world: World, other: Runtime, receiver: FakeReceiver) -> None:
    file = str(world.pia.upload()["uuid"])
    for _ in range(3):
        add_webhook(world.pia, receiver.url)
    for _ in range(8):
        record_replacements(world, file)
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(deliver_due, (world.rt, other)))
    assert sum(made) == 24
    assert sorted(len(requests) for requests in receiver.group_by_delivery().values()) == [1] * 24


def test_a_beacon_of_a_running_session_does_not_wait_for_its_account(world: World) -> None:
    link = str(world.pia.upload()["shortId"])
    reader = FakeReader(world, link)
    assert reader.read_page(9) == 204
    newcomer = FakeReader(world, link)
    ((owner,),) = world.rt.db.fetch_all("SELECT id FROM accounts WHERE email = 'pia@example.com'")
    with ThreadPoolExecutor(1) as pool:
        with world.rt.db.write(owner):
            assert pool.submit(reader.read_page, 1).result(10) == 204
            start = pool.submit(newcomer.read_page, 1)
            with pytest.raises(TimeoutError):
                start.result(0.5)
        assert start.result(10) == 204


def shift_clock(rt: Runtime, ms: int) -> Runtime:
    """Return an instance whose clock is ahead of that of the database and of the other instances."""
    return replace(rt, clock=lambda: rt.clock() + ms, measure_lead=lambda: ms)


def test_an_instance_whose_clock_is_ahead_does_not_end_the_visits_of_others(world: World, other: Runtime) -> None:
    made = world.pia.upload()
    reader = FakeReader(world, made["shortId"])
    for _ in range(4):
        assert reader.read_page(10) == 204
        for job in JOBS:
            run_job(shift_clock(other, 3_600_000), job)
    world.clock.advance(minutes=6)
    for job in JOBS:
        run_job(world.rt, job)
    assert world.rt.db.fetch_all("SELECT time_ms FROM view_rows") == [(40_000,)]


def test_a_running_attempt_of_an_instance_whose_clock_is_behind_is_not_repeated(
    world: World, other: Runtime, receiver: FakeReceiver
) -> None:
    add_webhook(world.pia, receiver.url)
    record_replacements(world, str(world.pia.upload()["uuid"]))
    ahead = shift_clock(world.rt, 90_000)
    assert len(dispatch.claim_due(other, 8)) == 1
    assert [dispatch.release_claims(each) for each in (ahead, world.rt, shift_clock(other, -90_000))] == [0] * 3
    world.clock.advance(seconds=30)
    assert dispatch.release_claims(ahead) == 1


def test_claims_of_a_crashed_instance_are_released_after_30_seconds(
    world: World, other: Runtime, receiver: FakeReceiver
) -> None:
    add_webhook(world.pia, receiver.url)
    record_replacements(world, str(world.pia.upload()["uuid"]))
    (claimed,) = dispatch.claim_due(other, 8)
    world.clock.advance(seconds=30, milliseconds=-1)
    assert dispatch.release_claims(world.rt) == 0
    assert deliver_due(world.rt) == 0
    world.clock.advance(milliseconds=1)
    assert dispatch.release_claims(world.rt) == 1
    assert deliver_due(world.rt) == 1
    dispatch.record_attempts(
        other, [dispatch.send(other, claimed)]
    )  # the other instance was only slow, and its result is too late
    deliveries = receiver.group_by_delivery()
    assert [len(requests) for requests in deliveries.values()] == [2]
    assert world.rt.db.fetch_all("SELECT tries, delivered_at IS NOT NULL, claimed_at FROM deliveries") == [
        (1, True, None)
    ]


def test_denials_counted_by_two_instances_in_a_minute_are_one_event(world: World, other: Runtime) -> None:
    other = replace(other, denials=DenialCounter())
    file = world.pia.upload()
    (file_id,) = world.rt.db.fetch_all("SELECT id FROM files")[0]
    world.clock.advance(seconds=39)  # one second before the end of a minute
    for rt in (world.rt, other):
        rt.denials.add(file_id, "password", 0, rt.clock)
    world.clock.advance(seconds=2)
    assert denials.flush_counts(world.rt) == 0
    world.clock.advance(seconds=4)
    assert denials.flush_counts(other) == 0
    world.clock.advance(seconds=10)
    assert [denials.flush_counts(rt) for rt in (other, world.rt)] == [1, 0]
    (event,) = [row["data"] for row in list_activity(world, "since=1&kind=access.denied")]
    assert (event["fileUuid"], event["count"]) == (file["uuid"], 2)


def test_a_job_runs_in_one_instance_at_a_time(world: World, other: Runtime) -> None:
    runs: list[str] = []

    def make_job(name: str, record: str, *, is_local: bool = False) -> Job:
        return Job(name, 5, lambda _: len(runs.append(record) or runs), is_local)

    def run_in_both(_: Runtime) -> int:
        run_job(other, make_job("shared", "other"))
        run_job(other, make_job("local", "local", is_local=True))
        runs.append("first")
        return 1

    run_job(world.rt, Job("shared", 5, run_in_both))
    run_job(other, make_job("shared", "later"))
    assert runs == ["local", "first", "later"]


def test_a_delivery_queued_by_another_instance_wakes_the_dispatcher(
    world: World, other: Runtime, receiver: FakeReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "_SHARED_POLL_SECONDS", 3600.0)
    add_webhook(world.pia, receiver.url)
    file = str(world.pia.upload()["uuid"])
    sender = Dispatcher(other)
    sender.start()
    try:
        for count in range(1, 4):
            record_replacements(world, file)
            wait_until(lambda count=count: len(receiver.group_by_delivery()) == count)
    finally:
        sender.stop()
        sender.join(10)


def test_a_webhook_that_one_instance_disables_gets_nothing_from_the_other(
    world: World, other: Runtime, receiver: FakeReceiver
) -> None:
    receiver.set_script(http_response(b"", "500 Internal Server Error"))
    add_webhook(world.pia, receiver.url)
    file = str(world.pia.upload()["uuid"])
    record_replacements(world, file)
    with world.rt.db.write():  # it has one failure to go, and the delivery one attempt
        world.rt.db.execute("UPDATE webhooks SET failure_count = ?", (DISABLE_AFTER - 1,))
        world.rt.db.execute("UPDATE deliveries SET tries = 4")
    assert deliver_due(world.rt) == 1
    sent = len(receiver.requests)
    record_replacements(replace(world, rt=other), file)
    world.clock.advance(hours=1)
    assert [deliver_due(rt) for rt in (other, world.rt)] == [0, 0]
    assert len(receiver.requests) == sent == 1


def test_cached_pages_of_a_file_purged_by_another_instance_are_deleted(
    world: World, other: Runtime, tmp_path: Path
) -> None:
    pages = PageStore(world.rt.engine, tmp_path / "cache of the other")
    mine = replace(other, pages=pages)
    kept, gone = (world.pia.upload() for _ in range(2))
    ids = {}
    for uuid in (str(kept["uuid"]), str(gone["uuid"])):
        ((ids[uuid], blob),) = world.rt.db.fetch_all("SELECT id, blob FROM files WHERE uuid = ?", (uuid,))
        pages.image(uuid, 1, open_blob(world.rt, blob), 1, 800)
    assert sweeps.delete_derived_of_destroyed(mine) == 0
    purge.purge(world.rt, ids[str(gone["uuid"])])
    assert sweeps.delete_derived_of_destroyed(mine) == 1
    assert pages.files.list_documents() == [kept["uuid"]]


def test_only_the_machine_of_a_listener_delivers_to_it(
    world: World, other: Runtime, receiver: FakeReceiver, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    elsewhere = replace(other, config=replace(other.config, data_dir=tmp_path / "elsewhere"))
    file = str(world.pia.upload()["uuid"])
    run_command(world.rt, "listen start", {"url": receiver.url, "account": world.pia.uuid})
    triggered = run_command(elsewhere, "trigger", {"kind": "content.replaced", "file": file, "consent": "yes"})
    assert deliver_due(elsewhere) == 0
    assert deliver_due(world.rt) == 1
    (request,) = receiver.requests
    assert triggered["event"] == json.loads(request.body)["event"] == "content.replaced"
