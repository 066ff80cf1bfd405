"""Lint findings: one change to a clean document causes exactly one finding, and a harmless variant causes none."""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name, Stream, String

from docshare.contract.problems import Problem
from docshare.server.pdf.linter import PdfLinter
from tests.support.documents import hostile_pdfs, pdfs
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

Put = Callable[..., Path]

NOISE = b"".join(
    hashlib.sha256(bytes([number])).digest() for number in range(250)
)  # 8,000 bytes that do not compress well


def list_findings(linter: PdfLinter, path: Path) -> list[tuple[str, str, int | None]]:
    return [(each.check, each.level, each.page) for each in linter.lint(path)]


def test_a_clean_document_has_no_findings(linter: PdfLinter, write_file: Put) -> None:
    assert list_findings(linter, write_file(make_lint_pdf())) == []


def _keep_removed_page(pdf: pikepdf.Pdf) -> None:
    pdf.pages.append(pdf.pages[0])
    removed_page = pdf.pages[1].obj
    del pdf.pages[1]
    pdf.Root.Kept = removed_page  # saved as an object first, so that the test can then remove the reference to it


SINGLE_FINDINGS = [
    ("author", "note", None, set_info(Author="Ada Lovelace")),
    ("author", "note", None, set_info(Company="Engines Ltd")),
    ("author", "note", None, set_xmp("<dc:creator><rdf:Seq><rdf:li>Ada</rdf:li></rdf:Seq></dc:creator>")),
    ("producer", "note", None, set_info(Producer="Writer 7.4")),
    ("producer", "note", None, set_xmp("<xmp:CreatorTool>Writer</xmp:CreatorTool>")),
    ("history", "note", None,
        set_xmp("<xmpMM:History><rdf:Seq><rdf:li stEvt:action='saved'/></rdf:Seq></xmpMM:History>")),
    ("paths", "warning", None, set_info(Subject=r"C:\Users\ada\Documents\offer.docx")),
    ("paths", "warning", None, set_info(Keywords=r"\\server\share\offer.docx")),
    ("paths", "warning", None, set_xmp("<xmp:Base>/home/ada/offers/offer.odt</xmp:Base>")),
    ("paths", "warning", 1, add_annotation("Link", A=make_action("URI", URI=String("file:///C:/offer.docx")))),
    ("paths", "warning", 1, add_annotation("Link", Contents=String("/Users/ada/Desktop/logo.png"))),
    ("attachments", "warning", None, set_catalog_entries(Names=make_attachment_names)),
    ("attachments", "warning", 1, add_annotation("FileAttachment", FS=make_attachment())),
    ("attachments", "warning", None, set_catalog_entries(AF=lambda pdf: Array([make_attachment()(pdf)]))),
    ("javascript", "warning", None, set_catalog_entries(OpenAction=make_action("JavaScript",
        JS=String("app.alert(1)")))),
    ("javascript", "warning", 1, add_annotation("Link", A=make_action("JavaScript", JS=String("app.alert(1)")))),
    ("actions", "warning", 1, add_annotation("Link", A=make_action("Launch", F=String("calc.exe")))),
    ("actions", "warning", 1, add_annotation("Link", A=make_action("SubmitForm", F=String("https://example.com")))),
    ("actions", "warning", None, set_catalog_entries(OpenAction=make_action("URI", URI=String("https://example.com/seen")))),
    ("actions", "warning", 1, set_page_entries(AA=Dictionary(O=make_action("URI", URI=String("https://example.com/seen"))))),
    ("comments", "warning", 1, add_annotation("Text", T=String("Bob"), Contents=String("Too cheap?"))),
    ("comments", "warning", 1, add_annotation("Highlight", T=String("Bob"))),
    ("form-data", "warning", None, add_form_field("Tx", V=String("red"))),
    ("form-data", "warning", None, add_form_field("Btn", V=Name.Yes)),
    ("form-data", "warning", None, set_catalog_entries(AcroForm=lambda pdf: Dictionary(XFA=Stream(pdf, b"<x/>"),
        Fields=Array([])))),
    ("signature", "note", None, add_form_field("Sig", V=Dictionary(Type=Name.Sig, Name=String("Ada")))),
    ("hidden-layers", "warning", None, add_layer("Internal", "0 0 9 9 re f", states=layer_off)),
    ("hidden-layers", "warning", None, add_layer("Internal", "", states=lambda _: Dictionary(BaseState=Name.OFF))),
    ("private-links", "warning", 1, add_annotation("Link", A=make_action("URI", URI=String("http://10.0.0.7/wiki")))),
    ("private-links", "warning", 1, add_annotation("Link", A=make_action("URI", URI=String("https://wiki.corp/offer")))),
    ("private-links", "warning", 1, add_annotation("Link", A=make_action("URI", URI=String("http://localhost:8080/")))),
    ("image-metadata", "warning", 1, add_photo(gps=True)),
    ("image-metadata", "warning", 1, add_photo(artist="Ada")),
    ("image-metadata", "warning", 1, add_photo(gps=True, packed=True)),
    ("leftovers", "warning", None, list_unused_image(b"SECRET")),
    ("private-data", "note", None, set_page_entries(PieceInfo=Dictionary(Tool=String("x")))),
    ("private-data", "note", None, set_info(CustomField="x")),
    ("private-data", "warning", None, set_page_entries(PieceInfo=lambda pdf: Dictionary(Old=Stream(pdf, NOISE)))),
    ("thumbnails", "note", None, set_page_entries(Thumb=lambda pdf: Stream(pdf, bytes(3), Width=1, Height=1))),
    ("covered-text", "error", 1, add_annotation("Redact", QuadPoints=Array([72, 740, 300, 740, 72, 715, 300, 715]))),
    ("title", "note", None, set_info(Title="")),
    ("title", "note", None, set_info(Title="Microsoft Word - offer.docx")),
    ("language", "note", None, set_catalog_entries(Lang=String(""))),
    ("tags", "note", None, set_catalog_entries(MarkInfo=Dictionary(Marked=False))),
]  # fmt: skip


@pytest.mark.parametrize(("check", "level", "number", "change"), SINGLE_FINDINGS)
def test_each_change_causes_exactly_one_finding(
    linter: PdfLinter, write_file: Put, check: str, level: str, number: int | None, change: Change
) -> None:
    assert list_findings(
        linter, write_file(make_lint_pdf(change, object_stream_mode=pikepdf.ObjectStreamMode.disable))
    ) == [(check, level, number)]


HARMLESS = [
    ("a placeholder for an author", set_info(Author="(anonymous)")),
    ("an address with a folder called home", set_info(Subject="https://example.com/home/ada/offer.html")),
    ("a ratio, a date and a drive alone", set_info(Subject=r"and/or, 1/2/26, C: and D:\ ")),
    ("a link to the web", add_annotation("Link", A=make_action("URI", URI=String("https://example.com/tmp/x")))),
    ("a link to a public address", add_annotation("Link", A=make_action("URI", URI=String("http://93.184.216.34/")))),
    ("a link to a page", add_annotation("Link", A=make_action("GoTo", D=Array([0, Name.Fit])))),
    ("an opening view", set_catalog_entries(OpenAction=make_action("GoTo", D=Array([0, Name.Fit])))),
    ("an empty field", add_form_field("Tx", V=String(""))),
    ("a field with no value", add_form_field("Tx")),
    ("a box that is not ticked", add_form_field("Btn", V=Name.Off)),
    ("a layer that is shown", add_layer("Grid", "0 0 9 9 re f", states=layer_on)),
    ("a photo that tells which program saved it", add_photo()),
    ("a structure element called Launch", set_catalog_entries(Extra=Dictionary(S=Name.Launch, K=Array([])))),
]  # fmt: skip


@pytest.mark.parametrize("change", [pytest.param(change, id=name) for name, change in HARMLESS])
def test_harmless_changes_cause_no_finding(linter: PdfLinter, write_file: Put, change: Change) -> None:
    assert list_findings(linter, write_file(make_lint_pdf(change))) == []


def test_messages_contain_names_of_people_and_files(linter: PdfLinter, write_file: Put) -> None:
    changes = (
        set_info(Author="Ada Lovelace", Subject=r"C:\Users\ada\offer.docx"),
        set_catalog_entries(Names=make_attachment_names),
        add_annotation("Text", T=String("Bob"), Contents=String("Too cheap?")), add_form_field("Tx",
            V=String("SECRET-VALUE")),
    )  # fmt: skip
    assert [each.message for each in linter.lint(write_file(make_lint_pdf(*changes)))] == [
        '1 embedded file: "plan.xlsx".',
        '1 filled-in form field: "color".',
        '1 comment by "Bob".',
        r'Contains the path "C:\Users\ada\offer.docx".',
        'The metadata names "Ada Lovelace".',
    ]


# --- earlier revisions ------------------------------------------------------------------------------------------------


def test_an_appended_change_leaves_an_earlier_revision(linter: PdfLinter, write_file: Put) -> None:
    once = append_update(make_lint_pdf())
    assert list_findings(linter, write_file(once)) == [("revisions", "warning", None)]
    assert "1 earlier revision," in linter.lint(write_file(once))[0].message
    assert "2 earlier revisions," in linter.lint(write_file(append_update(once)))[0].message


@pytest.mark.parametrize("how", [
    {"linearize": True},
    {"object_stream_mode": pikepdf.ObjectStreamMode.generate},
    {"linearize": True, "object_stream_mode": pikepdf.ObjectStreamMode.generate},
])  # fmt: skip
def test_a_document_without_updates_has_no_earlier_revision(
    linter: PdfLinter, write_file: Put, how: dict[str, Any]
) -> None:
    assert list_findings(linter, write_file(make_lint_pdf(**how))) == []


def test_an_earlier_revision_after_a_compressed_table_is_found(linter: PdfLinter, write_file: Put) -> None:
    document = append_update(make_lint_pdf(object_stream_mode=pikepdf.ObjectStreamMode.generate))
    assert list_findings(linter, write_file(document)) == [("revisions", "warning", None)]


def test_a_removed_page_that_is_still_in_the_file_is_found(linter: PdfLinter, write_file: Put) -> None:
    with_way = make_lint_pdf(_keep_removed_page, object_stream_mode=pikepdf.ObjectStreamMode.disable)
    assert with_way.count(b"/Kept ") == 1
    assert list_findings(linter, write_file(with_way)) == []
    at = with_way.index(b"/Kept ")
    end = with_way.index(b"R", at) + 1
    torn = with_way[:at] + b" " * (end - at) + with_way[end:]
    assert list_findings(linter, write_file(torn)) == [("leftovers", "warning", None)]


def test_a_document_with_an_owner_password_is_reported(linter: PdfLinter, write_file: Put) -> None:
    path = write_file(make_lint_pdf(encryption=pikepdf.Encryption(owner="secret", user="", R=6)))
    assert list_findings(linter, path) == [("encryption", "note", None)]


def test_many_findings_are_counted_but_not_all_listed(linter: PdfLinter, write_file: Put) -> None:
    sheets = [pdfs.Sheet(annots=["<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] >>"])] * 40
    comments = [each for each in linter.lint(write_file(make_lint_pdf(sheets=sheets))) if each.check == "comments"]
    assert [each.page for each in comments] == [None, *range(1, 26)]
    assert comments[0].message == "And in 15 more places."


# --- unreadable files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("data", "words"), [
    (pdfs.html_page(), "cannot be read as a PDF"),
    (pdfs.truncated_pdf(), "cannot be read as a PDF"),
    (pdfs.encrypted_pdf(user="secret"), "password-protected"),
])  # fmt: skip
def test_an_unreadable_file_is_rejected_with_one_sentence(
    linter: PdfLinter, write_file: Put, data: bytes, words: str
) -> None:
    with pytest.raises(Problem, match=words):
        linter.lint(write_file(data))


@pytest.mark.parametrize("name", ["memory_bomb", "slow_page", "looping_page_tree", "nested_arrays"])
def test_a_hostile_document_times_out_and_the_next_one_is_read(write_file: Put, name: str) -> None:
    with PdfLinter(memory_bytes=512 << 20, timeout_s=3.0) as strict:
        with suppress(Problem):
            strict.lint(write_file(hostile_pdfs.HOSTILE[name]()))
        assert list_findings(strict, write_file(make_lint_pdf())) == []


def test_a_missing_file_is_rejected(linter: PdfLinter, tmp_path: Path) -> None:
    with pytest.raises(Problem, match="cannot be read"):
        linter.lint(tmp_path / "none.pdf")


def test_appearances_of_fields_cause_no_finding(linter: PdfLinter, write_file: Put) -> None:
    assert (
        list_findings(
            linter, write_file(make_lint_pdf(add_form_field("Tx", AP=make_appearance("0.9 g 0 0 200 40 re f"))))
        )
        == []
    )


# --- files of other programs -----------------------------------------------------------------------------------------


def test_a_libreoffice_export_has_findings_only_for_metadata_and_tags(linter: PdfLinter) -> None:
    """The file is a Word document of two pages, exported by LibreOffice 7.4."""
    exported = linter.lint(Path(__file__).with_name("exported.pdf"))
    assert [(each.check, each.message) for each in exported if each.check in ("author", "producer")] == [
        ("author", 'The metadata names "python-docx".'),
        ("producer", 'Created with "Writer", "LibreOffice 7.4".'),
    ]
    assert [each.check for each in exported] == ["author", "producer", "title", "tags"]


def test_a_reportlab_table_has_no_hidden_text(linter: PdfLinter, tmp_path: Path) -> None:
    from reportlab.lib import colors
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Paragraph, SimpleDocTemplate, Table

    style = [("BACKGROUND", (0, 0), (-1, 0), colors.black), ("TEXTCOLOR", (0, 0), (-1, 0), colors.white)]
    table = Table([["Name", "Price"], ["Engine", "100"]], style=style)
    path = tmp_path / "table.pdf"
    SimpleDocTemplate(str(path)).build([Paragraph("Prices", getSampleStyleSheet()["Normal"]), table])
    assert [each.check for each in linter.lint(path)] == ["producer", "title", "language", "tags"]


@pytest.mark.parametrize("make", [pdfs.pdf_without_page_tree])
def test_visible_pages_of_a_damaged_document_are_checked(
    linter: PdfLinter, write_file: Callable[..., Path], make: Callable[[], bytes]
) -> None:
    """The server accepts such a document, so it must be checked before it is shared."""
    levels = [(each.check, each.level) for each in linter.lint(write_file(make()))]
    assert levels == [("unchecked", "warning")]
