"""Open and check the zip container of a .docx or .pptx by its directory.

LibreOffice parses the container again with its own code. Therefore only containers are accepted that all parsers read
in the same way. Nothing is unpacked to disk.
"""

import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from docshare.contract.plans import MB
from docshare.contract.problems import Problem

# Real documents have compression ratios up to 32 and up to 382 entries.
MAX_ENTRIES = 10_000
MAX_TOTAL_BYTES = 512 * MB
MAX_PART_BYTES = 256 * MB
MAX_RATIO = 100
_RATIO_CHECK_BYTES = 16 * MB  # smaller parts can have any compression ratio
_MAX_DIRECTORY_BYTES = 4 * MB

_END_RECORD = struct.Struct(
    "<4s4H2LH"
)  # end record: signature, disks, entries, directory size and offset, comment size
_END_SIGNATURE = b"PK\x05\x06"
_LOCATOR_SIGNATURE = b"PK\x06\x07"
_LOCATOR_BYTES = 20
_MAX_COMMENT = 0xFFFF
_ENCRYPTED_FLAGS = 0x1 | 0x40 | 0x2000
_COMPRESSION_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BLOCK_BYTES = 1 << 16

DAMAGED_DETAIL = "The document is damaged or incomplete."
_READ_ERRORS = (
    zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, OverflowError, ValueError, struct.error,
    zlib.error,
)  # fmt: skip


def document_problem(detail: str, hint: str | None = None) -> Problem:
    """Return the Problem ``unprocessable`` for a document that is rejected."""
    return Problem(
        "unprocessable", detail, hint=hint or "Save it again with a current office application, or upload a PDF."
    )


def open_package(file: BinaryIO) -> zipfile.ZipFile:
    """Open the container in the seekable ``file`` and check its directory, without unpacking any part.

    Raises Problem ``unprocessable`` if it is damaged, encrypted, a zip bomb by its declared sizes, or has invalid
    names.
    """
    size = file.seek(0, 2)
    _check_end_record(file, size)
    try:
        package = zipfile.ZipFile(file)
    except _READ_ERRORS as error:
        raise document_problem(DAMAGED_DETAIL) from error
    parts = package.infolist()
    _check_names(parts)
    for part in parts:
        if part.flag_bits & _ENCRYPTED_FLAGS:
            raise document_problem("The document is encrypted.", "Remove the password and upload the document again.")
        if part.compress_type not in _COMPRESSION_METHODS:
            raise document_problem(DAMAGED_DETAIL)
    _check_sizes(parts, size)
    return package


def read_part(package: zipfile.ZipFile, part: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the bytes of ``part`` in blocks, at most the size in its directory entry.

    Raises Problem ``unprocessable`` if the size or the checksum differs from the entry.
    """
    try:
        with package.open(part) as stream:
            left = part.file_size
            while block := stream.read(_BLOCK_BYTES):
                left -= len(block)
                yield block
    except _READ_ERRORS as error:
        raise document_problem(DAMAGED_DETAIL) from error
    if left:
        raise document_problem(DAMAGED_DETAIL)


def rewrite_parts(source: BinaryIO, sink: BinaryIO, changed: Mapping[str, str]) -> None:
    """Write the container in ``source`` to ``sink``, with the parts in ``changed`` replaced.

    Raises the Problems of ``open_package`` and ``read_part``.
    """
    with open_package(source) as package, zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target:
        for part in package.infolist():
            if part.filename in changed:
                target.writestr(part.filename, changed[part.filename])
                continue
            with target.open(part.filename, "w") as out:
                for block in read_part(package, part):
                    out.write(block)


def _check_end_record(file: BinaryIO, size: int) -> None:
    """Raise Problem unless the file ends with one end record, right after a directory of limited size."""
    tail_at = max(0, size - _END_RECORD.size - _MAX_COMMENT)
    file.seek(tail_at)
    tail = file.read()
    at = tail.rfind(_END_SIGNATURE)
    if at < 0 or len(tail) - at < _END_RECORD.size:
        raise document_problem(DAMAGED_DETAIL)
    _, disk, directory_disk, here, entries, length, offset, comment = _END_RECORD.unpack_from(tail, at)
    if tail[max(0, at - _LOCATOR_BYTES) : at].startswith(_LOCATOR_SIGNATURE) or length > _MAX_DIRECTORY_BYTES:
        raise _part_count_problem()
    if entries > MAX_ENTRIES:
        raise _part_count_problem()
    is_complete = at + _END_RECORD.size + comment == len(tail) and disk == directory_disk == 0 and here == entries
    if not is_complete or offset + length != tail_at + at:
        raise document_problem(DAMAGED_DETAIL)


def _check_names(parts: list[zipfile.ZipInfo]) -> None:
    """Raise Problem for unsafe or duplicate names: parsers may pick different duplicates. OPC names ignore case."""
    if len(parts) > MAX_ENTRIES:
        raise _part_count_problem()
    seen: set[str] = set()
    for part in parts:
        name = part.orig_filename
        folded = name.casefold()
        steps = name.removesuffix("/").split("/")
        if folded in seen or any(step in ("", ".", "..") for step in steps) or not _is_safe_name(name):
            raise document_problem("The document contains a part with an invalid name.")
        seen.add(folded)


def _is_safe_name(name: str) -> bool:
    return name.isprintable() and not any(character in name for character in "\\:")


def _check_sizes(parts: list[zipfile.ZipInfo], size: int) -> None:
    total = sum(part.file_size for part in parts)
    largest = max((part.file_size for part in parts), default=0)
    dense = any(part.file_size > max(_RATIO_CHECK_BYTES, MAX_RATIO * part.compress_size) for part in parts)
    if total > min(MAX_TOTAL_BYTES, MAX_RATIO * size) or largest > MAX_PART_BYTES or dense:
        raise document_problem("The document is too large when unpacked.")


def _part_count_problem() -> Problem:
    return document_problem("The document contains too many parts.")
