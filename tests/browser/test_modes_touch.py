"""Turning pages by touch on a phone, and with reduced motion."""

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import ShareDocument
from tests.support.browser import PHONE, visitor, wait_for_page
from tests.support.paged_viewer import (
    PAGED_MODES,
    TouchInput,
    list_motions,
    make_publisher,
    record_motion,
    visible_pages,
    wait_for_rest,
)
from tests.support.pdfs import A4, simple_pdf
from tests.support.server_process import ServerProcess

HANDHELD = {"viewport": {"width": 390, "height": 844}, "user_agent": PHONE, "has_touch": True, "is_mobile": True}


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
