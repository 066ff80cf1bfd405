"""Collect office documents from a directory, with the responses that their uploads must get."""

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tests.torture.document_variety import write_documents

EXPECTED_STATUSES = {
    "hostile": {422},
    "linked": {200, 422},  # an external link can be rejected, or removed before the conversion
    "bomb": {422},
    "unreadable": {400, 422},
    "legacy": {400},
    "modern": {200, 422},
    "made": {200},
    "locked": {422},
    "unclear": {200, 400, 422},  # neither stream has its usual name
    "other": {400},
}
"""Maps the kind of a document to the statuses that its upload can have."""

LEGACY_NAMES = ("x.doc", "x.docx", "x.ppt", "x.pdf")
_MODERN_SUFFIXES = (".docx", ".docm", ".dotx", ".pptx", ".pptm", ".potx", ".ppsx", ".ppt", ".pps")
_LEGACY_SUFFIXES = (".doc", ".dot")
_OLE_MAGIC, _ZIP_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"PK\x03\x04"
_STREAMS = {
    name.encode("utf-16-le"): kind
    for name, kind in (("EncryptedPackage", "locked"), ("PowerPoint Document", "modern"), ("WordDocument", "legacy"))
}
_FOLDERS = (b"word/", b"ppt/")


@dataclass(frozen=True)
class OfficeUpload:
    """One document to upload: ``kind`` is a key of ``EXPECTED_STATUSES``, ``name`` describes the document, ``make``
    returns its bytes, and it is uploaded under each of ``file_names``."""

    kind: str
    name: str
    make: Callable[[], bytes]
    file_names: tuple[str, ...] = ("x.docx",)


def list_directory(folder: Path, seed: int = 17) -> list[OfficeUpload]:
    """Return the distinct office documents below ``folder``, in the random order of ``seed``."""
    found: list[OfficeUpload] = []
    seen: set[bytes] = set()
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() not in _MODERN_SUFFIXES + _LEGACY_SUFFIXES or not path.is_file():
            continue
        data = path.read_bytes()
        digest = hashlib.sha256(data).digest()
        if digest not in seen:
            seen.add(digest)
            found.append(_describe(path, str(path.relative_to(folder)), data))
    random.Random(seed).shuffle(found)
    return found


def list_made_documents(folder: Path, share: float = 1.0) -> list[OfficeUpload]:
    """Write 598 different documents, or a ``share`` of them, to ``folder``, and return them."""
    write_documents(folder, share=share)
    return [replace(each, kind="made") if each.kind == "modern" else each for each in list_directory(folder)]


def _describe(path: Path, name: str, data: bytes) -> OfficeUpload:
    """Return the upload of the document at ``path``. ``data``, its bytes, determine the kind: some documents have the
    suffix of another format."""
    kind = "other"
    if data.startswith(_ZIP_MAGIC) and any(folder in data for folder in _FOLDERS):
        kind = "modern"
    elif data.startswith(_OLE_MAGIC):
        found = {kind for stream, kind in _STREAMS.items() if stream in data}
        if path.suffix.lower() in _LEGACY_SUFFIXES and "locked" not in found:
            kind = "legacy"
        else:
            kind = next((kind for kind in _STREAMS.values() if kind in found), "unclear")
    return OfficeUpload(kind, name, path.read_bytes, LEGACY_NAMES if kind == "legacy" else (f"x{path.suffix}",))
