"""Reloading a share page continues the session of the load before; nothing on the reader's device connects the two."""

from typing import Any

import pytest

from tests.support.documents.pdfs import simple_pdf
from tests.support.people.cast import World
from tests.support.people.reader import DESKTOP, FakeReader, list_sessions, list_view_rows, view_count

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0"
PHONE = (
    "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile "
    "Safari/537.36"
)


def read_and_close(world: World, link: str, *, seconds: float = 10, **options: Any) -> FakeReader:
    reader = FakeReader(world, link, **options)
    assert reader.read_page(seconds) == 204
    assert reader.leave(closing=True) == 204
    return reader


def read_after_reload(world: World, link: str, *, seconds: float = 4, page: int = 1, **options: Any) -> FakeReader:
    """Load the page again and read; every beacon of the load says that it was a reload, as the script's do."""
    reader = FakeReader(world, link, **options)
    assert reader.read_page(seconds, page=page, reload=True) == 204
    return reader


def test_a_reload_continues_the_session_with_the_times_of_both_loads(world: World, link: str) -> None:
    read_and_close(world, link)
    reloaded = read_after_reload(world, link)
    assert reloaded.read_page(5, page=2, reload=True) == 204
    assert list_sessions(world) == [("human", 19_000)]
    reloaded.leave(closing=True, reload=True)
    (row,) = list_view_rows(world)
    assert (row["pagesViewed"], row["timeMs"]) == (2, 19_000)
    assert view_count(world, link) == 1
    pages = world.rt.db.fetch_all("SELECT page, time_ms FROM session_pages ORDER BY page")
    assert pages == [(1, 14_000), (2, 5_000)]


def test_late_beacons_of_the_load_before_are_added_to_those_of_the_reload(world: World, link: str) -> None:
    first = FakeReader(world, link)
    assert [first.read_page(3, seq=seq) for seq in (0, 1, 4)] == [204] * 3
    assert first.leave(closing=True) == 204
    reloaded = read_after_reload(world, link)
    for late in (2, 3):
        assert first.read_page(2, seq=late) == 204
        assert reloaded.read_page(4, reload=True) == 204
    assert list_sessions(world) == [("human", 3 * 3_000 + 2 * 2_000 + 3 * 4_000)]
    assert world.rt.db.fetch_all("SELECT seq FROM beacons ORDER BY seq") == [(seq,) for seq in range(9)]


def test_a_hundred_reloads_are_one_session(world: World, link: str) -> None:
    read_and_close(world, link, seconds=3)
    for _ in range(100):
        reader = read_after_reload(world, link, seconds=3)
        assert reader.leave(closing=True, reload=True) == 204
    assert list_sessions(world) == [("human", 303_000)]
    assert view_count(world, link) == 1


def test_a_reload_within_the_first_second_continues_as_well(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    world.clock.advance(milliseconds=300)
    assert reader.leave(closing=True, input=False) == 204
    read_after_reload(world, link)
    assert list_sessions(world) == [("human", 4_000)]


def test_a_page_that_is_opened_anew_starts_a_session_of_its_own(world: World, link: str) -> None:
    read_and_close(world, link)
    FakeReader(world, link).read_page(4)
    assert list_sessions(world) == [("human", 10_000), ("human", 4_000)]
    assert view_count(world, link) == 2


@pytest.mark.parametrize(("pause_s", "sessions"), [(5.9, 1), (6, 2)])
def test_only_a_session_that_has_not_ended_is_continued(world: World, link: str, pause_s: float, sessions: int) -> None:
    read_and_close(world, link)
    world.clock.advance(seconds=pause_s)
    read_after_reload(world, link, seconds=4)
    assert len(list_sessions(world)) == sessions


def test_a_reload_while_the_page_is_open_in_another_tab_is_a_session_of_its_own(world: World, link: str) -> None:
    FakeReader(world, link).read_page(10)
    read_after_reload(world, link)
    assert len(list_sessions(world)) == 2


def test_two_readers_at_one_address_who_reload_at_once_stay_two(world: World, link: str) -> None:
    readers = [FakeReader(world, link) for _ in range(2)]
    world.clock.advance(seconds=10)
    for reader in readers:
        assert reader.leave(closing=True, read={1: 10_000}) == 204
    reloaded = [FakeReader(world, link) for _ in range(2)]
    world.clock.advance(seconds=4)
    for reader in reloaded:
        assert reader.send_next_beacon(read={1: 4_000}, reload=True) == 204
    assert [time for _, time in list_sessions(world)] == [10_000, 10_000, 4_000, 4_000]


def test_two_readers_at_one_address_who_reload_one_after_the_other_continue_their_own(world: World, link: str) -> None:
    second = FakeReader(world, link)
    second.send_next_beacon()
    read_and_close(world, link)
    read_after_reload(world, link)
    second.read_page(7)
    second.leave(closing=True)
    read_after_reload(world, link, seconds=1)
    assert [time for _, time in list_sessions(world)] == [8_000, 14_000]


@pytest.mark.parametrize(
    "other", [{"address": "198.51.100.5"}, {"user_agent": FIREFOX}, {"user_agent": PHONE}, {"query": "?via=qr"}],
    ids=["address", "browser", "device", "source"],
)  # fmt: skip
def test_a_reload_by_somebody_else_does_not_continue_the_session(
    world: World, link: str, other: dict[str, str]
) -> None:
    read_and_close(world, link)
    read_after_reload(world, link, **({"user_agent": DESKTOP} | other))
    assert len(list_sessions(world)) == 2


def test_a_session_of_another_link_to_the_file_is_not_continued(world: World, link: str) -> None:
    answer = world.pia.post(f"/api/v1/files/{link}/variants", json={"label": "Ada"})
    read_and_close(world, link)
    read_after_reload(world, str(answer.get_json()["shortId"]))
    assert len(list_sessions(world)) == 2


def test_a_reload_that_shows_a_replaced_document_is_a_session_of_its_own(world: World, link: str) -> None:
    read_and_close(world, link)
    world.pia.replace(link, simple_pdf(pages=2), "report.pdf")
    read_after_reload(world, link)
    assert world.rt.db.fetch_all("SELECT content_version FROM view_sessions") == [(1,), (2,)]


def test_a_reload_that_shows_other_pages_is_a_session_of_its_own(world: World, link: str) -> None:
    """Otherwise the session would have more pages than were shown, and a completion rate above 100."""
    path = f"/api/v1/files/{link}"
    assert world.pia.put(f"{path}/settings", json={"pageRange": {"from": 1, "to": 1}}).status_code == 200
    read_and_close(world, link)
    assert world.pia.put(f"{path}/settings", json={"pageRange": {"from": 2, "to": 2}}).status_code == 200
    read_after_reload(world, link)
    assert len(list_view_rows(world)) == 2
    assert world.pia.get(f"{path}/readership").get_json()["summary"]["completionRate"] == 100.0


def test_beacons_of_both_loads_are_kept_and_a_repeated_one_changes_nothing(world: World, link: str) -> None:
    first = read_and_close(world, link)
    reloaded = FakeReader(world, link)
    world.clock.advance(seconds=4)
    beacon = reloaded.build_beacon(read={2: 4_000}, reload=True)
    for _ in range(3):
        assert reloaded.send_beacon(beacon).status_code == 204
    late = first.build_beacon(read={1: 10_000}, seq=0, ageMs=10_000)
    assert first.send_beacon(late).status_code == 204
    assert list_sessions(world) == [("human", 14_000)]
    assert world.rt.db.fetch_all("SELECT seq FROM beacons ORDER BY seq") == [(0,), (1,), (2,)]


def test_the_server_accepts_no_more_time_than_has_passed(world: World, link: str) -> None:
    read_and_close(world, link)
    reloaded = FakeReader(world, link)
    world.clock.advance(seconds=4)
    reloaded.send_next_beacon(read={1: 600_000}, reload=True, ageMs=600_000)
    assert list_sessions(world) == [("human", 14_000)]


def test_the_beacons_of_a_reload_are_limited_by_its_own_age(world: World, link: str) -> None:
    read_and_close(world, link, seconds=60)
    reloaded = FakeReader(world, link)
    world.clock.advance(seconds=2)
    for number in (0, 21, 22):
        assert reloaded.send_next_beacon(read={1: 100}, reload=True, seq=number) == 204
    assert world.rt.db.fetch_all("SELECT seq FROM beacons ORDER BY seq") == [(0,), (1,), (2,), (23,)]


def test_a_reloaded_page_starts_its_next_session_only_after_the_end_of_this_one(world: World, link: str) -> None:
    read_and_close(world, link)
    reloaded = read_after_reload(world, link)
    assert reloaded.send_next_beacon(part=1, seq=0, read={1: 1_000}) == 409
    world.clock.advance(minutes=6)
    assert reloaded.send_next_beacon(reload=True) == 409
    assert reloaded.send_next_beacon(part=1, seq=0, ageMs=2_000, read={1: 2_000}) == 204
    assert reloaded.read_page(8, part=1, seq=1) == 204
    assert list_sessions(world) == [("human", 14_000), ("human", 10_000)]


def test_an_owner_can_see_that_the_page_was_reloaded(world: World, link: str) -> None:
    read_and_close(world, link)
    read_after_reload(world, link)
    ((uuid,),) = world.rt.db.fetch_all("SELECT uuid FROM view_sessions")
    session = world.pia.get(f"/api/v1/files/{link}/readership/sessions/{uuid}").get_json()
    assert [beacon.get("reload") for beacon in session["beacons"]] == [None, None, True]


def test_a_purge_deletes_the_reloads_of_the_file(world: World, link: str) -> None:
    read_and_close(world, link)
    read_after_reload(world, link)
    assert world.rt.db.fetch_all("SELECT seq_before FROM page_reloads") == [(2,)]
    assert world.pia.delete(f"/api/v1/files/{link}?purge=1").status_code == 200
    assert world.rt.db.fetch_all("SELECT COUNT(*) FROM page_reloads") == [(0,)]
