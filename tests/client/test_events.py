"""The feed: pages, and walks that lose nothing and double nothing."""

from __future__ import annotations

import pytest

from docshare.client import Client
from docshare.client.errors import NotAnApi, Refused
from tests.support.fake_api import UUID, FakeApi, FakeResponse, FakeTime, problem, row


def row_ids(rows: object) -> list[int]:
    return [each["id"] for each in rows]  # type: ignore[attr-defined]


def list_since_values(api: FakeApi) -> list[str | None]:
    return [heard.query.get("since") for heard in api.list_requests("GET", "/events")]


def test_a_page_asks_for_exactly_what_it_is_told(api: FakeApi, client: Client) -> None:
    client.events.page("download", 7, 20, UUID.format(1))
    client.events.page()
    assert [heard.query for heard in api.requests] == [
        {"type": "download", "since": "7", "limit": "20", "file": UUID.format(1)},
        {"type": "view", "limit": "50"},
    ]


def test_rows_come_untouched(api: FakeApi, client: Client) -> None:
    api.rows["gate"] = [row("gate", 2**53 + 1, 5, extra={"z": 1, "a": None})]
    assert client.events.page("gate") == api.rows["gate"]


def test_the_plain_403_of_the_gate_stream_is_a_missing_plan(api: FakeApi, client: Client) -> None:
    api.is_gate_allowed = False
    with pytest.raises(Refused) as caught:
        client.events.page("gate")
    assert (caught.value.code, caught.value.status) == ("plan_required", 403)
    assert caught.value.detail == "This feature requires the pro plan or higher"


def test_a_403_of_the_gate_stream_that_is_a_problem_keeps_its_code(api: FakeApi, client: Client) -> None:
    api.before_page = lambda: problem(403, "insufficient_scope")
    with pytest.raises(Refused) as caught:
        client.events.page("gate")
    assert caught.value.code == "insufficient_scope"


def test_a_plain_403_of_another_stream_is_no_matter_of_plans(api: FakeApi, client: Client) -> None:
    api.before_page = lambda: FakeResponse("go away", 403, {"Content-Type": "text/plain"})
    with pytest.raises(Refused) as caught:
        client.events.page("view")
    assert caught.value.code == "forbidden"


@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 250])
def test_a_walk_from_the_start_shows_every_row_once_and_in_order(
    api: FakeApi, client: Client, first: int, count: int
) -> None:
    api.add("view", *range(first, first + count))
    expected = list(range(first, first + count))
    if first == 1 and count > 100:
        expected = expected[1:]  # Spec: no request can show id 1 once a hundred rows lie above it
    assert row_ids(client.events.rows_after("view", None)) == expected


@pytest.mark.parametrize("cursor", [None, 0, -5])
def test_there_is_no_row_before_the_first_so_any_such_cursor_is_the_start(
    api: FakeApi, client: Client, cursor: int | None
) -> None:
    api.add("view", 1, 2, 3)
    assert row_ids(client.events.rows_after("view", cursor)) == [1, 2, 3]


@pytest.mark.parametrize(("cursor", "expected"), [(1, 250), (2, 249), (150, 101), (151, 100), (250, 1), (251, 0)])
def test_a_walk_from_a_cursor_goes_on_until_the_feed_is_empty(
    api: FakeApi, client: Client, cursor: int, expected: int
) -> None:
    api.add("view", *range(2, 252))
    found = row_ids(client.events.rows_after("view", cursor))
    assert found == list(range(max(cursor, 1) + 1, 252))
    assert len(found) == expected
    assert client.events.page("view", 251) == []


def test_an_empty_stream_is_asked_without_since(api: FakeApi, client: Client) -> None:
    assert list(client.events.rows_after("view", None)) == []
    assert list_since_values(api) == [None]


def test_gaps_left_by_trashed_files_do_not_end_a_walk(api: FakeApi, client: Client) -> None:
    api.add("view", *range(2, 500, 3))
    assert row_ids(client.events.rows_after("view", None)) == list(range(2, 500, 3))


def test_rows_that_appear_during_the_walk_are_part_of_it(api: FakeApi, client: Client) -> None:
    api.add("view", *range(2, 50))
    walk = client.events.rows_after("view", None)
    first = next(walk)
    api.add("view", *range(50, 60))
    assert [first["id"], *row_ids(walk)] == list(range(2, 60))


def test_a_page_is_asked_for_only_when_its_rows_are_wanted(api: FakeApi, client: Client) -> None:
    api.add("view", *range(2, 502))
    next(client.events.rows_after("view", 1))
    assert list_since_values(api) == ["1"]


def test_a_feed_that_does_not_move_on_is_an_error_and_no_endless_loop(api: FakeApi, client: Client) -> None:
    api.on("GET", "/events", [row("view", 5)])
    with pytest.raises(NotAnApi, match="does not move past its cursor"):
        list(client.events.rows_after("view", 5))


def test_a_row_without_an_id_is_not_of_this_api(api: FakeApi, client: Client) -> None:
    api.on("GET", "/events", [{"fileName": "x"}])
    with pytest.raises(NotAnApi):
        client.events.page()


@pytest.mark.parametrize(("count", "expected"), [(0, []), (3, [152, 151, 150]), (100, list(range(152, 52, -1)))])
def test_the_newest_rows_come_newest_first(api: FakeApi, client: Client, count: int, expected: list[int]) -> None:
    api.add("view", *range(2, 153))
    assert row_ids(client.events.newest("view", count)) == expected


def test_more_than_a_page_of_newest_rows_is_found_by_walking(api: FakeApi, client: Client) -> None:
    api.add("view", *range(2, 253))
    assert row_ids(client.events.newest("view", 150)) == list(range(252, 102, -1))


def test_a_long_walk_keeps_its_distance_from_the_rate_limit(api: FakeApi, client: Client, time: FakeTime) -> None:
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
