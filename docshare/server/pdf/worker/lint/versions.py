"""Count earlier revisions in a PDF: programs can save changes by appending them to the file."""

import re
from typing import BinaryIO

_TAIL_BYTES = 2048  # the end of the file, which holds the offset of the last xref table
_HEAD_BYTES = 1024  # the start of the file, which holds the header and the /Linearized entry
_BLOCK_BYTES = 1 << 16
_MAX_REVISIONS = 1000
_START_XREF = re.compile(rb"startxref\s+(\d+)\s+%%EOF")
_XREF_SECTION = re.compile(rb"\s*(\d+)\s+(\d+)[ \t\r]*\r?\n?")
_PREVIOUS_XREF = re.compile(rb"/Prev\s+(\d+)")
_XREF_ENTRY_BYTES = 20
_NO_TABLE = -1


def count_earlier_versions(file: BinaryIO) -> int:
    """Return the number of earlier revisions in the PDF ``file``; 0 also if its xref tables are damaged."""
    head = _read_at(file, 0, _HEAD_BYTES)
    offset = max(head.find(b"%PDF-"), 0)
    size = file.seek(0, 2)
    found = _START_XREF.findall(_read_at(file, max(0, size - _TAIL_BYTES), _TAIL_BYTES))
    position = int(found[-1]) if found else None
    seen: set[int] = set()
    while position is not None and position not in seen and len(seen) < _MAX_REVISIONS:
        previous = _find_previous_xref(file, position + offset)
        if previous == _NO_TABLE:
            break
        seen.add(position)
        position = previous
    first = 2 if b"/Linearized" in head else 1  # a linearized file splits its only table in two
    return max(0, len(seen) - first)


def _find_previous_xref(file: BinaryIO, position: int) -> int | None:
    """Return the offset of the xref table before the one at ``position``; None if that is the first, ``_NO_TABLE`` if
    there is no table at ``position``."""
    block = _read_at(file, position, _BLOCK_BYTES)
    start = block.lstrip()
    if start.startswith(b"xref"):
        return _parse_previous(_read_trailer(file, position + len(block) - len(start) + len(b"xref")))
    if re.match(rb"\d+\s+\d+\s+obj\b", start) is None:
        return _NO_TABLE
    return _parse_previous(start.partition(b"stream")[0])


def _read_trailer(file: BinaryIO, position: int) -> bytes:
    """Return the trailer after the xref table whose first section starts at ``position``."""
    for _ in range(_MAX_REVISIONS):
        block = _read_at(file, position, 64)
        section = _XREF_SECTION.match(block)
        if section is None:
            break
        position += section.end() + int(section[2]) * _XREF_ENTRY_BYTES
    return _read_at(file, position, _BLOCK_BYTES).partition(b"startxref")[0]


def _parse_previous(dictionary: bytes) -> int | None:
    found = _PREVIOUS_XREF.search(dictionary)
    return None if found is None else int(found[1])


def _read_at(file: BinaryIO, position: int, size: int) -> bytes:
    file.seek(position)
    return file.read(size)
