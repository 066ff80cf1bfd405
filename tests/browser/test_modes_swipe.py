"""Swiping: cards that follow the finger, and pages that turn by themselves until the reader does anything."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.support.browser import PHONE, Visitor, current_page_number, visitor, wait_for_page
from tests.support.browser_reader import HIDE_PAGE
from tests.support.paged_viewer import (
    PublishInMode,
    TouchInput,
    list_motions,
    page_box,
    record_motion,
    visible_pages,
    wait_for_rest,
)
from tests.support.pdfs import A4, simple_pdf
from tests.support.polling import wait_until

HANDHELD = {"viewport": {"width": 390, "height": 844}, "user_agent": PHONE, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def cards(turned: PublishInMode) -> str:
    """Five pages that wait for the reader."""
    return turned(simple_pdf(pages=5, size=A4), "swipe")


@pytest.fixture(scope="module")
def show(turned: PublishInMode) -> str:
    """Four pages that go on by themselves every three seconds."""
    return turned(simple_pdf(pages=4, size=A4), "swipe", swipe={"autoAdvance": True, "intervalMs": 3000})


@pytest.fixture
def watching(browser: Browser, show: str) -> Iterator[Page]:
    """The show on a page whose time passes only as a test says."""
    with visitor(browser) as person:
        person.page.clock.install()
        page = person.open(show)
        for number in (1, 2):
            page.locator(f".page[data-page='{number}'].is-ready").wait_for(state="attached")
        yield page
        assert person.complaints == []


def advance_time(page: Page, seconds: float) -> None:
    """Let time pass second by second; what a second asks for may come before the next."""
    for _ in range(int(seconds * 2)):
        page.clock.run_for(500)
        page.wait_for_timeout(20)
        page.locator(".page.is-ready:not([inert])").first.wait_for()


def stop_clock(page: Page) -> None:
    """Stop the page's clock."""
    page.clock.pause_at(page.evaluate("Date.now()") / 1_000 + 1)


def pace_label(page: Page) -> str:
    return str(page.locator("#pace").get_attribute("aria-label"))


def test_a_card_follows_the_finger_with_the_next_beside_it(browser: Browser, cards: str) -> None:
    with visitor(browser, **HANDHELD) as person:
        page = person.open(cards)
        page.locator(".page[data-page='2'].is-ready").wait_for(state="attached")
        rest = page_box(page, 1)["x"]
        finger = TouchInput(page)
        finger.touch("touchStart", (320, 400))
        for x in (300, 260, 200):
            finger.touch("touchMove", (x, 400))
        page.wait_for_function("() => document.querySelector('.page[data-page=\"1\"]').style.transform")
        assert page_box(page, 1)["x"] == pytest.approx(rest - 120, abs=1)
        assert page_box(page, 2)["x"] == pytest.approx(rest - 120 + 390, abs=1)
        assert page.locator(".page[data-page='2']").is_visible()
        finger.touch("touchEnd")
        wait_for_page(page, 2)
        wait_for_rest(page)
        assert page_box(page, 2)["x"] == rest
        assert not page.locator(".page[data-page='1']").is_visible()


def test_a_card_slides_by_key_too(desk: Visitor, cards: str) -> None:
    page = desk.open(cards)
    record_motion(page)
    page.keyboard.press("ArrowRight")
    assert list_motions(page) == ["1", "2"]
    wait_for_rest(page)
    assert visible_pages(page) == [2]


def test_nothing_goes_on_by_itself_unless_the_owner_wants(desk: Visitor, cards: str) -> None:
    page = desk.open(cards)
    assert page.locator("#pace").count() == 0


def test_pages_turn_by_themselves_and_stop_at_the_end(watching: Page) -> None:
    stop_clock(watching)
    before = current_page_number(watching)
    advance_time(watching, 3.5)
    assert current_page_number(watching) == before + 1
    advance_time(watching, 20)
    assert current_page_number(watching) == 4
    assert pace_label(watching) == "Turn pages by themselves"


def test_screen_readers_are_not_interrupted_by_it(watching: Page) -> None:
    wait_for_page(watching, 2)
    assert watching.locator("main [role=status]").get_attribute("aria-live") == "off"
    watching.keyboard.press("ArrowRight")
    assert watching.locator("main [role=status]").get_attribute("aria-live") == "polite"


@pytest.mark.parametrize("act", ["key", "click", "wheel"])
def test_whatever_the_reader_does_stops_it(watching: Page, act: str) -> None:
    stop_clock(watching)
    assert pace_label(watching) == "Pause turning pages"
    if act == "key":
        watching.keyboard.press("Shift")
    elif act == "click":
        watching.mouse.click(720, 500)
    else:
        watching.mouse.move(720, 500)
        watching.mouse.wheel(0, -10)
    wait_until(lambda: pace_label(watching) == "Turn pages by themselves")
    here = current_page_number(watching)
    advance_time(watching, 12)
    assert current_page_number(watching) == here


def test_the_button_stops_it_and_goes_on_and_begins_again_from_the_end(watching: Page) -> None:
    watching.locator("#pace").focus()
    watching.keyboard.press("Enter")
    assert pace_label(watching) == "Turn pages by themselves"
    stop_clock(watching)
    here = current_page_number(watching)
    advance_time(watching, 6)
    assert current_page_number(watching) == here
    watching.locator("#pace").click()
    advance_time(watching, 3.5)
    assert current_page_number(watching) == here + 1
    watching.keyboard.press("End")
    watching.locator("#pace").click()
    assert current_page_number(watching) == 1
    assert pace_label(watching) == "Pause turning pages"


def test_a_hidden_tab_stays_where_it_is(watching: Page) -> None:
    stop_clock(watching)
    here = current_page_number(watching)
    watching.evaluate(HIDE_PAGE)
    watching.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    advance_time(watching, 12)
    assert current_page_number(watching) == here
    watching.evaluate("delete document.visibilityState")
    watching.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    advance_time(watching, 3.5)
    assert current_page_number(watching) == here + 1


def test_who_wants_no_motion_is_shown_no_show(browser: Browser, show: str) -> None:
    with visitor(browser, reduced_motion="reduce") as person:
        person.page.clock.install()
        page = person.open(show)
        stop_clock(page)
        advance_time(page, 12)
        assert current_page_number(page) == 1
        assert page.locator("#pace").count() == 0


def test_the_button_has_its_place_on_a_phone(browser: Browser, show: str) -> None:
    with visitor(browser, **HANDHELD) as person:
        page = person.open(show)
        dock = page.locator(".dock").bounding_box()
        button = page.locator("#pace").bounding_box()
        assert dock is not None
        assert button is not None
        assert dock["x"] >= 0
        assert dock["x"] + dock["width"] <= 390
        assert dock["x"] <= button["x"]
        assert button["x"] + button["width"] <= dock["x"] + dock["width"]
