"""Printing of share pages."""

import io
import re
from collections.abc import Iterator

import pypdfium2
import pytest
from playwright.sync_api import Browser, Page, expect
from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

from tests.browser.conftest import ShareDocument
from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import RequestGate, Visitor, intercept_requests, visitor
from tests.support.browsers.paged_viewer import PublishInMode, wait_for_rest
from tests.support.documents.pdfs import A4, Sheet, lines_content, sheets_pdf, simple_pdf

SIZES = [A4, (842.0, 595.0), (300.0, 900.0)]  # portrait, landscape, and taller than any paper
PAPERS = {"A4": (595, 842), "Letter": (612, 792)}


@pytest.fixture(scope="module", params=["standard", "flipbook", "swipe", "magazine"])
def report(request: pytest.FixtureRequest, publish: PublishInMode) -> str:
    """Return the URL of a document of three pages of different sizes."""
    sheets = [Sheet(lines_content(f"Page {number}", top=200), size) for number, size in enumerate(SIZES, 1)]
    return publish(sheets_pdf(sheets), request.param)


def print_sheets(page: Page, paper: str) -> Iterator[list[tuple[float, ...]]]:
    """Yield the bounds of the images of each sheet: left, bottom, right and top in points."""
    content = page.pdf(format=paper, margin=dict.fromkeys(("top", "bottom", "left", "right"), "1cm"))
    with pypdfium2.PdfDocument(io.BytesIO(content)) as pdf:
        for sheet in pdf:
            assert [round(side) for side in sheet.get_size()] == pytest.approx(PAPERS[paper], abs=1)
            yield [picture.get_bounds() for picture in sheet.get_objects([FPDF_PAGEOBJ_IMAGE])]


@pytest.mark.parametrize("paper", PAPERS)
def test_each_page_fills_one_sheet_and_no_sheet_is_blank(desktop_visitor: Visitor, report: str, paper: str) -> None:
    page = desktop_visitor.open(report)
    page.locator(".page[data-page='2'].is-ready").wait_for(state="attached")
    page.keyboard.press("ArrowRight")
    page.locator(".page[data-page='3'].is-ready").wait_for(state="attached")
    wait_for_rest(page)
    sheets = list(print_sheets(page, paper))
    assert len(sheets) == len(SIZES)
    for pictures, (width, height) in zip(sheets, SIZES, strict=True):
        ((left, bottom, right, top),) = pictures
        assert (top - bottom) / (right - left) == pytest.approx(height / width, rel=0.02)
        across, along = PAPERS[paper]
        assert 26 <= left < right <= across - 26
        assert 26 <= bottom < top <= along - 26
        assert right - left > across - 60 or top - bottom > along - 60, "as large as fits"


def test_a_dark_background_is_not_printed_even_with_background_graphics(
    browser: Browser, publish: PublishInMode
) -> None:
    dark = publish(simple_pdf(pages=1, size=(300.0, 900.0)), "standard", brand={"toolbarTheme": "dark"})
    with visitor(browser, color_scheme="dark") as person:
        content = person.open(dark).pdf(format="A4", print_background=True)
    with pypdfium2.PdfDocument(io.BytesIO(content)) as pdf:
        (sheet,) = [page.render(scale=0.2).to_pil().convert("RGB") for page in pdf]
    across, along = sheet.size
    corners = [(2, 2), (across - 3, 2), (2, along - 3), (across - 3, along - 3)]
    assert {sheet.getpixel(corner) for corner in corners} == {(255, 255, 255)}


def test_without_scripts_each_page_is_printed_on_one_sheet(browser: Browser, share: ShareDocument) -> None:
    with visitor(browser, java_script_enabled=False) as person:
        person.page.goto(share(simple_pdf(pages=4, size=A4), "Minutes.pdf"))
        assert [len(pictures) for pictures in print_sheets(person.page, "A4")] == [1, 1, 1, 1]


def test_a_print_by_the_menu_of_the_browser_begins_with_a_note_about_missing_pages(
    desktop_visitor: Visitor, share: ShareDocument
) -> None:
    page = desktop_visitor.open(share(simple_pdf(pages=24, size=A4), "Minutes.pdf"))
    with pypdfium2.PdfDocument(io.BytesIO(page.pdf(format="A4"))) as pdf:
        words = " ".join(pdf[0].get_textpage().get_text_range().split())
        pictures = [len(list(sheet.get_objects([FPDF_PAGEOBJ_IMAGE]))) for sheet in pdf]
    assert re.fullmatch(
        r"Incomplete: only (page 1 of 24 is|pages 1-\d of 24 are) printed. To print all pages, choose Print in the "
        r"toolbar of the document.",
        words,
    )
    assert pictures == [0] + [1] * (len(pictures) - 1)


@pytest.fixture
def printing_visitor(desktop_visitor: Visitor) -> Visitor:
    """Return a reader whose browser notes each start of a print instead of opening a dialog."""
    desktop_visitor.page.add_init_script("window.prints = 0; window.print = () => { window.prints += 1; };")
    return desktop_visitor


def read_sheet_sizes(page: Page) -> list[tuple[int, ...]]:
    """Print once ``page`` has asked its browser to; return the size of each sheet in points."""
    page.wait_for_function("() => window.prints === 1")
    content = page.pdf(prefer_css_page_size=True)
    with pypdfium2.PdfDocument(io.BytesIO(content)) as pdf:
        assert all(len(list(sheet.get_objects([FPDF_PAGEOBJ_IMAGE]))) == 1 for sheet in pdf)
        return [tuple(round(side) for side in sheet.get_size()) for sheet in pdf]


@pytest.mark.parametrize("mode", ["standard", "flipbook"])
def test_ctrl_p_prints_all_pages_in_their_own_sizes(
    printing_visitor: Visitor, publish: PublishInMode, mode: str
) -> None:
    sheets = [Sheet(lines_content(f"Page {number}", top=200), SIZES[number % 3]) for number in range(24)]
    page = printing_visitor.open(publish(sheets_pdf(sheets), mode))
    assert not [url for url in printing_visitor.requests if "sheets.js" in url or "print.css" in url]
    page.keyboard.press("Control+p")
    assert read_sheet_sizes(page) == [(595, 842), (842, 595), (300, 900)] * 8
    expect(page.locator(".print-sheets, .print-dialog")).to_have_count(0)


def test_the_dialog_shows_the_progress_and_escape_cancels(printing_visitor: Visitor, share: ShareDocument) -> None:
    page = printing_visitor.page
    intercept_requests(page)
    printing_visitor.open(share(simple_pdf(pages=24, size=A4), "Minutes.pdf"))
    page.locator(".page[data-page='2'].is-ready").wait_for(state="attached")
    gate = RequestGate(page, *(f"**/pages/{number}-1600.jpg*" for number in range(20, 25)))
    page.get_by_role("button", name="Print").click()
    dialog = page.get_by_role("dialog", name="Print")
    expect(dialog).to_contain_text("Loading 24 pages...")
    expect(dialog.locator(".print-count")).to_have_text("19 of 24")
    assert dialog.get_by_role("progressbar").evaluate("bar => [bar.value, bar.max]") == [19, 24]
    assert find_violations(page) == []
    page.keyboard.press("Escape")
    expect(page.locator(".print-sheets, .print-dialog")).to_have_count(0)
    gate.open()
    page.keyboard.press("Control+p")
    assert read_sheet_sizes(page) == [(595, 842)] * 24


def test_nothing_is_printed_while_a_page_cannot_be_loaded(printing_visitor: Visitor, share: ShareDocument) -> None:
    page = printing_visitor.page
    printing_visitor.open(share(simple_pdf(pages=3, size=A4), "Minutes.pdf"))
    page.locator(".page[data-page='2'].is-ready").wait_for(state="attached")
    page.route("**/pages/3-*.jpg*", lambda route: route.fulfill(status=410))
    page.keyboard.press("Control+p")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_have_text("Page 3 did not load, so nothing was printed.")
    assert page.evaluate("window.prints") == 0
    page.unroute("**/pages/3-*.jpg*")
    page.get_by_role("button", name="Try again").click()
    assert read_sheet_sizes(page) == [(595, 842)] * 3
    printing_visitor.complaints.clear()  # the browser logs the failed requests


def test_a_long_document_is_printed_in_ranges_or_downloaded(printing_visitor: Visitor, publish: PublishInMode) -> None:
    page = printing_visitor.open(publish(simple_pdf(pages=120, size=A4), "standard"))
    page.keyboard.press("Control+p")
    dialog = page.get_by_role("dialog", name="Print")
    expect(dialog).to_contain_text("This document has 120 pages. Up to 100 can be printed at a time.")
    assert find_violations(page) == []
    dialog.get_by_label("to", exact=True).fill("120")
    dialog.get_by_role("button", name="Print").click()
    expect(dialog.get_by_role("alert")).to_have_text("Choose at most 100 pages.")
    dialog.get_by_label("From page").fill("118")
    dialog.get_by_role("button", name="Print").click()
    assert read_sheet_sizes(page) == [(595, 842)] * 3
    page.keyboard.press("Control+p")
    expect(dialog).to_contain_text("To print all pages, download the PDF and print it.")
    with page.expect_download() as download:
        dialog.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "Turned.pdf"


def test_without_scripts_a_print_of_a_part_says_so(browser: Browser, share: ShareDocument) -> None:
    with visitor(browser, java_script_enabled=False) as person:
        person.page.goto(share(simple_pdf(pages=14, size=A4), "Minutes.pdf"))
        content = person.page.pdf(format="A4")
    with pypdfium2.PdfDocument(io.BytesIO(content)) as pdf:
        assert len(pdf) == 11
        assert "Incomplete: only pages 1-10 of 14 are printed." in pdf[0].get_textpage().get_text_range()
