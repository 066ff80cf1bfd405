"""Input documents and assets: how to detect them by their bytes, and their size limits."""

from collections.abc import Iterable
from typing import NamedTuple

from docshare.contract.plans import MB, PLAN_LIMITS, Plan

HEAD_BYTES = 1024  # the bytes that detection reads
STORED_TYPE = "application/pdf"  # every stored document is a PDF
IMPORT_NAME = "design.pdf"
DESIGN_IMPORT_NAME = "design-tool-design.pdf"


class DocumentType(NamedTuple):
    """An accepted input: its media ``type``, file ``extension``, ``cap`` in bytes on every plan (None: the limit of
    the plan for stored PDFs), and whether it is converted to PDF first (``is_converted``)."""

    type: str
    extension: str
    cap: int | None = None
    is_converted: bool = True


_OOXML = "application/vnd.openxmlformats-officedocument."

DOCUMENTS: dict[str, DocumentType] = {
    "pdf": DocumentType(STORED_TYPE, ".pdf", is_converted=False),
    "docx": DocumentType(_OOXML + "wordprocessingml.document", ".docx", 25 * MB),
    "pptx": DocumentType(_OOXML + "presentationml.presentation", ".pptx", 50 * MB),
    "ppt": DocumentType("application/vnd.ms-powerpoint", ".ppt", 50 * MB),
}


class AssetKind(NamedTuple):
    """An asset kind: accepted media ``types``, ``cap`` in bytes, and whether a file has at most one (``singleton``)."""

    types: tuple[str, ...]
    cap: int
    singleton: bool


_IMAGES = ("image/png", "image/jpeg", "image/webp")

ASSET_KINDS: dict[str, AssetKind] = {
    "logo": AssetKind(_IMAGES, 5 * MB, singleton=True),
    "background": AssetKind(_IMAGES, 5 * MB, singleton=True),
    "hotspot-audio": AssetKind(("audio/mpeg",), 10 * MB, singleton=False),
}

_PDF = b"%PDF-"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_STREAMS = {"doc": "WordDocument".encode("utf-16-le"), "ppt": "PowerPoint Document".encode("utf-16-le")}
_OLE_HEADER_BYTES = 512
# The first bytes of the main stream, which most writers put right after the header.
_OLE_TYPES_BY_HEAD = {
    b"\xec\xa5": "doc",
    b"\x00\x6e\x1e\xf0": "ppt",
    b"\x0f\x00\xe8\x03": "ppt",
    b"\xa0\x46\x1d\xf0": "ppt",
}
_ZIP_ENTRY = b"PK\x03\x04"
_ZIP_ENTRY_BYTES = 30  # of a local file header before the name; its bytes 26 and 27 are the name's length
_ZIP_FOLDERS = {"word/": "docx", "ppt/": "pptx"}


def detect_document_type(head: bytes) -> str | None:
    """Return the type of a document by its first ``HEAD_BYTES`` bytes: ``pdf``, ``docx``, ``pptx``, ``ppt``, ``doc``
    (detected only to reject it), ``zip`` or ``ole`` for a container whose content is not visible in these bytes, or
    None for anything else.

    File names and declared types are ignored. The result for a container is preliminary: its directory lies beyond
    these bytes and is read during the conversion.
    """
    head = head[:HEAD_BYTES]
    if _PDF in head:
        return "pdf"
    if head.startswith(_OLE):
        return _detect_ole_type(head)
    return detect_zip_type(_list_zip_names(head)) or "zip" if head.startswith(_ZIP_ENTRY) else None


def detect_zip_type(names: Iterable[str]) -> str | None:
    """Return ``docx`` or ``pptx`` by the entry ``names`` of a zip file; None for neither and for both."""
    kinds = {kind for name in names for folder, kind in _ZIP_FOLDERS.items() if name.startswith(folder)}
    return kinds.pop() if len(kinds) == 1 else None


def detect_asset_type(head: bytes) -> str | None:
    """Return the media type of an asset by its first 16 bytes; None if it is not accepted, such as SVG."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return "audio/mpeg" if head.startswith(b"ID3") or _is_mp3_frame(head) else None


def input_size_limit(kind: str, plan: Plan) -> int:
    """Return the maximum size in bytes of an input document of ``kind`` (a key of ``DOCUMENTS``) on ``plan``.

    An office file may exceed the plan's limit for PDFs; the PDF converted from it may not.
    """
    cap = DOCUMENTS[kind].cap
    return PLAN_LIMITS[plan].stored_bytes if cap is None else cap


def max_input_size_limit(plan: Plan) -> int:
    """Return the maximum size of any input document on ``plan``: the only limit known before the first byte."""
    return max(input_size_limit(kind, plan) for kind in DOCUMENTS)


def _detect_ole_type(head: bytes) -> str:
    seen = {kind: head.find(stream) for kind, stream in _OLE_STREAMS.items() if stream in head}
    if seen:
        return min(seen, key=lambda kind: seen[kind])
    body = head[_OLE_HEADER_BYTES:]
    return next((kind for start, kind in _OLE_TYPES_BY_HEAD.items() if body.startswith(start)), "ole")


def _list_zip_names(head: bytes) -> list[str]:
    """Return the names of the entries whose local headers lie in ``head``; the last name may be truncated."""
    names = []
    at = head.find(_ZIP_ENTRY)
    while at >= 0:
        start = at + _ZIP_ENTRY_BYTES
        length = int.from_bytes(head[at + 26 : at + 28], "little")
        names.append(head[start : start + length].decode("utf-8", "replace"))
        at = head.find(_ZIP_ENTRY, at + len(_ZIP_ENTRY))
    return names


def _is_mp3_frame(head: bytes) -> bool:
    """Return whether ``head`` starts with a valid frame header of MPEG audio layer III."""
    if len(head) < 3 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return False
    version, layer = head[1] >> 3 & 3, head[1] >> 1 & 3
    bitrate, rate = head[2] >> 4, head[2] >> 2 & 3
    return version != 1 and layer == 1 and bitrate not in (0, 15) and rate != 3
