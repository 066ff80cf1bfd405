"""The text layer over the page images: selection, find, and links."""

import re

import pytest
from playwright.sync_api import Browser, FloatRect, Page

from tests.browser.conftest import ShareDocument
from tests.support.browsers.browser import Visitor, visitor, wait_for_count, wait_for_page
from tests.support.documents.pdfs import LETTER, Sheet, lines_content, sheets_pdf, simple_pdf

WORDS = [
    "The harvest was good\nand the barns are full",
    "Café prices rose",
    "No word here",
    "A second HARVEST",
    "",
]


def make_link_annotation(rect: str, action: str) -> str:
    return f"<< /Type /Annot /Subtype /Link /Rect [{rect}] /Border [0 0 0] {action} >>"


@pytest.fixture(scope="module")
def story(share: ShareDocument) -> str:
    return share(simple_pdf(pages=5, texts=WORDS, size=LETTER), "Story.pdf")


@pytest.fixture(scope="module")
def linked_document(share: ShareDocument) -> str:
    first = Sheet(
        lines_content("See the source"),
        annots=(
            make_link_annotation("72 700 200 740", "/A << /S /URI /URI (https://example.com/source?a=1) >>"),
            make_link_annotation("72 500 200 540", "/Dest [@4 /Fit]"),
            make_link_annotation("72 300 200 340", "/A << /S /URI /URI (javascript:alert\\(1\\)) >>"),
        ),
    )
    return share(sheets_pdf([first, *(Sheet(lines_content(f"Page {n}")) for n in range(2, 6))]), "Linked.pdf")


def list_text_lines(page: Page, number: int) -> list[str]:
    layer = page.locator(f".page[data-page='{number}'] .page-text")
    return [line for line in layer.inner_text().split("\n") if line]


def find_text(page: Page, words: str) -> None:
    page.keyboard.press("f")
    page.locator("#find-words").fill(words)


def test_the_text_layer_contains_the_page_text(desktop_visitor: Visitor, story: str) -> None:
    page = desktop_visitor.open(story)
    page.locator(".page[data-page='1'] .page-text").wait_for(state="attached")
    assert list_text_lines(page, 1) == ["The harvest was good", "and the barns are full"]


def test_text_is_positioned_over_its_image(desktop_visitor: Visitor, story: str) -> None:
    page = desktop_visitor.open(story)
    paper = page.locator(".page[data-page='1']").bounding_box()
    line = page.locator(".page[data-page='1'] .page-text span").first.bounding_box()
    assert paper is not None
    assert line is not None
    unit = paper["width"] / LETTER[0]
    # The PDF has the line in 18-point Helvetica at x = 72 points, with the baseline 72 points below the top.
    assert line["x"] - paper["x"] == pytest.approx(72 * unit, abs=3)
    assert line["y"] - paper["y"] < 72 * unit < line["y"] - paper["y"] + line["height"] + 1
    assert line["width"] == pytest.approx(177.1 * unit, rel=0.02)


def test_text_is_larger_than_the_smallest_font_size_of_readers(browser: Browser, share: ShareDocument) -> None:
    """Browsers enlarge text below the smallest font size of their reader, and it would not match the image."""
    report = share(sheets_pdf([Sheet(lines_content("Fine print", size=5))]), "Fine print.pdf")
    with visitor(browser, viewport={"width": 390, "height": 844}, is_mobile=True) as person:
        line = person.open(report).locator(".page-text span").first
        line.wait_for(state="attached")
        assert float(line.evaluate("span => parseFloat(getComputedStyle(span).fontSize)")) >= 24
        box = line.bounding_box()
        assert box is not None
        assert box["height"] < 5


def press_on_first_run(page: Page) -> FloatRect:
    """Press the mouse button at the start of the first text run of page 1; return the box of the second run."""
    runs = page.locator(".page[data-page='1'] .page-text span")
    first, second = runs.nth(0).bounding_box(), runs.nth(1).bounding_box()
    assert first is not None
    assert second is not None
    page.mouse.move(first["x"] + 1, first["y"] + first["height"] / 2)
    page.mouse.down()
    return second


def test_dragging_over_text_selects_it(desktop_visitor: Visitor, story: str) -> None:
    page = desktop_visitor.open(story)
    second = press_on_first_run(page)
    page.mouse.move(second["x"] + second["width"] + 40, second["y"] + second["height"] / 2, steps=6)
    page.mouse.up()
    assert page.evaluate("getSelection().toString()").split() == WORDS[0].split()


def test_a_selection_is_stable_when_the_pointer_leaves_the_text(desktop_visitor: Visitor, share: ShareDocument) -> None:
    gaps = "first line" + "\n" * 9 + "second line" + "\n" * 9 + "third line"
    page = desktop_visitor.open(share(simple_pdf(pages=1, texts=[gaps]), "Gaps.pdf"))
    second = press_on_first_run(page)
    page.mouse.move(second["x"] + second["width"] / 2, second["y"] + second["height"] / 2, steps=8)
    page.mouse.move(second["x"] + 400, second["y"] + 80, steps=8)
    page.mouse.up()
    chosen = page.evaluate("getSelection().toString()").split()
    assert chosen[:3] == ["first", "line", "second"]
    assert "third" not in chosen


def test_the_find_function_of_the_browser_finds_loaded_text(desktop_visitor: Visitor, story: str) -> None:
    page = desktop_visitor.open(story)
    page.locator(".page[data-page='1'] .page-text").wait_for(state="attached")
    assert page.evaluate("window.find('barns are')")


def test_find_searches_all_pages_case_insensitively(desktop_visitor: Visitor, story: str) -> None:
    page = desktop_visitor.open(story)
    find_text(page, "harvest")
    wait_for_count(page, "1 of 2")
    page.keyboard.press("Enter")
    wait_for_count(page, "2 of 2")
    wait_for_page(page, 4)
    mark = page.locator(".page[data-page='4'] .page-hits i.is-current").bounding_box()
    line = page.locator(".page[data-page='4'] .page-text span").first.bounding_box()
    assert mark is not None
    assert line is not None
    assert mark["x"] == pytest.approx(line["x"] + line["width"] * 0.5, abs=line["width"] * 0.12)
    assert mark["x"] + mark["width"] == pytest.approx(line["x"] + line["width"], abs=4)


def test_find_wraps_around_in_both_directions(desktop_visitor: Visitor, story: str) -> None:
    page = desktop_visitor.open(story)
    find_text(page, "harvest")
    wait_for_count(page, "1 of 2")
    page.keyboard.press("Shift+Enter")
    wait_for_count(page, "2 of 2")
    page.keyboard.press("Enter")
    wait_for_count(page, "1 of 2")
    wait_for_page(page, 1)


def test_find_starts_at_the_current_page(desktop_visitor: Visitor, story: str) -> None:
    page = desktop_visitor.open(f"{story}#page=3")
    wait_for_page(page, 3)
    find_text(page, "harvest")
    wait_for_count(page, "2 of 2")
    page.keyboard.press("Enter")
    wait_for_count(page, "1 of 2")


@pytest.mark.parametrize(
    ("words", "expected"), [("cafe", "1 of 1"), ("good and the", "1 of 1"), ("nowhere", "No results"), ("  ", "")]
)
def test_find_ignores_line_breaks_and_accents(desktop_visitor: Visitor, story: str, words: str, expected: str) -> None:
    page = desktop_visitor.open(story)
    find_text(page, words)
    wait_for_count(page, expected)


def test_closing_find_removes_the_highlights(desktop_visitor: Visitor, story: str) -> None:
    page = desktop_visitor.open(story)
    find_text(page, "barns")
    page.locator(".page-hits i").wait_for()
    page.keyboard.press("Escape")
    assert page.locator(".page-hits i").count() == 0
    assert page.locator("#find").is_hidden()


def test_closing_find_restores_the_focus(desktop_visitor: Visitor, story: str) -> None:
    page = desktop_visitor.open(story)
    page.get_by_role("button", name="Find in the document").click()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "find-open"


def test_an_external_link_opens_a_new_tab_without_referrer_or_opener(browser: Browser, linked_document: str) -> None:
    with visitor(browser) as person:
        person.context.route("https://example.com/**", lambda route: route.fulfill(body="<title>source</title>"))
        page = person.open(linked_document)
        anchor = page.locator(".page-links a[target=_blank]")
        assert anchor.get_attribute("rel") == "noopener noreferrer nofollow"
        with person.context.expect_page() as opened:
            anchor.click()
        opened.value.wait_for_load_state()
        assert opened.value.url == "https://example.com/source?a=1"
        assert opened.value.evaluate("[document.referrer, window.opener]") == ["", None]


def test_an_internal_link_opens_its_page_and_back_returns(desktop_visitor: Visitor, linked_document: str) -> None:
    page = desktop_visitor.open(linked_document)
    page.mouse.wheel(0, 150)
    page.wait_for_function("() => scrollY === 150")
    page.get_by_role("link", name="Go to page 4").click()
    wait_for_page(page, 4)
    page.wait_for_url(f"{linked_document}#page=4")
    page.go_back()
    wait_for_page(page, 1)
    page.wait_for_function("() => Math.abs(scrollY - 150) <= 1")
    page.go_forward()
    wait_for_page(page, 4)


def test_a_javascript_link_is_omitted(desktop_visitor: Visitor, linked_document: str) -> None:
    page = desktop_visitor.open(linked_document)
    page.locator(".page-links a").first.wait_for()
    assert page.locator(".page-links a").count() == 2
    assert not re.search("javascript:", page.content(), re.IGNORECASE)


def test_a_page_without_text_has_a_label_for_screen_readers(desktop_visitor: Visitor, story: str) -> None:
    page = desktop_visitor.open(f"{story}#page=5")
    page.get_by_role("img", name="Page 5, without readable text").wait_for()
