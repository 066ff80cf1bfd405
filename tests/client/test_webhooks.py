"""Webhooks: requests, recovery of a create whose response is lost, and the delivery log."""

from __future__ import annotations

import json
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from docshare.client import Client
from docshare.client.errors import ConnectionLost, NotAnApi, Refused, TimedOut, UnknownOutcome
from docshare.contract.problems import Problem
from docshare.contract.wire import format_instant
from tests.support.outside.fake_api import BASE, UUID, FakeApi, FakeResponse, FakeTime, problem
from tests.support.polling import wait_until

URL = "https://hooks.example.com/d"
SECRET = "whsec_" + "5" * 64
LIST = "/webhooks"
ONE = f"{LIST}/{UUID.format(1)}"
DROP = FakeResponse(connection_action="drop")


def make_webhook(number: int = 1, **more: Any) -> dict[str, Any]:
    row = {"uuid": UUID.format(number), "url": URL, "events": ["file.viewed"], "format": "json", "active": True}
    return row | {"createdAt": format_instant(int(BASE * 1000)), **more}


def make_created_response(number: int = 1, **more: Any) -> FakeResponse:
    return FakeResponse({"webhook": make_webhook(number, **more), "secret": SECRET}, 201)


def make_delivery(number: int, **more: Any) -> dict[str, Any]:
    row = {"id": number, "event": "file.viewed", "createdAt": format_instant(int(BASE * 1000)), "state": "delivered"}
    return row | {"attempts": [], **more}


def count_posts(api: FakeApi) -> int:
    return len(api.list_requests("POST", LIST))


def test_each_method_calls_its_route(api: FakeApi, client: Client) -> None:
    api.on("GET", LIST, {"webhooks": [make_webhook()]})
    api.on("POST", LIST, make_created_response())
    api.on("DELETE", ONE, FakeResponse(b"", 204))
    api.on("POST", f"{ONE}/test", {"delivered": True, "status": 200, "latencyMs": 9})
    api.on("POST", f"{ONE}/enable", make_webhook())
    api.on("GET", f"{ONE}/deliveries", [make_delivery(7)])
    api.on("POST", f"{ONE}/deliveries/7/redeliver", FakeResponse(make_delivery(7, state="queued"), 202))
    assert client.webhooks.list() == [make_webhook()]
    assert client.webhooks.create(URL, ["file.viewed"]) == {"webhook": make_webhook(), "secret": SECRET}
    client.webhooks.delete(UUID.format(1))
    assert client.webhooks.test(UUID.format(1)) == {"delivered": True, "status": 200, "latencyMs": 9}
    assert client.webhooks.enable(UUID.format(1)) == make_webhook()
    assert client.webhooks.deliveries(UUID.format(1)).page(limit=5) == [make_delivery(7)]
    assert client.webhooks.redeliver(UUID.format(1), 7)["state"] == "queued"
    bodies = [json.loads(request.body) if request.body else request.query for request in api.requests]
    assert bodies == [
        {}, {"url": URL, "events": ["file.viewed"], "format": "json"}, {}, {}, {}, {"limit": "5"}, {},
    ]  # fmt: skip


def test_format_and_file_are_sent_as_given(api: FakeApi, client: Client) -> None:
    api.on("POST", LIST, make_created_response())
    client.webhooks.create(URL, ["file.viewed"], "slack", "aB3dE5fG7hJ9")
    sent = {"url": URL, "events": ["file.viewed"], "format": "slack", "fileUuid": "aB3dE5fG7hJ9"}
    assert json.loads(api.requests[0].body) == sent


def test_a_bare_array_is_accepted_as_a_list(api: FakeApi, client: Client) -> None:
    api.on("GET", LIST, [make_webhook()])
    assert client.webhooks.list() == [make_webhook()]


@pytest.mark.parametrize("answer", [{"webhooks": None}, {"webhooks": ["x"]}, {}, ["x"], "x", None])
def test_a_malformed_list_raises_not_an_api(api: FakeApi, client: Client, answer: Any) -> None:
    api.on("GET", LIST, answer)
    with pytest.raises(NotAnApi):
        client.webhooks.list()


@pytest.mark.parametrize("answer", [{}, {"webhook": None, "secret": SECRET}, {"webhook": {}, "secret": SECRET}])
def test_a_response_without_the_webhook_raises_not_an_api(api: FakeApi, client: Client, answer: Any) -> None:
    api.on("POST", LIST, FakeResponse(answer, 201))
    with pytest.raises(NotAnApi):
        client.webhooks.create(URL, ["file.viewed"])


@pytest.mark.parametrize("word", ["..", "", "6f1c2e9a", URL])
@pytest.mark.parametrize("call", ["delete", "test", "enable", "deliveries"])
def test_only_a_uuid_is_inserted_into_a_path(api: FakeApi, client: Client, call: str, word: str) -> None:
    with pytest.raises(Problem) as caught:
        getattr(client.webhooks, call)(word)
    assert caught.value.code == "not_found"
    assert api.requests == []


# --- lost responses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [DROP, FakeResponse(connection_action="reset"), problem(502, "x"), problem(504, "x"), FakeResponse(b"<html>")],
)
def test_a_lost_create_is_recovered_without_the_secret(api: FakeApi, client: Client, answer: FakeResponse) -> None:
    api.on("POST", LIST, answer)
    api.on("GET", LIST, {"webhooks": [make_webhook(2, url="https://other.example/"), make_webhook()]})
    assert client.webhooks.create(URL, ["file.viewed"]) == {"webhook": make_webhook(), "recovered": True}
    assert count_posts(api) == 1


@pytest.mark.parametrize(
    "other",
    [
        make_webhook(url=f"{URL}/"),
        make_webhook(events=["file.viewed", "file.burned"]),
        make_webhook(events=None),
        make_webhook(format="slack"),
        make_webhook(fileUuid=UUID.format(8)),
        make_webhook(createdAt=format_instant(int((BASE - 60) * 1000))),
        make_webhook(9),
    ],
)
def test_a_lost_create_is_retried_if_the_list_has_no_matching_webhook(
    api: FakeApi, client: Client, time: FakeTime, other: dict[str, Any]
) -> None:
    api.on("POST", LIST, DROP, make_created_response(2))
    api.on("GET", LIST, {"webhooks": [other]})
    assert client.webhooks.create(URL, ["file.viewed"], known=[UUID.format(9)])["secret"] == SECRET
    assert count_posts(api) == 2
    assert time.waits == [2.0, 5.0]


def test_the_order_of_the_events_does_not_matter_for_a_match(api: FakeApi, client: Client) -> None:
    api.on("POST", LIST, DROP)
    api.on("GET", LIST, {"webhooks": [make_webhook(events=["file.burned", "file.viewed"])]})
    found = client.webhooks.create(URL, ["file.viewed", "file.burned", "file.viewed"])
    assert found["recovered"] is True


def test_a_webhook_for_a_file_matches_a_webhook_that_has_a_file(api: FakeApi, client: Client) -> None:
    api.on("POST", LIST, DROP)
    api.on("GET", LIST, {"webhooks": [make_webhook(fileUuid=UUID.format(8))]})
    assert client.webhooks.create(URL, ["file.viewed"], file="aB3dE5fG7hJ9")["recovered"] is True


def test_a_webhook_this_client_already_created_is_not_a_match(api: FakeApi, client: Client) -> None:
    api.on("POST", LIST, make_created_response(1), DROP, make_created_response(2))
    api.on("GET", LIST, {"webhooks": [make_webhook(1)]})
    client.webhooks.create(URL, ["file.viewed"])
    assert client.webhooks.create(URL, ["file.viewed"])["webhook"]["uuid"] == UUID.format(2)


def test_two_matching_webhooks_raise_unknown_outcome(api: FakeApi, client: Client) -> None:
    api.on("POST", LIST, DROP)
    api.on("GET", LIST, {"webhooks": [make_webhook(1), make_webhook(2)]})
    with pytest.raises(UnknownOutcome) as caught:
        client.webhooks.create(URL, ["file.viewed"])
    assert [each["uuid"] for each in caught.value.candidates] == [UUID.format(1), UUID.format(2)]


def test_a_create_that_timed_out_is_not_retried(api: FakeApi, connect: Callable[..., Client]) -> None:
    over = Event()
    api.on("POST", LIST, lambda request: over.wait(5))
    api.on("GET", LIST, {"webhooks": []})
    with pytest.raises(UnknownOutcome) as caught:
        connect(timeout=0.2).webhooks.create(URL, ["file.viewed"])
    wait_until(lambda: count_posts(api) > 0)
    over.set()
    assert isinstance(caught.value.__cause__, TimedOut)
    assert count_posts(api) == 1


@pytest.mark.parametrize(("status", "code"), [(400, "bad_request"), (404, "not_found"), (500, "internal")])
def test_a_rejected_create_is_not_retried(api: FakeApi, client: Client, status: int, code: str) -> None:
    api.on("POST", LIST, problem(status, code))
    with pytest.raises(Refused):
        client.webhooks.create(URL, ["file.viewed"])
    assert [request.method for request in api.requests] == ["POST"]


def test_a_deletion_whose_response_was_lost_succeeds(api: FakeApi, client: Client) -> None:
    api.on("DELETE", ONE, DROP, problem(404, "not_found"))
    client.webhooks.delete(UUID.format(1))
    assert len(api.requests) == 2


@pytest.mark.parametrize(("call", "times"), [("delete", 2), ("enable", 2), ("test", 1)])
def test_only_idempotent_calls_are_retried(api: FakeApi, client: Client, call: str, times: int) -> None:
    """A second test event would reach the receiver."""
    api.on("DELETE", ONE, DROP, FakeResponse(b"", 204))
    api.on("POST", f"{ONE}/enable", DROP, make_webhook())
    api.on("POST", f"{ONE}/test", DROP, {"delivered": True, "status": 200, "latencyMs": 9})
    if times == 1:
        with pytest.raises(ConnectionLost):
            getattr(client.webhooks, call)(UUID.format(1))
    else:
        getattr(client.webhooks, call)(UUID.format(1))
    assert len(api.requests) == times


def test_a_redelivery_with_a_lost_response_is_not_retried(api: FakeApi, client: Client) -> None:
    api.on("POST", f"{ONE}/deliveries/7/redeliver", DROP)
    with pytest.raises(ConnectionLost):
        client.webhooks.redeliver(UUID.format(1), 7)
    assert len(api.requests) == 1


# --- the delivery log ------------------------------------------------------------------------------------------------


def test_iteration_reaches_the_end_of_the_delivery_log(api: FakeApi, client: Client) -> None:
    rows = [make_delivery(number) for number in range(2, 203)]

    def page(request: Any) -> Any:
        since, limit = int(request.query.get("since", 0)), int(request.query["limit"])
        return [row for row in rows if row["id"] > since][:limit] if since else rows[::-1][:limit]

    api.on("GET", f"{ONE}/deliveries", page)
    log = client.webhooks.deliveries(UUID.format(1))
    assert list(log.rows_after(None)) == rows
    assert log.newest(3) == rows[:-4:-1]


@pytest.mark.parametrize("answer", [{}, [{"event": "file.viewed"}], [{"id": "7"}]])
def test_a_malformed_delivery_log_raises_not_an_api(api: FakeApi, client: Client, answer: Any) -> None:
    api.on("GET", f"{ONE}/deliveries", answer)
    with pytest.raises(NotAnApi):
        client.webhooks.deliveries(UUID.format(1)).page()
