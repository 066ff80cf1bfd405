"""The test delivery of a webhook: at once, once, and counted nowhere."""

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
from docshare.server.workers.dispatcher import deliver_due
from tests.api.route_table import UNKNOWN_UUID
from tests.api.webhooks import WEBHOOKS_PATH, create_webhook, list_webhooks, update_webhook_row
from tests.support.cast import Person, World
from tests.support.import_source import Script, http_response
from tests.support.polling import wait_until
from tests.support.receivers import LOOPBACK_NETWORKS, FakeReceiver, open_receiver, reset_connection
from tests.support.rows import count_rows

NIL_UUID = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def world(make: Callable[..., World]) -> World:
    return make(webhook_allow=LOOPBACK_NETWORKS, rate_limit=1_000)


@pytest.fixture
def receiver() -> Iterator[FakeReceiver]:
    with open_receiver() as running:
        yield running


def send_test(person: Person, uuid: str) -> TestResponse:
    return person.post(f"{WEBHOOKS_PATH}/{uuid}/test")


def get_test_result(person: Person, uuid: str) -> dict[str, Any]:
    got = send_test(person, uuid)
    assert got.status_code == 200, got.text
    found: dict[str, Any] = got.get_json()
    return found


def create_webhook_at(person: Person, receiver: FakeReceiver, **more: Any) -> str:
    """A webhook for ``receiver``; returns its UUID."""
    return str(create_webhook(person, url=receiver.url, **more)["webhook"]["uuid"])


# --- what is sent ----------------------------------------------------------------------------------------------------


def test_a_test_sends_one_signed_event_and_tells_how_it_went(world: World, receiver: FakeReceiver) -> None:
    """Returns ``{delivered: boolean, status: integer, latencyMs: integer}``."""
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


def file_of_test_event(world: World, receiver: FakeReceiver, **more: Any) -> tuple[str, str]:
    """UUID and name of the document that a test tells of."""
    assert get_test_result(world.pia, create_webhook_at(world.pia, receiver, **more))["delivered"]
    data = json.loads(receiver.requests[-1].body)["data"]
    assert list(data) == ["fileUuid", "fileName"]
    return data["fileUuid"], data["fileName"]


def test_it_tells_of_the_newest_document(world: World, receiver: FakeReceiver) -> None:
    world.pia.upload(name="older.pdf")
    newest = world.pia.upload(name="Überblick.pdf")
    world.mal.upload(name="of somebody else.pdf")
    assert file_of_test_event(world, receiver) == (newest["uuid"], "Überblick.pdf")


def test_of_one_for_a_single_file_it_tells_of_that(world: World, receiver: FakeReceiver) -> None:
    scoped = world.pia.upload(name="scoped.pdf")
    world.pia.upload(name="newer.pdf")
    assert file_of_test_event(world, receiver, fileUuid=scoped["uuid"]) == (scoped["uuid"], "scoped.pdf")


def test_without_a_document_it_makes_one_up(world: World, receiver: FakeReceiver) -> None:
    assert file_of_test_event(world, receiver) == (NIL_UUID, "example.pdf")


def test_a_document_in_the_trash_is_not_told_of_and_the_test_arrives(world: World, receiver: FakeReceiver) -> None:
    """A test ignores the file scope."""
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


def test_every_test_is_a_delivery_of_its_own(world: World, receiver: FakeReceiver) -> None:
    uuid = create_webhook_at(world.pia, receiver)
    for _ in range(3):
        get_test_result(world.pia, uuid)
    assert len(receiver.group_by_delivery()) == 3


# --- what it does not do ---------------------------------------------------------------------------------------------

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
    """Not retried; unreachable gives 200 ``{delivered:false,status:0,...}``."""
    script, status = FAILURES[name]
    receiver.set_script(script)
    told = get_test_result(world.pia, create_webhook_at(world.pia, receiver))
    assert (told["delivered"], told["status"]) == (False, status)
    world.clock.advance(days=1)
    assert deliver_due(world.rt) == 0
    assert len(receiver.requests) == 1
    assert (count_rows(world, "deliveries"), count_rows(world, "attempts")) == (0, 0)


def test_nobody_at_the_address_is_a_status_of_zero(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
    told = get_test_result(world.pia, create_webhook(world.pia, url=url)["webhook"]["uuid"])
    assert (told["delivered"], told["status"]) == (False, 0)


@pytest.mark.parametrize("script", [http_response(b""), reset_connection])
def test_no_test_touches_how_deliveries_go(world: World, receiver: FakeReceiver, script: Script) -> None:
    """It never touches the failure counter, neither up nor down."""
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


def test_a_test_is_in_no_feed(world: World, receiver: FakeReceiver) -> None:
    world.pia.upload()
    get_test_result(world.pia, create_webhook_at(world.pia, receiver))
    assert world.pia.get("/api/v1/activity?since=1").get_json() == []


# --- how often -------------------------------------------------------------------------------------------------------


def test_the_eleventh_test_of_a_minute_is_429(world: World, receiver: FakeReceiver) -> None:
    """10 calls per minute, in a window of its own."""
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


def test_the_window_is_that_of_the_token(world: World, receiver: FakeReceiver) -> None:
    """Per token on ``/api/v1``."""
    uuid = create_webhook_at(world.pia, receiver)
    other = create_webhook_at(world.mal, receiver)
    second = accounts.create_key(world.rt, world.pia.email, "second").key
    for _ in range(10):
        send_test(world.pia, uuid)
    assert send_test(world.pia, uuid).status_code == 429
    assert send_test(Person(world.pia.email, world.pia.uuid, second, world.http), uuid).status_code == 200
    assert send_test(world.mal, other).status_code == 200


def test_a_test_is_one_of_all_requests_too(make: Callable[..., World], receiver: FakeReceiver) -> None:
    world = make(webhook_allow=LOOPBACK_NETWORKS, rate_limit=3)
    uuid = create_webhook_at(world.pia, receiver)
    statuses = [send_test(world.pia, uuid).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_strangers_use_up_nobodys_tests(world: World, receiver: FakeReceiver) -> None:
    uuid = create_webhook_at(world.pia, receiver)
    for path in (f"{WEBHOOKS_PATH}/{uuid}/test", f"/api/webhooks/{uuid}/test"):
        assert [world.http.post(path).status_code for _ in range(15)] == [401] * 15
        assert world.pia.post(path).status_code == 200


def send_tests_at_once(world: World, person: Person, *hooks: str) -> list[TestResponse]:
    """The answers to one test of each of ``hooks``, all sent at the same moment."""

    def one(uuid: str) -> TestResponse:
        return world.app.test_client().post(f"{WEBHOOKS_PATH}/{uuid}/test", headers=person.headers)

    with ThreadPoolExecutor(len(hooks)) as pool:
        return list(pool.map(one, hooks))


def test_ten_tests_at_once_of_one_account_are_all_answered(world: World, receiver: FakeReceiver) -> None:
    """10 a minute are allowed, so none of them is refused for want of a place."""
    hook = create_webhook_at(world.pia, receiver)
    answers = send_tests_at_once(world, world.pia, *[hook] * 10)
    assert [got.status_code for got in answers] == [200] * 10
    assert all(got.get_json()["delivered"] for got in answers)
    assert receiver.max_open_requests <= 4
    assert send_test(world.pia, hook).status_code == 429


@pytest.fixture
def held_tests(world: World, receiver: FakeReceiver) -> Iterator[threading.Event]:
    """Eight tests of Pia whose receiver hangs until the event is set: as many as get a place, the others wait."""
    over = threading.Event()
    receiver.set_script(lambda sock: over.wait(10) and None)
    hook = create_webhook_at(world.pia, receiver)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(send_tests_at_once, world, world.pia, *[hook] * 8)
        wait_until(lambda: receiver.open_requests == len(world.rt.outbound.test_slots._queue) == 4)
        yield over
        over.set()
        assert [got.status_code for got in running.result()] == [200] * 8


def test_receivers_of_one_account_that_hang_hold_up_no_other(
    world: World, receiver: FakeReceiver, held_tests: threading.Event
) -> None:
    with open_receiver() as quick:
        assert get_test_result(world.mal, create_webhook_at(world.mal, quick))["delivered"]
    assert receiver.open_requests == 4, "those before it still hang"


def test_a_test_for_which_there_is_no_place_is_refused_and_uses_up_no_unit(
    world: World, held_tests: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = list_webhooks(world.pia)[0]["uuid"]
    left = []
    for _ in range(12):  # more than are allowed in a minute
        monkeypatch.setattr("docshare.server.services.webhooks.webhooks._TEST_WAIT_S", 0)
        refused = send_test(world.pia, hook)
        assert (refused.status_code, refused.get_json()["code"]) == (503, "unavailable")
        assert int(refused.headers["Retry-After"]) > 0
        left.append(refused.headers["X-RateLimit-Remaining"])
    assert set(left) == {"2"}
    monkeypatch.undo()
    held_tests.set()
    assert send_test(world.pia, hook).status_code == 200


def test_an_unknown_webhook_is_404_and_nobody_is_called(world: World, receiver: FakeReceiver) -> None:
    create_webhook_at(world.pia, receiver)
    assert send_test(world.pia, UNKNOWN_UUID).status_code == 404
    assert receiver.requests == []
