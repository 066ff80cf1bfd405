"""Presentation mode: one page at a time on a black screen."""

import json

import pytest
from playwright.sync_api import Browser, Locator, Page, Request, expect

from tests.browser.conftest import ShareDocument
from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import PHONE, Visitor, stop_clock, visitor, wait_for_page
from tests.support.browsers.paged_viewer import PAGED_MODES, PublishInMode, TouchInput
from tests.support.documents.pdfs import A4, linked_pdf, simple_pdf

HANDHELD = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "user_agent": PHONE}


@pytest.fixture(scope="module")
def report(share: ShareDocument) -> str:
    return share(simple_pdf(12, size=A4), "Report.pdf")


def find_presentation(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Presentation")


def start_presentation(page: Page) -> Locator:
    page.keyboard.press("p")
    presentation = find_presentation(page)
    presentation.locator(".page.is-ready:not([hidden])").wait_for()
    return presentation


def expect_presented(presentation: Locator, number: int) -> None:
    expect(presentation.locator(".page:not([hidden])")).to_have_attribute("data-page", str(number))
    expect(presentation.get_by_role("status")).to_contain_text(f"Page {number} of")


def test_keys_turn_pages_and_leave(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(f"{report}#page=2")
    wait_for_page(page, 2)
    assert not [url for url in desktop_visitor.requests if "presentation" in url]
    presentation = start_presentation(page)
    expect_presented(presentation, 2)
    for key, number in (
        ("ArrowRight", 3), ("Space", 4), ("PageDown", 5), ("Enter", 6), ("ArrowDown", 7), ("ArrowLeft", 6),
        ("Shift+Space", 5), ("PageUp", 4), ("ArrowUp", 3), ("Backspace", 2), ("Home", 1), ("ArrowLeft", 1),
        ("End", 12), ("ArrowRight", 12),
    ):  # fmt: skip
        page.keyboard.press(key)
        expect_presented(presentation, number)
    page.keyboard.press("p")
    expect(presentation).to_have_count(0)
    wait_for_page(page, 12)
    page.wait_for_function("() => document.fullscreenElement === null")
    presentation = start_presentation(page)
    page.keyboard.press("Escape")
    expect(presentation).to_have_count(0)


def test_a_page_fits_the_full_screen_on_black(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    page.get_by_role("button", name="Presentation").click()
    presentation = find_presentation(page)
    shown = presentation.locator(".page.is-ready:not([hidden])")
    shown.wait_for()
    assert page.evaluate("document.fullscreenElement === document.documentElement")
    window = page.evaluate("({ width: innerWidth, height: innerHeight })")
    box = shown.bounding_box()
    assert box is not None
    assert (box["y"], round(box["height"])) == (0, window["height"])
    assert abs(box["x"] - (window["width"] - box["x"] - box["width"])) <= 1
    assert presentation.evaluate("one => getComputedStyle(one).backgroundColor") == "rgb(0, 0, 0)"
    assert presentation.bounding_box() == {"x": 0, "y": 0, **window}
    page.evaluate("document.exitFullscreen()")
    expect(presentation).to_have_count(0)


def test_a_click_turns_and_a_link_goes_to_its_page(desktop_visitor: Visitor, share: ShareDocument) -> None:
    page = desktop_visitor.open(share(linked_pdf(), "Linked.pdf"))
    presentation = start_presentation(page)
    presentation.locator(".page:not([hidden]) a[href='#page=3']").click()
    expect_presented(presentation, 3)
    page.keyboard.press("Home")
    page.mouse.click(20, 400)
    expect_presented(presentation, 2)
    page.mouse.wheel(0, 100)
    expect_presented(presentation, 3)


def test_the_pointer_and_the_button_hide_until_the_pointer_moves(clock_visitor: Visitor, report: str) -> None:
    page = clock_visitor.open(report)
    presentation = start_presentation(page)
    stop_clock(page)
    close = presentation.get_by_role("button", name="Leave the presentation")
    page.mouse.move(300, 300)
    page.mouse.move(310, 310)
    page.clock.run_for(2_400)
    expect(presentation).to_have_css("cursor", "auto")
    page.clock.run_for(200)
    expect(presentation).to_have_css("cursor", "none")
    expect(close).to_have_css("opacity", "0")
    page.mouse.move(320, 330)
    expect(close).to_have_css("opacity", "1")
    close.click()
    expect(presentation).to_have_count(0)


def is_claim_of_page_3(request: Request) -> bool:
    if not request.url.endswith("/beacon"):
        return False
    claims = {each["page"] for each in json.loads(request.post_data or "{}")["pages"] if each["ms"] >= 150}
    return claims == {3}


@pytest.mark.parametrize("mode", ["standard", *PAGED_MODES])
def test_the_presented_page_is_measured(desktop_visitor: Visitor, publish: PublishInMode, mode: str) -> None:
    page = desktop_visitor.open(publish(simple_pdf(6, size=A4), mode))
    start_presentation(page)
    with page.expect_request(is_claim_of_page_3):
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    wait_for_page(page, 3)


def test_pages_read_from_right_to_left_are_turned_by_the_left_arrow(
    desktop_visitor: Visitor, publish: PublishInMode
) -> None:
    page = desktop_visitor.open(publish(simple_pdf(6, size=A4), "flipbook", flip={"rtl": True}))
    presentation = start_presentation(page)
    page.keyboard.press("ArrowLeft")
    expect_presented(presentation, 2)
    page.keyboard.press("ArrowRight")
    expect_presented(presentation, 1)


def test_a_browser_without_full_screen_presents_in_its_window(browser: Browser, report: str) -> None:
    with visitor(browser) as person:
        person.page.add_init_script("Object.defineProperty(document, 'fullscreenEnabled', { get: () => false })")
        page = person.open(report)
        presentation = start_presentation(page)
        page.keyboard.press("ArrowRight")
        expect_presented(presentation, 2)
        page.keyboard.press("Escape")
        expect(presentation).to_have_count(0)
        assert person.complaints == []


def test_on_a_phone_it_starts_in_the_sidebar_and_turns_by_tap_and_swipe(browser: Browser, report: str) -> None:
    with visitor(browser, **HANDHELD) as person:
        page = person.open(report)
        page.get_by_role("button", name="Pages and contents").tap()
        page.get_by_role("button", name="Presentation").tap()
        presentation = find_presentation(page)
        presentation.locator(".page.is-ready:not([hidden])").wait_for()
        page.touchscreen.tap(300, 400)
        expect_presented(presentation, 2)
        page.touchscreen.tap(40, 400)
        expect_presented(presentation, 1)
        TouchInput(page).swipe(300, 60)
        expect_presented(presentation, 2)
        page.wait_for_timeout(1_000)  # the browser ignores a tap right after a swipe
        presentation.get_by_role("button", name="Leave the presentation").tap()
        expect(presentation).to_have_count(0)
        wait_for_page(page, 2)
        assert person.complaints == []


@pytest.mark.parametrize(
    "options", [{}, {"forced_colors": "active"}, HANDHELD], ids=["light", "forced-colors", "phone"]
)
def test_a_presentation_has_no_violation(browser: Browser, report: str, options: dict[str, object]) -> None:
    with visitor(browser, **options) as person:
        start_presentation(person.open(report))
        assert find_violations(person.page) == []
        assert person.complaints == []
