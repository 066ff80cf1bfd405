"""The activity feed and the alias of the gate stream: what is asked, and that both are walked as the feed is."""

from __future__ import annotations

import pytest

from docshare.client import Client
from docshare.client.errors import NotAnApi, Refused
from tests.support.fake_api import UUID, FakeApi, problem, row


def row_ids(rows: object) -> list[int]:
    return [each["id"] for each in rows]  # type: ignore[attr-defined]


def test_a_page_asks_for_exactly_what_it_is_told(api: FakeApi, client: Client) -> None:
    client.activity.page(7, 20, UUID.format(1), ["note.created", "access.denied"])
    client.activity.page()
    assert [(heard.path, heard.query) for heard in api.requests] == [
        ("/activity", {"since": "7", "limit": "20", "file": UUID.format(1), "kind": "note.created,access.denied"}),
        ("/activity", {"limit": "50"}),
    ]


def test_rows_come_untouched(api: FakeApi, client: Client) -> None:
    api.rows["activity"] = [row("activity", 2**53 + 1, 5, event="future.kind", data={"z": 1, "a": None}, more=[])]
    assert client.activity.page() == api.rows["activity"]


@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 250])
def test_a_walk_from_the_start_shows_every_row_once_and_in_order(
    api: FakeApi, client: Client, first: int, count: int
) -> None:
    api.add("activity", *range(first, first + count))
    expected = list(range(first, first + count))
    if first == 1 and count > 100:
        expected = expected[1:]  # Spec: no request can show id 1 once a hundred rows lie above it
    assert row_ids(client.activity.rows_after(None)) == expected


def test_a_walk_from_a_cursor_shows_what_follows_it_of_the_kinds_wanted(api: FakeApi, client: Client) -> None:
    for number in range(2, 302):
        api.add("activity", number, event="note.created" if number % 2 else "file.viewed")
    found = client.activity.rows_after(31, None, ["note.created"])
    assert row_ids(found) == list(range(33, 302, 2))


def test_the_newest_rows_come_newest_first(api: FakeApi, client: Client) -> None:
    api.add("activity", *range(2, 253))
    assert row_ids(client.activity.newest(3)) == [252, 251, 250]
    assert row_ids(client.activity.newest(150)) == list(range(252, 102, -1))


def test_a_server_without_the_route_refuses_with_not_found(api: FakeApi, client: Client) -> None:
    api.on("GET", "/activity", problem(404, "not_found"))
    with pytest.raises(Refused) as caught:
        client.activity.page()
    assert (caught.value.code, caught.value.status) == ("not_found", 404)


def test_a_row_without_an_id_is_not_of_this_api(api: FakeApi, client: Client) -> None:
    api.on("GET", "/activity", [{"event": "x"}])
    with pytest.raises(NotAnApi) as caught:
        client.activity.page()
    assert caught.value.path == "/api/v1/activity"


def test_gate_responses_are_the_gate_stream_by_another_address(api: FakeApi, client: Client) -> None:
    api.add("gate", *range(2, 252))
    assert row_ids(client.events.gate_responses().rows_after(None)) == list(range(2, 252))
    assert {heard.path for heard in api.requests} == {"/gate-responses"}
    assert all("type" not in heard.query for heard in api.requests)


def test_the_plain_403_of_gate_responses_is_a_missing_plan(api: FakeApi, client: Client) -> None:
    api.is_gate_allowed = False
    with pytest.raises(Refused) as caught:
        client.events.gate_responses().page()
    assert (caught.value.code, caught.value.status) == ("plan_required", 403)
