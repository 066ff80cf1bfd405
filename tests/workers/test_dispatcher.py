"""The dispatcher: selection of due deliveries and the sender threads."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from docshare.server.rules.deliveries import DeliveryLane, DueDelivery, select_deliveries
from docshare.server.services.webhooks import dispatch
from docshare.server.workers import dispatcher as dispatching
from docshare.server.workers.dispatcher import Dispatcher
from docshare.server.workers.jobs import JOBS, run_job
from tests.support.engines.database import sqlite_only
from tests.support.outside.due_deliveries import deliver_due
from tests.support.outside.import_source import Script, hold_connection
from tests.support.outside.receivers import (
    LOOPBACK_NETWORKS,
    OK,
    SERVER_ERROR,
    CreatedWebhook,
    ReceivedRequest,
    add_webhook,
    deliver_until_idle,
    list_deliveries,
    open_receiver,
    record_replacements,
    shorten_deadlines,
)
from tests.support.people.cast import World
from tests.support.polling import wait_until

pytestmark = pytest.mark.world(webhook_allow=LOOPBACK_NETWORKS)


@contextmanager
def run_dispatcher(dispatcher: Dispatcher) -> Iterator[None]:
    dispatcher.start()
    try:
        yield
    finally:
        dispatcher.stop()
        dispatcher.join(10)


class GatedReceiver:
    """A receiver script that holds every request until ``open`` is set, then accepts it."""

    def __init__(self) -> None:
        self.open = threading.Event()

    def __call__(self, hit: ReceivedRequest) -> Script:
        self.open.wait(20)
        return OK


def is_settled(world: World) -> bool:
    return world.rt.db.fetch_all("SELECT COUNT(*) FROM deliveries WHERE next_at IS NOT NULL") == [(0,)]


def is_queue_empty(world: World, hook: CreatedWebhook) -> bool:
    """Return whether no delivery of the webhook is queued; unlike ``list_deliveries``, any number of times."""
    query = (
        "SELECT COUNT(*) FROM deliveries JOIN webhooks w ON w.id = webhook_id WHERE w.uuid = ? AND next_at IS NOT NULL"
    )
    return world.rt.db.fetch_all(query, (hook.uuid,)) == [(0,)]


# --- selection -------------------------------------------------------------------------------------------------------


def make_due(
    number: int, account: int, peer: str, next_at: int = 0, served_at: int = 0, webhook: int | None = None
) -> DueDelivery:
    """Return a due delivery, by default of a separate webhook."""
    return DueDelivery(served_at, next_at, number, DeliveryLane(account, peer, number if webhook is None else webhook))


def test_the_delivery_that_has_waited_longest_is_selected_first() -> None:
    assert [
        row.id
        for row in select_deliveries([make_due(1, 1, "a", 5), make_due(2, 2, "b", 3), make_due(3, 3, "c", 4)], [], 2)
    ] == [2, 3]


def test_the_webhook_that_was_served_least_recently_is_selected_first() -> None:
    rows = [make_due(1, 1, "a", 1, served_at=9), make_due(2, 1, "b", 5, served_at=8), make_due(3, 1, "c", 7)]
    assert [row.id for row in select_deliveries(rows, [], 3)] == [3, 2, 1]


def test_the_account_with_fewer_deliveries_in_flight_is_selected_first() -> None:
    rows = [make_due(1, 1, "a", 0), make_due(2, 2, "b", 9)]
    assert [row.id for row in select_deliveries(rows, [DeliveryLane(1, "a", 9)], 2)] == [2, 1]


def test_deliveries_in_flight_take_precedence_over_the_last_service() -> None:
    """A webhook that hangs was always served least recently."""
    rows = [make_due(number, 1, "a", webhook=1, served_at=1) for number in range(3)]
    rows += [make_due(number, 1, "a", webhook=2, served_at=9) for number in range(10, 13)]
    assert [row.lane.webhook_id for row in select_deliveries(rows, [], 4)] == [1, 2, 1, 2]
    assert [row.lane.webhook_id for row in select_deliveries(rows, [DeliveryLane(1, "a", 1)] * 2, 2)] == [2, 2]


def test_selection_alternates_between_accounts_and_then_between_receivers() -> None:
    rows = [make_due(number, 1, "a", number) for number in range(4)]
    rows += [make_due(10, 1, "b", 10), make_due(20, 2, "c", 20)]
    assert [row.id for row in select_deliveries(rows, [], 4)] == [0, 20, 10, 1]


def test_a_webhook_has_at_most_three_concurrent_deliveries() -> None:
    rows = [make_due(number, 1, "a", webhook=1) for number in range(9)]
    assert len(select_deliveries(rows, [], 32)) == 3
    assert len(select_deliveries(rows, [DeliveryLane(1, "a", 1)] * 2, 32)) == 1
    assert select_deliveries(rows, [DeliveryLane(1, "a", 1)] * 3, 32) == []


def test_a_receiver_has_at_most_twelve_concurrent_deliveries() -> None:
    rows = [make_due(number, number, "a") for number in range(20)]
    assert len(select_deliveries(rows, [], 32)) == 12
    assert len(select_deliveries(rows, [DeliveryLane(99, "a", 99)] * 11, 32)) == 1
    assert select_deliveries(rows, [DeliveryLane(99, "a", 99)] * 12, 32) == []


def test_an_account_has_at_most_sixteen_concurrent_deliveries() -> None:
    rows = [make_due(number, 1, f"peer {number}") for number in range(40)]
    assert len(select_deliveries(rows, [], 32)) == 16
    assert len(select_deliveries(rows, [DeliveryLane(1, "elsewhere", 99)] * 15, 32)) == 1


def test_thousands_of_deliveries_to_one_receiver_do_not_delay_others(world: World, file: str) -> None:
    with open_receiver() as flooded, open_receiver() as other:
        add_webhook(world.pia, flooded.url, "content.replaced")
        record_replacements(world, file, times=3000)
        hook = add_webhook(world.pia, other.url, "content.replaced")
        record_replacements(world, file)
        claims = dispatch.claim_due(world.rt, 8)
    assert hook.uuid in {claimed.receiver.uuid for claimed in claims}
    assert len(claims) == 4


def test_the_oldest_deliveries_of_a_webhook_are_claimed_first(world: World, file: str) -> None:
    with open_receiver() as receiver:
        add_webhook(world.pia, receiver.url)
        for _ in range(6):
            record_replacements(world, file)
            world.clock.advance(seconds=1)
        assert [claimed.id for claimed in dispatch.claim_due(world.rt, 32)] == [2, 3, 4]


# --- the threads -----------------------------------------------------------------------------------------------------


def test_senders_respect_the_limits_per_webhook_and_per_account(world: World, file: str) -> None:
    gate = GatedReceiver()
    with ExitStack() as stack:
        receivers = [stack.enter_context(open_receiver()) for _ in range(6)]
        for receiver in receivers:
            receiver.choose_script = gate
            add_webhook(world.pia, receiver.url)
        record_replacements(world, file, times=6)
        with run_dispatcher(Dispatcher(world.rt)):
            wait_until(lambda: sum(receiver.open_requests for receiver in receivers) == 16)
            gate.open.set()
            wait_until(lambda: is_settled(world))
    assert max(receiver.max_open_requests for receiver in receivers) <= 3
    assert [len(receiver.requests) for receiver in receivers] == [6] * 6
    assert world.rt.db.fetch_all("SELECT COUNT(*) FROM attempts WHERE status <> 200") == [(0,)]


def test_hanging_receivers_do_not_delay_others(world: World, file: str) -> None:
    gate = GatedReceiver()
    with open_receiver() as hanging, open_receiver() as healthy:
        hanging.choose_script = gate
        add_webhook(world.pia, hanging.url)
        hook = add_webhook(world.pia, healthy.url)
        record_replacements(world, file, times=40)
        with run_dispatcher(Dispatcher(world.rt, senders=8)):
            wait_until(lambda: len(healthy.requests) == 40)
            assert len(hanging.requests) < 40
            wait_until(lambda: is_queue_empty(world, hook))
            assert {row["state"] for row in list_deliveries(world.pia, hook)} == {"delivered"}
            gate.open.set()
    assert hanging.max_open_requests <= 3


def test_a_hanging_webhook_does_not_delay_others_on_the_same_host(world: World, file: str) -> None:
    """Services have one host and one path per customer."""
    with open_receiver() as host:
        hanging = add_webhook(world.pia, host.url)
        fine = add_webhook(world.pia, f"{host.url}/fine", format="slack")
        host.choose_script = lambda hit: hold_connection if "x-service-signature" in hit.headers else OK
        record_replacements(world, file, times=40)
        with run_dispatcher(Dispatcher(shorten_deadlines(world.rt, host))):
            wait_until(lambda: is_queue_empty(world, fine))
            assert {row["state"] for row in list_deliveries(world.pia, fine)} == {"delivered"}
            assert "queued" in {row["state"] for row in list_deliveries(world.pia, hanging)}


def test_a_delivery_that_is_queued_later_is_found(world: World, file: str) -> None:
    with open_receiver() as receiver:
        add_webhook(world.pia, receiver.url)
        with run_dispatcher(Dispatcher(world.rt)):
            record_replacements(world, file)
            wait_until(lambda: receiver.requests, seconds=5)
    assert dispatching._POLL_SECONDS < dispatching._SHARED_POLL_SECONDS <= 5, "the API allows a delay of five seconds"


def test_an_idle_server_has_no_sender_threads(world: World, file: str) -> None:
    def count_senders() -> int:
        return sum(thread.name.startswith("sender") for thread in threading.enumerate())

    with open_receiver() as receiver:
        add_webhook(world.pia, receiver.url)
        with run_dispatcher(Dispatcher(world.rt)):
            wait_until(lambda: count_senders() == 0)
            record_replacements(world, file)
            wait_until(lambda: is_settled(world))
            assert count_senders() == 1
    wait_until(lambda: count_senders() == 0)


def test_a_stop_waits_for_running_attempts_and_starts_no_more(world: World, file: str) -> None:
    gate = GatedReceiver()
    with open_receiver() as receiver:
        receiver.choose_script = gate
        hook = add_webhook(world.pia, receiver.url)
        record_replacements(world, file, times=6)
        dispatcher = Dispatcher(world.rt)
        dispatcher.start()
        wait_until(lambda: receiver.open_requests == 3)
        dispatcher.stop()
        gate.open.set()
        dispatcher.join(10)
        assert len(receiver.requests) == 3
        rows = list_deliveries(world.pia, hook, "?since=1")
        assert [row["state"] for row in rows] == ["delivered"] * 3 + ["queued"] * 3


def test_an_attempt_that_a_stop_interrupts_is_repeated_after_the_next_start(world: World, file: str) -> None:
    gate = GatedReceiver()
    with open_receiver() as receiver:
        receiver.choose_script = gate
        add_webhook(world.pia, receiver.url)
        record_replacements(world, file)
        dispatcher = Dispatcher(world.rt)
        dispatcher.start()
        wait_until(lambda: receiver.open_requests == 1)
        dispatcher.stop()
        dispatcher.join(0.01)
        wait_until(lambda: not dispatcher._thread.is_alive())  # it could still record the result
        gate.open.set()
        wait_until(lambda: receiver.open_requests == 0)
        assert not is_settled(world)
        world.clock.advance(minutes=1)  # with other instances a claim lasts half a minute
        dispatch.release_claims(world.rt)
        assert deliver_until_idle(world, world.rt) == [0]
    assert [hit.attempt for hit in receiver.requests] == [1, 1]
    assert len(receiver.group_by_delivery()) == 1


def test_a_result_that_cannot_be_stored_is_kept_and_nothing_is_sent_twice(
    world: World, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk stops deliveries and does not repeat them."""
    write, failures = dispatch.record_attempts, [1, 1]

    def record_after_failures(*args: object) -> None:
        if failures:
            failures.pop()
            raise sqlite3.OperationalError("database or disk is full")
        write(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(dispatch, "record_attempts", record_after_failures)
    with open_receiver() as receiver:
        add_webhook(world.pia, receiver.url)
        record_replacements(world, file)
        with run_dispatcher(Dispatcher(world.rt)):
            wait_until(lambda: is_settled(world))
    assert failures == []
    assert len(receiver.requests) == 1


def test_an_event_is_delivered_to_every_webhook_that_subscribes_to_it(world: World, file: str) -> None:
    with open_receiver() as one, open_receiver() as two, open_receiver() as none:
        add_webhook(world.pia, one.url)
        add_webhook(world.pia, two.url, fileUuid=file)
        add_webhook(world.pia, none.url, "note.created")
        add_webhook(world.mal, none.url)
        record_replacements(world, file)
        assert deliver_due(world.rt) == 2
    assert one.requests[0].body == two.requests[0].body
    assert one.requests[0].delivery != two.requests[0].delivery
    assert none.requests == []


def test_a_delivery_of_a_time_when_the_clock_was_ahead_is_sent_once_it_is_corrected(world: World, file: str) -> None:
    with open_receiver() as receiver:
        add_webhook(world.pia, receiver.url)
        world.clock.advance(days=365)
        record_replacements(world, file)
        world.clock.advance(days=-365)
        for job in JOBS:
            run_job(world.rt, job)
        assert deliver_due(world.rt) == 1
    assert len(receiver.requests) == 1


def test_a_delivery_that_waits_for_its_retry_is_not_sent_earlier(world: World, file: str) -> None:
    with open_receiver(SERVER_ERROR) as receiver:
        add_webhook(world.pia, receiver.url)
        record_replacements(world, file)
        for wait in (1, 10, 60):
            assert deliver_due(world.rt) == 1
            for job in JOBS:
                run_job(world.rt, job)
            assert deliver_due(world.rt) == 0
            world.clock.advance(minutes=wait)


@sqlite_only  # on PostgreSQL, another instance may hold the claim
def test_a_claim_of_a_crashed_server_is_released_though_the_clock_starts_earlier(world: World, file: str) -> None:
    with open_receiver() as receiver:
        add_webhook(world.pia, receiver.url)
        record_replacements(world, file)
        world.clock.advance(hours=1)
        assert len(dispatch.claim_due(world.rt, 8)) == 1
        world.clock.advance(hours=-1)
        assert dispatch.release_claims(world.rt) == 1
        assert deliver_due(world.rt) == 1
