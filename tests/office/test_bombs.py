"""Zip bombs and ambiguous containers are rejected before LibreOffice starts."""

import io
import struct
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from docshare.server.office.convert import OfficeConverter
from docshare.server.office.detect import detect_kind
from docshare.server.store.blobs import PartialFile
from tests.office.conftest import catch_problem
from tests.support.documents import office

Put = Callable[[bytes, str], Path]
MB = 1 << 20
WORD_PARTS = office.read_parts(office.make_docx())


def pack_docx(*added: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a Word document with further parts, whose names can be duplicate or invalid."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, data in [*WORD_PARTS.items(), *added]:
            entry = zipfile.ZipInfo("x")
            entry.filename, entry.compress_type = name, method
            file.writestr(entry, data)
    return out.getvalue()


def inflate_docx(size: int, *, noise: int = 0) -> bytes:
    """Return a Word document with a text of ``size`` bytes and ``noise`` incompressible bytes."""
    text = b"<w:document>" + b" " * size + b"</w:document>"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/media/noise.bin", b"\x07" * noise, zipfile.ZIP_STORED)
        file.writestr("word/document.xml", text)
    return out.getvalue()


def patch_directory(document: bytes, field: int, *values: int, width: str = "<L") -> bytes:
    """Replace one field of the first directory entries of ``document`` with ``values``."""
    new, at = bytearray(document), 0
    for value in values:
        at = new.index(b"PK\x01\x02", at + 1)
        struct.pack_into(width, new, at + field, value)
    return bytes(new)


def make_claiming_docx(*sizes: int, noise: int) -> bytes:
    """Return a Word document with parts of ``noise`` bytes that declare the unpacked ``sizes``."""
    parts = {f"word/media/{number}.bin": b"\x07" * noise for number in range(len(sizes))}
    return patch_directory(office.make_zip(parts, zipfile.ZIP_STORED), SIZE, *sizes)


def add_zip64_locator(document: bytes) -> bytes:
    """Add the locator of a zip64 end record to ``document``; some parsers follow it and others do not."""
    at = document.rindex(b"PK\x05\x06")
    return document[:at] + struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1) + document[at:]


SIZE, METHOD, FLAGS = 24, 10, 8  # offsets in a directory entry
BOMB, TOO_MANY_PARTS = "The document is too large when unpacked.", "The document contains too many parts."
NAME, LOCKED = "The document contains a part with an invalid name.", "The document is encrypted."
DAMAGED = "The document is damaged or incomplete."

CONTAINERS: dict[str, tuple[Callable[[], bytes], str]] = {
    "ratio over 100": (lambda: inflate_docx(40 * MB), BOMB),
    "ratio over 100 hidden by padding": (lambda: inflate_docx(40 * MB, noise=2 * MB), BOMB),
    "over 512 MB in total by its numbers": (lambda: make_claiming_docx(*[200 * MB] * 3, noise=3 * MB), BOMB),
    "over 256 MB in one part by its numbers": (lambda: make_claiming_docx(257 * MB, noise=3 * MB), BOMB),
    "10,001 entries": (lambda: pack_docx(*[(f"word/{number}", b"") for number in range(10_001)]), TOO_MANY_PARTS),
    "a directory of 5 MB": (
        lambda: pack_docx(*[(f"word/{number:05d}{'n' * 60_000}", b"") for number in range(90)]),
        TOO_MANY_PARTS,
    ),
    "an entry above": (lambda: pack_docx(("../../etc/passwd", b"x")), NAME),
    "an entry above, inside": (lambda: pack_docx(("word/../../x", b"x")), NAME),
    "an absolute entry": (lambda: pack_docx(("/etc/passwd", b"x")), NAME),
    "a backslash": (lambda: pack_docx(("word\\..\\x", b"x")), NAME),
    "a drive": (lambda: pack_docx(("C:x", b"x")), NAME),
    "a line end": (lambda: pack_docx(("word/a\nb", b"x")), NAME),
    "an empty step": (lambda: pack_docx(("word//x", b"x")), NAME),
    "the same entry twice": (lambda: pack_docx(("word/document.xmX", b"<a/>")).replace(b"xmX", b"xml"), NAME),
    "the same entry in other case": (lambda: pack_docx(("WORD/Document.xml", b"<a/>")), NAME),
    "a name cut by a zero byte": (lambda: pack_docx(("word/xXx", b"x")).replace(b"xXx", b"x\0x"), NAME),
    "an encrypted entry": (lambda: patch_directory(pack_docx(), FLAGS, 1, width="<H"), LOCKED),
    "bzip2": (lambda: pack_docx(method=zipfile.ZIP_BZIP2), DAMAGED),
    "lzma": (lambda: pack_docx(method=zipfile.ZIP_LZMA), DAMAGED),
    "an unknown method": (lambda: patch_directory(pack_docx(), METHOD, 99, width="<H"), DAMAGED),
    "two end records": (lambda: add_zip64_locator(pack_docx()), TOO_MANY_PARTS),
    "something before it": (lambda: b"PK\x03\x04" + b"\0" * 40 + pack_docx(), DAMAGED),
    "something behind it": (lambda: pack_docx() + b"PK", DAMAGED),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_dangerous_container_is_rejected_by_its_directory(write_file: Put, name: str) -> None:
    make, detail = CONTAINERS[name]
    path = write_file(make(), "bomb.docx")
    start = time.thread_time()
    problem = catch_problem(lambda: detect_kind(path))
    assert (problem.status, problem.detail) == (422, detail)
    assert time.thread_time() - start < 1


def test_many_parts_and_dense_small_parts_are_accepted(write_file: Put) -> None:
    parts = [(f"word/media/{number}.bin", bytes([number % 251]) * 20_000) for number in range(380)]
    assert detect_kind(write_file(pack_docx(*parts, ("word/folder/", b"")), "dense.docx")) == "docx"


@pytest.mark.parametrize("name", ["ratio over 100", "10,001 entries", "an entry above", "an encrypted entry"])
def test_a_zip_bomb_is_rejected_before_libreoffice_starts(
    converter: OfficeConverter, write_file: Put, part: PartialFile, soffice_starts: list[list[str]], name: str
) -> None:
    path = write_file(CONTAINERS[name][0](), "bomb.docx")
    start = time.thread_time()
    assert catch_problem(lambda: converter.convert(path, "docx", part)).status == 422
    assert time.thread_time() - start < 1
    assert soffice_starts == []


@pytest.mark.parametrize("size", [0, 100, 50_000_000])
def test_a_part_with_a_wrong_declared_size_is_rejected(
    converter: OfficeConverter, write_file: Put, part: PartialFile, soffice_starts: list[list[str]], size: int
) -> None:
    noise = office.make_zip({"word/media/noise.bin": b"\x07" * 2_000_000} | WORD_PARTS, zipfile.ZIP_STORED)
    forged = patch_directory(noise, SIZE, size)
    assert catch_problem(lambda: converter.convert(write_file(forged, "lie.docx"), "docx", part)).status == 422
    assert soffice_starts == []


def test_a_valid_document_starts_libreoffice(
    converter: OfficeConverter, write_file: Put, part: PartialFile, soffice_starts: list[list[str]]
) -> None:
    converter.convert(write_file(office.make_docx(), "honest.docx"), "docx", part)
    assert any("--convert-to" in command for command in soffice_starts)
