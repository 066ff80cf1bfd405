"""Copies look like their source: fonts and forms that inherit resources, damaged documents, and the comparison that
rejects copies that look different."""

import io
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pikepdf
import pypdfium2
import pytest
from pikepdf import Stream
from PIL import ImageChops

from docshare.server.pdf.engine import Derivation, PdfEngine, UnrenderableError, WatermarkText
from docshare.server.pdf.worker import comparison
from docshare.server.pdf.worker.documents import OpenPdfDocument, PdfRefused
from tests.support.documents import inherited_resources, pdfs
from tests.support.documents.rendering import render_page

Put = Callable[..., Path]
MARK = WatermarkText("Copy", 0.3, "normal")


def derive_bytes(engine: PdfEngine, path: Path, wanted: Derivation) -> bytes:
    out = io.BytesIO()
    engine.derive(path, wanted, out)
    return out.getvalue()


def read_resources(document: bytes, holder: Callable[[Any], Any]) -> dict[str, set[str]]:
    with pikepdf.open(io.BytesIO(document)) as pdf:
        resources = holder(pdf.pages[0].obj).get("/Resources")
        return {} if resources is None else {kind: set(part.keys()) for kind, part in resources.items()}


def get_font(page: Any) -> Any:
    return page.Resources.Font.F3


def get_form(page: Any) -> Any:
    return page.Resources.XObject.Fm


@pytest.mark.parametrize(
    "make",
    [
        inherited_resources.type3_font_pdf,
        inherited_resources.form_pdf,
        inherited_resources.nested_forms_pdf,
        inherited_resources.stamp_pdf,
    ],
)
def test_content_with_inherited_resources_looks_the_same(
    engine: PdfEngine, write_file: Put, make: Callable[[], bytes]
) -> None:
    document = make()
    for page in (1, 2):
        alone = derive_bytes(engine, write_file(document), Derivation(2, page, page))
        assert ImageChops.difference(render_page(document, page), render_page(alone, 1)).getbbox() is None
        assert len(render_page(alone, 1).getcolors(100_000) or []) > 1


def test_a_type3_font_gets_the_resources_of_its_visible_glyphs(engine: PdfEngine, write_file: Put) -> None:
    """Some viewers do not inherit the resources of the page and would show an empty page."""
    alone = derive_bytes(engine, write_file(inherited_resources.type3_font_pdf()), Derivation(2, 2, 2))
    assert read_resources(alone, get_font) == {"/XObject": {"/ImB"}}
    assert b"KEPTImage" in alone
    assert b"HIDDENImage" not in alone


def test_a_form_gets_the_resources_of_its_page(engine: PdfEngine, write_file: Put) -> None:
    alone = derive_bytes(engine, write_file(inherited_resources.form_pdf()), Derivation(2, 2, 2))
    assert read_resources(alone, get_form) == {"/Font": {"/F3"}}
    assert b"HIDDEN" not in alone


def test_a_form_that_looks_different_on_two_pages_still_inherits(engine: PdfEngine, write_file: Put) -> None:
    document = inherited_resources.shared_form_pdf()
    both = derive_bytes(engine, write_file(document), Derivation(3, 2, 3))
    assert read_resources(both, get_form) == {}
    for page in (1, 2):
        assert ImageChops.difference(render_page(document, page + 1), render_page(both, page)).getbbox() is None
    assert ImageChops.difference(render_page(both, 1), render_page(both, 2)).getbbox() is not None


@pytest.mark.parametrize(
    "make", [pdfs.miscounted_pdf, pdfs.pdf_without_page_tree, pdfs.unfinished_contents_pdf, pdfs.undecodable_form_pdf]
)
def test_a_damaged_document_is_repaired_for_its_copies(
    engine: PdfEngine, write_file: Put, make: Callable[[], bytes]
) -> None:
    document = make()
    path, total = write_file(document), len(pypdfium2.PdfDocument(document))
    marked = derive_bytes(engine, path, Derivation(total, 1, total, MARK))
    with pypdfium2.PdfDocument(marked) as pdf:
        assert len(pdf) == total
        assert "Copy" in pdf[0].get_textpage().get_text_bounded()
    assert path.read_bytes() == document
    if total > 1:
        alone = derive_bytes(engine, path, Derivation(total, 2, 2))
        assert ImageChops.difference(render_page(document, 2), render_page(alone, 1)).getbbox() is None


def make_changed_document(change: Callable[[pikepdf.Pdf], object]) -> bytes:
    with pikepdf.open(io.BytesIO(pdfs.simple_pdf(pages=3))) as pdf:
        change(pdf)
        out = io.BytesIO()
        pdf.save(out)
        return out.getvalue()


def remove_word(pdf: pikepdf.Pdf) -> None:
    pdf.pages[2].obj.Contents = Stream(pdf, pdf.pages[2].obj.Contents.read_bytes().replace(b"Page", b""))


def rotate_page(pdf: pikepdf.Pdf) -> None:
    pdf.pages[1].obj.Rotate = 90


def add_word(pdf: pikepdf.Pdf) -> None:
    pdf.pages[1].contents_add(Stream(pdf, b"BT /F1 12 Tf 100 100 Td (more) Tj ET"))


def add_small_word(pdf: pikepdf.Pdf) -> None:
    pdf.pages[1].contents_add(Stream(pdf, b"BT /F1 8 Tf 100 100 Td (more words) Tj ET"))


@pytest.mark.parametrize("change", [remove_word, rotate_page, add_word, add_small_word])
def test_a_copy_that_looks_different_is_rejected(write_file: Put, change: Callable[[pikepdf.Pdf], object]) -> None:
    before = OpenPdfDocument(write_file(pdfs.simple_pdf(pages=3)).open("rb"))
    comparison.require_same_looks(before, make_changed_document(lambda _: None), 1, 3, stamped=False)
    with pytest.raises(PdfRefused, match="looks"):
        comparison.require_same_looks(before, make_changed_document(change), 1, 3, stamped=False)
    before.close()


@pytest.mark.parametrize("font", ["Times-Bold", "Helvetica", "Symbol"])
def test_a_copy_in_another_font_is_rejected(write_file: Put, font: str) -> None:
    """The lines of small text are far apart, so each pixel of the pictures that are compared changes little."""
    lines = "\n".join(["The quick brown fox jumps over the lazy dog"] * 30)
    written = pdfs.sheets_pdf([pdfs.Sheet(pdfs.lines_content(lines, size=10, leading=2))])
    wanted, found = (written.replace(b"/Helvetica", b"/" + name.encode(), 1) for name in ("Times-Roman", font))
    before = OpenPdfDocument(write_file(wanted).open("rb"))
    with pytest.raises(PdfRefused, match="looks"):
        comparison.require_same_looks(before, found, 1, 1, stamped=False)
    before.close()


@pytest.mark.parametrize(("first", "last"), [(1, 2), (2, 2), (1, 1)])
def test_a_copy_with_an_additional_page_is_rejected(write_file: Put, first: int, last: int) -> None:
    """The page after the range looks like the source, so only the number of pages differs."""
    before = OpenPdfDocument(write_file(pdfs.simple_pdf(pages=3)).open("rb"))
    with pikepdf.open(io.BytesIO(pdfs.simple_pdf(pages=3))) as pdf, pikepdf.new() as cut:
        cut.pages.extend(pdf.pages[first - 1 : last + 1])
        out = io.BytesIO()
        cut.save(out)
    with pytest.raises(PdfRefused, match="looks"):
        comparison.require_same_looks(before, out.getvalue(), first, last, stamped=False)
    before.close()


def test_a_stamped_copy_without_its_watermark_is_rejected(write_file: Put) -> None:
    before = OpenPdfDocument(write_file(pdfs.simple_pdf(pages=3)).open("rb"))
    with pytest.raises(PdfRefused, match="looks"):
        comparison.require_same_looks(before, make_changed_document(lambda _: None), 1, 3, stamped=True)
    before.close()


def test_a_copy_that_lacks_a_field_appearance_is_rejected(engine: PdfEngine, write_file: Put) -> None:
    """pdfium draws a check mark for a box with a value but no state; the copy would lack it."""
    with pytest.raises(UnrenderableError) as caught:
        derive_bytes(engine, write_file(inherited_resources.checkbox_without_state_pdf()), Derivation(3, 2, 2))
    assert caught.value.reason == "looks"


def test_a_field_that_only_the_engine_can_render_is_in_the_copy(engine: PdfEngine, write_file: Put) -> None:
    document = inherited_resources.field_without_appearance_pdf()
    alone = derive_bytes(engine, write_file(document), Derivation(3, 2, 2))
    assert len(render_page(alone, 1).crop((100, 650, 400, 700)).getcolors(100_000) or []) > 5


def test_without_enough_time_a_sample_of_pages_is_compared(write_file: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    """The document has 64 pages, and there is time for six."""
    before = OpenPdfDocument(write_file(pdfs.simple_pdf(pages=64)).open("rb"))
    looked: list[int] = []
    clock = iter(range(1_000))

    def is_alike(source: OpenPdfDocument, number: int, *rest: object) -> bool:
        looked.append(number)
        return True

    monkeypatch.setattr(comparison, "_is_page_alike", is_alike)
    monkeypatch.setattr(comparison, "_BUDGET_S", 5.5)
    monkeypatch.setattr(comparison, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    comparison.require_same_looks(before, pdfs.simple_pdf(pages=64), 1, 64, stamped=False)
    before.close()
    assert looked == [1, 33, 17, 49, 9, 25]
