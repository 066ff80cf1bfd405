"""Text on a page that readers cannot see: under boxes, white on white, outside the visible area."""

from collections.abc import Callable
from pathlib import Path

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name, Stream

from docshare.server.pdf.linter import PdfLinter
from tests.support.documents.lint_pdfs import (
    Change,
    add_annotation,
    draw_image,
    make_appearance,
    make_lint_pdf,
    set_page_entries,
)
from tests.support.documents.pdfs import LETTER, Sheet, lines_content

Put = Callable[..., Path]

NAME_TEXT = lines_content("Secret name: John Doe")  # 17 letters, at (72, 720), in 18 points
COVERING_RECT = "60 700 300 50 re f"
COVERED = [("covered-text", "error", 1)]
INVISIBLE = [("invisible-text", "warning", 1)]
CROPPED = [("cropped-text", "warning", 1)]


@pytest.fixture
def find_on_page(linter: PdfLinter, write_file: Put) -> Callable[..., list[tuple[str, str, int | None]]]:
    """Return a function that returns the findings for a page with the given contents and changes."""

    def lint_page(content: str, *changes: Change, extra: str = "") -> list[tuple[str, str, int | None]]:
        path = write_file(make_lint_pdf(*changes, sheets=[Sheet(content, LETTER, extra)]))
        return [(each.check, each.level, each.page) for each in linter.lint(path)]

    return lint_page


def add_graphics_state(**entries: object) -> Change:
    """Add a graphics state named G."""
    return lambda pdf: pdf.pages[0].obj.Resources.__setitem__("/ExtGState", Dictionary(G=Dictionary(**entries)))


def add_form(instructions: str, matrix: list[float]) -> Change:
    """Draw a form with ``instructions`` last."""

    def change(pdf: pikepdf.Pdf) -> None:
        box, sheet = Array([0, 0, 700, 800]), pdf.pages[0]
        form = Stream(pdf, instructions.encode(), Type=Name.XObject, Subtype=Name.Form, BBox=box, Matrix=Array(matrix))
        form.Resources = Dictionary(Font=sheet.obj.Resources.Font)
        name = sheet.add_resource(form, Name.XObject)
        sheet.contents_add(Stream(pdf, f"\n{name} Do\n".encode()))

    return change


BLACK = draw_image(bytes(3 * 16), "300 0 0 50 60 700", Width=4, Height=4)
PAPER = bytes(255 * (at // 3 % 7 > 2) for at in range(3 * 300 * 400))  # as many marks as a handwritten page
SCAN = draw_image(PAPER, "612 0 0 792 0 0", Width=300, Height=400)
SQUARE = add_annotation(
    "Square", Rect=Array([60, 700, 360, 750]), AP=make_appearance("0 g 0 0 300 50 re f", 300, 50), F=4
)


@pytest.mark.parametrize(("content", "changes"), [
    pytest.param(f"{NAME_TEXT} 0 g {COVERING_RECT}", (), id="a black box"),
    pytest.param(f"{NAME_TEXT} 1 g {COVERING_RECT}", (), id="a white box"),
    pytest.param(f"{NAME_TEXT} 1 g {COVERING_RECT} 0 g {lines_content('New words')}", (),
        id="a white box with other words on it"),
    pytest.param(f"{NAME_TEXT} q 0 g {COVERING_RECT} Q", (), id="a box in its own state"),
    pytest.param(f"{NAME_TEXT} 0 G 30 w 60 726 m 360 726 l S", (), id="a broad line"),
    pytest.param(f"{NAME_TEXT} 0 G 0.1 0 0 0.1 0 0 cm 300 w 600 7260 m 3600 7260 l S", (), id="a scaled broad line"),
    pytest.param(NAME_TEXT, (BLACK,), id="a black picture"),
    pytest.param(NAME_TEXT, (add_form("0 g 0 0 30 5 re f", [10, 0, 0, 10, 60, 700]),), id="a box in a form"),
    pytest.param("", (add_form(f"{NAME_TEXT} 0 g {COVERING_RECT}", [1, 0, 0, 1, 0, -100]),), id="text and box in form"),
    pytest.param(f"0.5 g {COVERING_RECT} 0 g {NAME_TEXT} 0 g {COVERING_RECT}", (), id="a box on a box"),
])  # fmt: skip
def test_text_under_opaque_content_is_found(
    find_on_page: Callable[..., object], content: str, changes: tuple[Change, ...]
) -> None:
    assert find_on_page(content, *changes) == COVERED


def test_text_under_a_square_annotation_is_found_in_addition_to_the_comment(
    find_on_page: Callable[..., object],
) -> None:
    assert find_on_page(NAME_TEXT, SQUARE) == [*COVERED, ("comments", "warning", 1)]


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_covered_text_is_found_on_rotated_pages(find_on_page: Callable[..., object], turn: int) -> None:
    assert find_on_page(f"{NAME_TEXT} 0 g {COVERING_RECT}", extra=f"/Rotate {turn}") == COVERED
    assert find_on_page(f"1 1 0 rg {COVERING_RECT} 0 g {NAME_TEXT}", extra=f"/Rotate {turn}") == []


def test_only_covered_letters_are_counted(linter: PdfLinter, write_file: Put) -> None:
    half = f"{NAME_TEXT} 0 g 185 700 300 50 re f"  # starting at "John"
    (finding,) = linter.lint(write_file(make_lint_pdf(sheets=[Sheet(half)])))
    assert finding.message == "7 letters under a box or image can be selected, searched, and copied."


@pytest.mark.parametrize(("content", "changes"), [
    pytest.param(f"1 1 0 rg {COVERING_RECT} 0 g {NAME_TEXT}", (), id="a box behind the text"),
    pytest.param(f"0 g {COVERING_RECT} 1 g {NAME_TEXT}", (), id="white text on a black box"),
    pytest.param(f"{NAME_TEXT} 0 0 0 RG {COVERING_RECT[:-1]}S", (), id="a frame around it"),
    pytest.param(f"{NAME_TEXT} /G gs 1 1 0 rg {COVERING_RECT}", (add_graphics_state(BM=Name.Multiply),),
        id="a marker's stroke"),
    pytest.param(f"{NAME_TEXT} /G gs 0 g {COVERING_RECT}", (add_graphics_state(ca=0.4),), id="a transparent box"),
    pytest.param(f"{NAME_TEXT} q 0 0 9 9 re W n 0 g {COVERING_RECT} Q", (), id="a box that is cut away"),
    pytest.param(f"{NAME_TEXT} 0 g 60 715 300 1 re f", (), id="a line through it"),
    pytest.param(f"{NAME_TEXT} /G gs 0 G 30 w 60 726 m 360 726 l S", (add_graphics_state(CA=0.4),),
        id="a pale broad line"),
    pytest.param(f"{NAME_TEXT} 0 G 8 w 60 700 300 50 re S", (), id="a broad frame"),
    pytest.param("/G gs", (add_form(NAME_TEXT, [1, 0, 0, 1, 0, 0]),), id="text in a form"),
])  # fmt: skip
def test_visible_text_causes_no_finding(
    find_on_page: Callable[..., object], content: str, changes: tuple[Change, ...]
) -> None:
    assert find_on_page(content, *changes) == []


# --- text without a visible color ------------------------------------------------------------------------------------


def test_white_text_on_white_is_found(find_on_page: Callable[..., object]) -> None:
    assert find_on_page(f"1 g {NAME_TEXT}") == INVISIBLE


def test_white_text_on_a_picture_causes_no_finding(find_on_page: Callable[..., object]) -> None:
    assert find_on_page("", SCAN, add_form(f"1 g {NAME_TEXT}", [1, 0, 0, 1, 0, 0])) == []


def test_recognized_text_on_a_scanned_page_causes_no_finding(find_on_page: Callable[..., object]) -> None:
    assert find_on_page(f"3 Tr {NAME_TEXT}", SCAN) == []
    assert find_on_page("", SCAN, add_form(f"3 Tr {NAME_TEXT}", [1, 0, 0, 1, 0, 0])) == []


def test_recognized_text_behind_the_scan_causes_no_finding(find_on_page: Callable[..., object]) -> None:
    assert find_on_page(NAME_TEXT, SCAN) == []


def test_recognized_text_under_a_box_on_a_scanned_page_is_found(find_on_page: Callable[..., object]) -> None:
    assert find_on_page("", SCAN, add_form(f"3 Tr {NAME_TEXT} 0 g {COVERING_RECT}", [1, 0, 0, 1, 0, 0])) == COVERED


def test_invisible_text_without_a_picture_is_found(find_on_page: Callable[..., object]) -> None:
    assert find_on_page(f"3 Tr {NAME_TEXT}") == INVISIBLE


# --- outside the page ------------------------------------------------------------------------------------------------


def test_text_that_was_cropped_away_is_found(find_on_page: Callable[..., object]) -> None:
    assert find_on_page(NAME_TEXT, set_page_entries(CropBox=Array([0, 0, 612, 600]))) == CROPPED


def test_text_outside_the_sheet_is_found(find_on_page: Callable[..., object]) -> None:
    assert find_on_page(lines_content("Beside the slide", left=700)) == CROPPED


def test_a_watermark_beyond_the_edges_causes_no_finding(find_on_page: Callable[..., object]) -> None:
    marks = " ".join(lines_content("CONFIDENTIAL", left=left) for left in (-400, -100, 200, 500, 800))
    assert find_on_page(marks) == []


def test_text_in_the_visible_part_of_a_cropped_page_causes_no_finding(find_on_page: Callable[..., object]) -> None:
    assert find_on_page(NAME_TEXT, set_page_entries(CropBox=Array([50, 600, 600, 780]))) == []


def test_printer_marks_outside_a_cropped_page_are_only_a_note(find_on_page: Callable[..., object]) -> None:
    """The text is the file name and the date, between the trim box and the edge of the sheet."""
    sheet = set_page_entries(
        MediaBox=Array([0, 0, 700, 880]), CropBox=Array([44, 44, 656, 836]), TrimBox=Array([44, 44, 656, 836])
    )
    slug = lines_content("Report.indd 3 2026-05-12 10:33", size=8, left=60, top=12)
    assert find_on_page(lines_content("Words") + " " + slug, sheet) == [("cropped-text", "note", 1)]
    assert (
        find_on_page(lines_content("Words") + " " + lines_content("x" * 300, size=1, left=60, top=12), sheet) == CROPPED
    )


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_text_at_the_edges_of_a_rotated_page_causes_no_finding(find_on_page: Callable[..., object], turn: int) -> None:
    """Landscape pages are often rotated portrait pages."""
    words = lines_content("Words at the edge", left=4, top=780) + " " + lines_content("and below", left=4, top=4)
    assert find_on_page(words, set_page_entries(Rotate=turn)) == []


def test_text_that_is_partly_outside_causes_no_finding(find_on_page: Callable[..., object]) -> None:
    assert find_on_page(lines_content("Half of this line is beyond the edge", left=450)) == []
