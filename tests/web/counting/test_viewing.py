"""Classification of sessions and counting of views, from the opened page to the row in the feed."""

from typing import Any

import pytest

from docshare.server.services.accounts import sign_in
from tests.support.engines.database import dump_database
from tests.support.people.cast import Person, World
from tests.support.people.reader import DESKTOP, FakeReader, list_sessions, list_view_rows, view_count

HEADLESS = DESKTOP.replace("Chrome/", "HeadlessChrome/")


def sign_in_as(reader: FakeReader, world: World, person: Person) -> None:
    url = sign_in.create_link(world.rt, person.email)
    assert reader.http.post(url.removeprefix(world.rt.config.base_url)).status_code == 303


def test_a_view_is_counted_once_and_enters_the_feed_when_the_session_ends(world: World, link: str) -> None:
    reader = FakeReader(world, link, address="203.0.113.7")
    began = world.clock.now
    assert reader.read_page(10, page=1) == 204
    assert reader.read_page(10, page=2) == 204
    assert reader.read_page(0.5, page=3) == 204
    assert reader.leave() == 204
    assert view_count(world, link) == 1
    assert world.pia.get("/api/v1/events").get_json() == []
    (row,) = list_view_rows(world)
    assert (row["pagesViewed"], row["timeMs"], row["country"]) == (2, 20_500, "DE")
    assert row["readAt"] == world.pia.get("/api/v1/files").get_json()[0]["createdAt"]
    assert began == world.rt.db.fetch_all("SELECT started_at FROM view_sessions")[0][0]
    assert view_count(world, link) == 1


@pytest.mark.parametrize("method", ["get", "head"])
@pytest.mark.parametrize("prefix", ["", "/embed"])
def test_opening_the_page_changes_nothing(world: World, link: str, method: str, prefix: str) -> None:
    before = dump_database(world)
    assert getattr(world.http, method)(f"{prefix}/{link}").status_code == 200
    assert dump_database(world) == before


@pytest.mark.parametrize(
    ("seconds", "fields", "counted"),
    [
        (5, {"visibleMs": 2_000}, 0),
        (5, {"visibleMs": 5_000}, 0),
        (60, {"visibleMs": 60_000}, 0),
        (5, {"visibleMs": 10, "input": True}, 1),
        (2, {"visibleMs": 10, "input": True}, 1),
        (1.999, {"visibleMs": 10, "input": True}, 0),
        (0, {"visibleMs": 10**9, "ageMs": 10**9, "input": True}, 0),
    ],
)
def test_a_view_requires_an_input_event_and_two_seconds_since_the_page_was_opened(
    world: World, link: str, seconds: float, fields: dict[str, Any], counted: int
) -> None:
    reader = FakeReader(world, link)
    world.clock.advance(seconds=seconds)
    assert reader.send_next_beacon(**fields) == 204
    assert view_count(world, link) == counted
    assert len(list_view_rows(world)) == counted


@pytest.mark.parametrize(
    ("klass", "user_agent", "page_headers", "beacon_headers", "fields"),
    [
        ("tool", "curl/8.5.0", {}, {}, {"input": True}),
        ("tool", "", {}, {}, {"input": True}),
        ("tool", HEADLESS, {}, {}, {"input": True}),
        ("preview", "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", {}, {}, {"input": True}),
        ("prefetch", DESKTOP, {"Sec-Purpose": "prefetch;prerender"}, {}, {"input": False}),
        ("prefetch", DESKTOP, {"Purpose": "prefetch"}, {}, {"input": False}),
        ("prefetch", DESKTOP, {"X-Moz": "prefetch"}, {}, {"input": False}),
        ("prefetch", DESKTOP, {}, {"Sec-Purpose": "prefetch"}, {"input": True}),
        ("scanner", DESKTOP, {}, {}, {"visibleMs": 2_000, "visible": False, "input": False}),
        ("unconfirmed", DESKTOP, {}, {}, {"input": False}),
    ],
)
def test_a_session_that_is_not_human_is_stored_with_a_reason_and_not_counted(
    world: World,
    link: str,
    klass: str,
    user_agent: str,
    page_headers: dict[str, str],
    beacon_headers: dict[str, str],
    fields: dict[str, Any],
) -> None:
    reader = FakeReader(world, link, user_agent=user_agent, page_headers=page_headers)
    world.clock.advance(seconds=9)
    body = reader.build_beacon(**({"read": {1: 9_000}} | fields))
    assert reader.send_beacon(body, headers=beacon_headers).status_code == 204
    assert list_view_rows(world) == []
    assert view_count(world, link) == 0
    ((stored, reason),) = world.rt.db.fetch_all("SELECT class, reason FROM view_sessions")
    assert stored == klass
    assert reason


def test_browser_automation_does_not_change_the_class(world: World, link: str) -> None:
    """Beacons have no ``webdriver`` field; one that contains it is counted like any other."""
    reader = FakeReader(world, link)
    world.clock.advance(seconds=9)
    assert reader.send_next_beacon(read={1: 9_000}, webdriver=True) == 204
    assert list_sessions(world) == [("human", 9_000)]
    assert view_count(world, link) == 1


def test_the_first_input_event_confirms_the_whole_session(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    for _ in range(3):
        reader.read_page(20, input=False)
    assert (list_sessions(world), view_count(world, link)) == ([("unconfirmed", 60_000)], 0)
    reader.read_page(1, input=True)
    assert (list_sessions(world), view_count(world, link)) == ([("human", 61_000)], 1)
    (row,) = list_view_rows(world)
    assert row["timeMs"] == 61_000


def test_an_unconfirmed_session_is_in_no_total_feed_or_event(world: World, link: str) -> None:
    for seconds in (10, 20):
        FakeReader(world, link, address="203.0.113.7").read_page(seconds, input=False)
    FakeReader(world, link).read_page(9)
    assert len(list_view_rows(world)) == 1
    report = world.pia.get(f"/api/v1/files/{link}/readership").get_json()
    summary = report["summary"]
    assert (summary["totalViews"], summary["totalSessions"], summary["uniqueVisitors"]) == (1, 1, 1)
    assert (summary["unconfirmedSessions"], report["uncounted"]) == (2, [{"label": "unconfirmed", "count": 2}])
    events = world.pia.get("/api/v1/activity?since=1").get_json()
    assert [event["event"] for event in events] == ["file.viewed"]


def test_unconfirmed_readers_are_not_active_readers(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    active = f"/api/v1/files/{link}/readership"
    reader.read_page(9, input=False)
    assert world.pia.get(active).get_json()["summary"]["activeReaders"] == 0
    reader.read_page(1)
    assert world.pia.get(active).get_json()["summary"]["activeReaders"] == 1


def test_a_prefetched_page_that_is_read_later_counts_as_a_view(world: World, link: str) -> None:
    reader = FakeReader(world, link, page_headers={"Sec-Purpose": "prefetch"})
    reader.read_page(9)
    reader.read_page(3, input=True)
    assert view_count(world, link) == 1


def test_reading_by_the_owner_creates_no_session(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    sign_in_as(reader, world, world.pia)
    assert reader.read_page(30, input=True) == 204
    assert list_sessions(world) == []
    assert view_count(world, link) == 0


def test_another_signed_in_user_counts_as_a_reader(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    sign_in_as(reader, world, world.mal)
    assert reader.read_page(30) == 204
    assert view_count(world, link) == 1


def test_two_readers_with_one_address_are_two_sessions_of_one_visitor(world: World, link: str) -> None:
    FakeReader(world, link).read_page(9)
    FakeReader(world, link).read_page(9)
    assert view_count(world, link) == 2
    assert len(list_view_rows(world)) == 2
    assert len(set(world.rt.db.fetch_all("SELECT reader FROM view_sessions"))) == 1


def test_a_reader_is_recognized_for_30_days_and_only_on_the_same_file(world: World, link: str) -> None:
    FakeReader(world, link).read_page(9)
    FakeReader(world, str(world.pia.upload()["shortId"])).read_page(9)
    world.clock.advance(days=29)
    FakeReader(world, link).read_page(9)
    world.clock.advance(days=2)
    FakeReader(world, link).read_page(9)
    first, elsewhere, again, later = world.rt.db.fetch_all("SELECT reader FROM view_sessions ORDER BY id")
    assert first == again
    assert len({first, elsewhere, later}) == 3


def test_ip_addresses_are_never_stored(world: World, link: str) -> None:
    FakeReader(world, link, address="203.0.113.77").read_page(9)
    FakeReader(world, link, address="2001:db8:77::1").read_page(9)
    whole = "\n".join(dump_database(world))
    assert len(list_sessions(world)) == 2
    assert "203.0.113.77" not in whole
    assert "db8:77" not in whole


def test_source_referrer_browser_and_device_of_a_session_are_stored(world: World, link: str) -> None:
    headers = {"Referer": "https://mail.example.org/inbox?secret=1"}
    FakeReader(world, link, page_headers=headers, query="?via=qr").read_page(9)
    FakeReader(world, link, prefix="/embed").read_page(9)
    FakeReader(world, link, page_headers={"Referer": "http://127.0.0.1:8787/x"}).read_page(9)
    found = world.rt.db.fetch_all(
        "SELECT source, referrer, browser, device, viewer_mode FROM view_sessions ORDER BY id"
    )
    assert found == [
        ("QR code", "mail.example.org", "Chrome", "Desktop", "standard"),
        ("Embed", None, "Chrome", "Desktop", "standard"),
        ("Direct link", None, "Chrome", "Desktop", "standard"),
    ]


def test_returning_to_the_tab_later_starts_a_new_session(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    reader.read_page(10)
    reader.leave()
    world.clock.advance(seconds=61)
    assert reader.read_page(9) == 409
    assert reader.read_page(9, part=1, seq=0) == 204
    assert view_count(world, link) == 2
    assert [row["timeMs"] for row in reversed(list_view_rows(world))] == [10_000, 9_000]


def test_one_page_load_cannot_start_many_sessions_at_once(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    world.clock.advance(seconds=2)
    assert reader.send_next_beacon(input=True) == 204
    assert [reader.send_next_beacon(part=part, seq=0, input=True) for part in range(1, 5)] == [409] * 4
    world.clock.advance(seconds=299)
    assert reader.send_next_beacon(part=4, seq=0, input=True) == 409
    world.clock.advance(seconds=1)
    assert reader.send_next_beacon(part=4, seq=0, input=True) == 204
    assert reader.send_next_beacon(part=3, seq=0, input=True) == 409
    assert view_count(world, link) == 1, "the second session has just begun"
    world.clock.advance(seconds=2)
    assert reader.send_next_beacon(part=4, seq=1, input=True) == 204
    assert view_count(world, link) == 2


def test_sessions_of_one_page_load_never_overlap(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    reader.read_page(10)
    reader.leave()
    world.clock.advance(seconds=65)
    reader.send_next_beacon(part=1, seq=0, ageMs=75_000, read={1: 75_000})
    assert [time_ms for _, time_ms in list_sessions(world)] == [10_000, 5_000]


def test_pages_of_the_opened_version_count_after_a_replacement(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    with world.rt.db.write():
        world.rt.db.execute("UPDATE files SET total_pages = 1, content_version = 2")
    reader.read_page(9, page=3)
    assert list_view_rows(world)[0]["pagesViewed"] == 1
    assert world.rt.db.fetch_all("SELECT content_version FROM view_sessions") == [(1,)]
