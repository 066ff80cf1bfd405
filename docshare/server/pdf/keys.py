"""Name the files that are derived from documents."""

import hashlib
import re
from dataclasses import dataclass

from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.engine import Derivation, PathLike, WatermarkText
from docshare.server.rules.tiles import TILE_MARK
from docshare.server.store.stored_bytes import StoredBytes

_FILE_UUID = re.compile(r"[A-Za-z0-9-]{1,64}")
SEALED_SUFFIX = ".sealed"
"""The end of the names of encrypted files in the cache."""


@dataclass(frozen=True)
class DerivedKey:
    """The key of one derived file.

    For a page, ``kind`` is the pixel width of the image, that of the page of a tile, or 0 for the text, and ``parts``
    identifies the tile and the watermark. For the plain texts of several pages, ``page`` is the first, ``kind`` is 0,
    and ``parts`` names the last; for the outline, ``page`` is 1 and ``parts`` says so. For a derived PDF, ``page`` and
    ``kind`` are 0, and ``parts`` identifies the page range and the watermark.
    ``is_encrypted``: the document has a data key, which encrypts the derived file too.
    """

    file_uuid: str
    content_version: int
    page: int
    kind: int
    parts: str = ""
    is_encrypted: bool = False

    @property
    def name(self) -> str:
        """The name of the file in the cache."""
        rest = f"{self.page}-{self.kind}{self.parts}.jpg" if self.kind else f"{self.page}{self.parts}.json"
        if not self.page:
            rest = f"{self.parts}.pdf"
        suffix = SEALED_SUFFIX if self.is_encrypted else ""
        return f"{self.file_uuid}/{self.content_version}/{rest}{suffix}"


def is_tile_name(name: str) -> bool:
    """Return whether ``name`` is that of a tile in the cache."""
    return TILE_MARK in name


def find_data_key(blob: PathLike) -> bytes | None:
    """Return the data key of an encrypted document."""
    return blob.data_key if isinstance(blob, StoredBytes) else None


def make_key(file_uuid: str, content_version: int, blob: PathLike, page: int, kind: int, parts: str = "") -> DerivedKey:
    """Return the key of a file derived from ``blob``; parameters as for ``DerivedKey``. Raises ValueError unless
    ``file_uuid`` can be the name of a folder."""
    check_uuid(file_uuid)
    return DerivedKey(file_uuid, int(content_version), int(page), kind, parts, find_data_key(blob) is not None)


def anonymous_tenant(key: DerivedKey) -> Tenant:
    """Return a tenant for a caller that names none."""
    return Tenant(key.file_uuid, f"{key.file_uuid}/{key.content_version}")


def make_derived_key(file_uuid: str, content_version: int, blob: PathLike, wanted: Derivation) -> DerivedKey:
    """Return the key of the PDF ``wanted``. Raises as ``make_key``."""
    parts = f"{wanted.first}-{wanted.last}{mark_suffix(wanted.mark)}"
    return make_key(file_uuid, content_version, blob, 0, 0, parts)


def mark_suffix(mark: WatermarkText | None) -> str:
    """Return the part of a cache name that identifies ``mark``; empty without a watermark."""
    return "" if mark is None else "-" + hashlib.sha256(repr(mark).encode()).hexdigest()[:16]


def check_uuid(file_uuid: str) -> None:
    """Raise ValueError unless ``file_uuid`` can be the name of a folder."""
    if not _FILE_UUID.fullmatch(file_uuid):
        raise ValueError("not a file id")
