"""The end of reading sessions, which adds their rows to the feed."""

from collections.abc import Callable
from typing import Any

import pytest

from docshare.server.workers import jobs
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader

(END_SESSIONS_JOB,) = (job for job in jobs.JOBS if job.name == "end reading sessions")


@pytest.fixture
def link(world: World) -> str:
    return str(world.pia.upload()["shortId"])


def list_view_rows(world: World) -> list[dict[str, Any]]:
    jobs.run_job(world.rt, END_SESSIONS_JOB)
    rows: list[dict[str, Any]] = world.pia.get("/api/v1/events?since=1").get_json()
    return rows


def read_and_hide(reader: FakeReader) -> None:
    reader.read_page(10)
    reader.leave()


def read_without_hiding(reader: FakeReader) -> None:
    reader.read_page(10)


@pytest.mark.parametrize(
    ("finish_reading", "seconds"), [(read_and_hide, 60), (read_without_hiding, 300)], ids=["hidden", "silent"]
)
def test_a_session_ends_60_s_after_it_is_hidden_or_300_s_after_its_last_beacon(
    world: World, link: str, finish_reading: Callable[[FakeReader], None], seconds: int
) -> None:
    finish_reading(FakeReader(world, link))
    left_at = world.clock.now
    world.clock.advance(seconds=seconds - 0.001)
    assert list_view_rows(world) == []
    world.clock.advance(milliseconds=1)
    (row,) = list_view_rows(world)
    assert (row["type"], row["timeMs"], row["pagesViewed"]) == ("view", 10_000, 1)
    assert world.rt.db.fetch_all("SELECT ended_at FROM view_sessions") == [(left_at + seconds * 1000,)]


def test_the_end_time_does_not_depend_on_when_the_job_runs(world: World, link: str) -> None:
    read_and_hide(FakeReader(world, link))
    left_at = world.clock.now
    world.clock.advance(hours=20)
    list_view_rows(world)
    assert world.rt.db.fetch_all("SELECT ended_at FROM view_sessions") == [(left_at + 60_000,)]


def test_a_row_is_added_to_the_feed_once(world: World, link: str) -> None:
    read_and_hide(FakeReader(world, link))
    world.clock.advance(minutes=2)
    assert len(list_view_rows(world)) == len(list_view_rows(world)) == 1


def close_page(reader: FakeReader) -> None:
    reader.leave(closing=True)


def test_a_session_ends_ten_seconds_after_its_page_is_closed(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    reader.read_page(10)
    close_page(reader)
    world.clock.advance(seconds=9.999)
    assert list_view_rows(world) == []
    world.clock.advance(milliseconds=1)
    (row,) = list_view_rows(world)
    assert row["timeMs"] == 10_000
    assert reader.send_next_beacon(read={1: 0}) == 409


def test_a_page_that_reopens_within_ten_seconds_continues_its_session(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    reader.read_page(10)
    close_page(reader)
    world.clock.advance(seconds=9)
    assert reader.send_next_beacon(visible=True) == 204
    assert reader.read_page(50) == 204
    close_page(reader)
    reader.leave()  # hiding a closed page keeps it closed
    world.clock.advance(seconds=10)
    (row,) = list_view_rows(world)
    assert row["timeMs"] == 60_000


def test_a_session_with_beacons_remains_open(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    for _ in range(90):
        reader.read_page(10)
        assert list_view_rows(world) == []
    world.clock.advance(minutes=5)
    (row,) = list_view_rows(world)
    assert row["timeMs"] == 900_000


def read_in_turns(world: World, link: str) -> None:
    """Let two readers read: the first for 5 and 9 seconds, and between these the second for 7, who then leaves."""
    first = FakeReader(world, link)
    first.read_page(5)
    second = FakeReader(world, link)
    second.read_page(7)
    second.leave()
    first.read_page(9)


def test_an_uncounted_session_ends_without_a_row(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    reader.read_page(2, input=False)
    reader.leave()
    world.clock.advance(minutes=1)
    assert list_view_rows(world) == []
    assert world.rt.db.fetch_all("SELECT class, ended_at IS NOT NULL FROM view_sessions") == [("scanner", 1)]


def test_rows_are_in_the_order_in_which_sessions_end(world: World, link: str) -> None:
    """Otherwise a row could be added before a cursor that a client has already passed."""
    read_in_turns(world, link)
    world.clock.advance(seconds=58)
    (row,) = list_view_rows(world)
    assert row["timeMs"] == 7_000
    world.clock.advance(minutes=10)
    assert [row["timeMs"] for row in list_view_rows(world)] == [7_000, 14_000]


def test_rows_of_one_run_are_in_the_order_in_which_sessions_end(world: World, link: str) -> None:
    read_in_turns(world, link)
    world.clock.advance(hours=1)
    assert [row["timeMs"] for row in list_view_rows(world)] == [7_000, 14_000]


def test_pages_visible_for_less_than_a_second_are_not_viewed(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    world.clock.advance(seconds=10)
    reader.send_next_beacon(read={1: 8_000, 2: 1_000, 3: 999})
    world.clock.advance(minutes=5)
    (row,) = list_view_rows(world)
    assert (row["pagesViewed"], row["timeMs"]) == (2, 9_999)
    assert world.rt.db.fetch_all("SELECT furthest_page FROM view_sessions") == [(2,)]


def test_turns_are_added_up(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    reader.read_page(10, turns=3, backTurns=1)
    reader.read_page(10, turns=1, backTurns=1)
    assert world.rt.db.fetch_all("SELECT turns, back_turns FROM view_sessions") == [(4, 2)]


def test_the_row_of_a_file_that_is_trashed_meanwhile_is_hidden(world: World, link: str) -> None:
    read_and_hide(FakeReader(world, link))
    assert world.pia.delete(f"/api/v1/files/{link}").status_code == 200
    world.clock.advance(minutes=2)
    assert list_view_rows(world) == []
    assert world.rt.db.fetch_all("SELECT hidden FROM view_rows") == [(1,)]


def test_a_purge_deletes_open_sessions(world: World, link: str) -> None:
    FakeReader(world, link).read_page(10)
    assert world.pia.delete(f"/api/v1/files/{link}?purge=1").status_code == 200
    world.clock.advance(minutes=6)
    assert list_view_rows(world) == []
    assert world.rt.db.fetch_all("SELECT COUNT(*) FROM view_sessions") == [(0,)]


def test_many_sessions_end_in_one_run(world: World, link: str) -> None:
    for number in range(210):
        FakeReader(world, link, address=f"198.51.{number // 200}.{number % 200}").read_page(2)
    world.clock.advance(minutes=5)
    assert END_SESSIONS_JOB.run(world.rt) == 210
    assert END_SESSIONS_JOB.run(world.rt) == 0
    assert world.rt.db.fetch_all("SELECT COUNT(*) FROM view_rows") == [(210,)]
