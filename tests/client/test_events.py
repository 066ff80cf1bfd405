"""The events feed: single pages, and iteration that neither skips nor repeats a row."""

from __future__ import annotations

import pytest

from docshare.client import Client
from docshare.client.errors import NotAnApi, Refused
from tests.client.rows import list_reachable_ids, row_ids
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, FakeTime, problem, row


def list_since_values(api: FakeApi) -> list[str | None]:
    return [request.query.get("since") for request in api.list_requests("GET", "/events")]


def test_page_sends_only_the_given_parameters(api: FakeApi, client: Client) -> None:
    client.events.page("download", 7, 20, UUID.format(1))
    client.events.page()
    assert [request.query for request in api.requests] == [
        {"type": "download", "since": "7", "limit": "20", "file": UUID.format(1)},
        {"type": "view", "limit": "50"},
    ]


def test_rows_are_returned_unchanged(api: FakeApi, client: Client) -> None:
    api.rows["gate"] = [row("gate", 2**53 + 1, 5, extra={"z": 1, "a": None})]
    assert client.events.page("gate") == api.rows["gate"]


def test_a_plain_text_403_of_the_gate_stream_becomes_plan_required(api: FakeApi, client: Client) -> None:
    api.is_gate_allowed = False
    with pytest.raises(Refused) as caught:
        client.events.page("gate")
    assert (caught.value.code, caught.value.status) == ("plan_required", 403)
    assert caught.value.detail == "This feature requires the pro plan or higher"


def test_a_problem_403_of_the_gate_stream_keeps_its_code(api: FakeApi, client: Client) -> None:
    api.before_page = lambda: problem(403, "insufficient_scope")
    with pytest.raises(Refused) as caught:
        client.events.page("gate")
    assert caught.value.code == "insufficient_scope"


def test_a_plain_text_403_of_another_stream_becomes_forbidden(api: FakeApi, client: Client) -> None:
    api.before_page = lambda: FakeResponse("go away", 403, {"Content-Type": "text/plain"})
    with pytest.raises(Refused) as caught:
        client.events.page("view")
    assert caught.value.code == "forbidden"


@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 250])
def test_iterating_from_the_start_yields_every_row_once_in_order(
    api: FakeApi, client: Client, first: int, count: int
) -> None:
    api.add("view", *range(first, first + count))
    assert row_ids(client.events.rows_after("view", None)) == list_reachable_ids(first, count)


@pytest.mark.parametrize("cursor", [None, 0, -5])
def test_a_cursor_below_one_iterates_from_the_start(api: FakeApi, client: Client, cursor: int | None) -> None:
    api.add("view", 1, 2, 3)
    assert row_ids(client.events.rows_after("view", cursor)) == [1, 2, 3]


@pytest.mark.parametrize(("cursor", "expected"), [(1, 250), (2, 249), (150, 101), (151, 100), (250, 1), (251, 0)])
def test_iterating_from_a_cursor_yields_all_later_rows(
    api: FakeApi, client: Client, cursor: int, expected: int
) -> None:
    api.add("view", *range(2, 252))
    found = row_ids(client.events.rows_after("view", cursor))
    assert found == list(range(max(cursor, 1) + 1, 252))
    assert len(found) == expected
    assert client.events.page("view", 251) == []


def test_an_empty_stream_is_requested_once_without_since(api: FakeApi, client: Client) -> None:
    assert list(client.events.rows_after("view", None)) == []
    assert list_since_values(api) == [None]


def test_iteration_continues_across_gaps_in_the_ids(api: FakeApi, client: Client) -> None:
    api.add("view", *range(2, 500, 3))
    assert row_ids(client.events.rows_after("view", None)) == list(range(2, 500, 3))


def test_iteration_includes_rows_added_meanwhile(api: FakeApi, client: Client) -> None:
    api.add("view", *range(2, 50))
    walk = client.events.rows_after("view", None)
    first = next(walk)
    api.add("view", *range(50, 60))
    assert [first["id"], *row_ids(walk)] == list(range(2, 60))


def test_a_page_is_requested_only_when_its_rows_are_consumed(api: FakeApi, client: Client) -> None:
    api.add("view", *range(2, 502))
    next(client.events.rows_after("view", 1))
    assert list_since_values(api) == ["1"]


def test_a_feed_that_ignores_the_cursor_raises_not_an_api(api: FakeApi, client: Client) -> None:
    api.on("GET", "/events", [row("view", 5)])
    with pytest.raises(NotAnApi, match="does not move past its cursor"):
        list(client.events.rows_after("view", 5))


def test_a_row_without_an_id_raises_not_an_api(api: FakeApi, client: Client) -> None:
    api.on("GET", "/events", [{"fileName": "x"}])
    with pytest.raises(NotAnApi):
        client.events.page()


@pytest.mark.parametrize(("count", "expected"), [(0, []), (3, [152, 151, 150]), (100, list(range(152, 52, -1)))])
def test_newest_returns_rows_newest_first(api: FakeApi, client: Client, count: int, expected: list[int]) -> None:
    api.add("view", *range(2, 153))
    assert row_ids(client.events.newest("view", count)) == expected


def test_newest_returns_more_rows_than_fit_on_a_page(api: FakeApi, client: Client) -> None:
    api.add("view", *range(2, 253))
    assert row_ids(client.events.newest("view", 150)) == list(range(252, 102, -1))


def test_a_long_iteration_slows_down_before_the_rate_limit(api: FakeApi, client: Client, time: FakeTime) -> None:
    api.add("view", *range(2, 300))
    walk = client.events.rows_after("view", 1)
    next(walk)
    api.before_page = lambda: FakeResponse(api.rows["view"][100:200], headers={"RateLimit": '"default";r=6;t=60'})
    for _ in range(100):
        next(walk)
    api.before_page = lambda: None
    assert time.waits == []
    assert len(list(walk)) == 197
    assert time.waits[0] == 10.0
