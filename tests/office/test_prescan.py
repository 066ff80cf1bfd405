"""Content that the prescan rejects, and content that it accepts."""

import base64
import gzip
import io
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from docshare.server.office import scan as scanning
from docshare.server.office.package import rewrite_parts
from docshare.server.office.prescan import prescan
from docshare.server.office.scan import scan_document
from tests.office.conftest import catch_problem
from tests.support.documents import office
from tests.support.documents.office import DOCUMENT, DOCUMENT_RELS, SLIDE, SLIDE_RELS, make_relationship

WORD, SLIDES = office.make_docx(), office.make_pptx()
PLACES = [
    "file:///etc/passwd", "http://127.0.0.1:9/x.png", "https://example.com/x.png", "ftp://example.com/x.png",
    "smb://host/share/x.png", "\\\\host\\share\\x.png", "file://host/share/x.png", "/etc/passwd", "../../../etc/passwd",
]  # fmt: skip
SETTINGS_RELS = "word/_rels/settings.xml.rels"
DTD = '<!DOCTYPE w:document [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
ENTITY_EXPANSION = '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
EMPTY_RELS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"/>'


def add_template(target: str, kind: str = "attachedTemplate") -> bytes:
    return office.add_relationships(WORD, SETTINGS_RELS, make_relationship("t", kind, target))


def add_document_rels(*added: str) -> bytes:
    return office.add_relationships(WORD, DOCUMENT_RELS, *added)


def change_content_types(package: bytes, old: str, new: str) -> bytes:
    return office.replace_in_part(package, "[Content_Types].xml", old, new)


def docx_with_svg(address: str) -> bytes:
    return office.embed_svg(WORD, office.make_svg(address))


def gzip_with_comment(data: bytes) -> bytes:
    """Return gzip data whose first 100,000 bytes are a comment."""
    packed = gzip.compress(data)
    return packed[:3] + b"\x10" + packed[4:10] + b"c" * 100_000 + b"\0" + packed[10:]


def svg_data_url(head: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(head + b"<svg/>" * 9).decode()


def docx_with_hyperlink(use: str) -> bytes:
    """Return a Word document with a hyperlink to a file that its text references with the XML ``use``."""
    linked = office.replace_in_part(WORD, DOCUMENT, "<w:body>", f"<w:body><w:p>{use}</w:p>")
    return office.add_relationships(linked, DOCUMENT_RELS, make_relationship("away", "hyperlink", "file:///etc/passwd"))


OUTSIDE = "The document links to {}."
TEMPLATE = OUTSIDE.format("a template on another computer")
MISUSE = "The document uses a hyperlink as a picture or an object."
MACROS, DDE = "The document contains macros.", "The document contains a DDE field."
TYPE = "The document contains XML with a document type declaration."
PICTURE = "A picture in the document refers to another file."
DAMAGED = "The document is damaged or incomplete."
INNER = "The document contains text from an embedded document."

HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "a linked object": (lambda: office.link_object(SLIDES, "file:///etc/passwd"), OUTSIDE.format("an external object")),
    "a linked object as a hyperlink": (
        lambda: office.link_object(SLIDES, "http://127.0.0.1:9/x.docx", "hyperlink"),
        MISUSE,
    ),
    "a film": (
        lambda: office.add_relationships(SLIDES, SLIDE_RELS, make_relationship("v", "video", "http://a/")),
        OUTSIDE.format("a video"),
    ),
    "a sub-document": (
        lambda: add_document_rels(make_relationship("s", "subDocument", "x.docx")),
        OUTSIDE.format("another document"),
    ),
    "a frame": (
        lambda: add_document_rels(make_relationship("s", "frame", "http://a/")),
        OUTSIDE.format("another document"),
    ),
    "an unknown kind": (
        lambda: add_document_rels(make_relationship("s", "thing", "http://a/")),
        OUTSIDE.format("external content"),
    ),
    "a template in the web": (lambda: add_template("https://example.com/t.dotm"), TEMPLATE),
    "a template on a share": (lambda: add_template("file:///\\\\host\\t.dotm"), TEMPLATE),
    "a hyperlink drawn": (lambda: docx_with_hyperlink('<a:blip xmlns:a="a" r:link="away"/>'), MISUSE),
    "a hyperlink embedded": (
        lambda: docx_with_hyperlink('<w:object><o:OLEObject xmlns:o="o" r:id="away"/></w:object>'),
        MISUSE,
    ),
    "a local template drawn": (
        lambda: office.change_parts(
            add_template("file:///etc/passwd"),
            {"word/settings.xml": f'<a:blip xmlns:a="a" xmlns:r="{office.OFFICE}" r:link="t"/>'},
        ),
        MISUSE,
    ),
    "text from HTML inside": (lambda: add_document_rels(make_relationship("c", "aFChunk", "chunk.html", "")), INNER),
    "a DDE field": (lambda: office.add_field(WORD, ' DDEAUTO c:\\\\windows\\\\cmd.exe "/k" '), DDE),
    "a DDE field in pieces": (lambda: office.add_field(WORD, " d", "d", "E", " soffice x "), DDE),
    "a simple DDE field": (
        lambda: office.replace_in_part(
            WORD, DOCUMENT, "<w:body>", '<w:body><w:p><w:fldSimple w:instr="DDE a b"/></w:p>'
        ),
        DDE,
    ),
    "a DDE field in a field": (
        lambda: office.add_field(WORD, 'IF </w:instrText><w:fldChar w:fldCharType="begin"/><w:instrText>DDE a'),
        DDE,
    ),
    "an external entity": (lambda: office.replace_in_part(WORD, DOCUMENT, "<w:document", DTD + "<w:document"), TYPE),
    "a billion laughs": (lambda: office.change_parts(WORD, {"word/styles.xml": ENTITY_EXPANSION + "<a>&b;</a>"}), TYPE),
    "a document type in UTF-16": (
        lambda: office.change_parts(WORD, {"word/styles.xml": '<!DOCTYPE a SYSTEM "http://a/"><a/>'.encode("utf-16")}),
        TYPE,
    ),
    "a document type in relations": (
        lambda: office.change_parts(WORD, {DOCUMENT_RELS: ENTITY_EXPANSION + EMPTY_RELS}),
        TYPE,
    ),
    "a document type in the list of types": (
        lambda: change_content_types(WORD, "<Types", ENTITY_EXPANSION + "<Types"),
        TYPE,
    ),
    "a document type in a nameless part": (lambda: office.change_parts(WORD, {"word/media/x.bin": DTD + "<a/>"}), TYPE),
    "a macro part": (lambda: office.change_parts(WORD, {"word/vbaProject.bin": b"x"}), MACROS),
    "a macro part in a folder": (lambda: office.change_parts(WORD, {"word/a/VBAPROJECT.BIN": b"x"}), MACROS),
    "a macro type": (
        lambda: change_content_types(
            WORD,
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main",
            "application/vnd.ms-word.document.macroEnabled.main",
        ),
        MACROS,
    ),
    "a macro relation": (lambda: add_document_rels(make_relationship("m", "vbaProject", "x.bin", "")), MACROS),
    "an SVG image with a file": (lambda: docx_with_svg("file:///etc/passwd"), PICTURE),
    "an SVG image with a bare path": (lambda: docx_with_svg("/etc/passwd"), PICTURE),
    "an SVG image with an address": (lambda: docx_with_svg("http://127.0.0.1:9/"), PICTURE),
    "an SVG image in an SVG image": (lambda: docx_with_svg(svg_data_url(b"")), PICTURE),
    "a packed SVG image in an SVG image": (lambda: docx_with_svg(svg_data_url(b"\x1f\x8b")), PICTURE),
    "a packed SVG image": (
        lambda: office.embed_svg(WORD, gzip.compress(office.make_svg("file:///etc/passwd").encode())),
        PICTURE,
    ),
    "an SVG image within other XML": (
        lambda: office.embed_svg(WORD, f"<x>{office.make_svg('file:///etc/passwd')}</x>"),
        PICTURE,
    ),
    "a packed SVG image with a long comment": (
        lambda: office.embed_svg(WORD, gzip_with_comment(office.make_svg("file:///etc/passwd").encode())),
        PICTURE,
    ),
    "a document type after much white space": (
        lambda: office.change_parts(WORD, {"word/media/x.bin": " " * 100_000 + DTD + "<a/>"}),
        TYPE,
    ),
    "EBCDIC": (
        lambda: office.change_parts(WORD, {"word/x.bin": '<?xml version="1.0" encoding="cp037"?><a/>'.encode("cp037")}),
        DAMAGED,
    ),
    "a packed bomb": (
        lambda: office.embed_svg(WORD, gzip.compress(bytes(65 << 20))),
        "The document is too large when unpacked.",
    ),
    "no main part": (
        lambda: office.change_parts(office.make_zip({}), {"[Content_Types].xml": "<Types/>", DOCUMENT: "<a/>"}),
        DAMAGED,
    ),
    "the main part of a workbook": (
        lambda: change_content_types(WORD, "wordprocessingml.document.main", "spreadsheetml.sheet.main"),
        DAMAGED,
    ),
    "XML that ends early": (lambda: office.change_parts(WORD, {DOCUMENT: "<w:document>"}), DAMAGED),
    "an unknown encoding": (
        lambda: office.change_parts(WORD, {DOCUMENT: '<?xml version="1.0" encoding="x-no"?><a/>'}),
        DAMAGED,
    ),
    "a packed picture that is damaged": (
        lambda: office.embed_svg(WORD, b"\x1f\x8b\x08\x00" + b"\xff" * 99),
        DAMAGED,
    ),
}

HARMLESS: dict[str, Callable[[], bytes]] = {
    "a Word document": lambda: WORD,
    "a presentation": lambda: SLIDES,
    "a template of Word": lambda: change_content_types(
        WORD, "wordprocessingml.document.main", "wordprocessingml.template.main"
    ),
    "a slide show": lambda: change_content_types(
        SLIDES, "presentationml.presentation.main", "presentationml.slideshow.main"
    ),
    "a hyperlink": lambda: docx_with_hyperlink('<w:hyperlink r:id="away"><w:r><w:t>see</w:t></w:r></w:hyperlink>'),
    "a hyperlink on a slide": lambda: office.add_relationships(
        office.replace_in_part(SLIDES, SLIDE, "<a:rPr[^>]*/>|<a:r>", '<a:r><a:rPr><a:hlinkClick r:id="away"/></a:rPr>'),
        SLIDE_RELS,
        make_relationship("away", "hyperlink", "https://example.com/"),
    ),
    "a hyperlink named like a style": lambda: docx_with_hyperlink('<w:pPr><w:pStyle w:val="away"/></w:pPr>'),
    "the author's template": lambda: add_template("file:///C:\\Users\\me\\Normal.dotm"),
    "a template by its name": lambda: add_template("Letter.dotx"),
    "a template by its path": lambda: add_template("file:///usr/share/t.dotx"),
    "other fields": lambda: office.add_field(WORD, " PAGEREF DDE \\h "),
    "a field named like it": lambda: office.add_field(WORD, " DDEMO "),
    "the word in the text": lambda: office.make_docx("DDEAUTO and <!DOCTYPE x>"),
    "an SVG image with pixels": lambda: docx_with_svg(
        "data:image/png;base64," + base64.b64encode(office.make_picture()).decode()
    ),
    "an SVG image with parts": lambda: docx_with_svg("#part"),
    "a packed picture": lambda: office.embed_svg(WORD, gzip.compress(b"\x01\x00\x00\x00" * 20_000)),
    "an empty part": lambda: office.change_parts(WORD, {"customXml/item1.xml": b""}),
    "UTF-16": lambda: office.change_parts(WORD, {"customXml/item1.xml": "<a>\u20ac</a>".encode("utf-16")}),
    "an 8-bit encoding": lambda: office.change_parts(
        WORD, {"customXml/item1.xml": '<?xml version="1.0" encoding="windows-1252"?><a>\u20ac</a>'.encode("cp1252")}
    ),
}


def package_kind(package: bytes) -> str:
    return "docx" if DOCUMENT in office.read_parts(package) else "pptx"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_package_is_rejected_with_its_reason(name: str) -> None:
    make, detail = HOSTILE[name]
    package = make()
    problem = catch_problem(lambda: prescan(io.BytesIO(package), package_kind(package)))
    assert (problem.code, problem.detail) == ("unprocessable", detail)


LINKED: dict[str, Callable[[], bytes]] = {
    "a mode in other case": lambda: add_document_rels(make_relationship("s", "image", "x.png", "EXTERNAL")),
    "a mode that is left out": lambda: add_document_rels(make_relationship("s", "image", "file:///x", "")),
    "an escaped address": lambda: add_document_rels(make_relationship("s", "image", "file%3A///x", "")),
    "a share without a mode": lambda: add_document_rels(make_relationship("s", "image", "//host/x", "")),
    "relations in other case": lambda: office.add_relationships(
        WORD, "word/_RELS/Other.xml.RELS", make_relationship("s", "image", "http://a/")
    ),
    "a relation that says two things": lambda: add_document_rels(
        '<Relationship xmlns:x="x" Id="s" Type="/image" Target="file:///x" x:Target="a.png" TargetMode="External"'
        ' x:TargetMode="Internal"/>'
    ),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("package", [WORD, SLIDES], ids=["docx", "pptx"])
def test_a_hyperlink_that_is_used_as_a_picture_is_rejected(package: bytes, place: str) -> None:
    linked = office.link_picture(package, place, "hyperlink")
    assert catch_problem(lambda: prescan(io.BytesIO(linked), package_kind(package))).detail == MISUSE


def rewrite_package(package: bytes) -> tuple[list[str], bytes]:
    """Return the linked pictures of ``package``, and the package without them."""
    linked = prescan(io.BytesIO(package), package_kind(package))
    rewritten = io.BytesIO()
    rewrite_parts(io.BytesIO(package), rewritten, linked.parts)
    return linked.pictures, rewritten.getvalue()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("package", [WORD, SLIDES], ids=["docx", "pptx"])
def test_only_the_linked_picture_is_removed(package: bytes, place: str) -> None:
    pictures, rewritten = rewrite_package(office.link_picture(package, place))
    assert pictures == [place]
    assert prescan(io.BytesIO(rewritten), package_kind(package)).pictures == []
    assert not [name for name, data in office.read_parts(rewritten).items() if place.encode() in data]
    before, after = office.read_parts(office.link_picture(package, place)), office.read_parts(rewritten)
    assert before.keys() == after.keys()
    assert [name for name in before if before[name] != after[name]] == [
        DOCUMENT_RELS if package is WORD else SLIDE_RELS
    ]
    assert len(re.findall(b"<Relationship ", b"".join(after.values()))) == len(
        re.findall(b"<Relationship ", b"".join(office.read_parts(package).values()))
    )


@pytest.mark.parametrize("name", LINKED)
def test_a_linked_picture_is_removed_in_any_notation(name: str) -> None:
    pictures, rewritten = rewrite_package(LINKED[name]())
    assert len(pictures) == 1
    assert prescan(io.BytesIO(rewritten), "docx").pictures == []


@pytest.mark.parametrize("name", HARMLESS)
def test_a_harmless_package_passes(name: str) -> None:
    package = HARMLESS[name]()
    prescan(io.BytesIO(package), package_kind(package))


def test_the_confined_scan_returns_the_result_of_the_prescan(tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.docx", tmp_path / "good.docx"
    bad.write_bytes(HOSTILE["a DDE field"][0]())
    good.write_bytes(WORD)
    assert scan_document(good, "docx").pictures == []
    good.write_bytes(office.link_picture(WORD, "http://a/b.png"))
    linked = scan_document(good, "docx")
    assert (linked.pictures, list(linked.parts)) == (["http://a/b.png"], [DOCUMENT_RELS])
    problem = catch_problem(lambda: scan_document(bad, "docx"))
    assert (problem.detail, problem.hint) == (DDE, "Replace the field with its text and upload the document again.")


@pytest.mark.parametrize(
    "behavior",
    [
        "os.abort()",
        "print('{')",
        "print('[1]')",
        "raise SystemExit(1)",
        "time.sleep(60)",
        "[os.write(1, b'x' * 65536) for _ in iter(int, 1)]",
        "print('[' * 100_000)",
        "print(json.dumps({'parts': {'a': '\\ud800'}, 'pictures': []}))",
        "print(json.dumps({'parts': {'a' * 5_000: ''}, 'pictures': []}))",
        "print(json.dumps({'parts': {}, 'pictures': [['x']]}))",
        "print(json.dumps({'parts': {}, 'pictures': ['x'] * 1_001}))",
        "print(json.dumps({'detail': 'x' * 3_000_000, 'hint': 'y'}))",
        "print(json.dumps({'detail': '\\ud800', 'hint': 'y'}))",
    ],
    ids=[
        "crash",
        "half an answer",
        "another answer",
        "an exception",
        "no answer",
        "no end",
        "a deep answer",
        "no text",
        "a long name",
        "no address",
        "many addresses",
        "a long reason",
        "a reason that is not a string",
    ],
)
def test_a_failed_scan_rejects_the_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behavior: str) -> None:
    command = [sys.executable, "-c", f"import json, os, time; {behavior}"]
    monkeypatch.setattr(scanning, "python_command", lambda *_: (command, {}))
    monkeypatch.setattr(scanning, "TIMEOUT_S", 1.0)
    start = time.monotonic()
    (tmp_path / "any.docx").touch()
    problem = catch_problem(lambda: scan_document(tmp_path / "any.docx", "docx"))
    assert time.monotonic() - start < 10
    assert problem.detail == "The document cannot be checked: it is too large or damaged."
