"""What lint finds in a document: one change to a spotless one makes exactly one finding, and its harmless twin none."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name, Stream, String

from docshare.contract.problems import Problem
from docshare.server.pdf.linter import Linter
from tests.support import hostile_pdfs, pdfs
from tests.support.telltale import (
    Change,
    action,
    amended,
    attached,
    attachments,
    field,
    hidden,
    info,
    layer,
    listed_image,
    look,
    note,
    page,
    photo,
    root,
    shown,
    spotless,
    xmp,
)  # fmt: skip

Put = Callable[..., Path]

NOISE = b"".join(hashlib.sha256(bytes([number])).digest() for number in range(250))  # 8,000 bytes, hard to compress


@pytest.fixture(scope="module")
def linter() -> Iterator[Linter]:
    with Linter() as shared:
        yield shared


def found(linter: Linter, path: Path) -> list[tuple[str, str, int | None]]:
    return [(each.check, each.level, each.page) for each in linter.findings(path)]


def test_a_spotless_document_has_no_finding(linter: Linter, put: Put) -> None:
    assert found(linter, put(spotless())) == []


def _leftover(pdf: pikepdf.Pdf) -> None:
    pdf.pages.append(pdf.pages[0])
    gone = pdf.pages[1].obj
    del pdf.pages[1]
    pdf.Root.Kept = gone  # saved with it, so that the test can take the way to it away afterwards


SECRET = [
    ("author", "note", None, info(Author="Ada Lovelace")),
    ("author", "note", None, info(Company="Engines Ltd")),
    ("author", "note", None, xmp("<dc:creator><rdf:Seq><rdf:li>Ada</rdf:li></rdf:Seq></dc:creator>")),
    ("producer", "note", None, info(Producer="Writer 7.4")),
    ("producer", "note", None, xmp("<xmp:CreatorTool>Writer</xmp:CreatorTool>")),
    ("history", "note", None, xmp("<xmpMM:History><rdf:Seq><rdf:li stEvt:action='saved'/></rdf:Seq></xmpMM:History>")),
    ("paths", "warning", None, info(Subject=r"C:\Users\ada\Documents\offer.docx")),
    ("paths", "warning", None, info(Keywords=r"\\server\share\offer.docx")),
    ("paths", "warning", None, xmp("<xmp:Base>/home/ada/offers/offer.odt</xmp:Base>")),
    ("paths", "warning", 1, note("Link", A=action("URI", URI=String("file:///C:/offer.docx")))),
    ("paths", "warning", 1, note("Link", Contents=String("/Users/ada/Desktop/logo.png"))),
    ("attachments", "warning", None, root(Names=attachments)),
    ("attachments", "warning", 1, note("FileAttachment", FS=attached())),
    ("attachments", "warning", None, root(AF=lambda pdf: Array([attached()(pdf)]))),
    ("javascript", "warning", None, root(OpenAction=action("JavaScript", JS=String("app.alert(1)")))),
    ("javascript", "warning", 1, note("Link", A=action("JavaScript", JS=String("app.alert(1)")))),
    ("actions", "warning", 1, note("Link", A=action("Launch", F=String("calc.exe")))),
    ("actions", "warning", 1, note("Link", A=action("SubmitForm", F=String("https://example.com")))),
    ("actions", "warning", None, root(OpenAction=action("URI", URI=String("https://example.com/seen")))),
    ("actions", "warning", 1, page(AA=Dictionary(O=action("URI", URI=String("https://example.com/seen"))))),
    ("comments", "warning", 1, note("Text", T=String("Bob"), Contents=String("Too cheap?"))),
    ("comments", "warning", 1, note("Highlight", T=String("Bob"))),
    ("form-data", "warning", None, field("Tx", V=String("red"))),
    ("form-data", "warning", None, field("Btn", V=Name.Yes)),
    ("form-data", "warning", None, root(AcroForm=lambda pdf: Dictionary(XFA=Stream(pdf, b"<x/>"), Fields=Array([])))),
    ("signature", "note", None, field("Sig", V=Dictionary(Type=Name.Sig, Name=String("Ada")))),
    ("hidden-layers", "warning", None, layer("Internal", "0 0 9 9 re f", states=hidden)),
    ("hidden-layers", "warning", None, layer("Internal", "", states=lambda _: Dictionary(BaseState=Name.OFF))),
    ("private-links", "warning", 1, note("Link", A=action("URI", URI=String("http://10.0.0.7/wiki")))),
    ("private-links", "warning", 1, note("Link", A=action("URI", URI=String("https://wiki.corp/offer")))),
    ("private-links", "warning", 1, note("Link", A=action("URI", URI=String("http://localhost:8080/")))),
    ("image-metadata", "warning", 1, photo(gps=True)),
    ("image-metadata", "warning", 1, photo(artist="Ada")),
    ("image-metadata", "warning", 1, photo(gps=True, packed=True)),
    ("leftovers", "warning", None, listed_image(b"SECRET")),
    ("private-data", "note", None, page(PieceInfo=Dictionary(Tool=String("x")))),
    ("private-data", "note", None, info(CustomField="x")),
    ("private-data", "warning", None, page(PieceInfo=lambda pdf: Dictionary(Old=Stream(pdf, NOISE)))),
    ("thumbnails", "note", None, page(Thumb=lambda pdf: Stream(pdf, bytes(3), Width=1, Height=1))),
    ("covered-text", "error", 1, note("Redact", QuadPoints=Array([72, 740, 300, 740, 72, 715, 300, 715]))),
    ("title", "note", None, info(Title="")),
    ("title", "note", None, info(Title="Microsoft Word - offer.docx")),
    ("language", "note", None, root(Lang=String(""))),
    ("tags", "note", None, root(MarkInfo=Dictionary(Marked=False))),
]  # fmt: skip


@pytest.mark.parametrize(("check", "level", "number", "change"), SECRET)
def test_one_secret_makes_one_finding(
    linter: Linter, put: Put, check: str, level: str, number: int | None, change: Change
) -> None:
    assert found(linter, put(spotless(change, object_stream_mode=pikepdf.ObjectStreamMode.disable))) == [
        (check, level, number)
    ]


HARMLESS = [
    ("a placeholder for an author", info(Author="(anonymous)")),
    ("an address with a folder called home", info(Subject="https://example.com/home/ada/offer.html")),
    ("a ratio, a date and a drive alone", info(Subject=r"and/or, 1/2/26, C: and D:\ ")),
    ("a link to the web", note("Link", A=action("URI", URI=String("https://example.com/tmp/x")))),
    ("a link to a public address", note("Link", A=action("URI", URI=String("http://93.184.216.34/")))),
    ("a link to a page", note("Link", A=action("GoTo", D=Array([0, Name.Fit])))),
    ("an opening view", root(OpenAction=action("GoTo", D=Array([0, Name.Fit])))),
    ("an empty field", field("Tx", V=String(""))),
    ("a field with no value", field("Tx")),
    ("a box that is not ticked", field("Btn", V=Name.Off)),
    ("a layer that is shown", layer("Grid", "0 0 9 9 re f", states=shown)),
    ("a photo that tells which program saved it", photo()),
    ("a structure element called Launch", root(Extra=Dictionary(S=Name.Launch, K=Array([])))),
]  # fmt: skip


@pytest.mark.parametrize("change", [pytest.param(change, id=name) for name, change in HARMLESS])
def test_what_is_harmless_makes_no_finding(linter: Linter, put: Put, change: Change) -> None:
    assert found(linter, put(spotless(change))) == []


def test_messages_name_who_and_what(linter: Linter, put: Put) -> None:
    changes = (
        info(Author="Ada Lovelace", Subject=r"C:\Users\ada\offer.docx"), root(Names=attachments),
        note("Text", T=String("Bob"), Contents=String("Too cheap?")), field("Tx", V=String("SECRET-VALUE")),
    )  # fmt: skip
    assert [each.message for each in linter.findings(put(spotless(*changes)))] == [
        '1 file attached: "plan.xlsx".',
        '1 field of a form filled in: "colour".',
        '1 note or mark by "Bob".',
        r'It names "C:\Users\ada\offer.docx".',
        'The metadata names "Ada Lovelace".',
    ]


# --- how it was saved ------------------------------------------------------------------------------------------------


def test_what_was_added_to_the_end_leaves_an_earlier_state(linter: Linter, put: Put) -> None:
    once = amended(spotless())
    assert found(linter, put(once)) == [("revisions", "warning", None)]
    assert "1 earlier state " in linter.findings(put(once))[0].message
    assert "2 earlier states " in linter.findings(put(amended(once)))[0].message


@pytest.mark.parametrize("how", [
    {"linearize": True},
    {"object_stream_mode": pikepdf.ObjectStreamMode.generate},
    {"linearize": True, "object_stream_mode": pikepdf.ObjectStreamMode.generate},
])  # fmt: skip
def test_a_document_saved_in_one_go_has_no_earlier_state(linter: Linter, put: Put, how: dict[str, Any]) -> None:
    assert found(linter, put(spotless(**how))) == []


def test_an_earlier_state_behind_a_compressed_table_is_found(linter: Linter, put: Put) -> None:
    document = amended(spotless(object_stream_mode=pikepdf.ObjectStreamMode.generate))
    assert found(linter, put(document)) == [("revisions", "warning", None)]


def test_a_page_that_was_removed_and_is_still_there_is_found(linter: Linter, put: Put) -> None:
    with_way = spotless(_leftover, object_stream_mode=pikepdf.ObjectStreamMode.disable)
    assert with_way.count(b"/Kept ") == 1
    assert found(linter, put(with_way)) == []
    at = with_way.index(b"/Kept ")
    end = with_way.index(b"R", at) + 1
    torn = with_way[:at] + b" " * (end - at) + with_way[end:]
    assert found(linter, put(torn)) == [("leftovers", "warning", None)]


def test_a_document_with_an_owner_password_is_read_and_told_of(linter: Linter, put: Put) -> None:
    path = put(spotless(encryption=pikepdf.Encryption(owner="secret", user="", R=6)))
    assert found(linter, path) == [("encryption", "note", None)]


def test_hundreds_of_places_are_counted_and_not_all_told(linter: Linter, put: Put) -> None:
    sheets = [pdfs.Sheet(annots=["<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] >>"])] * 40
    comments = [each for each in linter.findings(put(spotless(sheets=sheets))) if each.check == "comments"]
    assert [each.page for each in comments] == [None, *range(1, 26)]
    assert comments[0].message == "And in 15 more places."


# --- what cannot be read ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("data", "words"), [
    (pdfs.not_a_pdf(), "cannot be read as a PDF"),
    (pdfs.truncated(), "cannot be read as a PDF"),
    (pdfs.encrypted(user="secret"), "needs a password"),
])  # fmt: skip
def test_what_cannot_be_read_is_refused_in_one_sentence(linter: Linter, put: Put, data: bytes, words: str) -> None:
    with pytest.raises(Problem, match=words):
        linter.findings(put(data))


@pytest.mark.parametrize("name", ["memory_bomb", "slow_page", "looping_page_tree", "nested_arrays"])
def test_a_hostile_document_ends_soon_and_the_next_one_is_read(put: Put, name: str) -> None:
    with Linter(memory_bytes=512 << 20, timeout_s=3.0) as strict:
        with suppress(Problem):
            strict.findings(put(hostile_pdfs.HOSTILE[name]()))
        assert found(strict, put(spotless())) == []


def test_a_file_that_is_not_there_is_refused(linter: Linter, tmp_path: Path) -> None:
    with pytest.raises(Problem, match="cannot be read"):
        linter.findings(tmp_path / "none.pdf")


def test_looks_of_fields_do_not_make_findings(linter: Linter, put: Put) -> None:
    assert found(linter, put(spotless(field("Tx", AP=look("0.9 g 0 0 200 40 re f"))))) == []


# --- what other programs make ----------------------------------------------------------------------------------------


def test_an_export_of_libreoffice_tells_author_and_program_and_hides_nothing(linter: Linter) -> None:
    """The file is a Word document of two pages as LibreOffice 7.4 exports it."""
    exported = linter.findings(Path(__file__).with_name("exported.pdf"))
    assert [(each.check, each.message) for each in exported if each.check in ("author", "producer")] == [
        ("author", 'The metadata names "python-docx".'),
        ("producer", 'Made with "Writer", "LibreOffice 7.4".'),
    ]
    assert [each.check for each in exported] == ["author", "producer", "title", "tags"]


def test_a_table_of_reportlab_hides_nothing(linter: Linter, tmp_path: Path) -> None:
    from reportlab.lib import colors
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Paragraph, SimpleDocTemplate, Table

    style = [("BACKGROUND", (0, 0), (-1, 0), colors.black), ("TEXTCOLOR", (0, 0), (-1, 0), colors.white)]
    table = Table([["Name", "Price"], ["Engine", "100"]], style=style)
    path = tmp_path / "table.pdf"
    SimpleDocTemplate(str(path)).build([Paragraph("Prices", getSampleStyleSheet()["Normal"]), table])
    assert [each.check for each in linter.findings(path)] == ["producer", "title", "language", "tags"]


@pytest.mark.parametrize("make", [pdfs.without_page_tree])
def test_of_a_damaged_document_what_its_pages_show_is_looked_at(
    linter: Linter, put: Callable[..., Path], make: Callable[[], bytes]
) -> None:
    """The server takes it, so it must not be shared unseen."""
    levels = [(each.check, each.level) for each in linter.findings(put(make()))]
    assert levels == [("unchecked", "warning")]
