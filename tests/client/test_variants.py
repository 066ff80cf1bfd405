"""Variants: requests, and recovery of a create whose response is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from docshare.client import Client
from docshare.client.errors import NotAnApi, Refused, TimedOut, UnknownOutcome
from docshare.contract.problems import Problem
from docshare.contract.wire import format_instant
from tests.support.outside.fake_api import BASE, UUID, FakeApi, FakeResponse, FakeTime, problem
from tests.support.polling import wait_until

FILE = "aB3dE5fG7hJ9"
LIST = f"/files/{FILE}/variants"
ONE = f"{LIST}/{UUID.format(1)}"
DROP = FakeResponse(connection_action="drop")


def make_variant(number: int = 1, label: str | None = "Ann", **more: Any) -> dict[str, Any]:
    row = {"uuid": UUID.format(number), "shortId": "vB3dE5fG7hJ9", "url": "https://d.example/v", "overrides": {}}
    row |= {} if label is None else {"label": label}
    return row | {"createdAt": format_instant(int(BASE * 1000)), **more}


def count_posts(api: FakeApi) -> int:
    return len(api.list_requests("POST", LIST))


def test_each_method_calls_its_route(api: FakeApi, client: Client) -> None:
    api.on("GET", LIST, {"variants": [make_variant()]})
    api.on("POST", LIST, FakeResponse(make_variant(), 201))
    api.on("PUT", ONE, make_variant(label="Bob"))
    api.on("DELETE", ONE, FakeResponse(b"", 204))
    assert client.variants.list(FILE) == [make_variant()]
    assert client.variants.create(FILE, "Ann", {"allowDownload": False}) == make_variant()
    assert client.variants.update(FILE, UUID.format(1), {"label": "Bob"}) == make_variant(label="Bob")
    client.variants.delete(FILE, UUID.format(1))
    client.variants.redact(FILE, UUID.format(1))
    bodies = [json.loads(request.body) if request.body else request.query for request in api.requests]
    assert bodies == [
        {},
        {"label": "Ann", "overrides": {"allowDownload": False}},
        {"label": "Bob"},
        {},
        {"redact": "1"},
    ]
    assert [request.headers["Content-Type"] for request in api.requests if request.body] == ["application/json"] * 2


def test_creating_a_variant_without_a_label_sends_an_empty_object(api: FakeApi, client: Client) -> None:
    api.on("POST", LIST, FakeResponse(make_variant(label=None), 201))
    client.variants.create(FILE)
    assert json.loads(api.requests[0].body) == {}


@pytest.mark.parametrize("word", ["vB3dE5fG7hJ9", "..", "", "label:Ann"])
def test_only_a_uuid_is_inserted_into_a_path(api: FakeApi, client: Client, word: str) -> None:
    for call in (client.variants.delete, client.variants.redact):
        with pytest.raises(Problem) as caught:
            call(FILE, word)
        assert caught.value.code == "not_found"
    assert api.requests == []


@pytest.mark.parametrize("answer", [[], {"variants": None}, {"variants": ["x"]}, {}])
def test_a_malformed_list_raises_not_an_api(api: FakeApi, client: Client, answer: Any) -> None:
    api.on("GET", LIST, answer)
    with pytest.raises(NotAnApi):
        client.variants.list(FILE)


@pytest.mark.parametrize(
    "answer",
    [DROP, FakeResponse(connection_action="reset"), problem(502, "x"), problem(504, "x"), FakeResponse(b"<html>")],
)
def test_a_lost_create_is_recovered_by_its_label(api: FakeApi, client: Client, answer: FakeResponse) -> None:
    api.on("POST", LIST, answer)
    api.on("GET", LIST, {"variants": [make_variant(2, "Bob"), make_variant()]})
    assert client.variants.create(FILE, " Ann ") == make_variant() | {"recovered": True}
    assert count_posts(api) == 1


@pytest.mark.parametrize(
    "other",
    [
        make_variant(label="Anna"),
        make_variant(label=None),
        make_variant(overrides={"allowDownload": True}),
        make_variant(createdAt=format_instant(int((BASE - 60) * 1000))),
        make_variant(9),
    ],
)
def test_a_lost_create_is_retried_if_the_list_has_no_matching_variant(
    api: FakeApi, client: Client, time: FakeTime, other: dict[str, Any]
) -> None:
    api.on("POST", LIST, DROP, FakeResponse(make_variant(2), 201))
    api.on("GET", LIST, {"variants": [other]})
    assert client.variants.create(FILE, "Ann", known=[UUID.format(9)]) == make_variant(2)
    assert count_posts(api) == 2
    assert time.waits == [2.0, 5.0]


def test_a_variant_this_client_already_created_is_not_a_match(api: FakeApi, client: Client) -> None:
    api.on("POST", LIST, FakeResponse(make_variant(1), 201), DROP, FakeResponse(make_variant(2), 201))
    api.on("GET", LIST, {"variants": [make_variant(1)]})
    assert client.variants.create(FILE, "Ann")["uuid"] == UUID.format(1)
    assert client.variants.create(FILE, "Ann")["uuid"] == UUID.format(2)


def test_two_matching_variants_raise_unknown_outcome(api: FakeApi, client: Client) -> None:
    api.on("POST", LIST, DROP)
    api.on("GET", LIST, {"variants": [make_variant(1), make_variant(2)]})
    with pytest.raises(UnknownOutcome) as caught:
        client.variants.create(FILE, "Ann")
    assert [each["uuid"] for each in caught.value.candidates] == [UUID.format(1), UUID.format(2)]
    assert caught.value.path == f"/api/v1{LIST}"


def test_a_create_that_timed_out_is_not_retried(api: FakeApi, connect: Callable[..., Client], time: FakeTime) -> None:
    over = Event()
    api.on("POST", LIST, lambda request: over.wait(5))
    api.on("GET", LIST, {"variants": []})
    with pytest.raises(UnknownOutcome) as caught:
        connect(timeout=0.2).variants.create(FILE, "Ann")
    wait_until(lambda: count_posts(api) > 0)
    over.set()
    assert isinstance(caught.value.__cause__, TimedOut)
    assert count_posts(api) == 1


@pytest.mark.parametrize(("status", "code"), [(400, "bad_request"), (403, "plan_required"), (500, "internal")])
def test_a_rejected_create_is_not_retried(api: FakeApi, client: Client, status: int, code: str) -> None:
    api.on("POST", LIST, problem(status, code))
    with pytest.raises(Refused):
        client.variants.create(FILE, "Ann")
    assert [request.method for request in api.requests] == ["POST"]


def test_a_503_is_retried_after_retry_after(api: FakeApi, client: Client, time: FakeTime) -> None:
    api.on("POST", LIST, problem(503, "unavailable", Retry_After="2"), FakeResponse(make_variant(), 201))
    assert client.variants.create(FILE, "Ann") == make_variant()
    assert time.waits == [2.0]


@pytest.mark.parametrize("call", ["update", "delete", "redact"])
def test_changes_are_retried_after_a_lost_response(api: FakeApi, client: Client, call: str) -> None:
    api.on("PUT", ONE, DROP, make_variant())
    api.on("DELETE", ONE, DROP, FakeResponse(b"", 204))
    arguments: list[Any] = [{"revoked": True}] if call == "update" else []
    getattr(client.variants, call)(FILE, UUID.format(1), *arguments)
    assert len(api.requests) == 2


def test_a_deletion_whose_response_was_lost_succeeds(api: FakeApi, client: Client) -> None:
    """The retry answers 404; for a redaction, which leaves the variant, that remains an error."""
    missing = problem(404, "not_found")
    api.on("DELETE", ONE, DROP, missing, DROP, missing)
    client.variants.delete(FILE, UUID.format(1))
    with pytest.raises(Refused):
        client.variants.redact(FILE, UUID.format(1))


def test_figures_are_keyed_by_uuid_and_empty_below_pro(api: FakeApi, client: Client) -> None:
    row = {"uuid": UUID.format(1), "sessions": 2, "avgTimeMs": 9}
    api.on("GET", f"/files/{FILE}/readership", {"tier": "pro", "variants": [row]}, {"tier": "basic"})
    assert client.variants.list_figures(FILE) == {UUID.format(1): row}
    assert client.variants.list_figures(FILE) == {}
