"""The activity feed and the alias of the gate stream: parameters and pagination."""

from __future__ import annotations

import pytest

from docshare.client import Client
from docshare.client.errors import NotAnApi, Refused
from tests.client.rows import list_reachable_ids, row_ids
from tests.support.outside.fake_api import UUID, FakeApi, problem, row


def test_page_sends_only_the_given_parameters(api: FakeApi, client: Client) -> None:
    client.activity.page(7, 20, UUID.format(1), ["note.created", "access.denied"])
    client.activity.page()
    assert [(request.path, request.query) for request in api.requests] == [
        ("/activity", {"since": "7", "limit": "20", "file": UUID.format(1), "kind": "note.created,access.denied"}),
        ("/activity", {"limit": "50"}),
    ]


def test_rows_are_returned_unchanged(api: FakeApi, client: Client) -> None:
    api.rows["activity"] = [row("activity", 2**53 + 1, 5, event="future.kind", data={"z": 1, "a": None}, more=[])]
    assert client.activity.page() == api.rows["activity"]


@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 250])
def test_iterating_from_the_start_yields_every_row_once_in_order(
    api: FakeApi, client: Client, first: int, count: int
) -> None:
    api.add("activity", *range(first, first + count))
    assert row_ids(client.activity.rows_after(None)) == list_reachable_ids(first, count)


def test_iterating_from_a_cursor_yields_only_later_rows_of_the_given_kinds(api: FakeApi, client: Client) -> None:
    for number in range(2, 302):
        api.add("activity", number, event="note.created" if number % 2 else "file.viewed")
    found = client.activity.rows_after(31, None, ["note.created"])
    assert row_ids(found) == list(range(33, 302, 2))


def test_newest_returns_rows_newest_first(api: FakeApi, client: Client) -> None:
    api.add("activity", *range(2, 253))
    assert row_ids(client.activity.newest(3)) == [252, 251, 250]
    assert row_ids(client.activity.newest(150)) == list(range(252, 102, -1))


def test_a_server_without_the_activity_route_raises_not_found(api: FakeApi, client: Client) -> None:
    api.on("GET", "/activity", problem(404, "not_found"))
    with pytest.raises(Refused) as caught:
        client.activity.page()
    assert (caught.value.code, caught.value.status) == ("not_found", 404)


def test_a_row_without_an_id_raises_not_an_api(api: FakeApi, client: Client) -> None:
    api.on("GET", "/activity", [{"event": "x"}])
    with pytest.raises(NotAnApi) as caught:
        client.activity.page()
    assert caught.value.path == "/api/v1/activity"


def test_gate_responses_returns_the_gate_stream_from_its_own_path(api: FakeApi, client: Client) -> None:
    api.add("gate", *range(2, 252))
    assert row_ids(client.events.gate_responses().rows_after(None)) == list(range(2, 252))
    assert {request.path for request in api.requests} == {"/gate-responses"}
    assert all("type" not in request.query for request in api.requests)


def test_a_plain_text_403_of_gate_responses_becomes_plan_required(api: FakeApi, client: Client) -> None:
    api.is_gate_allowed = False
    with pytest.raises(Refused) as caught:
        client.events.gate_responses().page()
    assert (caught.value.code, caught.value.status) == ("plan_required", 403)
