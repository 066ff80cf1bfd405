"""Classification of visits by a real browser: human, scanner, prefetch, tool, or not counted."""

import time
from contextlib import suppress
from typing import Any

import pytest
import requests
from playwright.sync_api import Browser, Error

from docshare.server.services.accounts import sign_in
from tests.support.browsers.browser import DESKTOP, PHONE, visitor, wait_for_measurement, wait_for_page
from tests.support.browsers.browser_reader import HIDE_PAGE, BrowserReader
from tests.support.people.measured_document import SECOND, MeasuredDocument, open_browser_reader
from tests.support.polling import wait_until

HANDHELD = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "user_agent": PHONE}


def test_reading_times_per_page_are_measured_and_count_as_one_view(
    plain_browser: Browser, document: MeasuredDocument
) -> None:
    seen, left = [], [time.monotonic()]  # when each page was visible, and when the next one was requested
    with visitor(plain_browser) as person:
        page = person.open(document.url)
        wait_for_measurement(page)
        for number, seconds in ((1, 3.0), (2, 2.0), (3, 2.5)):
            wait_for_page(page, number)
            seen.append(time.monotonic())
            page.wait_for_timeout(seconds * 1000)
            left.append(time.monotonic())
            if number < 3:
                page.keyboard.press("ArrowRight")
        page.goto("about:blank")
        seen.append(time.monotonic())
        wait_until(document.has_ended_message)
        assert document.view_count == 1
        assert person.complaints == []
    assert document.list_view_rows() == [], "a view enters the feed when its session ends"
    document.world.clock.advance(seconds=11)
    (row,) = document.list_view_rows()
    assert (row["type"], row["pagesViewed"]) == ("view", 3)
    by_page = document.world.rt.db.fetch_all(
        "SELECT page, time_ms FROM session_pages WHERE session_id = (SELECT MAX(id) FROM view_sessions) ORDER BY page"
    )
    assert [number for number, _ in by_page] == [1, 2, 3]
    for index, (_, measured) in enumerate(by_page):
        least, most = left[index + 1] - seen[index], seen[index + 1] - left[index]
        assert least * 1000 - SECOND < measured < most * 1000 + SECOND
    assert (left[-1] - seen[0]) * 1000 - SECOND < row["timeMs"] < (seen[-1] - left[0]) * 1000 + SECOND
    assert document.list_sessions("class, device, browser, turns") == [("human", "Desktop", "Chrome", 2)]
    assert document.view_count == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"User-Agent": "curl/8.5.0"},
        {"User-Agent": "facebookexternalhit/1.1"},
        {"User-Agent": DESKTOP, "Sec-Purpose": "prefetch"},
        {"User-Agent": DESKTOP},
    ],
    ids=["curl", "link preview", "prefetch", "a page that never runs its script"],
)
def test_fetching_the_page_without_scripts_creates_no_session(
    document: MeasuredDocument, headers: dict[str, str]
) -> None:
    for _ in range(3):
        assert requests.get(document.url, headers=headers, timeout=10).status_code == 200
        assert requests.head(document.url, headers=headers, timeout=10).status_code == 200
    assert document.list_sessions() == []
    assert document.view_count == 0
    assert document.list_rows_after_end() == []


def test_a_browser_prefetch_creates_no_session(plain_browser: Browser, document: MeasuredDocument) -> None:
    linking = f'<link rel="prefetch" href="{document.url}"><p>A page that links to the document'
    with visitor(plain_browser) as person:
        page = person.page
        page.route("**/elsewhere", lambda route: route.fulfill(body=linking, content_type="text/html"))
        page.goto(document.url.replace(document.short_id, "elsewhere"))
        page.wait_for_function(
            "url => performance.getEntriesByName(url).some((entry) => entry.responseStatus === 200)", arg=document.url
        )
    assert document.list_sessions() == []
    assert document.view_count == 0


def test_headless_chromium_counts_as_a_tool(browser: Browser, document: MeasuredDocument) -> None:
    own_name = browser.new_page()
    assert "HeadlessChrome" in own_name.evaluate("navigator.userAgent")
    own_name.close()
    with open_browser_reader(browser, document, user_agent=None) as reader:
        reader.press_key()
        reader.advance(20)
        reader.leave_page()
        wait_until(document.has_ended_message)
    assert document.list_sessions() == [("tool",)]
    assert document.view_count == 0
    assert document.list_rows_after_end() == []


def test_a_mail_scanner_that_scrolls_for_two_seconds_is_not_counted(
    plain_browser: Browser, document: MeasuredDocument
) -> None:
    with visitor(plain_browser) as person:
        page = person.open(document.url)
        wait_for_measurement(page)
        began = time.monotonic()
        while time.monotonic() - began < 2:
            page.evaluate("window.scrollBy(0, 300)")
            page.evaluate("window.dispatchEvent(new KeyboardEvent('keydown', { key: 'a' }))")
            page.evaluate("document.querySelector('#page-next').click()")
            page.wait_for_timeout(100)
        page.goto("about:blank")
        wait_until(document.has_ended_message)
    assert document.list_sessions() == [("scanner",)]
    assert document.view_count == 0
    assert document.list_rows_after_end() == []


@pytest.mark.parametrize("seconds", [10, 20])
def test_a_scanner_that_stays_open_is_reported_as_unconfirmed(
    plain_browser: Browser, document: MeasuredDocument, seconds: int
) -> None:
    with open_browser_reader(plain_browser, document) as reader:
        reader.advance(seconds)
        reader.page.evaluate("window.scrollBy(0, 300)")
        reader.advance(5)
        reader.leave_page()
        wait_until(document.has_ended_message)
    assert document.list_rows_after_end() == []
    assert document.list_sessions() == [("unconfirmed",)]
    report = document.world.pia.get(f"/api/v1/files/{document.short_id}/readership").get_json()
    assert (report["summary"]["totalViews"], report["summary"]["unconfirmedSessions"]) == (0, 1)


def test_the_first_input_confirms_the_time_before_it(plain_browser: Browser, document: MeasuredDocument) -> None:
    with open_browser_reader(plain_browser, document) as reader:
        reader.advance(30)
        assert document.view_count == 0
        reader.press_key()
        wait_until(lambda: document.view_count == 1)
        reader.leave_page()
        wait_until(document.has_ended_message)
    (row,) = document.list_rows_after_end()
    assert -SECOND < row["timeMs"] - 30_000 < reader.before + SECOND


def test_a_prefetched_page_requires_an_input_event(plain_browser: Browser, document: MeasuredDocument) -> None:
    with open_browser_reader(plain_browser, document, extra_http_headers={"Sec-Purpose": "prefetch"}) as reader:
        reader.advance(30)
        reader.leave_page()
        wait_until(document.has_ended_message)
    assert document.list_sessions() == [("prefetch",)]
    assert document.view_count == 0


@pytest.mark.parametrize("gesture", ["key", "click", "wheel", "move"])
def test_one_trusted_event_counts_as_a_view_two_seconds_after_opening(
    plain_browser: Browser, document: MeasuredDocument, gesture: str
) -> None:
    with visitor(plain_browser) as person:
        page = person.open(document.url)
        wait_for_measurement(page)
        if gesture == "key":
            page.keyboard.press("Shift")
        elif gesture == "click":
            page.mouse.click(700, 500)
        elif gesture == "wheel":
            page.mouse.wheel(0, 100)
        else:
            page.mouse.move(300, 300)
            page.mouse.move(320, 310)
        wait_until(lambda: document.view_count == 1)
    assert document.list_sessions() == [("human",)]


def test_a_tap_on_a_phone_counts_as_a_view(plain_browser: Browser, document: MeasuredDocument) -> None:
    with visitor(plain_browser, **HANDHELD) as person:
        page = person.open(document.url)
        wait_for_measurement(page)
        page.touchscreen.tap(200, 500)
        wait_until(lambda: document.view_count == 1)
    assert document.list_sessions("class, device") == [("human", "Mobile")]


def test_two_readers_with_one_address_are_two_views(plain_browser: Browser, document: MeasuredDocument) -> None:
    with open_browser_reader(plain_browser, document) as first, open_browser_reader(plain_browser, document) as second:
        first.press_key()
        first.advance(10)
        second.press_key()
        wait_until(lambda: document.view_count == 2)
    assert len(document.list_rows_after_end()) == 2
    assert len(set(document.list_sessions("reader"))) == 1


def test_a_returning_reader_is_two_views_and_one_visitor(plain_browser: Browser, document: MeasuredDocument) -> None:
    for seconds in (10, 20):
        with open_browser_reader(plain_browser, document) as reader:
            reader.press_key()
            reader.advance(seconds)
            reader.leave_page()
            wait_until(document.has_ended_message)
        document.world.clock.advance(minutes=2)
    rows = document.list_rows_after_end()
    assert [round(row["timeMs"] / SECOND) // 10 for row in rows] == [1, 2]
    report = document.world.pia.get(f"/api/v1/files/{document.short_id}/readership").get_json()
    names = ("totalViews", "uniqueVisitors", "newSessions", "returningSessions")
    assert [report["summary"][name] for name in names] == [2, 1, 1, 1]
    assert [session["returning"] for session in report["sessions"]] == [True, False]


def test_time_is_counted_until_a_minute_after_the_last_input(
    plain_browser: Browser, document: MeasuredDocument
) -> None:
    with open_browser_reader(plain_browser, document) as reader:
        reader.advance(20)
        reader.press_key()
        reader.advance(240)
        reader.leave_page()
        wait_until(document.has_ended_message)
    (row,) = document.list_rows_after_end()
    assert -SECOND < row["timeMs"] - 80_000 < reader.before + SECOND


def test_turns_back_and_skipped_pages_are_distinguished(plain_browser: Browser, document: MeasuredDocument) -> None:
    with open_browser_reader(plain_browser, document) as reader:
        reader.advance(5)
        for key, seconds in (("ArrowRight", 5), ("ArrowRight", 5), ("ArrowLeft", 5), ("End", 0), ("Home", 5)):
            reader.page.keyboard.press(key)
            reader.page.clock.run_for(300)
            reader.advance(seconds)
        reader.leave_page()
        wait_until(document.has_ended_message)
    assert len(document.list_rows_after_end()) == 1
    assert document.list_sessions("turns, back_turns, pages_viewed, furthest_page") == [(4, 2, 3, 3)]
    views = document.world.rt.db.fetch_all(
        "SELECT page, views, back_views FROM session_pages WHERE views > 0 "
        "AND session_id = (SELECT MAX(id) FROM view_sessions) ORDER BY page"
    )
    assert views == [(1, 2, 1), (2, 2, 1), (3, 1, 0)]


def test_a_background_tab_is_not_counted(plain_browser: Browser, document: MeasuredDocument) -> None:
    with visitor(plain_browser) as person:
        person.page.clock.install()
        person.page.add_init_script(HIDE_PAGE)
        reader = BrowserReader(person.open(document.url), document.world.clock)
        reader.advance(60)
        reader.page.goto("about:blank")
    assert document.list_sessions() == []
    assert document.view_count == 0


@pytest.mark.parametrize(("away", "views", "times"), [(30, 1, [20_000]), (90, 2, [10_000, 10_000])])
def test_hiding_the_page_pauses_a_session_and_ends_it_after_a_minute(
    plain_browser: Browser, document: MeasuredDocument, away: int, views: int, times: list[int]
) -> None:
    with open_browser_reader(plain_browser, document) as reader:
        reader.press_key()
        reader.advance(10)
        reader.hide_page()
        wait_until(document.has_ended_message)
        reader.advance(away)
        reader.show_page()
        reader.press_key()
        reader.advance(10)
        reader.leave_page()
        wait_until(document.has_ended_message)
    rows = document.list_rows_after_end()
    assert document.view_count == views
    assert len(rows) == len(times)
    for row, expected, before in zip(rows, times, (reader.before, 0), strict=False):
        assert -SECOND < row["timeMs"] - expected < before + SECOND


def test_an_input_after_five_idle_minutes_starts_a_new_session(
    plain_browser: Browser, document: MeasuredDocument
) -> None:
    with open_browser_reader(plain_browser, document) as reader:
        reader.press_key()
        reader.advance(10)
        reader.advance(400)
        reader.press_key()
        reader.advance(15)
        reader.leave_page()
        wait_until(document.has_ended_message)
    rows = document.list_rows_after_end()
    assert document.view_count == 2
    first, second = (row["timeMs"] for row in rows)
    assert -SECOND < first - 60_000 < reader.before + SECOND
    assert abs(second - 15_000) < SECOND


def test_a_single_key_press_starts_the_new_session(plain_browser: Browser, document: MeasuredDocument) -> None:
    with open_browser_reader(plain_browser, document) as reader:
        reader.press_key()
        reader.advance(400)
        reader.press_key()
        wait_until(lambda: document.view_count == 2)


def test_a_session_ended_by_the_server_is_followed_by_a_new_one(
    plain_browser: Browser, document: MeasuredDocument
) -> None:
    with open_browser_reader(plain_browser, document) as reader:
        reader.press_key()
        reader.advance(10)
        wait_until(lambda: document.view_count == 1)
        document.world.clock.advance(hours=1)
        assert len(document.list_view_rows()) == 1
        reader.press_key()
        reader.advance(30)
        reader.leave_page()
        wait_until(document.has_ended_message)
    assert document.view_count == 2
    assert len(document.list_rows_after_end()) == 2


def test_reading_while_offline_is_reported_later(plain_browser: Browser, document: MeasuredDocument) -> None:
    with open_browser_reader(plain_browser, document) as reader:
        reader.press_key()
        reader.advance(10)
        reader.go_offline(30)
        reader.press_key()
        reader.advance(15)
        wait_until(lambda: document.list_sessions("time_ms > 45000") == [(1,)])
        reader.leave_page()
        wait_until(document.has_ended_message)
    (row,) = document.list_rows_after_end()
    assert -SECOND < row["timeMs"] - 55_000 < reader.before + SECOND


def test_an_idle_page_starts_no_new_session_after_the_old_one_ended(
    plain_browser: Browser, document: MeasuredDocument
) -> None:
    with open_browser_reader(plain_browser, document) as reader:
        reader.press_key()
        reader.advance(10)
        reader.go_offline(90)
        document.world.clock.advance(hours=1)
        reader.advance(20)
        reader.page.goto("about:blank")
    assert document.view_count == 1
    assert len(document.list_rows_after_end()) == 1


@pytest.mark.parametrize(("options", "device"), [({}, "Desktop"), (HANDHELD, "Mobile")], ids=["desktop", "phone"])
def test_a_crashed_browser_is_counted_up_to_its_last_beacon(
    plain_browser: Browser, document: MeasuredDocument, options: dict[str, Any], device: str
) -> None:
    with open_browser_reader(plain_browser, document, **options) as reader:
        reader.press_key()
        reader.advance(25)
        wait_until(lambda: document.list_sessions("time_ms > 19000") == [(1,)])
        with reader.page.expect_event("crash"), suppress(Error):
            reader.page.goto("chrome://crash")
    document.world.clock.advance(minutes=4, seconds=50)
    assert document.list_view_rows() == []
    (row,) = document.list_rows_after_end()
    assert 19_000 <= row["timeMs"] <= 25_000 + reader.before
    last_age = document.world.rt.db.fetch_all(
        "SELECT MAX(body ->> 'ageMs') FROM beacons WHERE session_id = (SELECT MAX(id) FROM view_sessions)"
    )
    assert abs(row["timeMs"] - last_age[0][0]) < SECOND, "up to its last accepted beacon"
    assert document.list_sessions("class, device") == [("human", device)]


def test_a_signed_in_owner_is_not_counted(plain_browser: Browser, document: MeasuredDocument) -> None:
    world = document.world
    path = sign_in.create_link(world.rt, "pia@example.com").removeprefix(world.rt.config.base_url)
    with visitor(plain_browser) as owner:
        page = owner.page
        page.goto(document.url.replace(f"/{document.short_id}", path))
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("button", name="Sign out").wait_for()
        page.goto(document.url.replace(f"/{document.short_id}", "/login"))
        page.get_by_role("heading", name="You are signed in").wait_for()
        reading = owner.open(document.url)
        wait_for_measurement(reading)
        with reading.expect_response("**/beacon") as answer:
            reading.keyboard.press("Shift")
        assert answer.value.status == 204
        assert document.list_sessions() == []
        page.goto(document.url.replace(f"/{document.short_id}", "/login"))
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("heading", name="Sign in", exact=True).wait_for()
        reading = owner.open(document.url)
        wait_for_measurement(reading)
        reading.keyboard.press("Shift")
        wait_until(lambda: document.view_count == 1)
        assert owner.complaints == []
