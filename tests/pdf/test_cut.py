"""Page ranges of a document: the copy contains nothing of the other pages, and the kept pages are complete."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pikepdf
import pypdfium2
import pytest
from PIL import ImageChops

from docshare.server.pdf.engine import Derivation, PdfEngine, UnrenderableError, WatermarkText
from docshare.server.pdf.worker import cut, leaks
from docshare.server.pdf.worker.documents import PdfRefused
from tests.support.documents import pdfs
from tests.support.documents.leaky_pdf import WINDOW, leaky_pdf
from tests.support.documents.rendering import render_page

Put = Callable[..., Path]
DOCUMENT, WORDS = leaky_pdf()
PLAIN: dict[str, Any] = {  # uncompressed, so that the check can fail only because of the content
    "compress_streams": False,
    "stream_decode_level": pikepdf.StreamDecodeLevel.none,
    "object_stream_mode": pikepdf.ObjectStreamMode.disable,
}
MARK = WatermarkText("Copy (7F3A)", 0.3, "dense")


@pytest.fixture(scope="module")
def cut_document(engine: PdfEngine, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a copy with pages 2 and 3 of the leaky document."""
    path = tmp_path_factory.mktemp("leaky") / "leaky.pdf"
    path.write_bytes(DOCUMENT)
    return derive_bytes(engine, path, Derivation(5, *WINDOW))


def derive_bytes(engine: PdfEngine, path: Path, wanted: Derivation) -> bytes:
    out = io.BytesIO()
    engine.derive(path, wanted, out)
    return out.getvalue()


def unpack_document(document: bytes) -> bytes:
    """Return everything in ``document``: its raw bytes, its trailer and objects, and its decoded streams."""
    parts = [document]
    with pikepdf.open(io.BytesIO(document)) as pdf:
        parts.append(pdf.trailer.unparse())
        for value in pdf.objects:
            parts.append(value.unparse(resolved=True))
            if isinstance(value, pikepdf.Stream):
                parts += [value.read_raw_bytes(), value.read_bytes()]
    return b"\n".join(parts)


def list_spellings(word: str) -> list[bytes]:
    """Return the encodings in which a PDF can contain ``word``."""
    raw, wide = word.encode(), word.encode("utf-16-be")
    return [raw, wide, raw.hex().encode(), wide.hex().encode()]


def read_page_text(document: bytes, page: int) -> str:
    with pypdfium2.PdfDocument(document) as pdf:
        return str(pdf[page - 1].get_textpage().get_text_bounded())


def list_document_keys(document: bytes) -> set[str]:
    with pikepdf.open(io.BytesIO(document)) as pdf:
        return set(pdf.Root.keys()) | set(pdf.trailer.keys())


@pytest.mark.parametrize("word", WORDS)
def test_the_copy_does_not_contain_words_of_hidden_pages(cut_document: bytes, word: str) -> None:
    """The source contains each of these words, so the search is known to find them."""
    everything = unpack_document(cut_document)
    assert any(spelling in unpack_document(DOCUMENT) for spelling in list_spellings(word))
    assert [spelling for spelling in list_spellings(word) if spelling in everything] == []


@pytest.mark.parametrize(
    "word",
    ["Page2 words", "Page3 words", "Image", "Glyph", "Look", "Layer", "Off", "Ink", "Link", "Remark"],
)
def test_resources_of_kept_pages_are_preserved(cut_document: bytes, word: str) -> None:
    assert f"KEPT{word}".encode() in unpack_document(cut_document)


def test_the_copy_has_only_pages_and_layers(cut_document: bytes) -> None:
    assert list_document_keys(cut_document) == {"/Type", "/Pages", "/OCProperties", "/Root", "/Size", "/ID"}
    with pikepdf.open(io.BytesIO(cut_document)) as pdf:
        assert len(pdf.pages) == 2
        kinds = [value.get("/Type") for value in pdf.objects if isinstance(value, pikepdf.Dictionary)]
        assert kinds.count(pikepdf.Name.Page) == 2


@pytest.mark.parametrize("page", [1, 2])
def test_a_kept_page_has_the_same_looks_and_text(cut_document: bytes, page: int) -> None:
    before, after = render_page(DOCUMENT, page + 1), render_page(cut_document, page)
    assert ImageChops.difference(before, after).getbbox() is None
    assert len(after.getcolors(100_000) or []) > 10
    assert read_page_text(cut_document, page) == read_page_text(DOCUMENT, page + 1)
    assert f"KEPTPage{page + 1}" in read_page_text(cut_document, page)


def test_links_to_kept_pages_and_to_the_web_are_preserved(cut_document: bytes) -> None:
    with pikepdf.open(io.BytesIO(cut_document)) as pdf:
        links = [note for note in pdf.pages[0].obj.Annots if note.Subtype == pikepdf.Name.Link]
        inside = [note.Dest[0].objgen for note in links if "/Dest" in note]
        assert inside == [pdf.pages[1].obj.objgen] * 2
        assert [str(note.A.URI) for note in links if "/A" in note] == ["https://example.com/KEPTLink"]


@pytest.mark.parametrize(
    "make", [pdfs.mixed_sizes_pdf, pdfs.linked_pdf, pdfs.rotated_text_pdf, pdfs.ligatures_pdf, pdfs.filled_form_pdf]
)
def test_each_page_alone_has_the_same_looks_and_text_as_in_its_document(
    engine: PdfEngine, write_file: Put, make: Callable[[], bytes]
) -> None:
    document = make() if len(pypdfium2.PdfDocument(make())) > 1 else append_blank_page(make())
    path, total = write_file(document), len(pypdfium2.PdfDocument(document))
    for page in range(1, total + 1):
        alone = derive_bytes(engine, path, Derivation(total, page, page))
        assert ImageChops.difference(render_page(document, page), render_page(alone, 1)).getbbox() is None
        assert read_page_text(alone, 1) == read_page_text(document, page)


def append_blank_page(document: bytes) -> bytes:
    """Append an empty page to a document of one page."""
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(document)) as pdf:
        pdf.add_blank_page()
        pdf.save(out)
    return out.getvalue()


def remove_others(pdf: pikepdf.Pdf) -> pikepdf.Pdf:
    for number in (4, 3, 0):
        del pdf.pages[number]
    return pdf


def append_to_new(pdf: pikepdf.Pdf) -> pikepdf.Pdf:
    result = pikepdf.new()
    for number in (1, 2):
        result.pages.append(pdf.pages[number])
    return result


def append_and_tidy(pdf: pikepdf.Pdf) -> pikepdf.Pdf:
    result = append_to_new(pdf)
    result.remove_unreferenced_resources()
    return result


@pytest.mark.filterwarnings("ignore::pikepdf.exceptions.PageCopyWarning")
@pytest.mark.parametrize("recipe", [remove_others, append_to_new, append_and_tidy])
def test_the_check_rejects_the_leaks_of_other_methods(
    write_file: Put, recipe: Callable[[pikepdf.Pdf], pikepdf.Pdf]
) -> None:
    path = write_file(DOCUMENT)
    out = io.BytesIO()
    with pikepdf.open(path) as pdf:
        recipe(pdf).save(out, **PLAIN)
    with pytest.raises(PdfRefused, match="leak"):
        leaks.require_no_leak(lambda: pikepdf.open(path), *WINDOW, out.getvalue(), leaks.DocumentContents())


def add_image(pdf: pikepdf.Pdf, hidden: pikepdf.Pdf) -> None:
    image = hidden.pages[0].resources.XObject.ImHidden
    pdf.pages[0].obj.Resources.XObject.FmKept = pdf.copy_foreign(image)  # under a name that the page uses


def add_page(pdf: pikepdf.Pdf, hidden: pikepdf.Pdf) -> None:
    pdf.add_blank_page()


def add_unlisted_page(pdf: pikepdf.Pdf, hidden: pikepdf.Pdf) -> None:
    page = pikepdf.Dictionary(Type=pikepdf.Name.Page, Contents=pdf.pages[0].obj.Contents)
    pdf.pages[0].obj.Group = pdf.make_indirect(page)


def add_title(pdf: pikepdf.Pdf, hidden: pikepdf.Pdf) -> None:
    pdf.docinfo.Title = pikepdf.String("KEPTRemark")


def add_string(pdf: pikepdf.Pdf, hidden: pikepdf.Pdf) -> None:
    pdf.pages[0].obj.Annots[0].Contents = pikepdf.String("HIDDENNote1")


def add_name(pdf: pikepdf.Pdf, hidden: pikepdf.Pdf) -> None:
    pdf.pages[0].obj.Annots[0].H = pikepdf.Name.HIDDENInk


def add_script(pdf: pikepdf.Pdf, hidden: pikepdf.Pdf) -> None:
    pdf.pages[0].obj.AA = pikepdf.Dictionary()


def add_structure(pdf: pikepdf.Pdf, hidden: pikepdf.Pdf) -> None:
    pdf.pages[0].obj.StructParents = 2


def add_outline(pdf: pikepdf.Pdf, hidden: pikepdf.Pdf) -> None:
    pdf.Root.Outlines = pikepdf.Dictionary(Type=pikepdf.Name.Outlines)


@pytest.mark.parametrize(
    "tamper",
    [add_image, add_page, add_unlisted_page, add_title, add_string, add_name, add_script, add_structure, add_outline],
)
def test_the_check_rejects_a_copy_with_additional_content(
    write_file: Put, cut_document: bytes, tamper: Callable[..., Any]
) -> None:
    path = write_file(DOCUMENT)
    whole, tampered = io.BytesIO(), io.BytesIO()
    with pikepdf.open(path) as hidden, pikepdf.open(io.BytesIO(cut_document)) as pdf:
        pdf.save(whole, **PLAIN)
        tamper(pdf, hidden)
        pdf.save(tampered, **PLAIN)
    leaks.require_no_leak(lambda: pikepdf.open(path), *WINDOW, whole.getvalue(), leaks.DocumentContents())
    with pytest.raises(PdfRefused, match="leak"):
        leaks.require_no_leak(lambda: pikepdf.open(path), *WINDOW, tampered.getvalue(), leaks.DocumentContents())


def test_a_watermarked_copy_is_checked_and_shows_its_watermark(
    engine: PdfEngine, write_file: Put, cut_document: bytes
) -> None:
    marked = derive_bytes(engine, write_file(DOCUMENT), Derivation(5, *WINDOW, MARK))
    assert [word for word in WORDS if word.encode() in unpack_document(marked)] == []
    assert read_page_text(marked, 1).count(MARK.text) > 3
    assert ImageChops.difference(render_page(cut_document, 1), render_page(marked, 1)).getbbox() is not None
    assert {"/Outlines", "/AcroForm"} & list_document_keys(marked) == set()


@pytest.mark.parametrize("make", [pdfs.simple_pdf, pdfs.mixed_sizes_pdf, pdfs.linked_pdf])
def test_a_watermark_is_on_every_page_and_preserves_the_content(
    engine: PdfEngine, write_file: Put, make: Callable[[], bytes]
) -> None:
    document = make()
    total = len(pypdfium2.PdfDocument(document))
    marked = derive_bytes(engine, write_file(document), Derivation(total, 1, total, MARK))
    for page in range(1, total + 1):
        assert MARK.text in read_page_text(marked, page)
        assert read_page_text(document, page).split()[0] in read_page_text(marked, page)
        assert render_page(marked, page).size == render_page(document, page).size


@pytest.mark.parametrize(("density", "least", "most"), [("sparse", 3, 9), ("normal", 12, 35), ("dense", 45, 90)])
def test_a_denser_watermark_is_repeated_more_often(
    engine: PdfEngine, write_file: Put, density: str, least: int, most: int
) -> None:
    wanted = Derivation(3, 1, 1, WatermarkText("Copy", 0.5, density))
    assert (
        least <= read_page_text(derive_bytes(engine, write_file(pdfs.simple_pdf(3)), wanted), 1).count("Copy") <= most
    )


def test_a_more_opaque_watermark_is_darker(engine: PdfEngine, write_file: Put) -> None:
    path = write_file(pdfs.simple_pdf(3))
    darkest = [
        min(
            render_page(derive_bytes(engine, path, Derivation(3, 2, 2, WatermarkText("Copy", opacity, "dense"))), 1)
            .crop((0, 200, 600, 700))
            .convert("L")
            .tobytes()
        )
        for opacity in (0.05, 0.5)
    ]
    assert 230 < darkest[0] < 252
    assert 150 < darkest[1] < 200


def test_a_document_with_only_an_owner_password_is_cut(engine: PdfEngine, write_file: Put) -> None:
    alone = derive_bytes(engine, write_file(pdfs.encrypted_pdf(pages=3)), Derivation(3, 2, 2))
    assert read_page_text(alone, 1).strip() == "Page 2 of 3"


@pytest.mark.parametrize(
    ("document", "wanted"),
    [
        (pdfs.simple_pdf(3), Derivation(4, 1, 2)),
        (pdfs.simple_pdf(3), Derivation(3, 2, 4)),
        (pdfs.simple_pdf(3), Derivation(3, 0, 1)),
        (pdfs.encrypted_pdf(user="secret", pages=3), Derivation(3, 1, 1)),
        (pdfs.html_page(), Derivation(3, 1, 1)),
    ],
    ids=["another count", "past the end", "before the start", "locked", "no PDF"],
)
def test_a_document_that_cannot_be_cut_is_rejected_without_output(
    engine: PdfEngine, write_file: Put, document: bytes, wanted: Derivation
) -> None:
    out = io.BytesIO()
    with pytest.raises(UnrenderableError):
        engine.derive(write_file(document), wanted, out)
    assert out.getvalue() == b""


def test_a_long_document_is_cut_within_seconds(engine: PdfEngine, write_file: Put) -> None:
    alone = derive_bytes(engine, write_file(pdfs.many_pages_pdf(2000)), Derivation(2000, 2, 2000))
    assert len(pypdfium2.PdfDocument(alone)) == 1999


def set_page_entry(entry: str, value: Any) -> bytes:
    """Return five pages that all have ``entry``."""
    with pikepdf.open(io.BytesIO(pdfs.simple_pdf(pages=5))) as pdf:
        for page in pdf.pages:
            page.obj[entry] = value
        out = io.BytesIO()
        pdf.save(out)
        return out.getvalue()


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("/CropBox", [10, 10, 500, 700]), ("/BleedBox", [10, 10, 500, 700]), ("/TrimBox", [10, 10, 500, 700]),
        ("/ArtBox", [10, 10, 500, 700]), ("/UserUnit", 2), ("/Rotate", 90),
        ("/Group", pikepdf.Dictionary(S=pikepdf.Name.Transparency)),
    ],
)  # fmt: skip
def test_page_entries_are_preserved(engine: PdfEngine, write_file: Put, entry: str, value: Any) -> None:
    path = write_file(set_page_entry(entry, value))
    with pikepdf.open(io.BytesIO(derive_bytes(engine, path, Derivation(5, 2, 3)))) as result:
        assert [page.obj.get(entry) == value for page in result.pages] == [True, True]


def make_fields_pdf() -> bytes:
    """Return three pages with a text field each, whose appearance the viewer must generate."""
    with pikepdf.open(io.BytesIO(pdfs.simple_pdf(pages=3))) as pdf:
        font = pikepdf.Dictionary(Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica)
        fields = []
        for number, page in enumerate(pdf.pages, 1):
            field = pdf.make_indirect(
                pikepdf.Dictionary(
                    Type=pikepdf.Name.Annot, Subtype=pikepdf.Name.Widget, FT=pikepdf.Name.Tx, T=f"field{number}",
                    V=f"VALUE{number}", DA="/Helv 12 Tf 0 g", Rect=[100, 100, 300, 130], F=4,
                )
            )  # fmt: skip
            page.obj.Annots = pikepdf.Array([field])
            fields.append(field)
        pdf.Root.AcroForm = pikepdf.Dictionary(
            Fields=fields, NeedAppearances=True, DA="/Helv 12 Tf 0 g", DR=pikepdf.Dictionary(Font={"/Helv": font})
        )
        out = io.BytesIO()
        pdf.save(out)
        return out.getvalue()


def test_a_field_without_appearance_is_rendered_only_on_the_kept_page(engine: PdfEngine, write_file: Put) -> None:
    result = derive_bytes(engine, write_file(make_fields_pdf()), Derivation(3, 2, 2))
    assert b"VALUE2" in unpack_document(result)
    for word in ("VALUE1", "VALUE3", "field1", "field2", "field3"):
        assert not [spelling for spelling in list_spellings(word) if spelling in unpack_document(result)]


def test_a_field_appearance_is_generated_when_pages_are_extracted() -> None:
    """The copies of the engine do not show this, because they have the appearance without this step, too."""
    with pikepdf.open(io.BytesIO(make_fields_pdf())) as source, cut.extract_pages(source, 2, 2) as target:
        out = io.BytesIO()
        target.save(out)
    assert b"VALUE2" in unpack_document(out.getvalue())
