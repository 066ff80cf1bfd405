"""Who gets a sender when many want one, and the threads that send."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from docshare.server.rules.deliveries import DeliveryLane, DueDelivery, select_deliveries
from docshare.server.services.webhooks import dispatch
from docshare.server.workers.dispatcher import Dispatcher, deliver_due
from tests.support.cast import World
from tests.support.import_source import Script, hold_connection, http_response
from tests.support.polling import wait_until
from tests.support.receivers import (
    LOOPBACK_NETWORKS,
    OK,
    ReceivedRequest,
    add_webhook,
    deliver_until_idle,
    list_deliveries,
    open_receiver,
    record_replacements,
    shorten_deadlines,
)

SERVER_ERROR = http_response(b"", "500 Internal Server Error")


@pytest.fixture
def world(make: Callable[..., World]) -> World:
    return make(webhook_allow=LOOPBACK_NETWORKS)


@pytest.fixture
def file(world: World) -> str:
    return str(world.pia.upload()["uuid"])


@contextmanager
def run_dispatcher(dispatcher: Dispatcher) -> Iterator[None]:
    dispatcher.start()
    try:
        yield
    finally:
        dispatcher.stop()
        dispatcher.join(10)


class GatedReceiver:
    """A habit: hold every request until ``open`` is set, then take it."""

    def __init__(self) -> None:
        self.open = threading.Event()

    def __call__(self, hit: ReceivedRequest) -> Script:
        self.open.wait(20)
        return OK


def is_settled(world: World) -> bool:
    return world.rt.db.fetch_all("SELECT COUNT(*) FROM deliveries WHERE next_at IS NOT NULL") == [(0,)]


# --- whose turn it is ------------------------------------------------------------------------------------------------


def make_due(
    number: int, account: int, peer: str, next_at: int = 0, served_at: int = 0, webhook: int | None = None
) -> DueDelivery:
    """Return a due delivery, by default of a webhook of its own."""
    return DueDelivery(served_at, next_at, number, DeliveryLane(account, peer, number if webhook is None else webhook))


def test_the_longest_waiting_comes_first() -> None:
    assert [
        row.id
        for row in select_deliveries([make_due(1, 1, "a", 5), make_due(2, 2, "b", 3), make_due(3, 3, "c", 4)], [], 2)
    ] == [2, 3]


def test_whose_last_turn_is_longer_ago_comes_before_whoever_waits_longer() -> None:
    rows = [make_due(1, 1, "a", 1, served_at=9), make_due(2, 1, "b", 5, served_at=8), make_due(3, 1, "c", 7)]
    assert [row.id for row in select_deliveries(rows, [], 3)] == [3, 2, 1]


def test_whoever_has_fewer_in_flight_comes_before_whoever_waits_longer() -> None:
    rows = [make_due(1, 1, "a", 0), make_due(2, 2, "b", 9)]
    assert [row.id for row in select_deliveries(rows, [DeliveryLane(1, "a", 9)], 2)] == [2, 1]


def test_whose_turn_was_last_does_not_matter_while_another_webhook_has_fewer_in_flight() -> None:
    """One that hangs had its last turn long ago, always."""
    rows = [make_due(number, 1, "a", webhook=1, served_at=1) for number in range(3)]
    rows += [make_due(number, 1, "a", webhook=2, served_at=9) for number in range(10, 13)]
    assert [row.lane.webhook_id for row in select_deliveries(rows, [], 4)] == [1, 2, 1, 2]
    assert [row.lane.webhook_id for row in select_deliveries(rows, [DeliveryLane(1, "a", 1)] * 2, 2)] == [2, 2]


def test_turns_are_taken_among_accounts_and_then_among_receivers() -> None:
    rows = [make_due(number, 1, "a", number) for number in range(4)]
    rows += [make_due(10, 1, "b", 10), make_due(20, 2, "c", 20)]
    assert [row.id for row in select_deliveries(rows, [], 4)] == [0, 20, 10, 1]


def test_one_webhook_gets_at_most_three_at_once() -> None:
    rows = [make_due(number, 1, "a", webhook=1) for number in range(9)]
    assert len(select_deliveries(rows, [], 32)) == 3
    assert len(select_deliveries(rows, [DeliveryLane(1, "a", 1)] * 2, 32)) == 1
    assert select_deliveries(rows, [DeliveryLane(1, "a", 1)] * 3, 32) == []


def test_one_receiver_gets_at_most_twelve_at_once_whoever_sends_to_it() -> None:
    rows = [make_due(number, number, "a") for number in range(20)]
    assert len(select_deliveries(rows, [], 32)) == 12
    assert len(select_deliveries(rows, [DeliveryLane(99, "a", 99)] * 11, 32)) == 1
    assert select_deliveries(rows, [DeliveryLane(99, "a", 99)] * 12, 32) == []


def test_one_account_gets_at_most_sixteen_at_once() -> None:
    rows = [make_due(number, 1, f"peer {number}") for number in range(40)]
    assert len(select_deliveries(rows, [], 32)) == 16
    assert len(select_deliveries(rows, [DeliveryLane(1, "elsewhere", 99)] * 15, 32)) == 1


def test_thousands_for_one_receiver_do_not_hide_the_others(world: World, file: str) -> None:
    with open_receiver() as flooded, open_receiver() as other:
        add_webhook(world.pia, flooded.url, "content.replaced")
        record_replacements(world, file, times=3000)
        hook = add_webhook(world.pia, other.url, "content.replaced")
        record_replacements(world, file)
        letters = dispatch.claim_due(world.rt, 8)
    assert hook.uuid in {letter.receiver.uuid for letter in letters}
    assert len(letters) == 4


def test_of_one_webhook_the_longest_waiting_go_first(world: World, file: str) -> None:
    with open_receiver() as receiver:
        add_webhook(world.pia, receiver.url)
        for _ in range(6):
            record_replacements(world, file)
            world.clock.advance(seconds=1)
        assert [letter.id for letter in dispatch.claim_due(world.rt, 32)] == [2, 3, 4]


# --- the threads -----------------------------------------------------------------------------------------------------


def test_no_more_than_three_are_sent_to_one_webhook_and_sixteen_for_one_account(world: World, file: str) -> None:
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


def test_receivers_that_hang_do_not_keep_the_others_waiting(world: World, file: str) -> None:
    with open_receiver(hold_connection) as hanging, open_receiver() as healthy:
        add_webhook(world.pia, hanging.url)
        hook = add_webhook(world.pia, healthy.url)
        record_replacements(world, file, times=40)
        with run_dispatcher(Dispatcher(shorten_deadlines(world.rt, hanging), senders=8)):
            wait_until(lambda: len(healthy.requests) == 40)
            assert len(hanging.requests) < 40
            wait_until(lambda: {row["state"] for row in list_deliveries(world.pia, hook)} == {"delivered"})
    assert hanging.max_open_requests <= 3


def test_a_webhook_that_hangs_does_not_keep_others_at_the_same_host_waiting(world: World, file: str) -> None:
    """Services have one host and a path for each customer."""
    with open_receiver() as host:
        hanging = add_webhook(world.pia, host.url)
        fine = add_webhook(world.pia, f"{host.url}/fine", format="slack")
        host.choose_script = lambda hit: hold_connection if "x-service-signature" in hit.headers else OK
        record_replacements(world, file, times=40)
        with run_dispatcher(Dispatcher(shorten_deadlines(world.rt, host))):
            wait_until(lambda: {row["state"] for row in list_deliveries(world.pia, fine)} == {"delivered"})
            assert "queued" in {row["state"] for row in list_deliveries(world.pia, hanging)}


def test_what_is_queued_later_is_found_without_being_told(world: World, file: str) -> None:
    with open_receiver() as receiver:
        add_webhook(world.pia, receiver.url)
        with run_dispatcher(Dispatcher(world.rt)):
            record_replacements(world, file)
            wait_until(lambda: receiver.requests, seconds=5)


def test_a_quiet_server_has_no_senders(world: World, file: str) -> None:
    def senders() -> int:
        return sum(thread.name.startswith("sender") for thread in threading.enumerate())

    with open_receiver() as receiver:
        add_webhook(world.pia, receiver.url)
        with run_dispatcher(Dispatcher(world.rt)):
            wait_until(lambda: senders() == 0)
            record_replacements(world, file)
            wait_until(lambda: is_settled(world))
            assert senders() == 1
    wait_until(lambda: senders() == 0)


def test_a_stop_waits_for_what_is_under_way_and_begins_nothing_more(world: World, file: str) -> None:
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


def test_what_outlives_the_stop_is_sent_again_after_the_next_start(world: World, file: str) -> None:
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
        gate.open.set()
        wait_until(lambda: receiver.open_requests == 0)
        assert not is_settled(world)
        world.clock.advance(minutes=1)  # beside other instances a claim lasts half a minute
        dispatch.release_claims(world.rt)
        assert deliver_until_idle(world, world.rt) == [0]
    assert [hit.attempt for hit in receiver.requests] == [1, 1]
    assert len(receiver.group_by_delivery()) == 1


def test_an_outcome_that_cannot_be_written_down_waits_and_nothing_is_sent_twice(
    world: World, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk stops deliveries, it does not repeat them."""
    write, refusals = dispatch.record_attempts, [1, 1]

    def book(*args: object) -> None:
        if refusals:
            refusals.pop()
            raise sqlite3.OperationalError("database or disk is full")
        write(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(dispatch, "record_attempts", book)
    with open_receiver() as receiver:
        add_webhook(world.pia, receiver.url)
        record_replacements(world, file)
        with run_dispatcher(Dispatcher(world.rt)):
            wait_until(lambda: is_settled(world))
    assert refusals == []
    assert len(receiver.requests) == 1


def test_the_same_event_reaches_every_webhook_that_asks_for_it(world: World, file: str) -> None:
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
