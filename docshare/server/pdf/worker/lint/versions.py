"""Earlier states of a document that it still carries: PDF programs may save by adding to the end of the file."""

import re
from typing import BinaryIO

_TAIL_BYTES = 2048  # bytes from the end in which the place of the last table is told
_HEAD_BYTES = 1024  # bytes in which the header stands, and the mark of a file made for the web
_BLOCK_BYTES = 1 << 16
_MAX_REVISIONS = 1000
_START_XREF = re.compile(rb"startxref\s+(\d+)\s+%%EOF")
_XREF_SECTION = re.compile(rb"\s*(\d+)\s+(\d+)[ \t\r]*\r?\n?")
_PREVIOUS_XREF = re.compile(rb"/Prev\s+(\d+)")
_XREF_ENTRY_BYTES = 20  # bytes
_NO_TABLE = -1


def count_earlier_versions(file: BinaryIO) -> int:
    """How many earlier states the PDF in ``file`` holds. 0 as well where its tables cannot be followed."""
    head = _read_at(file, 0, _HEAD_BYTES)
    offset = max(head.find(b"%PDF-"), 0)
    size = file.seek(0, 2)
    found = _START_XREF.findall(_read_at(file, max(0, size - _TAIL_BYTES), _TAIL_BYTES))
    place = int(found[-1]) if found else None
    seen: set[int] = set()
    while place is not None and place not in seen and len(seen) < _MAX_REVISIONS:
        previous = _find_previous_xref(file, place + offset)
        if previous == _NO_TABLE:
            break
        seen.add(place)
        place = previous
    first = 2 if b"/Linearized" in head else 1  # a file made for the web has its one table in two parts
    return max(0, len(seen) - first)


def _find_previous_xref(file: BinaryIO, place: int) -> int | None:
    """Where the table before the one at ``place`` stands; None if that was the first, -1 if there is no table."""
    block = _read_at(file, place, _BLOCK_BYTES)
    start = block.lstrip()
    if start.startswith(b"xref"):
        return _parse_previous(_read_trailer(file, place + len(block) - len(start) + len(b"xref")))
    if re.match(rb"\d+\s+\d+\s+obj\b", start) is None:
        return _NO_TABLE
    return _parse_previous(start.partition(b"stream")[0])


def _read_trailer(file: BinaryIO, place: int) -> bytes:
    """The dictionary behind the table whose first part begins at ``place``."""
    for _ in range(_MAX_REVISIONS):
        block = _read_at(file, place, 64)
        section = _XREF_SECTION.match(block)
        if section is None:
            break
        place += section.end() + int(section[2]) * _XREF_ENTRY_BYTES
    return _read_at(file, place, _BLOCK_BYTES).partition(b"startxref")[0]


def _parse_previous(dictionary: bytes) -> int | None:
    found = _PREVIOUS_XREF.search(dictionary)
    return None if found is None else int(found[1])


def _read_at(file: BinaryIO, place: int, size: int) -> bytes:
    file.seek(place)
    return file.read(size)
