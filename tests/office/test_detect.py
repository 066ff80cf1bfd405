"""The directory of the container determines the type of a document, not its name or its first bytes."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from docshare.contract.problems import Problem
from docshare.server.office.detect import detect_kind
from tests.office.conftest import catch_problem
from tests.support.documents import office

Put = Callable[[bytes, str], Path]


def detect_or_fail(path: Path) -> str:
    """Return the kind or the code of the Problem, and check that it took less than a second of processor time."""
    start = time.thread_time()
    try:
        found = detect_kind(path)
    except Problem as problem:
        found = problem.code
    assert time.thread_time() - start < 1
    return found


ZIPS: list[tuple[str, bytes, str]] = [
    ("a Word document", office.make_docx(), "docx"),
    ("a Word document with the name of a presentation", office.make_docx(), "docx"),
    ("a presentation", office.make_pptx(), "pptx"),
    (
        "word/ far behind",
        office.make_zip({f"custom/{n}": b"x" for n in range(500)} | {"word/document.xml": b"<a/>"}),
        "docx",
    ),
]
OLES: list[tuple[str, bytes, str]] = [
    ("a presentation", office.make_ole_container("Current User", "PowerPoint Document"), "ppt"),
    ("other case", office.make_ole_container("POWERPOINT DOCUMENT"), "ppt"),
    (
        "a Word document inside a presentation",
        office.make_ole_container("PowerPoint Document", nested="WordDocument"),
        "ppt",
    ),
]
REJECTED: list[tuple[str, bytes, str]] = [
    ("nothing", b"", "bad_request"),
    ("text", b"hello", "bad_request"),
    ("rich text", b"{\\rtf1 hello}", "bad_request"),
    ("a PDF", b"%PDF-1.7\n", "bad_request"),
    ("a spreadsheet", office.make_zip({"[Content_Types].xml": b"<a/>", "xl/workbook.xml": b"<a/>"}), "bad_request"),
    ("an OpenDocument text", office.make_zip({"mimetype": b"application/vnd.oasis.opendocument.text"}), "bad_request"),
    ("both kinds", office.make_zip({"word/document.xml": b"<a/>", "ppt/presentation.xml": b"<a/>"}), "bad_request"),
    ("an old spreadsheet", office.make_ole_container("Workbook"), "bad_request"),
    ("old Word", office.make_ole_container("1Table", "WordDocument"), "bad_request"),
    ("old Word beside slides", office.make_ole_container("WordDocument", "PowerPoint Document"), "bad_request"),
    ("slides inside old Word", office.make_ole_container("WordDocument", nested="PowerPoint Document"), "bad_request"),
    ("old Word, cut off", office.make_ole_container("WordDocument", *"ABCDEFGHIJ")[: 3 * 512], "bad_request"),
    ("old Word, broken", office.make_ole_container(directory="WordDocument\0".encode("utf-16-le")), "bad_request"),
    (
        "old Word, broken, with its entry across the blocks that are read",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes((1 << 20) - 20) + "WordDocument\0".encode("utf-16-le"),
        "bad_request",
    ),
    (
        "old Word, broken, with an unterminated entry",
        office.make_ole_container(directory="WordDocument\1".encode("utf-16-le")),
        "bad_request",
    ),
    (
        "old Word, broken, with an entry in other case",
        office.make_ole_container(directory="WORDDOCUMENT\0".encode("utf-16-le")),
        "bad_request",
    ),
    ("an encrypted document", office.make_ole_container("EncryptionInfo", "EncryptedPackage"), "unprocessable"),
    (
        "an encrypted document with a note in the format of old Word",
        office.make_ole_container("EncryptionInfo", "EncryptedPackage", "WordDocument"),
        "unprocessable",
    ),
    (
        "an encrypted presentation with a note in the format of old slides",
        office.make_ole_container("EncryptionInfo", "EncryptedPackage", "PowerPoint Document"),
        "unprocessable",
    ),
    ("slides, cut off", office.make_ole_container("PowerPoint Document")[:600], "unprocessable"),
    ("slides, only the signature", office.make_ole_container("PowerPoint Document")[:8], "unprocessable"),
    ("a Word document, cut off", office.make_docx()[:-200], "unprocessable"),
    ("a presentation, cut off early", office.make_pptx()[:3000], "unprocessable"),
]


@pytest.mark.parametrize(("document", "kind"), [row[1:] for row in ZIPS], ids=[row[0] for row in ZIPS])
def test_a_zip_container_is_identified_by_its_folders(write_file: Put, document: bytes, kind: str) -> None:
    assert detect_kind(write_file(document, "wrong.ppt")) == kind


@pytest.mark.parametrize(("document", "kind"), [row[1:] for row in OLES], ids=[row[0] for row in OLES])
def test_an_ole_container_is_identified_by_its_root(write_file: Put, document: bytes, kind: str) -> None:
    assert detect_kind(write_file(document, "wrong.docx")) == kind


@pytest.mark.parametrize(("document", "code"), [row[1:] for row in REJECTED], ids=[row[0] for row in REJECTED])
def test_unsupported_documents_are_rejected_by_content(write_file: Put, document: bytes, code: str) -> None:
    assert catch_problem(lambda: detect_kind(write_file(document, "right.docx"))).code == code


@pytest.mark.parametrize("name", ["letter.doc", "letter.docx", "letter.ppt", "letter.pdf"])
def test_a_legacy_word_document_is_rejected_under_any_name(
    write_file: Put, legacy_documents: dict[str, bytes], name: str
) -> None:
    problem = catch_problem(lambda: detect_kind(write_file(legacy_documents["doc"], name)))
    assert (problem.status, problem.detail) == (400, "Legacy Word documents (.doc) are not supported.")


def test_a_real_legacy_presentation_is_accepted(write_file: Put, legacy_documents: dict[str, bytes]) -> None:
    assert detect_kind(write_file(legacy_documents["ppt"], "show.ppt")) == "ppt"


def test_a_directory_of_many_sectors_is_read(write_file: Put) -> None:
    streams = [f"Stream {number}" for number in range(250)]
    assert detect_kind(write_file(office.make_ole_container(*streams, "PowerPoint Document"), "big.ppt")) == "ppt"


@pytest.mark.parametrize("place", [48, 68, 76, 512 + 4])
def test_a_container_with_invalid_chains_is_rejected(write_file: Put, place: int) -> None:
    # Offsets of the directory, the table of tables, the allocation table, and the sector after the directory's first.
    for number in (0, 1, 2, 0x7FFFFFFF, 0xFFFFFFFD):
        document = bytearray(office.make_ole_container(*[f"S{number}" for number in range(9)], "PowerPoint Document"))
        document[place : place + 4] = number.to_bytes(4, "little")
        assert detect_or_fail(write_file(bytes(document), "astray.ppt")) in ("ppt", "unprocessable", "bad_request")


def test_a_circular_directory_is_rejected(write_file: Put) -> None:
    document = bytearray(office.make_ole_container(*[f"S{number}" for number in range(9)], "PowerPoint Document"))
    document[512 + 4 : 512 + 8] = (1).to_bytes(4, "little")  # sector 1 is followed by itself
    assert catch_problem(lambda: detect_kind(write_file(bytes(document), "loop.ppt"))).code == "unprocessable"


def test_a_huge_file_is_rejected_quickly(write_file: Put) -> None:
    path = write_file(office.make_docx(), "huge.docx")
    with path.open("r+b") as file:
        file.truncate(2 << 30)  # sparse, uses no disk space
    start = time.thread_time()
    assert catch_problem(lambda: detect_kind(path)).code == "unprocessable"
    assert time.thread_time() - start < 0.5
