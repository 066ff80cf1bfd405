"""Loading in the paged modes: images, text and modules, and the page without scripts."""

import pytest
from playwright.sync_api import Browser

from tests.support.browsers.browser import (
    RequestGate,
    Visitor,
    list_layout_shifts,
    record_layout_shifts,
    visitor,
    wait_for_page,
)
from tests.support.browsers.paged_viewer import PublishInMode, page_box, wait_for_rest
from tests.support.documents.pdfs import Sheet, lines_content, sheets_pdf, simple_pdf


def test_late_pages_cause_no_layout_shift(desktop_visitor: Visitor, report: str) -> None:
    gate = RequestGate(desktop_visitor.page, "**/*.jpg*", "**/text/*")
    record_layout_shifts(desktop_visitor.page)
    page = desktop_visitor.page
    page.goto(report, wait_until="commit")
    page.locator(".pages.is-live").wait_for()
    page.wait_for_timeout(300)
    before = page_box(page, 1)
    gate.open()
    page.locator(".page[data-page='1'].is-ready .page-text").wait_for(state="attached")
    assert page_box(page, 1) == before
    assert list_layout_shifts(page) == []


def test_a_document_of_2000_pages_has_few_page_elements(
    desktop_visitor: Visitor, publish: PublishInMode, mode: str
) -> None:
    page = desktop_visitor.open(publish(simple_pdf(pages=2000), mode))
    for number in (1500, 3, 2000):
        page.locator("#page-number").fill(str(number))
        page.keyboard.press("Enter")
        wait_for_page(page, number)
        wait_for_rest(page)
        words = page.locator(f".pages > .page[data-page='{number}'] .page-text")
        words.wait_for(state="attached")
        assert words.inner_text().strip() == f"Page {number} of 2000"
        assert page.locator(".page").count() <= 6
    for _ in range(40):
        page.keyboard.press("ArrowLeft")
    assert page.locator(".pages > .page").count() <= 6


def test_pages_of_different_sizes_each_fit_the_window(
    desktop_visitor: Visitor, publish: PublishInMode, mode: str
) -> None:
    sizes = [(595.0, 842.0), (842.0, 595.0), (300.0, 300.0), (200.0, 900.0)]
    page = desktop_visitor.open(publish(sheets_pdf([Sheet(lines_content("x", top=100), size) for size in sizes]), mode))
    for number, (wide, tall) in enumerate(sizes, 1):
        page.locator("#page-number").fill(str(number))
        page.keyboard.press("Enter")
        wait_for_rest(page)
        sheet = page_box(page, number)
        assert sheet["height"] / sheet["width"] == pytest.approx(tall / wide, rel=0.02)
        assert page.evaluate("[scrollX, scrollY]") == [0, 0]


def test_only_the_scripts_of_the_mode_are_loaded(desktop_visitor: Visitor, report: str, mode: str) -> None:
    page = desktop_visitor.open(report)
    page.wait_for_load_state("networkidle")
    loaded = [url.partition("/viewer/")[2] for url in desktop_visitor.requests if url.endswith(".js")]
    assert set(loaded) - {"tiles.js"} == {"main.js", f"modes/{mode}.js", "reading.js"}


def test_without_scripts_pages_are_one_column(browser: Browser, report: str) -> None:
    with visitor(browser, java_script_enabled=False) as person:
        person.page.goto(report)
        first, second = page_box(person.page, 1), page_box(person.page, 2)
    assert first["width"] == 960
    assert second["y"] > first["y"] + first["height"]


def test_pages_are_readable_if_the_mode_fails_to_load(browser: Browser, report: str, mode: str) -> None:
    with visitor(browser) as person:
        person.page.route(f"**/modes/{mode}.js", lambda route: route.abort())
        person.page.goto(report)
        person.page.locator(".page[data-page='1'] img").wait_for(state="visible")
