"""The magazine: spreads from edge to edge, and a toolbar that hides automatically."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browsers.browser import PHONE, Visitor, stop_clock, visitor, wait_for_page
from tests.support.browsers.paged_viewer import (
    PublishInMode,
    list_motions,
    page_box,
    record_motion,
    visible_pages,
    wait_for_rest,
)
from tests.support.documents.pdfs import A4, simple_pdf


@pytest.fixture(scope="module")
def magazine_url(publish: PublishInMode) -> str:
    return publish(simple_pdf(pages=6, size=A4), "magazine")


def open_with_stopped_clock(person: Visitor, url: str) -> Page:
    """Open the magazine; its toolbar hides when the test advances the clock."""
    page = person.open(url)
    stop_clock(page)
    return page


def wait_until_toolbar_hides(page: Page) -> None:
    """Advance the clock until nobody has used the toolbar for a while."""
    page.clock.run_for(2_600)
    expect(page.locator(".bar")).to_have_css("opacity", "0")


def wait_for_toolbar_shown(page: Page) -> None:
    expect(page.locator(".bar")).to_have_css("opacity", "1")


def test_a_spread_fills_the_window_height(desktop_visitor: Visitor, magazine_url: str) -> None:
    page = desktop_visitor.open(f"{magazine_url}#page=2")
    wait_for_rest(page)
    left, right = page_box(page, 2), page_box(page, 3)
    assert visible_pages(page) == [2, 3]
    assert left["y"] == 0
    assert left["height"] == pytest.approx(900, abs=2)
    assert left["x"] + left["width"] == right["x"]
    assert page.locator(".page[data-page='2']").evaluate("one => getComputedStyle(one).boxShadow") == "none"


def test_one_page_fills_a_phone(browser: Browser, magazine_url: str) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "user_agent": PHONE, "has_touch": True, "is_mobile": True}
    with visitor(browser, **phone) as person:
        person.page.clock.install()
        page = open_with_stopped_clock(person, magazine_url)
        assert page_box(page, 1)["width"] == 390
        assert page_box(page, 1)["x"] == 0
        wait_until_toolbar_hides(page)
        page.touchscreen.tap(195, 500)
        wait_for_toolbar_shown(page)
        assert visible_pages(page) == [1]


@pytest.mark.parametrize(("cover_alone", "expected"), [(True, [1]), (False, [1, 2])])
def test_the_cover_is_single_or_part_of_a_spread(
    desktop_visitor: Visitor, publish: PublishInMode, cover_alone: bool, expected: list[int]
) -> None:
    url = publish(simple_pdf(pages=6, size=A4), "magazine", page={"coverAlone": cover_alone})
    assert visible_pages(desktop_visitor.open(url)) == expected


def test_the_toolbar_hides_and_returns_on_movement(clock_visitor: Visitor, magazine_url: str) -> None:
    page = open_with_stopped_clock(clock_visitor, magazine_url)
    page.mouse.move(480, 480)  # not on the toolbar
    page.mouse.move(490, 490)
    page.clock.run_for(2_400)
    assert page.locator(".bar.is-away").count() == 0
    wait_until_toolbar_hides(page)
    page.mouse.move(500, 500)
    page.mouse.move(520, 520)
    wait_for_toolbar_shown(page)
    wait_until_toolbar_hides(page)
    page.keyboard.press("ArrowRight")
    wait_for_toolbar_shown(page)


def test_the_toolbar_stays_visible_while_it_has_the_focus(browser: Browser, magazine_url: str) -> None:
    with visitor(browser) as person:
        person.page.clock.install()
        page = person.open(magazine_url)
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('.bar') !== null")
        page.clock.run_for(20_000)
        assert page.locator(".bar.is-away").count() == 0
        page.locator("#pages").focus()
        page.clock.run_for(6_000)
        assert page.locator(".bar.is-away").count() == 1
        page.keyboard.press("f")
        page.clock.run_for(20_000)
        assert page.locator(".bar.is-away").count() == 0, "the find bar is open"


def test_a_hidden_toolbar_is_reachable_by_keyboard_and_screen_reader(clock_visitor: Visitor, magazine_url: str) -> None:
    page = open_with_stopped_clock(clock_visitor, magazine_url)
    page.mouse.move(480, 480)
    wait_until_toolbar_hides(page)
    assert page.get_by_role("button", name="Next page").count() == 1
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    wait_for_toolbar_shown(page)
    assert page.evaluate("document.activeElement.closest('.bar') !== null")


def test_spreads_cross_fade(desktop_visitor: Visitor, magazine_url: str) -> None:
    page = desktop_visitor.open(f"{magazine_url}#page=2")
    wait_for_rest(page)
    record_motion(page)
    page.keyboard.press("ArrowRight")
    assert visible_pages(page) == [4, 5]
    assert list_motions(page) == ["4", "5"]
    wait_for_rest(page)
    assert not page.locator(".page[data-page='2']").is_visible()
    wait_for_page(page, 4)
