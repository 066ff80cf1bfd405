"""The zip container of a .docx or .pptx, judged by its directory alone: what makes it dangerous or unreadable.

Only containers are taken that every reader must read in the same way, because LibreOffice reads them again with code of
its own. Nothing is ever unpacked to a file.
"""

import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from docshare.contract.plans import MB
from docshare.contract.problems import Problem

# Spec: hardening F11. Real documents: ratio 32 at most, 382 entries at most.
MAX_ENTRIES = 10_000
MAX_TOTAL_BYTES = 512 * MB
MAX_PART_BYTES = 256 * MB
MAX_RATIO = 100
_RATIO_CHECK_BYTES = 16 * MB  # a part may be as dense as it likes below this size
_MAX_DIRECTORY_BYTES = 4 * MB

_END_RECORD = struct.Struct(
    "<4s4H2LH"
)  # the end record: signature, disks, entries, directory size and place, comment size
_END_SIGNATURE = b"PK\x05\x06"
_LOCATOR_SIGNATURE = b"PK\x06\x07"
_LOCATOR_BYTES = 20
_MAX_COMMENT = 0xFFFF
_ENCRYPTED_FLAGS = 0x1 | 0x40 | 0x2000
_COMPRESSION_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BLOCK_BYTES = 1 << 16

DAMAGED_DETAIL = "The document is damaged or cut off."
_READ_ERRORS = (
    zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, OverflowError, ValueError, struct.error,
    zlib.error,
)  # fmt: skip


def document_problem(detail: str, hint: str | None = None) -> Problem:
    """A document that is understood but not taken."""
    return Problem("unprocessable", detail, hint=hint or "Save it again in a current office program, or upload a PDF.")


def open_package(file: BinaryIO) -> zipfile.ZipFile:
    """Open the container in ``file`` (seekable) and check its directory; costs the same whatever it unpacks to.

    Raises Problem ``unprocessable``: damaged, encrypted, a bomb by its numbers, or with names that no document has.
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
            raise document_problem("The document is encrypted.", "Remove the password and send it again.")
        if part.compress_type not in _COMPRESSION_METHODS:
            raise document_problem(DAMAGED_DETAIL)
    _check_sizes(parts, size)
    return package


def read_part(package: zipfile.ZipFile, part: zipfile.ZipInfo) -> Iterator[bytes]:
    """The bytes of ``part`` in blocks, never more than its directory entry says.

    Raises Problem ``unprocessable`` when they are not what the entry says.
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

    Raises as ``open_package`` and ``read_part``.
    """
    with open_package(source) as package, zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
        for part in package.infolist():
            if part.filename in changed:
                made.writestr(part.filename, changed[part.filename])
                continue
            with made.open(part.filename, "w") as out:
                for block in read_part(package, part):
                    out.write(block)


def _check_end_record(file: BinaryIO, size: int) -> None:
    """The end record bounds what may be read; there must be one of it, and the directory right before it."""
    tail_at = max(0, size - _END_RECORD.size - _MAX_COMMENT)
    file.seek(tail_at)
    tail = file.read()
    at = tail.rfind(_END_SIGNATURE)
    if at < 0 or len(tail) - at < _END_RECORD.size:
        raise document_problem(DAMAGED_DETAIL)
    _, disk, directory_disk, here, entries, length, place, comment = _END_RECORD.unpack_from(tail, at)
    if tail[max(0, at - _LOCATOR_BYTES) : at].startswith(_LOCATOR_SIGNATURE) or length > _MAX_DIRECTORY_BYTES:
        raise _part_count_problem()
    if entries > MAX_ENTRIES:
        raise _part_count_problem()
    whole = at + _END_RECORD.size + comment == len(tail) and disk == directory_disk == 0 and here == entries
    if not whole or place + length != tail_at + at:
        raise document_problem(DAMAGED_DETAIL)


def _check_names(parts: list[zipfile.ZipInfo]) -> None:
    """Names stay inside, and each is there once: two readers might take different ones. Case does not count (OPC)."""
    if len(parts) > MAX_ENTRIES:
        raise _part_count_problem()
    seen: set[str] = set()
    for part in parts:
        name = part.orig_filename
        folded = name.casefold()
        steps = name.removesuffix("/").split("/")
        if folded in seen or any(step in ("", ".", "..") for step in steps) or not _is_safe_name(name):
            raise document_problem("The document holds a part with a forbidden name.")
        seen.add(folded)


def _is_safe_name(name: str) -> bool:
    return name.isprintable() and not any(character in name for character in "\\:")


def _check_sizes(parts: list[zipfile.ZipInfo], size: int) -> None:
    total = sum(part.file_size for part in parts)
    largest = max((part.file_size for part in parts), default=0)
    dense = any(part.file_size > max(_RATIO_CHECK_BYTES, MAX_RATIO * part.compress_size) for part in parts)
    if total > min(MAX_TOTAL_BYTES, MAX_RATIO * size) or largest > MAX_PART_BYTES or dense:
        raise document_problem("The document unpacks to more than is accepted.")


def _part_count_problem() -> Problem:
    return document_problem("The document holds too many parts.")
