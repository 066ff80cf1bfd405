"""The swipe mode: cards that follow the finger, and a slideshow that stops on any input."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.support.browsers.browser import (
    PHONE,
    Visitor,
    current_page_number,
    stop_clock,
    visitor,
    wait_for_page,
    wait_for_viewer,
)
from tests.support.browsers.browser_reader import HIDE_PAGE
from tests.support.browsers.paged_viewer import (
    PublishInMode,
    TouchInput,
    list_motions,
    page_box,
    record_motion,
    visible_pages,
    wait_for_rest,
)
from tests.support.documents.pdfs import A4, simple_pdf
from tests.support.polling import wait_until

HANDHELD = {"viewport": {"width": 390, "height": 844}, "user_agent": PHONE, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def swipe_url(publish: PublishInMode) -> str:
    """Return the URL of five pages without auto-advance."""
    return publish(simple_pdf(pages=5, size=A4), "swipe")


@pytest.fixture(scope="module")
def slideshow_url(publish: PublishInMode) -> str:
    """Return the URL of four pages that advance every three seconds."""
    return publish(simple_pdf(pages=4, size=A4), "swipe", swipe={"autoAdvance": True, "intervalMs": 3000})


@pytest.fixture
def slideshow_page(browser: Browser, slideshow_url: str) -> Iterator[Page]:
    """Yield the slideshow at its first page, with two pages loaded and a clock that only the test advances."""
    with visitor(browser) as person:
        page = person.page
        page.clock.install()
        stop_clock(page)
        page.goto(slideshow_url)
        wait_for_viewer(page)
        while not page.locator(".page[data-page='2'].is-ready").count():
            page.clock.run_for(2)  # it is loaded two frames after the first one
            page.wait_for_timeout(20)
        assert current_page_number(page) == 1
        yield page
        assert person.complaints == []


def advance_time(page: Page, seconds: float) -> None:
    """Advance the clock in steps of half a second, waiting for the page image after each."""
    for _ in range(int(seconds * 2)):
        page.clock.run_for(500)
        page.wait_for_timeout(20)
        page.locator(".page.is-ready:not([inert])").first.wait_for()


def get_pace_label(page: Page) -> str:
    return str(page.locator("#pace").get_attribute("aria-label"))


def test_a_card_follows_the_finger_with_the_next_one_beside_it(browser: Browser, swipe_url: str) -> None:
    with visitor(browser, **HANDHELD) as person:
        page = person.open(swipe_url)
        page.locator(".page[data-page='2'].is-ready").wait_for(state="attached")
        rest = page_box(page, 1)["x"]
        finger = TouchInput(page)
        finger.touch("touchStart", (320, 400))
        for x in (300, 260, 200):
            finger.touch("touchMove", (x, 400))
        wait_until(lambda: page_box(page, 1)["x"] == pytest.approx(rest - 120, abs=1))
        assert page_box(page, 2)["x"] == pytest.approx(rest - 120 + 390, abs=1)
        assert page.locator(".page[data-page='2']").is_visible()
        finger.touch("touchEnd")
        wait_for_page(page, 2)
        wait_for_rest(page)
        assert page_box(page, 2)["x"] == rest
        assert not page.locator(".page[data-page='1']").is_visible()


def test_a_card_slides_on_a_key_press(desktop_visitor: Visitor, swipe_url: str) -> None:
    page = desktop_visitor.open(swipe_url)
    record_motion(page)
    page.keyboard.press("ArrowRight")
    assert list_motions(page) == ["1", "2"]
    wait_for_rest(page)
    assert visible_pages(page) == [2]


def test_pages_do_not_advance_unless_configured(desktop_visitor: Visitor, swipe_url: str) -> None:
    page = desktop_visitor.open(swipe_url)
    assert page.locator("#pace").count() == 0


def test_the_slideshow_advances_and_stops_at_the_end(slideshow_page: Page) -> None:
    before = current_page_number(slideshow_page)
    advance_time(slideshow_page, 3.5)
    assert current_page_number(slideshow_page) == before + 1
    advance_time(slideshow_page, 20)
    assert current_page_number(slideshow_page) == 4
    assert get_pace_label(slideshow_page) == "Turn pages automatically"


def test_the_slideshow_does_not_interrupt_screen_readers(slideshow_page: Page) -> None:
    advance_time(slideshow_page, 3.5)
    wait_for_page(slideshow_page, 2)
    assert slideshow_page.locator("main [role=status]").get_attribute("aria-live") == "off"
    slideshow_page.keyboard.press("ArrowRight")
    assert slideshow_page.locator("main [role=status]").get_attribute("aria-live") == "polite"


@pytest.mark.parametrize("act", ["key", "click", "wheel"])
def test_any_input_stops_the_slideshow(slideshow_page: Page, act: str) -> None:
    assert get_pace_label(slideshow_page) == "Pause turning pages"
    if act == "key":
        slideshow_page.keyboard.press("Shift")
    elif act == "click":
        slideshow_page.mouse.click(720, 500)
    else:
        slideshow_page.mouse.move(720, 500)
        slideshow_page.mouse.wheel(0, -10)
    wait_until(lambda: get_pace_label(slideshow_page) == "Turn pages automatically")
    here = current_page_number(slideshow_page)
    advance_time(slideshow_page, 12)
    assert current_page_number(slideshow_page) == here


def test_the_button_stops_resumes_and_restarts_the_slideshow(slideshow_page: Page) -> None:
    slideshow_page.locator("#pace").focus()
    slideshow_page.keyboard.press("Enter")
    assert get_pace_label(slideshow_page) == "Turn pages automatically"
    here = current_page_number(slideshow_page)
    advance_time(slideshow_page, 6)
    assert current_page_number(slideshow_page) == here
    slideshow_page.locator("#pace").click()
    advance_time(slideshow_page, 3.5)
    assert current_page_number(slideshow_page) == here + 1
    slideshow_page.keyboard.press("End")
    slideshow_page.locator("#pace").click()
    assert current_page_number(slideshow_page) == 1
    assert get_pace_label(slideshow_page) == "Pause turning pages"


def test_a_hidden_tab_does_not_advance(slideshow_page: Page) -> None:
    here = current_page_number(slideshow_page)
    slideshow_page.evaluate(HIDE_PAGE)
    slideshow_page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    advance_time(slideshow_page, 12)
    assert current_page_number(slideshow_page) == here
    slideshow_page.evaluate("delete document.visibilityState")
    slideshow_page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    advance_time(slideshow_page, 3.5)
    assert current_page_number(slideshow_page) == here + 1


def test_with_reduced_motion_there_is_no_slideshow(browser: Browser, slideshow_url: str) -> None:
    with visitor(browser, reduced_motion="reduce") as person:
        person.page.clock.install()
        page = person.open(slideshow_url)
        stop_clock(page)
        advance_time(page, 12)
        assert current_page_number(page) == 1
        assert page.locator("#pace").count() == 0


def test_the_button_fits_the_dock_of_a_phone(browser: Browser, slideshow_url: str) -> None:
    with visitor(browser, **HANDHELD) as person:
        page = person.open(slideshow_url)
        dock = page.locator(".dock").bounding_box()
        button = page.locator("#pace").bounding_box()
        assert dock is not None
        assert button is not None
        assert dock["x"] >= 0
        assert dock["x"] + dock["width"] <= 390
        assert dock["x"] <= button["x"]
        assert button["x"] + button["width"] <= dock["x"] + dock["width"]
