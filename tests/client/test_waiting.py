"""Feeds are followed, and single events and sessions are awaited."""

from collections.abc import Callable
from typing import Any

import pytest

from docshare.client import Client
from docshare.client.errors import WaitTimedOut
from docshare.contract.problems import Problem
from tests.support.outside.fake_api import FakeApi, FakeTime

UUID = "9f8b7c6d-0001-4000-8000-000000000001"


def test_a_feed_is_followed_from_a_cursor_until_the_timeout(api: FakeApi, client: Client, time: FakeTime) -> None:
    api.add("activity", 1, 2)
    time.run_in_waits(lambda: api.add("activity", 3), None, lambda: api.add("activity", 4, 5))
    assert [row["id"] for row in client.activity.follow(1, timeout=15)] == [2, 3, 4, 5]
    assert time.waits == [5.0, 5.0, 5.0]


def test_without_a_cursor_only_new_rows_are_followed(api: FakeApi, client: Client, time: FakeTime) -> None:
    api.add("view", 1, 2)
    time.run_in_waits(lambda: api.add("view", 3))
    assert [row["id"] for row in client.events.follow(timeout=2, interval=2)] == [3]


def test_an_event_is_awaited(api: FakeApi, client: Client, time: FakeTime) -> None:
    api.add("activity", 1)
    time.run_in_waits(
        lambda: api.add("activity", 2, event="file.burned"), lambda: api.add("activity", 3, event="file.viewed")
    )
    assert client.activity.wait(["file.viewed"], timeout=60)["id"] == 3


def test_a_wait_for_an_event_times_out(client: Client, time: FakeTime) -> None:
    with pytest.raises(WaitTimedOut, match=r"no file\.viewed or file\.burned within 6 seconds"):
        client.activity.wait(["file.viewed", "file.burned"], timeout=6)
    assert time.passed == 6


def make_session(number: int, *page_times: int, **more: Any) -> dict[str, Any]:
    pages = [{"page": at, "timeMs": time} for at, time in enumerate(page_times, 1)]
    return {"id": number, "totalTimeMs": sum(page_times), "pages": pages, **more}


SESSIONS = [
    make_session(1, 900, 100), make_session(2, 500, 1000, variantUuid="ann"), make_session(3, 9000, 9000),
]  # fmt: skip


@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ({}, 1),
        ({"cursor": 1}, 2),
        ({"page": 1}, 3),
        ({"page": 2}, 2),
        ({"page": 2, "min_ms": 2000}, 3),
        ({"min_ms": 1001}, 2),
        ({"variant": "ann"}, 2),
        ({"variant": "ANN"}, 2),
        ({"variant": "ann", "page": 1}, None),
        ({"page": 3}, None),
    ],
)
def test_a_session_is_awaited(
    api: FakeApi, client: Client, time: FakeTime, goal: dict[str, Any], wanted: int | None
) -> None:
    ended: list[dict[str, Any]] = []

    def answer(heard: Any) -> Any:
        return [row for row in ended if row["id"] > int(heard.query["since"])]

    api.on("GET", f"/files/{UUID}/readership/sessions", *[answer] * 40)
    steps: list[Callable[[], object]] = [lambda row=row: ended.append(row) for row in SESSIONS]
    time.run_in_waits(*steps)
    if wanted is None:
        with pytest.raises(WaitTimedOut, match=f"nobody has read {UUID} within 8 seconds"):
            client.readership.wait(UUID, timeout=8, **goal)
        assert time.passed == 8
    else:
        assert client.readership.wait(UUID, timeout=8, **goal)["id"] == wanted


def test_options_of_single_calls_do_not_change_the_client(api: FakeApi, client: Client, time: FakeTime) -> None:
    from tests.support.outside.fake_api import problem

    unavailable = problem(503, "unavailable")
    api.on("GET", "/user", unavailable, unavailable, {"tier": "pro"})
    quick = client.with_options(retries=0, timeout=1)
    with pytest.raises(Problem):
        quick.account.show()
    assert len(api.requests) == 1
    assert client.account.show() == {"tier": "pro"}
    assert len({request.port for request in api.requests}) == 1, "over the same connection"
