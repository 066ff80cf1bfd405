"""Printing of share pages."""

import io
from collections.abc import Iterator

import pypdfium2
import pytest
from playwright.sync_api import Browser, Page
from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

from tests.browser.conftest import ShareDocument
from tests.support.browser import Visitor, visitor
from tests.support.paged_viewer import PublishInMode, wait_for_rest
from tests.support.pdfs import A4, Sheet, lines_content, sheets_pdf, simple_pdf

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
