"""Clean copies: removed content is gone from the bytes, and visible content is unchanged."""

import io
from collections.abc import Callable
from pathlib import Path

import pikepdf
import PIL.Image
import pypdfium2
import pytest
from pikepdf import Array, Dictionary, Name, Stream, String

from docshare.contract.problems import Problem
from docshare.server.pdf.linter import PdfLinter
from tests.support.documents import pdfs
from tests.support.documents.leaky_pdf import leaky_pdf
from tests.support.documents.lint_pdfs import (  # fmt: skip
    Change,
    add_annotation,
    add_form_field,
    add_layer,
    add_photo,
    append_update,
    layer_off,
    layer_on,
    list_unused_image,
    make_action,
    make_appearance,
    make_attachment,
    make_attachment_names,
    make_lint_pdf,
    set_catalog_entries,
    set_info,
    set_page_entries,
    set_xmp,
)
from tests.support.documents.pdfs import Sheet, lines_content

Put = Callable[..., Path]


@pytest.fixture
def make_clean_copy(linter: PdfLinter, write_file: Put, tmp_path: Path) -> Callable[..., bytes]:
    """Return a function that returns the clean copy of a document with uncompressed, searchable streams."""

    def clean(document: bytes, *, keep_title: bool = True) -> bytes:
        with (tmp_path / "clean.pdf").open("w+b") as sink:
            linter.clean(write_file(document), sink, keep_title=keep_title)
        return (tmp_path / "clean.pdf").read_bytes()

    return clean


def decompress_document(document: bytes) -> bytes:
    """Return the document with uncompressed streams and objects."""
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(document)) as pdf:
        pdf.save(
            out, compress_streams=False, stream_decode_level=pikepdf.StreamDecodeLevel.generalized,
            object_stream_mode=pikepdf.ObjectStreamMode.disable,
        )  # fmt: skip
    return out.getvalue()


def render_first_page(document: bytes) -> PIL.Image.Image:
    """Return a rendering of the first page."""
    with pypdfium2.PdfDocument(document) as pdf:
        pdf.init_forms()
        image: PIL.Image.Image = pdf[0].render(scale=1).to_pil().convert("RGB")
        return image


CHANGES: list[tuple[str, Change]] = [
    ("author", set_info(Author="SECRET-AUTHOR")),
    ("field of its own", set_info(Custom="SECRET-CUSTOM")),
    ("XMP", set_xmp("<xmp:Base>/home/SECRET/offer.odt</xmp:Base>")),
    ("attachment", set_catalog_entries(Names=make_attachment_names)),
    ("associated file", set_catalog_entries(AF=lambda pdf: Array([make_attachment()(pdf)]))),
    ("attachment on a page", add_annotation("FileAttachment", FS=make_attachment())),
    ("script", set_catalog_entries(OpenAction=make_action("JavaScript", JS=String("SECRET()")))),
    ("script behind a link", add_annotation("Link", A=make_action("JavaScript", JS=String("SECRET()")))),
    ("program", add_annotation("Link", A=make_action("Launch", F=String("SECRET.exe")))),
    ("link to a file", add_annotation("Link", A=make_action("URI", URI=String("file:///C:/SECRET.docx")))),
    ("what follows a link", add_annotation("Link", A=make_action("GoTo", D=Array([0, Name.Fit]),
        Next=make_action("URI", URI=String("http://SECRET"))))),
    ("what a page does", set_page_entries(AA=Dictionary(O=make_action("URI", URI=String("https://SECRET"))))),
    ("comment", add_annotation("Text", T=String("SECRET"), Contents=String("SECRET"))),
    ("highlight", add_annotation("Highlight", T=String("SECRET"), Contents=String("SECRET"))),
    ("stamp", add_annotation("Stamp", T=String("SECRET"), AP=make_appearance("1 0 0 rg 0 0 200 40 re f"), F=4)),
    ("hidden stamp", add_annotation("Stamp", AP=make_appearance("% SECRET\n1 0 0 rg 0 0 200 40 re f"), F=2)),
    ("field", add_form_field("Tx", V=String("SECRET"), AP=make_appearance("0.8 g 0 0 200 40 re f"), F=4)),
    ("thumbnail", set_page_entries(Thumb=lambda pdf: Stream(pdf, b"SECRET", Width=1, Height=1))),
    ("program's own", set_page_entries(PieceInfo=lambda pdf: Dictionary(Old=Stream(pdf, b"SECRET")))),
    ("photo", add_photo(gps=True, artist="SECRET")),
    ("picture no page draws", list_unused_image(b"SECRET")),
    ("another picture for print", set_page_entries(Group=Dictionary(Alternates=Array([String("SECRET")])))),
    ("entry of the trailer", lambda pdf: pdf.trailer.__setitem__("/Checksum", String("SECRET"))),
    ("hidden layer", add_layer("SECRET-LAYER", "BT /F1 18 Tf 72 400 Td (SECRET) Tj ET", states=layer_off)),
]  # fmt: skip


@pytest.mark.parametrize("change", [pytest.param(change, id=name) for name, change in CHANGES])
def test_a_clean_copy_lacks_the_content_and_has_no_findings(
    linter: PdfLinter, write_file: Put, make_clean_copy: Callable[..., bytes], change: Change
) -> None:
    before = make_lint_pdf(change)
    assert b"SECRET" in decompress_document(before)
    after = make_clean_copy(before)
    assert b"SECRET" not in decompress_document(after)
    assert linter.lint(write_file(after)) == []


def test_everything_at_once_can_be_cleaned(
    linter: PdfLinter, write_file: Put, make_clean_copy: Callable[..., bytes]
) -> None:
    after = make_clean_copy(make_lint_pdf(*(change for _, change in CHANGES)))
    assert b"SECRET" not in decompress_document(after)
    assert linter.lint(write_file(after)) == []


def test_a_clean_copy_of_a_leaky_document_has_only_its_pages(make_clean_copy: Callable[..., bytes]) -> None:
    document, words = leaky_pdf()
    after = decompress_document(make_clean_copy(document)).decode("latin-1")
    removed_words = [
        "Attachment", "Script", "Xmp", "OpenAction", "Piece", "Private", "Associated", "Keywords", "RemarkAuthor",
        "NoteFile", "Xfa", "OtherValue", "FieldValue", "FieldScript", "Program", "OtherFile", "ScriptLink", "Popup",
        "Page2Thumb", "Page2Metadata", "Page2Piece", "Page2Action", "ImageMetadata", "FormMetadata", "OldRevision",
        "AfterTheEnd", "LinkRemarkX",
    ]  # fmt: skip
    assert [word for word in removed_words if f"HIDDEN{word}" in after] == []
    assert {f"HIDDEN{word}" for word in removed_words[:-1]} <= set(words)
    assert "HIDDENPage1" in after


# --- kept content ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [
    pytest.param(change, id=name) for name, change in CHANGES
    if name in ("stamp", "hidden stamp", "field", "photo", "hidden layer", "script", "XMP")
])  # fmt: skip
def test_a_page_looks_the_same_in_its_clean_copy(make_clean_copy: Callable[..., bytes], change: Change) -> None:
    before = make_lint_pdf(change)
    assert render_first_page(make_clean_copy(before)).tobytes() == render_first_page(before).tobytes()


def test_links_outline_language_tags_and_title_are_preserved(make_clean_copy: Callable[..., bytes]) -> None:
    outline = Dictionary(Type=Name.Outlines, Title=String("Chapter"))
    url = make_action("URI", URI=String("https://example.com/more"))
    before = make_lint_pdf(
        set_catalog_entries(Outlines=outline), add_annotation("Link", A=url, Contents=String("More"))
    )
    with pikepdf.open(io.BytesIO(make_clean_copy(before))) as pdf:
        assert str(pdf.docinfo["/Title"]) == "Offer"
        assert str(pdf.Root.Lang) == "en"
        assert pdf.Root.MarkInfo.Marked
        assert str(pdf.Root.Outlines.Title) == "Chapter"
        assert str(pdf.pages[0].obj.Annots[0].A.URI) == "https://example.com/more"


def test_a_title_is_removed_on_request_or_if_it_contains_a_path(make_clean_copy: Callable[..., bytes]) -> None:
    assert b"Offer" not in decompress_document(make_clean_copy(make_lint_pdf(), keep_title=False))
    assert b"Users" not in decompress_document(
        make_clean_copy(make_lint_pdf(set_info(Title=r"C:\Users\ada\offer.docx")))
    )


def test_a_title_that_is_only_in_xmp_is_preserved(
    linter: PdfLinter, write_file: Put, make_clean_copy: Callable[..., bytes]
) -> None:
    change = set_xmp("<dc:title><rdf:Alt><rdf:li xml:lang='x-default'>Offer</rdf:li></rdf:Alt></dc:title>")
    after = make_clean_copy(make_lint_pdf(set_info(Title=""), change))
    assert linter.lint(write_file(after)) == []
    assert b"xmpmeta" not in decompress_document(after)


@pytest.mark.parametrize("packed", [False, True])
def test_the_pixels_of_a_photo_are_unchanged(make_clean_copy: Callable[..., bytes], packed: bool) -> None:
    before = make_lint_pdf(add_photo(gps=True, packed=packed))
    pictures = []
    for document in (before, make_clean_copy(before)):
        with pikepdf.open(io.BytesIO(document)) as pdf:
            raw = pdf.pages[0].obj.Resources.XObject.I.read_raw_bytes()
        raw = bytes.fromhex(raw[:-1].decode()) if packed and document is before else raw
        assert (b"SECRET-COMMENT" in raw) == (document is before)
        with PIL.Image.open(io.BytesIO(raw)) as picture:
            pictures.append(picture.tobytes())
    assert pictures[0] == pictures[1]


def test_earlier_revisions_and_permissions_are_removed(
    linter: PdfLinter, write_file: Put, make_clean_copy: Callable[..., bytes]
) -> None:
    assert linter.lint(write_file(make_clean_copy(append_update(make_lint_pdf())))) == []
    locked = make_lint_pdf(encryption=pikepdf.Encryption(owner="secret", user="", R=6))
    assert linter.lint(write_file(make_clean_copy(locked))) == []


def test_annotations_in_the_structure_tree_are_emptied(make_clean_copy: Callable[..., bytes]) -> None:
    def add_reference(pdf: pikepdf.Pdf) -> None:
        part = Dictionary(Type=Name.OBJR, Obj=pdf.pages[0].obj.Annots[0])
        pdf.Root.StructTreeRoot.K = Dictionary(Type=Name.StructElem, S=Name.Annot, K=part)

    after = decompress_document(
        make_clean_copy(
            make_lint_pdf(add_annotation("Text", T=String("SECRET"), Contents=String("SECRET")), add_reference)
        )
    )
    assert b"/OBJR" in after
    assert b"SECRET" not in after


def test_text_under_a_box_is_preserved_and_still_reported(
    linter: PdfLinter, write_file: Put, make_clean_copy: Callable[..., bytes]
) -> None:
    boxed = make_lint_pdf(sheets=[Sheet(lines_content("Secret") + " 0 g 60 700 300 50 re f")])
    assert [each.check for each in linter.lint(write_file(make_clean_copy(boxed)))] == ["covered-text"]


def test_a_pending_redaction_is_preserved_and_still_reported(
    linter: PdfLinter, write_file: Put, make_clean_copy: Callable[..., bytes]
) -> None:
    after = make_clean_copy(
        make_lint_pdf(add_annotation("Redact", T=String("SECRET"), QuadPoints=Array([72, 740, 300, 740])))
    )
    assert [each.check for each in linter.lint(write_file(after))] == ["covered-text"]
    assert b"SECRET" not in decompress_document(after)


# --- hidden layers ---------------------------------------------------------------------------------------------------


def test_a_visible_layer_is_preserved(make_clean_copy: Callable[..., bytes]) -> None:
    before = make_lint_pdf(add_layer("Grid", "1 0 0 rg 300 300 99 99 re f", states=layer_on))
    after = make_clean_copy(before)
    assert b"/OCProperties" in decompress_document(after)
    assert render_first_page(after).tobytes() == render_first_page(before).tobytes()


def test_content_after_a_hidden_drawing_keeps_its_color_and_position(make_clean_copy: Callable[..., bytes]) -> None:
    states = "1 0 0 rg 2 w 1 0 0 1 20 20 cm 0 0 40 40 re f"
    before = make_lint_pdf(add_layer("Draft", states, states=layer_off, around="q {} 100 100 50 50 re f Q"))
    after = make_clean_copy(before)
    assert render_first_page(after).tobytes() == render_first_page(before).tobytes()
    assert b"0 0 40 40 re\nn" in decompress_document(after)


def test_a_hidden_word_that_positions_others_stays_hidden_and_is_reported(
    linter: PdfLinter, write_file: Put, make_clean_copy: Callable[..., bytes]
) -> None:
    line = "BT /F1 18 Tf 72 400 Td {} (after) Tj ET"
    before = make_lint_pdf(add_layer("Draft", "(hidden) Tj", states=layer_off, around=line))
    after = make_clean_copy(before)
    assert [each.check for each in linter.lint(write_file(after))] == ["hidden-layers"]
    assert render_first_page(after).tobytes() == render_first_page(before).tobytes()


@pytest.mark.parametrize(("data", "words"), [
    (pdfs.html_page(), "cannot be read as a PDF"),
    (pdfs.encrypted_pdf(user="secret"), "password-protected"),
])  # fmt: skip
def test_an_unreadable_file_is_rejected(make_clean_copy: Callable[..., bytes], data: bytes, words: str) -> None:
    with pytest.raises(Problem, match=words):
        make_clean_copy(data)
