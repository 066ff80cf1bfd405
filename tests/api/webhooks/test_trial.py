"""The test delivery of a webhook: it is sent at once, never retried and not recorded."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.contract.signing import verify
from docshare.server.services.accounts import accounts
from tests.api.route_table import UNKNOWN_UUID
from tests.support.engines.rows import count_rows
from tests.support.outside.due_deliveries import deliver_due
from tests.support.outside.import_source import Script, http_response
from tests.support.outside.receivers import LOOPBACK_NETWORKS, FakeReceiver, open_receiver, reset_connection
from tests.support.people.cast import Person, World
from tests.support.people.webhooks import WEBHOOKS_PATH, create_webhook, list_webhooks, update_webhook_row
from tests.support.polling import wait_until

pytestmark = pytest.mark.world(webhook_allow=LOOPBACK_NETWORKS, rate_limit=1_000)


NIL_UUID = "00000000-0000-0000-0000-000000000000"


def send_test(person: Person, uuid: str) -> TestResponse:
    return person.post(f"{WEBHOOKS_PATH}/{uuid}/test")


def get_test_result(person: Person, uuid: str) -> dict[str, Any]:
    got = send_test(person, uuid)
    assert got.status_code == 200, got.text
    found: dict[str, Any] = got.get_json()
    return found


def create_webhook_at(person: Person, receiver: FakeReceiver, **more: Any) -> str:
    """Create a webhook for ``receiver`` and return its UUID."""
    return str(create_webhook(person, url=receiver.url, **more)["webhook"]["uuid"])


# --- request ---------------------------------------------------------------------------------------------------------


def test_a_test_sends_one_signed_event_and_returns_the_result(world: World, receiver: FakeReceiver) -> None:
    """The result has the status and the latency."""
    made = create_webhook(world.pia, url=receiver.url)
    told = get_test_result(world.pia, made["webhook"]["uuid"])
    assert list(told) == ["delivered", "status", "latencyMs"]
    assert (told["delivered"], told["status"]) == (True, 200)
    assert isinstance(told["latencyMs"], int)
    (hit,) = receiver.requests
    assert verify(made["secret"], hit.body, hit.headers["x-service-signature"], world.clock.now)
    assert hit.headers["webhook-event"] == "webhook.test"
    assert hit.attempt == 1
    assert list(json.loads(hit.body)) == ["event", "timestamp", "data"]
    assert json.loads(hit.body)["event"] == "webhook.test"
    assert json.loads(hit.body)["timestamp"] == "2026-09-21T14:13:20.000Z"


def send_test_and_get_file(world: World, receiver: FakeReceiver, **more: Any) -> tuple[str, str]:
    """Send a test and return UUID and name of the file in its event."""
    assert get_test_result(world.pia, create_webhook_at(world.pia, receiver, **more))["delivered"]
    data = json.loads(receiver.requests[-1].body)["data"]
    assert list(data) == ["fileUuid", "fileName"]
    return data["fileUuid"], data["fileName"]


def test_a_test_event_has_the_newest_file(world: World, receiver: FakeReceiver) -> None:
    world.pia.upload(name="older.pdf")
    newest = world.pia.upload(name="Überblick.pdf")
    world.mal.upload(name="of somebody else.pdf")
    assert send_test_and_get_file(world, receiver) == (newest["uuid"], "Überblick.pdf")


def test_a_test_event_of_a_file_webhook_has_that_file(world: World, receiver: FakeReceiver) -> None:
    scoped = world.pia.upload(name="scoped.pdf")
    world.pia.upload(name="newer.pdf")
    assert send_test_and_get_file(world, receiver, fileUuid=scoped["uuid"]) == (scoped["uuid"], "scoped.pdf")


def test_a_test_event_without_a_file_has_an_example(world: World, receiver: FakeReceiver) -> None:
    assert send_test_and_get_file(world, receiver) == (NIL_UUID, "example.pdf")


def test_a_test_event_of_a_trashed_file_has_an_example(world: World, receiver: FakeReceiver) -> None:
    """The test is sent although the file is in the trash."""
    scoped = world.pia.upload()
    uuid = create_webhook_at(world.pia, receiver, fileUuid=scoped["uuid"])
    world.pia.upload(name="another.pdf")
    world.pia.delete(f"/api/v1/files/{scoped['uuid']}")
    assert get_test_result(world.pia, uuid)["delivered"]
    assert json.loads(receiver.requests[0].body)["data"] == {"fileUuid": NIL_UUID, "fileName": "example.pdf"}


@pytest.mark.parametrize("name", ["plan <b>.pdf", None])
def test_a_slack_message_is_sent_unsigned(world: World, receiver: FakeReceiver, name: str | None) -> None:
    if name:
        world.pia.upload(name=name)
    assert get_test_result(world.pia, create_webhook_at(world.pia, receiver, format="slack"))["delivered"]
    (hit,) = receiver.requests
    assert {"text", "blocks"} <= set(json.loads(hit.body))
    assert "x-service-signature" not in hit.headers


def test_every_test_has_its_own_delivery_id(world: World, receiver: FakeReceiver) -> None:
    uuid = create_webhook_at(world.pia, receiver)
    for _ in range(3):
        get_test_result(world.pia, uuid)
    assert len(receiver.group_by_delivery()) == 3


# --- side effects ----------------------------------------------------------------------------------------------------

FAILURES: dict[str, tuple[Script, int]] = {
    "500": (http_response(b"", "500 Internal Server Error"), 500),
    "404": (http_response(b"", "404 Not Found"), 404),
    "redirect": (http_response(b"", "307 Temporary Redirect", "Location: http://127.0.0.1:1/"), 307),
    "reset": (reset_connection, 0),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failed_test_is_200_with_the_status_and_is_never_retried(
    world: World, receiver: FakeReceiver, name: str
) -> None:
    """The status is 0 if the connection is reset."""
    script, status = FAILURES[name]
    receiver.set_script(script)
    told = get_test_result(world.pia, create_webhook_at(world.pia, receiver))
    assert (told["delivered"], told["status"]) == (False, status)
    world.clock.advance(days=1)
    assert deliver_due(world.rt) == 0
    assert len(receiver.requests) == 1
    assert (count_rows(world, "deliveries"), count_rows(world, "attempts")) == (0, 0)


def test_an_unreachable_receiver_is_a_status_of_zero(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
    told = get_test_result(world.pia, create_webhook(world.pia, url=url)["webhook"]["uuid"])
    assert (told["delivered"], told["status"]) == (False, 0)


@pytest.mark.parametrize("script", [http_response(b""), reset_connection])
def test_a_test_does_not_change_the_delivery_status(world: World, receiver: FakeReceiver, script: Script) -> None:
    """The failure count is neither incremented nor reset."""
    receiver.set_script(script)
    uuid = create_webhook_at(world.pia, receiver)
    update_webhook_row(world, uuid, failure_count=19)
    before = list_webhooks(world.pia)
    get_test_result(world.pia, uuid)
    assert list_webhooks(world.pia) == before
    assert before[0]["failureCount"] == 19


def test_a_disabled_webhook_can_be_tested_and_stays_disabled(world: World, receiver: FakeReceiver) -> None:
    uuid = create_webhook_at(world.pia, receiver)
    update_webhook_row(world, uuid, disabled_at=1_790_000_000_000, failure_count=20)
    assert get_test_result(world.pia, uuid)["delivered"]
    assert list_webhooks(world.pia)[0]["active"] is False


def test_a_test_is_not_in_the_activity_feed(world: World, receiver: FakeReceiver) -> None:
    world.pia.upload()
    get_test_result(world.pia, create_webhook_at(world.pia, receiver))
    assert world.pia.get("/api/v1/activity?since=1").get_json() == []


# --- limits ----------------------------------------------------------------------------------------------------------


def test_the_eleventh_test_of_a_minute_is_429(world: World, receiver: FakeReceiver) -> None:
    """Tests have a separate limit of 10 per minute."""
    uuid = create_webhook_at(world.pia, receiver)
    answers = [send_test(world.pia, uuid) for _ in range(11)]
    assert [got.status_code for got in answers] == [200] * 10 + [429]
    assert answers[0].headers["RateLimit-Policy"] == '"webhook-test";q=10;w=60'
    assert answers[0].headers["RateLimit"] == '"webhook-test";r=9;t=60'
    assert answers[10].get_json()["code"] == "rate_limited"
    assert int(answers[10].headers["Retry-After"]) == 60
    assert len(receiver.requests) == 10
    assert list_webhooks(world.pia)
    world.clock.advance(seconds=60)
    assert send_test(world.pia, uuid).status_code == 200


def test_tests_are_limited_per_token(world: World, receiver: FakeReceiver) -> None:
    """Another key of the same account has its own limit."""
    uuid = create_webhook_at(world.pia, receiver)
    other = create_webhook_at(world.mal, receiver)
    second = accounts.create_key(world.rt, world.pia.email, "second").key
    for _ in range(10):
        send_test(world.pia, uuid)
    assert send_test(world.pia, uuid).status_code == 429
    assert send_test(Person(world.pia.email, world.pia.uuid, second, world.http), uuid).status_code == 200
    assert send_test(world.mal, other).status_code == 200


def test_tests_count_against_the_general_rate_limit(make: Callable[..., World], receiver: FakeReceiver) -> None:
    world = make(webhook_allow=LOOPBACK_NETWORKS, rate_limit=3)
    uuid = create_webhook_at(world.pia, receiver)
    statuses = [send_test(world.pia, uuid).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_unauthenticated_requests_do_not_count_against_the_test_limit(world: World, receiver: FakeReceiver) -> None:
    uuid = create_webhook_at(world.pia, receiver)
    for path in (f"{WEBHOOKS_PATH}/{uuid}/test", f"/api/webhooks/{uuid}/test"):
        assert [world.http.post(path).status_code for _ in range(15)] == [401] * 15
        assert world.pia.post(path).status_code == 200


def send_tests_at_once(world: World, person: Person, *hooks: str) -> list[TestResponse]:
    """Test each of ``hooks`` at the same time and return the responses."""

    def send_one(uuid: str) -> TestResponse:
        return world.app.test_client().post(f"{WEBHOOKS_PATH}/{uuid}/test", headers=person.headers)

    with ThreadPoolExecutor(len(hooks)) as pool:
        return list(pool.map(send_one, hooks))


def test_ten_concurrent_tests_of_one_account_succeed(world: World, receiver: FakeReceiver) -> None:
    """Tests that exceed the concurrency limit wait; they are not rejected."""
    hook = create_webhook_at(world.pia, receiver)
    answers = send_tests_at_once(world, world.pia, *[hook] * 10)
    assert [got.status_code for got in answers] == [200] * 10
    assert all(got.get_json()["delivered"] for got in answers)
    assert receiver.max_open_requests <= 4
    assert send_test(world.pia, hook).status_code == 429


@pytest.fixture
def held_tests(world: World, receiver: FakeReceiver, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Start eight tests of Pia whose receiver hangs until the event is set; half of them wait in the queue."""
    # A busy machine may need more than the ten seconds of a test for the requests that are sent meanwhile.
    monkeypatch.setattr("docshare.server.outbound.exchange._READ_TIMEOUT_S", 60.0)
    monkeypatch.setattr("docshare.server.services.webhooks.send.TIMEOUT_MS", 60_000)
    monkeypatch.setattr("docshare.server.services.webhooks.webhooks._SLOT_WAIT_S", 60.0)
    over = threading.Event()
    receiver.set_script(lambda sock: over.wait(60) and None)
    hook = create_webhook_at(world.pia, receiver)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(send_tests_at_once, world, world.pia, *[hook] * 8)
        wait_until(lambda: receiver.open_requests == len(world.rt.outbound.webhook_slots._queue) == 4)
        yield over
        over.set()
        assert [got.status_code for got in running.result()] == [200] * 8


def test_hanging_receivers_of_one_account_do_not_block_other_accounts(
    world: World, receiver: FakeReceiver, held_tests: threading.Event
) -> None:
    with open_receiver() as quick:
        assert get_test_result(world.mal, create_webhook_at(world.mal, quick))["delivered"]
    assert receiver.open_requests == 4, "those before it still hang"


def test_a_test_above_the_concurrency_limit_is_503_and_is_not_counted(
    world: World, held_tests: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = list_webhooks(world.pia)[0]["uuid"]
    left = []
    for _ in range(12):  # more than the limit per minute
        monkeypatch.setattr("docshare.server.services.webhooks.webhooks._SLOT_WAIT_S", 0)
        refused = send_test(world.pia, hook)
        assert (refused.status_code, refused.get_json()["code"]) == (503, "unavailable")
        assert int(refused.headers["Retry-After"]) > 0
        left.append(refused.headers["X-RateLimit-Remaining"])
    assert set(left) == {"2"}
    monkeypatch.undo()
    held_tests.set()
    assert send_test(world.pia, hook).status_code == 200


def test_testing_an_unknown_webhook_is_404_without_a_request(world: World, receiver: FakeReceiver) -> None:
    create_webhook_at(world.pia, receiver)
    assert send_test(world.pia, UNKNOWN_UUID).status_code == 404
    assert receiver.requests == []
