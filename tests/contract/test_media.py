"""Input documents and assets: expected types and limits, written by hand, and detection by content."""

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docshare.contract import media
from docshare.contract.plans import Plan

MB = 1_048_576
OLE = bytes.fromhex("d0cf11e0a1b11ae1").ljust(512, b"\0")
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
JPEG = b"\xff\xd8\xff\xe0\0\x10JFIF\0"
WEBP = b"RIFF\x24\0\0\0WEBPVP8 "


def encode_utf16(name: str) -> bytes:
    return b"".join(bytes([ord(letter), 0]) for letter in name)


def make_archive(*names: str) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as packed:
        for name in names:
            packed.writestr(name, b"x")
    return target.getvalue()


@pytest.mark.parametrize(
    ("kind", "type_", "extension", "cap", "converted"),
    [
        ("pdf", "application/pdf", ".pdf", None, False),
        ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".docx", 25 * MB, True),
        ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation", ".pptx", 50 * MB, True),
        ("ppt", "application/vnd.ms-powerpoint", ".ppt", 50 * MB, True),
    ],
)
def test_input_document_has_the_expected_type_and_limit(
    kind: str, type_: str, extension: str, cap: int | None, converted: bool
) -> None:
    row = media.DOCUMENTS[kind]
    assert (row.type, row.extension, row.cap, row.is_converted) == (type_, extension, cap, converted)


def test_no_other_document_type_is_accepted() -> None:
    assert set(media.DOCUMENTS) == {"pdf", "docx", "pptx", "ppt"}


@pytest.mark.parametrize(
    ("kind", "types", "cap", "singleton"),
    [
        ("logo", {"image/png", "image/jpeg", "image/webp"}, 5 * MB, True),
        ("background", {"image/png", "image/jpeg", "image/webp"}, 5 * MB, True),
        ("hotspot-audio", {"audio/mpeg"}, 10 * MB, False),
    ],
)
def test_asset_kind_has_the_expected_types_and_limit(kind: str, types: set[str], cap: int, singleton: bool) -> None:
    row = media.ASSET_KINDS[kind]
    assert (set(row.types), row.cap, row.singleton) == (types, cap, singleton)


def test_no_other_asset_kind_is_accepted() -> None:
    assert set(media.ASSET_KINDS) == {"logo", "background", "hotspot-audio"}


def test_default_names_and_stored_type() -> None:
    assert (media.IMPORT_NAME, media.DESIGN_IMPORT_NAME) == ("design.pdf", "design-tool-design.pdf")
    assert (media.STORED_TYPE, media.HEAD_BYTES) == ("application/pdf", 1024)


@pytest.mark.parametrize(
    ("kind", "plan", "cap"),
    [
        ("pdf", Plan.FREE, 20 * MB),
        ("pdf", Plan.BASIC, 200 * MB),
        ("pdf", Plan.PRO, 2048 * MB),
        ("docx", Plan.FREE, 25 * MB),
        ("docx", Plan.PRO, 25 * MB),
        ("ppt", Plan.FREE, 50 * MB),
        ("pptx", Plan.PRO, 50 * MB),
    ],
)
def test_office_formats_have_the_same_size_limit_on_every_plan(kind: str, plan: Plan, cap: int) -> None:
    assert media.input_size_limit(kind, plan) == cap


@pytest.mark.parametrize(("plan", "cap"), [(Plan.FREE, 50 * MB), (Plan.BASIC, 200 * MB), (Plan.PRO, 2048 * MB)])
def test_largest_input_size_of_each_plan(plan: Plan, cap: int) -> None:
    assert media.max_input_size_limit(plan) == cap


@pytest.mark.parametrize("offset", [0, 1, 100, 1019])
def test_a_pdf_marker_within_the_first_1024_bytes_is_detected(offset: int) -> None:
    assert media.detect_document_type(b"\n" * offset + b"%PDF-1.7\n") == "pdf"


@pytest.mark.parametrize("offset", [1020, 1023, 1024, 5000])
def test_a_pdf_marker_that_ends_after_1024_bytes_is_ignored(offset: int) -> None:
    assert media.detect_document_type(b"\n" * offset + b"%PDF-1.7\n") is None


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (make_archive("[Content_Types].xml", "_rels/.rels", "word/document.xml"), "docx"),
        (make_archive("[Content_Types].xml", "ppt/presentation.xml", "docProps/app.xml"), "pptx"),
        (make_archive("[Content_Types].xml", "_rels/.rels"), "zip"),
        (make_archive("xl/workbook.xml"), "zip"),
        (make_archive("keywords/word/x"), "zip"),
        (make_archive("word/document.xml", "ppt/presentation.xml"), "zip"),
        (b"PK\x03\x04", "zip"),
        (b"PK\x05\x06" + bytes(18), None),
        (OLE, "ole"),
        (OLE + b"\xec\xa5\xc1\0", "doc"),
        (OLE + b"\x00\x6e\x1e\xf0", "ppt"),
        (OLE + b"\x0f\x00\xe8\x03", "ppt"),
        (OLE + b"\xa0\x46\x1d\xf0", "ppt"),
        (OLE + encode_utf16("Root Entry").ljust(128, b"\0") + encode_utf16("WordDocument"), "doc"),
        (OLE + encode_utf16("Root Entry").ljust(128, b"\0") + encode_utf16("PowerPoint Document"), "ppt"),
        (OLE + encode_utf16("Root Entry").ljust(128, b"\0") + encode_utf16("Workbook"), "ole"),
        (b"{\\rtf1", None),
        (b"%!PS-Adobe-3.0", None),
        (b"<html>", None),
        (b"", None),
    ],
)
def test_document_type_is_detected_by_content(head: bytes, kind: str | None) -> None:
    assert media.detect_document_type(head) == kind


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["[Content_Types].xml", "word/document2.xml"], "docx"),
        (["ppt/presentation.xml", "ppt/embeddings/a.docx"], "pptx"),
        (["word/a", "ppt/a"], None),
        (["xl/workbook.xml"], None),
        ([], None),
    ],
)
def test_zip_type_is_detected_by_the_folders_of_its_entries(names: list[str], kind: str | None) -> None:
    assert media.detect_zip_type(names) == kind


@pytest.mark.parametrize(
    ("head", "type_"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (WEBP, "image/webp"),
        (b"RIFF\x24\0\0\0WAVEfmt ", None),
        (b"ID3\x04\0\0\0\0\0\0", "audio/mpeg"),
        (b"\xff\xfb\x90\x00", "audio/mpeg"),
        (b"\xff\xf3\x40\xc0", "audio/mpeg"),
        (b"\xff\xf1\x50\x80", None),  # AAC
        (b"\xff\xeb\x90\x00", None),  # reserved version
        (b"\xff\xfb\xf0\x00", None),  # bad bitrate
        (b"\xff\xfb\x00\x00", None),  # free bitrate
        (b"\xff\xfb\x9c\x00", None),  # reserved rate
        (b"\xff\xfd\x90\x00", None),  # layer II
        (b"\xff\xfeh\0i\0", None),  # UTF-16 text
        (b"\xff\xfb", None),
        (b"<svg xmlns=", None),
        (b"GIF89a", None),
        (b"%PDF-1.7", None),
        (b"", None),
    ],
)
def test_asset_type_is_detected_by_content(head: bytes, type_: str | None) -> None:
    assert media.detect_asset_type(head) == type_


@given(st.sampled_from([b"", b"PK\x03\x04", OLE, b"RIFF", b"\xff"]), st.binary(max_size=1100))
def test_type_detection_accepts_any_bytes(start: bytes, rest: bytes) -> None:
    known = {None, "pdf", "docx", "pptx", "ppt", "doc", "zip", "ole"}
    assert media.detect_document_type(start + rest) in known
    assert media.detect_asset_type(start + rest) in {None, "image/png", "image/jpeg", "image/webp", "audio/mpeg"}
