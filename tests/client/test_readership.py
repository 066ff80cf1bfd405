"""The readership: requests, and iteration over sessions that skips none."""

from __future__ import annotations

from typing import Any

import pytest

from docshare.client import Client
from docshare.client.errors import NotAnApi, Refused
from docshare.contract.problems import Problem
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, FakeTime, RecordedRequest, problem

FILE = "aB3dE5fG7hJ9"
PATH = f"/files/{FILE}"
SESSIONS = f"{PATH}/readership/sessions"
CSV = FakeResponse(b"page,mark\r\n1,pick\r\n", 200, {"Content-Type": "text/csv; charset=utf-8"})


@pytest.mark.parametrize(
    ("days", "query"),
    [({}, {}), ({"since": "2026-09-19"}, {"from": "2026-09-19"}),
     ({"since": "2026-09-19", "until": "2026-09-20"}, {"from": "2026-09-19", "to": "2026-09-20"})],
)  # fmt: skip
def test_the_report_and_the_pages_can_be_limited_to_days(
    api: FakeApi, client: Client, days: dict[str, str], query: dict[str, str]
) -> None:
    api.on("GET", f"{PATH}/readership", {"tier": "pro"})
    api.on("GET", f"{PATH}/readership/pages", {"totalPages": 1})
    assert client.readership.report(FILE, **days) == {"tier": "pro"}
    assert client.readership.pages(FILE, **days) == {"totalPages": 1}
    assert [request.query for request in api.requests] == [query, query]


def add_sessions(api: FakeApi, count: int, first: int = 1) -> None:
    """Add ``count`` sessions with ids from ``first``, paginated like the real API."""

    def page(request: RecordedRequest) -> list[dict[str, Any]]:
        since, limit = int(request.query["since"]), int(request.query["limit"])
        return [{"id": number} for number in range(first, first + count) if number > since][:limit]

    api.on("GET", SESSIONS, page)


def list_session_ids(client: Client, cursor: int = 0) -> list[int]:
    return [row["id"] for row in client.readership.sessions_after(FILE, cursor)]


def test_each_method_calls_its_route(api: FakeApi, client: Client) -> None:
    one = f"{SESSIONS}/{UUID.format(7)}"
    for path in ("/readership", "/readership/pages", "/page-marks", "/annotations", "/feedback"):
        api.on("GET", PATH + path, {"at": path})
    api.on("GET", one, {"at": "one"})
    reader = client.readership
    answers = [reader.report(FILE), reader.pages(FILE), reader.marks(FILE), reader.annotations(FILE)]
    answers += [reader.feedback(FILE), reader.session(FILE, UUID.format(7))]
    assert [answer["at"] for answer in answers] == [
        "/readership", "/readership/pages", "/page-marks", "/annotations", "/feedback", "one",
    ]  # fmt: skip
    assert all(request.query == {} for request in api.requests)


def test_csv_is_returned_as_bytes_unchanged(api: FakeApi, client: Client) -> None:
    api.on("GET", f"{PATH}/page-marks", CSV)
    api.on("GET", f"{PATH}/annotations", CSV)
    assert client.readership.marks_csv(FILE) == client.readership.annotations_csv(FILE) == b"page,mark\r\n1,pick\r\n"
    assert [request.query for request in api.requests] == [{"format": "csv"}] * 2


def test_a_response_that_is_not_csv_raises_not_an_api(api: FakeApi, client: Client) -> None:
    api.on("GET", f"{PATH}/page-marks", {"pages": []})
    with pytest.raises(NotAnApi):
        client.readership.marks_csv(FILE)


@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 250])
def test_iteration_yields_every_session_once(api: FakeApi, client: Client, count: int) -> None:
    add_sessions(api, count)
    assert list_session_ids(client) == list(range(1, count + 1))


def test_iterating_from_a_cursor_yields_only_later_sessions(api: FakeApi, client: Client) -> None:
    add_sessions(api, 250)
    assert list_session_ids(client, 190) == list(range(191, 251))


def test_iteration_continues_after_pages_shorter_than_the_limit(api: FakeApi, client: Client) -> None:
    api.on("GET", SESSIONS, [{"id": 1}, {"id": 2}], [{"id": 9}], [])
    assert list_session_ids(client) == [1, 2, 9]


def test_iteration_slows_down_before_the_rate_limit(api: FakeApi, client: Client, time: FakeTime) -> None:
    tight = {"RateLimit": "limit=120, remaining=24, reset=30"}
    api.on("GET", SESSIONS, FakeResponse([{"id": 1}], 200, tight), FakeResponse([], 200, tight))
    list_session_ids(client)
    assert sum(time.waits) > 0


@pytest.mark.parametrize("rows", [[{"id": 2}, {"id": 1}], [{"id": 0}], [{}], [{"id": "7"}], [{"id": 3}, {"id": 3}]])
def test_sessions_not_in_ascending_order_raise_not_an_api(
    api: FakeApi, client: Client, rows: list[dict[str, Any]]
) -> None:
    api.on("GET", SESSIONS, rows)
    with pytest.raises(NotAnApi):
        list_session_ids(client)


@pytest.mark.parametrize("word", ["..", "", "7", "../../variants"])
def test_only_a_uuid_is_inserted_into_a_path(api: FakeApi, client: Client, word: str) -> None:
    with pytest.raises(Problem) as caught:
        client.readership.session(FILE, word)
    assert (caught.value.code, api.requests) == ("not_found", [])


def test_a_file_of_another_owner_raises_forbidden(api: FakeApi, client: Client) -> None:
    api.on("GET", f"{PATH}/readership", problem(403, "forbidden"))
    with pytest.raises(Refused) as caught:
        client.readership.report(FILE)
    assert (caught.value.status, caught.value.code) == (403, "forbidden")
