"""Common behavior of the paged modes on a desktop: keys, wheel, positions, zoom, find and accessibility."""

import pytest
from playwright.sync_api import Page

from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import Visitor, wait_for_page
from tests.support.browsers.paged_viewer import (
    PublishInMode,
    expect_end_of_scrolling,
    page_box,
    press_while_page_down_scrolls,
    visible_pages,
    wait_for_end_of_scrolling,
    wait_for_rest,
)
from tests.support.documents.pdfs import A4, LETTER, Sheet, lines_content, sheets_pdf, simple_pdf


@pytest.fixture(scope="module")
def linked_document(publish: PublishInMode, mode: str) -> str:
    """Return the URL of a document whose first page links to the web and to page 5."""
    marks = [
        f"<< /Type /Annot /Subtype /Link /Border [0 0 0] /Rect [{rect}] {action} >>"
        for rect, action in (
            ("72 600 200 640", "/A << /S /URI /URI (https://example.com/) >>"),
            ("540 300 606 500", "/Dest [@5 /Fit]"),
        )
    ]
    sheets = [Sheet(lines_content(f"Word of page {n}"), LETTER, annots=marks if n == 1 else ()) for n in range(1, 7)]
    return publish(sheets_pdf(sheets), mode)


@pytest.mark.parametrize(
    ("keys", "single", "spread"),
    [
        (["ArrowRight"], [2], [2, 3]),
        (["ArrowRight", "ArrowRight", "ArrowLeft"], [2], [2, 3]),
        (["ArrowDown", "ArrowDown"], [3], [4, 5]),
        (["PageDown", "ArrowUp"], [1], [1]),
        ([" ", " ", "Shift+ "], [2], [2, 3]),
        (["End"], [12], [12]),
        (["End", "PageUp"], [11], [10, 11]),
        (["End", "Home", "ArrowLeft"], [1], [1]),
        (["g", "7", "Enter"], [7], [6, 7]),
    ],
    ids=lambda value: "-".join(map(str, value)),
)
def test_keys_turn_pages(
    desktop_visitor: Visitor, report: str, mode: str, keys: list[str], single: list[int], spread: list[int]
) -> None:
    page = desktop_visitor.open(report)
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_timeout(50)
    assert visible_pages(page) == (single if mode == "swipe" else spread)


def test_space_presses_a_focused_button_and_turns_no_page(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    page.locator("#help-open").focus()
    page.keyboard.press(" ")
    assert page.get_by_role("dialog", name="Keyboard").is_visible()
    page.keyboard.press("Escape")
    assert visible_pages(page) == [1]


def test_buttons_turn_pages_and_are_disabled_at_the_ends(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    assert page.get_by_role("button", name="Previous page").is_disabled()
    page.get_by_role("button", name="Next page").click()
    wait_for_page(page, 2)
    page.keyboard.press("End")
    wait_for_page(page, 12)
    assert page.get_by_role("button", name="Next page").is_disabled()
    assert page.locator(".side-right").is_hidden()
    page.locator(".side-left").click()
    assert 12 not in visible_pages(page)


def test_hidden_pages_are_inaccessible(desktop_visitor: Visitor, linked_document: str) -> None:
    page = desktop_visitor.open(linked_document)
    page.locator(".page[data-page='1'] .page-links a").first.wait_for()
    page.locator(".page[data-page='2'] .page-text").wait_for(state="attached")
    assert page.get_by_role("article").count() == 1
    assert page.evaluate("!document.querySelector('#pages').innerText.includes('Word of page 2')")
    page.keyboard.press("End")
    assert page.get_by_role("link").filter(visible=True).count() == page.locator("a.skip, .badge a, a.badge").count()


def test_the_page_has_no_violation(desktop_visitor: Visitor, linked_document: str) -> None:
    page = desktop_visitor.open(linked_document)
    page.locator(".page[data-page='1'] .page-links a").first.wait_for()
    page.locator("#page-number").focus()  # keeps the toolbar of the magazine visible
    assert find_violations(page) == []
    page.locator("#pages").focus()
    page.keyboard.press("End")
    wait_for_rest(page)
    page.locator("#page-number").focus()
    assert find_violations(page) == []


def test_a_page_turn_is_announced_to_screen_readers(desktop_visitor: Visitor, report: str, mode: str) -> None:
    page = desktop_visitor.open(report)
    status = page.locator("main [role=status]")
    assert status.inner_text() == ""
    page.keyboard.press("ArrowRight")
    assert status.inner_text() == ("Page 2 of 12" if mode == "swipe" else "Pages 2 and 3 of 12")
    assert status.get_attribute("aria-live") in (None, "polite")


def test_the_focus_on_a_page_that_is_turned_moves_to_the_document(
    desktop_visitor: Visitor, linked_document: str
) -> None:
    page = desktop_visitor.open(linked_document)
    page.locator(".page[data-page='1'] .page-links a").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "pages"


@pytest.mark.parametrize("address", ["#page=9", "?page=9"])
def test_the_url_can_name_a_page(desktop_visitor: Visitor, report: str, mode: str, address: str) -> None:
    page = desktop_visitor.open(report + address)
    wait_for_page(page, 9)
    assert visible_pages(page) == ([9] if mode == "swipe" else [8, 9])
    page.keyboard.press("ArrowRight")
    wait_for_page(page, 10)


def test_reloading_restores_the_page(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => history.state?.place?.page > 2")
    before = visible_pages(page)
    page.reload()
    page.locator(".pages.is-live .page:not([inert])").first.wait_for()
    assert visible_pages(page) == before


def test_an_internal_link_opens_its_page_and_back_returns(desktop_visitor: Visitor, linked_document: str) -> None:
    page = desktop_visitor.open(linked_document)
    page.get_by_role("link", name="Go to page 5").click()
    wait_for_page(page, 5)
    page.go_back()
    wait_for_page(page, 1)
    page.go_forward()
    wait_for_page(page, 5)


def test_find_opens_the_page_and_highlights_the_text(desktop_visitor: Visitor, linked_document: str) -> None:
    page = desktop_visitor.open(linked_document)
    page.keyboard.press("f")
    page.locator("#find-words").fill("page 4")
    wait_for_page(page, 4)
    wait_for_rest(page)
    mark = page.locator(".pages > .page[data-page='4'] .page-hits i.is-current").bounding_box()
    words = page.locator(".pages > .page[data-page='4'] .page-text span").first.bounding_box()
    assert mark is not None
    assert words is not None
    assert mark["x"] + mark["width"] == pytest.approx(words["x"] + words["width"], abs=4)
    assert mark["y"] == pytest.approx(words["y"], abs=4)


def test_find_scrolls_a_zoomed_page_only_as_far_as_needed(
    desktop_visitor: Visitor, publish: PublishInMode, mode: str
) -> None:
    words = "start" + "\n" * 20 + "needle one" + "\n" * 2 + "needle two"
    page = desktop_visitor.open(publish(simple_pdf(pages=2, texts=[words, "other"], size=A4), mode))
    page.locator("#zoom-level").select_option("300")
    page.evaluate("scrollTo(0, 0)")
    page.locator("#find-open").click()
    page.locator("#find-words").fill("needle")
    current = page.locator(".page-hits i.is-current")
    current.wait_for()
    page.wait_for_function("() => scrollY > 300")
    first = current.bounding_box()
    place = page.evaluate("[scrollX, scrollY]")
    assert first is not None
    assert 0 <= first["x"] < 1440
    assert 56 < first["y"] < 900
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#find-count').value === '2 of 2'")
    current.wait_for()
    assert page.evaluate("[scrollX, scrollY]") == place


def test_a_zoomed_page_can_be_scrolled(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    before = page_box(page, 1)["width"]
    page.locator("#zoom-level").select_option("200")
    assert page_box(page, 1)["width"] == pytest.approx(595 * 4 / 3 * 2, abs=2)
    page.locator("#zoom-level").blur()
    page.keyboard.press("End")
    page.keyboard.press("Home")
    wait_for_page(page, 1)
    page.mouse.wheel(0, 300)
    page.wait_for_function("() => scrollY > 200")
    assert visible_pages(page) == [1]
    left = page.evaluate("scrollX")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("scrollX") > left
    page.keyboard.press("0")
    assert page_box(page, 1)["width"] == before
    assert page.evaluate("[scrollX, scrollY]") == [0, 0]


def test_ctrl_and_wheel_zoom_around_the_pointer(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    page.locator("#zoom-level").select_option("200")
    spot = "() => { const box = document.querySelector('.page[data-page=\"1\"]').getBoundingClientRect();"
    spot += " return [(700 - box.x) / box.width, (500 - box.y) / box.height]; }"
    page.mouse.move(700, 500)
    before = page.evaluate(spot)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -120)
    page.keyboard.up("Control")
    page.wait_for_function("() => document.querySelector('.page').getBoundingClientRect().width > 2000")
    assert page.evaluate(spot) == pytest.approx(before, abs=0.005)


def zoom_in(page: Page) -> None:
    """Enlarge the page beyond the window, which scrolls to keep what is in its center."""
    expect_end_of_scrolling(page)
    page.locator("#zoom-level").select_option("200")
    page.locator("#zoom-level").blur()
    wait_for_end_of_scrolling(page)


def test_page_down_scrolls_to_the_end_of_a_zoomed_page_before_turning_it(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    zoom_in(page)
    expect_end_of_scrolling(page)
    page.keyboard.press("PageDown")
    wait_for_end_of_scrolling(page)
    assert page.evaluate("scrollY") > 300
    assert visible_pages(page) == [1]
    page.evaluate("scrollTo(0, 100000)")
    page.keyboard.press("PageDown")
    wait_for_page(page, 2)
    page.wait_for_function("() => scrollY === 0")
    page.keyboard.press("PageUp")
    wait_for_page(page, 1)
    page.wait_for_function("() => scrollY + innerHeight >= document.documentElement.scrollHeight - 1")


def test_a_turn_ends_the_scrolling_of_a_key(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    zoom_in(page)
    expect_end_of_scrolling(page)
    page.evaluate("scrollTo(0, 0)")
    wait_for_end_of_scrolling(page)
    press_while_page_down_scrolls(page, "End")
    wait_for_page(page, 12)
    assert page.evaluate("scrollY") == 0


def test_one_wheel_gesture_turns_one_page(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    page.evaluate(
        """() => {
          for (let push = 0; push < 6; push += 1) {
            document.querySelector("#pages").dispatchEvent(new WheelEvent("wheel", { deltaY: 30, bubbles: true }));
          }
        }"""
    )
    wait_for_page(page, 2)
    page.wait_for_timeout(250)
    page.mouse.move(700, 500)
    page.mouse.wheel(0, -60)
    wait_for_page(page, 1)


def test_the_rest_of_a_scrolling_wheel_gesture_turns_no_page(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    page.locator("#zoom-level").select_option("width")
    push = "document.querySelector('#pages').dispatchEvent(new WheelEvent('wheel', { deltaY: 60, bubbles: true }));"
    page.evaluate(f"() => {{ {push} scrollTo(0, 100000); {push * 4} }}")
    page.wait_for_timeout(250)
    assert page.locator("#page-number").input_value() == "1"
    page.evaluate(f"() => {{ {push} }}")
    wait_for_page(page, 2)


def test_links_at_the_page_margin_can_be_clicked_without_turning_the_page(
    desktop_visitor: Visitor, linked_document: str
) -> None:
    page = desktop_visitor.open(linked_document)
    link = page.get_by_role("link", name="Go to page 5")
    link.hover()
    page.mouse.down()
    page.mouse.move(300, 500, steps=4)
    page.mouse.up()
    assert visible_pages(page) == [1]
    link.click()
    wait_for_page(page, 5)


def test_a_click_on_the_page_margin_turns_the_page(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    sheet = page_box(page, 1)
    page.mouse.click(sheet["x"] + sheet["width"] - 12, 600)
    wait_for_page(page, 2)
    wait_for_rest(page)
    page.mouse.click(page_box(page, 2)["x"] + 12, 600)
    wait_for_page(page, 1)


def test_dragging_over_text_selects_it_and_turns_no_page(desktop_visitor: Visitor, linked_document: str) -> None:
    page = desktop_visitor.open(linked_document)
    line = page.locator(".page[data-page='1'] .page-text span").first.bounding_box()
    assert line is not None
    page.mouse.move(line["x"] + 1, line["y"] + line["height"] / 2)
    page.mouse.down()
    page.mouse.move(line["x"] + line["width"] + 200, line["y"] + line["height"] / 2, steps=6)
    page.mouse.up()
    assert page.evaluate("getSelection().toString()").split() == ["Word", "of", "page", "1"]
    assert visible_pages(page) == [1]


@pytest.mark.parametrize("size", [(1440, 900), (900, 1200), (390, 844), (700, 320)])
def test_resizing_the_window_preserves_the_page_and_fits_it(
    desktop_visitor: Visitor, report: str, size: tuple[int, int]
) -> None:
    page = desktop_visitor.open(f"{report}#page=7")
    wait_for_page(page, 7)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.wait_for_function("size => document.querySelector('#pages').offsetWidth === size", arg=size[0])
    wait_for_page(page, 7)
    for number in visible_pages(page):
        sheet = page_box(page, number)
        assert sheet["x"] >= 0
        assert sheet["y"] >= 0
        assert sheet["x"] + sheet["width"] <= size[0]
        assert sheet["y"] + sheet["height"] <= size[1]
    page.set_viewport_size({"width": 1440, "height": 900})
