"""Turning pages by touch on a phone, and with reduced motion."""

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import ShareDocument
from tests.support.browsers.browser import PHONE, visitor, wait_for_page
from tests.support.browsers.paged_viewer import (
    PAGED_MODES,
    TouchInput,
    expect_end_of_scrolling,
    list_motions,
    make_publisher,
    page_box,
    record_motion,
    visible_pages,
    wait_for_end_of_scrolling,
    wait_for_rest,
)
from tests.support.documents.pdfs import A4, simple_pdf
from tests.support.servers.server_process import ServerProcess

HANDHELD = {"viewport": {"width": 390, "height": 844}, "user_agent": PHONE, "has_touch": True, "is_mobile": True}


def double_tap(page: Page, x: int, y: int) -> None:
    TouchInput(page).tap_twice(x, y)


def wait_for_width(page: Page, least: float) -> None:
    """Wait until the first page is at least ``least`` pixels wide."""
    page.wait_for_function("least => document.querySelector('.page').getBoundingClientRect().width >= least", arg=least)


@pytest.fixture(scope="module", params=PAGED_MODES)
def report(request: pytest.FixtureRequest, server: ServerProcess, share: ShareDocument) -> str:
    """Return the URL of a document of four portrait pages in each mode."""
    return make_publisher(server, share)(simple_pdf(pages=4, size=A4), request.param)


def test_a_swipe_turns_one_page_on_a_phone(browser: Browser, report: str) -> None:
    with visitor(browser, **HANDHELD) as person:
        page = person.open(report)
        finger = TouchInput(page)
        finger.swipe(320, 60)
        wait_for_page(page, 2)
        assert visible_pages(page) == [2]
        wait_for_rest(page)
        finger.swipe(60, 320)
        wait_for_page(page, 1)
        wait_for_rest(page)
        finger.swipe(60, 320)
        wait_for_rest(page)
        assert visible_pages(page) == [1]
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert person.complaints == []


def test_a_short_slow_swipe_is_canceled(browser: Browser, report: str) -> None:
    with visitor(browser, **HANDHELD) as person:
        page = person.open(report)
        finger = TouchInput(page)
        finger.touch("touchStart", (300, 400))
        for x in (285, 270, 260, 255):
            finger.touch("touchMove", (x, 400))
        page.wait_for_timeout(120)
        finger.touch("touchEnd")
        wait_for_rest(page)
        assert visible_pages(page) == [1]
        assert page.locator(".page[data-page='1']").evaluate("one => one.style.transform") == ""


def test_a_tap_at_the_side_turns_the_page_and_in_the_middle_does_not(browser: Browser, report: str) -> None:
    with visitor(browser, **HANDHELD) as person:
        page = person.open(report)
        page.touchscreen.tap(195, 500)
        assert visible_pages(page) == [1]
        page.touchscreen.tap(375, 500)
        wait_for_page(page, 2)
        wait_for_rest(page)
        page.touchscreen.tap(15, 500)
        wait_for_page(page, 1)


def test_two_fingers_zoom_and_one_finger_pans(browser: Browser, report: str) -> None:
    with visitor(browser, **HANDHELD) as person:
        page = person.open(report)
        finger = TouchInput(page)
        finger.touch("touchStart", (170, 400), (220, 400))
        for spread in (40, 60, 80):
            finger.touch("touchMove", (195 - spread, 400), (195 + spread, 400))
        finger.touch("touchEnd")
        page.wait_for_function("() => document.querySelector('.page').getBoundingClientRect().width > 600")
        assert page.evaluate("visualViewport.scale") == 1
        finger.swipe(320, 60)
        page.wait_for_function("() => scrollX > 50")
        assert visible_pages(page) == [1]


def test_two_fingers_that_move_together_move_the_enlarged_page(browser: Browser, report: str) -> None:
    with visitor(browser, **HANDHELD) as person:
        page = person.open(report)
        double_tap(page, 195, 400)
        wait_for_width(page, 700)
        before = page.evaluate("[scrollX, scrollY]")
        finger = TouchInput(page)
        finger.touch("touchStart", (150, 400), (250, 400))
        for step in range(1, 6):
            finger.touch("touchMove", (150 - 10 * step, 400 - 10 * step), (250 - 10 * step, 400 - 10 * step))
        finger.touch("touchEnd")
        page.wait_for_function("([x, y]) => scrollX - x > 40 && scrollY - y > 40", arg=before)


def test_a_double_tap_zooms_to_the_place_and_back(browser: Browser, report: str) -> None:
    with visitor(browser, **HANDHELD) as person:
        page = person.open(report)
        fitted = page_box(page, 1)
        double_tap(page, 250, 450)
        wait_for_width(page, fitted["width"] * 1.9)
        zoomed = page_box(page, 1)
        for axis, length, tapped in (("x", "width", 250), ("y", "height", 450)):
            was = (tapped - fitted[axis]) / fitted[length]
            assert (tapped - zoomed[axis]) / zoomed[length] == pytest.approx(was, abs=0.02)
        assert page.evaluate("visualViewport.scale") == 1
        double_tap(page, 250, 450)
        page.wait_for_function(
            "width => document.querySelector('.page').getBoundingClientRect().width < width", arg=fitted["width"] * 1.1
        )
        assert page_box(page, 1) == fitted
        assert visible_pages(page) == [1]
        assert person.complaints == []


def test_two_quick_taps_at_the_side_turn_two_pages(browser: Browser, report: str) -> None:
    with visitor(browser, **HANDHELD) as person:
        page = person.open(report)
        width = page_box(page, 1)["width"]
        double_tap(page, 375, 500)
        wait_for_page(page, 3)
        wait_for_rest(page)
        assert page_box(page, 3)["width"] == width


def test_a_swipe_from_the_edge_is_left_to_the_system(browser: Browser, report: str) -> None:
    with visitor(browser, **HANDHELD) as person:
        page = person.open(report)
        finger = TouchInput(page)
        finger.swipe(320, 60)
        wait_for_page(page, 2)
        wait_for_rest(page)
        record_motion(page)
        finger.swipe(5, 320)
        wait_for_rest(page)
        assert visible_pages(page) == [2]
        assert list_motions(page) == []


def test_the_browser_can_zoom_outside_the_pages_and_out_again(browser: Browser, report: str) -> None:
    with visitor(browser, **HANDHELD) as person:
        page = person.open(report)
        action = "getComputedStyle(document.querySelector('#pages')).touchAction"
        assert page.evaluate(action) == "pan-y"
        assert page.evaluate("getComputedStyle(document.querySelector('.bar')).touchAction") == "auto"
        prevented = """name => !document.querySelector(name).dispatchEvent(
          new Event("gesturestart", { bubbles: true, cancelable: true }))"""
        assert page.evaluate(prevented, "#pages")
        assert not page.evaluate(prevented, ".bar")
        session = page.context.new_cdp_session(page)
        session.send("Emulation.setPageScaleFactor", {"pageScaleFactor": 2})
        page.wait_for_function(f"() => {action} === 'auto'")
        assert not page.evaluate(prevented, "#pages")
        TouchInput(page).swipe(320, 60)
        wait_for_rest(page)
        assert visible_pages(page) == [1]
        session.send("Emulation.setPageScaleFactor", {"pageScaleFactor": 1})
        page.wait_for_function(f"() => {action} === 'pan-y'")


def test_a_column_of_pages_zooms_by_double_tap(browser: Browser, server: ServerProcess, share: ShareDocument) -> None:
    report = make_publisher(server, share)(simple_pdf(pages=4, size=A4), "standard")
    with visitor(browser, **HANDHELD) as person:
        page = person.open(report)
        fitted = page_box(page, 1)
        assert page.evaluate("getComputedStyle(document.querySelector('#pages')).touchAction") == "pan-x pan-y"
        overscroll = "getComputedStyle(document.documentElement).overscrollBehaviorX"
        assert page.evaluate(overscroll) == "auto"
        double_tap(page, 100, 300)
        wait_for_width(page, fitted["width"] * 1.9)
        assert page.evaluate(overscroll) == "none"
        zoomed = page_box(page, 1)
        assert (300 - zoomed["y"]) / zoomed["height"] == pytest.approx((300 - fitted["y"]) / fitted["height"], abs=0.02)
        finger = TouchInput(page)
        expect_end_of_scrolling(page)
        finger.swipe(320, 60)
        wait_for_end_of_scrolling(page)  # a tap while the page still moves only stops it
        assert page.evaluate("scrollX") > 100
        double_tap(page, 100, 300)
        page.wait_for_function("() => document.documentElement.scrollWidth === 390")
        assert page_box(page, 1)["width"] == fitted["width"]


def test_drawing_turns_no_page(browser: Browser, report: str) -> None:
    with visitor(browser, **HANDHELD) as person:
        page = person.open(report)
        page.evaluate("document.body.dataset.tool = 'annotate'")
        TouchInput(page).swipe(320, 60)
        page.touchscreen.tap(375, 500)
        assert visible_pages(page) == [1]
        assert page.locator(".book-scene, .is-passing").count() == 0


@pytest.mark.parametrize("turn", ["key", "finger"])
def test_with_reduced_motion_nothing_is_animated(browser: Browser, report: str, turn: str) -> None:
    with visitor(browser, **HANDHELD, reduced_motion="reduce") as person:
        page = person.open(report)
        page.locator(".page[data-page='2'].is-ready").wait_for(state="attached")
        record_motion(page)
        if turn == "key":
            page.keyboard.press("ArrowRight")
        else:
            TouchInput(page).swipe(320, 60)
        wait_for_page(page, 2)
        page.wait_for_timeout(100)
        assert list_motions(page) == []
