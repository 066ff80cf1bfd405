"""The text layer: texts and their positions."""

import io
from collections.abc import Callable
from pathlib import Path

import pikepdf
import pytest
from PIL import Image, ImageChops

from docshare.server.pdf.answers import PageText, TextBox
from docshare.server.pdf.engine import PdfEngine
from docshare.server.rules.finding import UNREAD_PAGE
from tests.support.documents import pdfs

Put = Callable[..., Path]


def find_ink_box(engine: PdfEngine, path: Path, page: int) -> tuple[float, float, float, float]:
    """Return the bounding box of everything that is not white: (x, y, w, h) as fractions."""
    image = Image.open(io.BytesIO(engine.render(path, page, 1600))).convert("L")
    box = ImageChops.invert(image).point(lambda value: 255 * (value > 100)).getbbox()
    assert box is not None
    return (
        box[0] / image.width,
        box[1] / image.height,
        (box[2] - box[0]) / image.width,
        (box[3] - box[1]) / image.height,
    )


def is_covered(box: TextBox, place: tuple[float, float, float, float], slack: float = 0.01) -> bool:
    """Return whether ``box`` contains ``place`` and exceeds it by at most a line of text on each side."""
    x, y, w, h = place
    inside = box.x - slack <= x and box.y - slack <= y
    return inside and x + w <= box.x + box.w + slack and y + h <= box.y + box.h + slack


def get_single_box(text: PageText) -> TextBox:
    assert len(text.boxes) == 1
    return text.boxes[0]


def list_box_texts(text: PageText) -> list[str]:
    return [box.text for box in text.boxes]


def join_words(text: PageText) -> str:
    """Return the text of the boxes as the viewer finds words in it, if none of them is split."""
    return " ".join(" ".join(list_box_texts(text)).split())


@pytest.mark.parametrize(
    "document",
    [
        pdfs.simple_pdf, pdfs.two_columns_pdf, pdfs.mixed_sizes_pdf, pdfs.rotated_text_pdf, pdfs.linked_pdf,
        pdfs.text_heavy_pdf, lambda: pdfs.simple_pdf(texts=["A hyphen-\nated word", "", "Caf\u00e9"]),
    ],
)  # fmt: skip
def test_plain_texts_are_those_of_the_boxes(engine: PdfEngine, write_file: Put, document: Callable[[], bytes]) -> None:
    path = write_file(document())
    total = engine.inspect(path).total_pages
    expected = [join_words(engine.text(path, page)) for page in range(1, total + 1)]
    assert "".join(expected)
    assert engine.texts(path, 1, total) == expected
    assert engine.texts(path, total, total) == expected[-1:]


def test_plain_texts_lack_what_is_outside_of_the_visible_page(engine: PdfEngine, write_file: Put) -> None:
    content = pdfs.lines_content("seen", top=300) + pdfs.lines_content("cropped", top=700)
    pdf = pikepdf.open(io.BytesIO(pdfs.sheets_pdf([pdfs.Sheet(content)])))
    pdf.pages[0].CropBox = pikepdf.Array([0, 0, 612, 400])
    path = write_file(b"")
    pdf.save(path)
    assert engine.texts(path, 1, 1) == ["seen"]
    assert list_box_texts(engine.text(path, 1)) == ["seen"]


def test_a_page_that_does_not_exist_is_unread(engine: PdfEngine, write_file: Put) -> None:
    path = write_file(pdfs.simple_pdf(texts=["one", "two"]))
    assert engine.texts(path, 2, 4) == ["two", UNREAD_PAGE, UNREAD_PAGE]


def test_each_line_is_one_box_from_top_to_bottom(engine: PdfEngine, write_file: Put) -> None:
    text = engine.text(write_file(pdfs.simple_pdf(texts=["First line here\nand the second\nthird"])), 1)
    assert list_box_texts(text) == ["First line here", "and the second", "third"]
    tops = [box.y for box in text.boxes]
    assert tops == sorted(tops)
    assert (text.width, text.height) == (612, 792)


def test_the_box_matches_the_rendered_line(engine: PdfEngine, write_file: Put) -> None:
    path = write_file(pdfs.simple_pdf(texts=["Hxgp measured by its ink"]))
    box, drawn = get_single_box(engine.text(path, 1)), find_ink_box(engine, path, 1)
    assert box.x == pytest.approx(drawn[0], abs=0.005)
    assert box.w == pytest.approx(drawn[2], abs=0.01)
    assert is_covered(box, drawn)
    assert box.h < 0.035  # one line of 18 points on US Letter is 0.023


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_boxes_match_a_rotated_page_with_a_crop_box(engine: PdfEngine, write_file: Put, turn: int) -> None:
    sheet = pdfs.Sheet(pdfs.lines_content("Turned and cropped"), extra=f"/Rotate {turn} /CropBox [50 400 500 780]")
    path = write_file(pdfs.sheets_pdf([sheet]))
    text = engine.text(path, 1)
    assert (text.width, text.height) == ((450, 380) if turn in (0, 180) else (380, 450))
    box = get_single_box(text)
    assert box.angle == turn
    assert is_covered(box, find_ink_box(engine, path, 1))
    assert box.w * box.h < 0.05


def test_the_angle_of_rotated_text_is_reported(engine: PdfEngine, write_file: Put) -> None:
    text = engine.text(write_file(pdfs.rotated_text_pdf()), 1)
    assert {box.text: box.angle for box in text.boxes} == {"upward": 270, "downward": 90, "inverted": 180, "slanted": 0}


def test_the_box_of_slanted_text_has_one_line(engine: PdfEngine, write_file: Put) -> None:
    slanted = next(box for box in engine.text(write_file(pdfs.rotated_text_pdf()), 1).boxes if box.text == "slanted")
    assert slanted.h < 0.04


def test_columns_are_separate_boxes(engine: PdfEngine, write_file: Put) -> None:
    text = engine.text(write_file(pdfs.two_columns_pdf()), 1)
    assert sorted(list_box_texts(text)) == ["left one", "left two", "right one", "right two"]
    assert all(box.w < 0.1 for box in text.boxes)


def test_spaces_from_text_positioning_are_preserved(engine: PdfEngine, write_file: Put) -> None:
    content = "BT /F1 12 Tf 72 700 Td [(One) -400 (two) -400 (three)] TJ ET"
    assert list_box_texts(engine.text(write_file(pdfs.sheets_pdf([pdfs.Sheet(content)])), 1)) == ["One two three"]


def test_ligatures_and_symbol_bullets_are_converted_to_plain_characters(engine: PdfEngine, write_file: Put) -> None:
    assert list_box_texts(engine.text(write_file(pdfs.ligatures_pdf()), 1)) == ["\u2022 fifl offi"]


def test_a_hyphen_at_the_end_of_a_line_is_preserved(engine: PdfEngine, write_file: Put) -> None:
    assert list_box_texts(engine.text(write_file(pdfs.simple_pdf(texts=["a broken wor-\nd here"])), 1)) == [
        "a broken wor-",
        "d here",
    ]


def test_letters_with_accents_are_extracted(engine: PdfEngine, write_file: Put) -> None:
    assert list_box_texts(engine.text(write_file(pdfs.simple_pdf(texts=["Größe façade €5"])), 1)) == ["Größe façade €5"]


def test_invisible_text_over_a_scan_is_found(engine: PdfEngine, write_file: Put) -> None:
    sheet = pdfs.Sheet("BT 3 Tr /F1 12 Tf 72 700 Td (recognized) Tj ET")
    assert list_box_texts(engine.text(write_file(pdfs.sheets_pdf([sheet])), 1)) == ["recognized"]


def test_text_outside_the_page_is_omitted(engine: PdfEngine, write_file: Put) -> None:
    sheet = pdfs.Sheet(pdfs.lines_content("outside", left=-400) + " " + pdfs.lines_content("inside", top=400))
    assert list_box_texts(engine.text(write_file(pdfs.sheets_pdf([sheet])), 1)) == ["inside"]


def test_a_page_without_text_has_no_boxes(engine: PdfEngine, write_file: Put) -> None:
    text = engine.text(write_file(pdfs.sheets_pdf([pdfs.Sheet("0 0 10 10 re f")])), 1)
    assert (text.boxes, text.links) == ([], [])


def test_twenty_thousand_characters_are_complete_and_in_order(engine: PdfEngine, write_file: Put) -> None:
    shown = " ".join(list_box_texts(engine.text(write_file(pdfs.text_heavy_pdf(20_000)), 1))).split()
    assert shown == [f"word{n:05d}" for n in range(2000)]


def test_the_json_contains_an_angle_only_for_rotated_text(engine: PdfEngine, write_file: Put) -> None:
    document = engine.text(write_file(pdfs.rotated_text_pdf()), 1).to_json()
    assert {box[4]: box[5:] for box in document["boxes"]} == {
        "upward": [270],
        "downward": [90],
        "inverted": [180],
        "slanted": [],
    }
