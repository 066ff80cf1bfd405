"""The delivery log of a webhook, and redelivery, for owners and for the operator."""

from __future__ import annotations

import json
from typing import Any

import pytest

from docshare.contract.problems import Problem
from docshare.contract.wire import format_instant
from docshare.server import admin
from docshare.server.services.webhooks import dispatch
from tests.api.route_table import UNKNOWN_UUID
from tests.support.outside.due_deliveries import deliver_due
from tests.support.outside.import_source import http_response
from tests.support.outside.receivers import (
    LOOPBACK_NETWORKS,
    OK,
    CreatedWebhook,
    FakeReceiver,
    add_webhook,
    deliver_until_idle,
    get_webhook,
    list_deliveries,
    record_replacements,
)
from tests.support.people.cast import World

pytestmark = pytest.mark.world(webhook_allow=LOOPBACK_NETWORKS, rate_limit=100_000)


SERVER_ERROR = http_response(b"", "503 Service Unavailable")


@pytest.fixture
def hook(world: World, receiver: FakeReceiver) -> CreatedWebhook:
    """Create a webhook of Pia."""
    return add_webhook(world.pia, receiver.url)


@pytest.fixture
def file(world: World) -> str:
    return str(world.pia.upload()["uuid"])


def list_delivery_ids(world: World, hook: CreatedWebhook, query: str = "") -> list[int]:
    return [row["id"] for row in list_deliveries(world.pia, hook, query)]


def redeliver(world: World, hook: CreatedWebhook, delivery: object) -> Any:
    return world.pia.post(f"/api/v1/webhooks/{hook.uuid}/deliveries/{delivery}/redeliver")


# --- the log ---------------------------------------------------------------------------------------------------------


def test_a_delivery_has_its_keys_in_order_and_omits_empty_ones(
    world: World, hook: CreatedWebhook, receiver: FakeReceiver, file: str
) -> None:
    receiver.choose_script = lambda hit: SERVER_ERROR if hit.attempt == 1 else OK
    record_replacements(world, file)
    (row,) = list_deliveries(world.pia, hook)
    assert list(row.items()) == [
        ("id", 2),
        ("event", "content.replaced"),
        ("createdAt", "2026-09-21T14:13:20.000Z"),
        ("state", "queued"),
        ("nextAttemptAt", "2026-09-21T14:13:20.000Z"),
        ("attempts", []),
    ]
    deliver_due(world.rt)
    (row,) = list_deliveries(world.pia, hook)
    assert (row["state"], row["nextAttemptAt"]) == ("queued", "2026-09-21T14:14:20.000Z")
    deliver_until_idle(world, world.rt)
    (row,) = list_deliveries(world.pia, hook)
    assert list(row) == ["id", "event", "createdAt", "state", "attempts"]
    failed, delivered = row["attempts"]
    assert list(failed) == ["at", "status", "latencyMs", "error"]
    assert list(delivered) == ["at", "status", "latencyMs"]
    assert (failed["at"], failed["status"]) == ("2026-09-21T14:13:20.000Z", 503)
    assert failed["error"] == "The receiver answered with status 503."
    assert (delivered["at"], delivered["status"]) == ("2026-09-21T14:14:20.000Z", 200)
    assert 0 <= delivered["latencyMs"] < 10_000


def test_a_cursor_lists_later_deliveries_and_no_cursor_the_newest(
    world: World, hook: CreatedWebhook, file: str
) -> None:
    record_replacements(world, file, times=5)
    assert list_delivery_ids(world, hook) == [6, 5, 4, 3, 2]
    assert list_delivery_ids(world, hook, "?since=0&limit=2") == [6, 5]
    assert list_delivery_ids(world, hook, "?since=1&limit=2") == [2, 3]
    assert list_delivery_ids(world, hook, "?since=3") == [4, 5, 6]
    assert list_delivery_ids(world, hook, "?since=6") == []


@pytest.mark.parametrize("since", ["x", "-4", "", "0", "1.5"])
def test_an_invalid_cursor_lists_the_newest_deliveries_first(
    world: World, hook: CreatedWebhook, file: str, since: str
) -> None:
    record_replacements(world, file, times=2)
    assert list_delivery_ids(world, hook, f"?since={since}") == [3, 2]


def test_a_cursor_beyond_64_bits_lists_nothing(world: World, hook: CreatedWebhook, file: str) -> None:
    record_replacements(world, file)
    assert list_delivery_ids(world, hook, "?since=99999999999999999999999") == []


@pytest.mark.parametrize(("limit", "rows"), [("", 50), ("x", 50), ("0", 1), ("-3", 1), ("7", 7), ("1000", 100)])
def test_a_limit_is_clamped_and_never_rejected(
    world: World, hook: CreatedWebhook, file: str, limit: str, rows: int
) -> None:
    record_replacements(world, file, times=120)
    assert len(list_delivery_ids(world, hook, f"?limit={limit}")) == rows


def test_the_log_lists_deliveries_of_one_webhook_only(
    world: World, hook: CreatedWebhook, receiver: FakeReceiver, file: str
) -> None:
    other = add_webhook(world.pia, receiver.url)
    record_replacements(world, file)
    assert len(list_delivery_ids(world, hook)) == len(list_delivery_ids(world, other)) == 1
    assert set(list_delivery_ids(world, hook)).isdisjoint(list_delivery_ids(world, other))


@pytest.mark.parametrize("name", [UNKNOWN_UUID, "nothing", "1"])
def test_the_log_of_an_unknown_webhook_is_404(world: World, name: str) -> None:
    assert world.pia.get(f"/api/v1/webhooks/{name}/deliveries").status_code == 404


def test_the_log_of_a_foreign_webhook_is_404_as_of_an_unknown_one(world: World, hook: CreatedWebhook) -> None:
    foreign = world.mal.get(f"/api/v1/webhooks/{hook.uuid}/deliveries")
    unknown = world.mal.get(f"/api/v1/webhooks/{UNKNOWN_UUID}/deliveries")
    assert foreign.status_code == unknown.status_code == 404
    assert foreign.get_data() == unknown.get_data()


# --- redelivery ------------------------------------------------------------------------------------------------------


def test_redelivery_of_an_abandoned_delivery_continues_its_log(
    world: World, hook: CreatedWebhook, receiver: FakeReceiver, file: str
) -> None:
    receiver.set_script(SERVER_ERROR)
    record_replacements(world, file)
    deliver_until_idle(world, world.rt)
    world.clock.advance(days=2)
    answer = redeliver(world, hook, 2)
    assert answer.status_code == 202
    row = answer.get_json()
    assert (row["id"], row["state"], len(row["attempts"])) == (2, "queued", 5)
    assert row["nextAttemptAt"] == "2026-09-23T16:24:20.000Z"
    assert deliver_until_idle(world, world.rt) == [0, 60, 660, 4260, 7860]
    (row,) = list_deliveries(world.pia, hook)
    assert (row["state"], len(row["attempts"])) == ("abandoned", 10)
    assert [hit.attempt for hit in receiver.requests] == list(range(1, 11))
    assert len({(hit.delivery, hit.body) for hit in receiver.requests}) == 1
    assert get_webhook(world.pia, hook)["failureCount"] == 2


def test_a_delivered_delivery_can_be_redelivered(
    world: World, hook: CreatedWebhook, receiver: FakeReceiver, file: str
) -> None:
    record_replacements(world, file)
    deliver_due(world.rt)
    assert redeliver(world, hook, 2).status_code == 202
    deliver_due(world.rt)
    assert len(receiver.requests) == 2
    assert list_deliveries(world.pia, hook)[0]["state"] == "delivered"


def test_redelivery_of_a_queued_delivery_makes_it_due_and_keeps_its_attempts(
    world: World, hook: CreatedWebhook, receiver: FakeReceiver, file: str
) -> None:
    receiver.set_script(SERVER_ERROR)
    record_replacements(world, file)
    deliver_due(world.rt)
    assert deliver_due(world.rt) == 0
    answer = redeliver(world, hook, 2)
    row = answer.get_json()
    assert (answer.status_code, row["id"], row["state"], len(row["attempts"])) == (202, 2, "queued", 1)
    assert row["nextAttemptAt"] == format_instant(world.clock.now)
    assert redeliver(world, hook, 2).get_json() == row
    assert deliver_due(world.rt) == 1
    assert deliver_until_idle(world, world.rt) == [600, 4200, 7800]
    assert list_deliveries(world.pia, hook)[0]["state"] == "abandoned"


def test_redelivery_of_a_delivery_that_is_being_sent_does_not_send_it_twice(
    world: World, hook: CreatedWebhook, receiver: FakeReceiver, file: str
) -> None:
    record_replacements(world, file)
    (claimed,) = dispatch.claim_due(world.rt, 8)
    answer = redeliver(world, hook, 2)
    assert (answer.status_code, answer.get_json()["state"]) == (202, "queued")
    assert dispatch.claim_due(world.rt, 8) == []
    dispatch.record_attempts(world.rt, [dispatch.send(world.rt, claimed)])
    assert deliver_due(world.rt) == 0
    assert len(receiver.requests) == 1


def test_redelivery_is_409_while_the_webhook_is_disabled(
    world: World, hook: CreatedWebhook, receiver: FakeReceiver, file: str
) -> None:
    receiver.set_script(SERVER_ERROR)
    for _ in range(20):
        record_replacements(world, file)
        deliver_until_idle(world, world.rt)
    answer = redeliver(world, hook, 2)
    assert (answer.status_code, answer.get_json()["code"]) == (409, "conflict")
    assert hook.uuid in answer.get_json()["hint"]
    assert world.pia.post(f"/api/v1/webhooks/{hook.uuid}/enable").status_code == 200
    assert redeliver(world, hook, 2).status_code == 202


@pytest.mark.parametrize("delivery", ["3", "0", "-2", "x", "2x", "９", "99999999999999999999999999"])
def test_an_unknown_delivery_is_404(world: World, hook: CreatedWebhook, file: str, delivery: str) -> None:
    record_replacements(world, file)
    deliver_due(world.rt)
    assert redeliver(world, hook, delivery).status_code == 404


def test_a_delivery_of_another_webhook_is_404(
    world: World, hook: CreatedWebhook, receiver: FakeReceiver, file: str
) -> None:
    record_replacements(world, file)
    deliver_due(world.rt)
    other = add_webhook(world.pia, receiver.url)
    foreign = add_webhook(world.mal, receiver.url)
    assert redeliver(world, other, 2).status_code == 404
    answer = world.mal.post(f"/api/v1/webhooks/{foreign.uuid}/deliveries/2/redeliver")
    assert answer.status_code == 404
    assert world.mal.post(f"/api/v1/webhooks/{hook.uuid}/deliveries/2/redeliver").status_code == 404
    deliver_due(world.rt)
    assert len(receiver.requests) == 1


# --- the operator ----------------------------------------------------------------------------------------------------


def test_the_operator_lists_the_newest_deliveries_of_all_accounts(
    world: World, hook: CreatedWebhook, receiver: FakeReceiver, file: str
) -> None:
    theirs = add_webhook(world.mal, receiver.url)
    record_replacements(world, file)
    record_replacements(world, world.mal.upload()["uuid"])
    rows = admin.run_command(world.rt, "deliveries list", {})
    assert [(row["id"], row["account"], row["webhook"], row["url"], row["state"]) for row in rows] == [
        (3, "mal@example.com", theirs.uuid, receiver.url, "queued"),
        (2, "pia@example.com", hook.uuid, receiver.url, "queued"),
    ]
    assert all("body" not in row for row in rows)


def test_the_operator_lists_at_most_500_deliveries(world: World, hook: CreatedWebhook, file: str) -> None:
    record_replacements(world, file, times=510)
    rows = admin.run_command(world.rt, "deliveries list", {})
    assert [row["id"] for row in rows] == list(range(511, 11, -1))


def test_the_operator_sees_a_delivery_with_body_and_attempts(
    world: World, hook: CreatedWebhook, receiver: FakeReceiver, file: str
) -> None:
    record_replacements(world, file, contentVersion=2)
    deliver_due(world.rt)
    row = admin.run_command(world.rt, "deliveries show", {"id": "2"})
    (hit,) = receiver.requests
    assert row["body"].encode() == hit.body
    assert row["uuid"] == hit.delivery
    assert (row["state"], len(row["attempts"])) == ("delivered", 1)
    assert json.loads(json.dumps(row)) == row
    assert hook.secret not in json.dumps(row)


def test_the_operator_can_retry_queued_and_delivered_deliveries(
    world: World, hook: CreatedWebhook, receiver: FakeReceiver, file: str
) -> None:
    receiver.set_script(SERVER_ERROR)
    record_replacements(world, file)
    deliver_due(world.rt)
    row = admin.run_command(world.rt, "deliveries retry", {"id": "2"})
    assert (row["state"], row["nextAttemptAt"]) == ("queued", format_instant(world.clock.now))
    receiver.set_script(OK)
    deliver_due(world.rt)
    row = admin.run_command(world.rt, "deliveries retry", {"id": "2"})
    assert (row["id"], row["state"]) == (2, "queued")
    deliver_due(world.rt)
    assert len(receiver.requests) == 3


@pytest.mark.parametrize("command", ["deliveries show", "deliveries retry"])
@pytest.mark.parametrize("delivery", ["7", "x"])
def test_an_unknown_delivery_is_not_found_for_the_operator(world: World, command: str, delivery: str) -> None:
    with pytest.raises(Problem) as caught:
        admin.run_command(world.rt, command, {"id": delivery})
    assert caught.value.code == "not_found"
