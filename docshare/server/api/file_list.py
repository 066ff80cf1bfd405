"""The list of files as JSON text, encoded as fast as its rows are read.

Only ``represent.resources`` knows the File object. Most files of a list differ only in a few plain values, so its
function is called once for each shape, with markers in place of those values; for all other rows of the shape only
the values are filled in. The first row of a shape is encoded both ways: if the results differ, as they do when a
setting happens to contain a marker, all rows of that shape are encoded the slow way.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from json.encoder import encode_basestring_ascii
from operator import itemgetter
from typing import Any

from docshare.contract.wire import format_instant
from docshare.server.api.represent import resources
from docshare.server.services.files.files import FileRow

RowEncoder = Callable[[FileRow], str]

_BLOCK_ROWS = 500
_MAX_SHAPES = 1000  # kept in memory
_MARKER = "\0"
_MARKED_NUMBER, _MARKED_TEXT = re.compile(r'"\\u0000(\w+)\\u0000"'), re.compile(r"\\u0000(\w+)\\u0000")

# The values that vary. All other values of a row, and which of these are unset, make its shape.
_NUMBERS = ("size", "total_pages", "content_version", "view_count", "views_consumed", "view_limit")
_TEXTS = ("uuid", "short_id", "slug", "original_name", "sha256")
_TIMES = ("created_at", "updated_at", "delete_at", "burned_at")
_VARYING_COLUMNS = (*_NUMBERS, *_TEXTS, *_TIMES)
_UNUSED_COLUMNS = ("id", "blob")  # not part of the File object

_COLUMN_INDEX = {name: place for place, name in enumerate(FileRow._fields)}
_shape_key = itemgetter(
    *(_COLUMN_INDEX[name] for name in FileRow._fields if name not in (*_VARYING_COLUMNS, *_UNUSED_COLUMNS))
)
_NAME_INDEX, _SLUG_INDEX, _LIMIT_INDEX = (
    _COLUMN_INDEX["original_name"],
    _COLUMN_INDEX["slug"],
    _COLUMN_INDEX["view_limit"],
)
_CREATED_INDEX, _UPDATED_INDEX, _EXPIRY_INDEX, _BURNED_INDEX = (_COLUMN_INDEX[name] for name in _TIMES)
# An instant cannot contain a marker, so each time has a value that no file can have.
_MARKED_TIMES = {name: -62_135_596_800_000 + number for number, name in enumerate(_TIMES, 1)}


def encode_array(base_url: str, rows: Iterable[FileRow]) -> Iterator[bytes]:
    """Yield the JSON array of the File objects of ``rows``, in blocks."""
    lines = encode_objects(base_url, rows)
    start = b"["
    while block := list(islice(lines, _BLOCK_ROWS)):
        yield start + ",".join(block).encode("ascii")
        start = b","
    yield b"]" if start == b"," else b"[]"


def encode_objects(base_url: str, rows: Iterable[FileRow]) -> Iterator[str]:
    """Yield the JSON text of the File object of each row, byte for byte that of ``represent.resources``."""
    shapes: dict[tuple[Any, ...], RowEncoder] = {}
    for row in rows:
        absent = (
            row[_SLUG_INDEX] is None,
            row[_EXPIRY_INDEX] is None,
            row[_BURNED_INDEX] is None,
            row[_LIMIT_INDEX] is None,
        )
        key = (_shape_key(row), *absent, row.total_pages if _has_range(row) else None)
        draw = shapes.get(key)
        if draw is None:
            if len(shapes) >= _MAX_SHAPES:
                shapes.clear()
            draw = shapes[key] = _make_encoder(base_url, row)
        yield draw(row)


def _make_encoder(base_url: str, row: FileRow) -> RowEncoder:
    """Return a function that encodes every row of the shape of ``row``."""

    def slowly(row: FileRow) -> str:
        return json.dumps(resources.file_object(base_url, row), separators=(",", ":"))

    filling = _compile_template(slowly(row._replace(**_make_markers(row))))
    return filling if filling(row) == slowly(row) else slowly


def _make_markers(row: FileRow) -> dict[str, Any]:
    """Return a marker for each value of ``row`` that is filled in and set."""
    marked: dict[str, Any] = {name: f"{_MARKER}{name}{_MARKER}" for name in (*_NUMBERS, *_TEXTS)} | _MARKED_TIMES
    if _has_range(row):
        del marked["total_pages"]
    return {name: mark for name, mark in marked.items() if row[_COLUMN_INDEX[name]] is not None}


def _has_range(row: FileRow) -> bool:
    """Return whether the number of pages affects other values: a range may lie outside of the document."""
    return '"pageRange"' in row.settings


def _compile_template(marked: str) -> RowEncoder:
    """Return a function that fills the markers in the JSON text ``marked``."""
    marked = marked.replace("%", "%%")
    for name, moment in _MARKED_TIMES.items():
        marked = marked.replace(format_instant(moment), f"\\u0000{name}\\u0000")
    marked = _MARKED_NUMBER.sub(lambda found: found[0][1:-1] if found[1] in _NUMBERS else found[0], marked)
    places = [_COLUMN_INDEX.get(name, _NAME_INDEX) for name in _MARKED_TEXT.findall(marked)]
    form, pick = _MARKED_TEXT.sub("%s", marked), itemgetter(*places)

    def fill(row: FileRow) -> str:
        values: list[Any] = list(row)
        values[_NAME_INDEX] = encode_basestring_ascii(values[_NAME_INDEX])[1:-1]
        created, updated = values[_CREATED_INDEX], values[_UPDATED_INDEX]
        values[_CREATED_INDEX] = instant = format_instant(created)
        values[_UPDATED_INDEX] = instant if updated == created else format_instant(updated)
        if values[_EXPIRY_INDEX] is not None:
            values[_EXPIRY_INDEX] = format_instant(values[_EXPIRY_INDEX])
        if values[_BURNED_INDEX] is not None:
            values[_BURNED_INDEX] = format_instant(values[_BURNED_INDEX])
        text: str = form % pick(values)
        return text

    return fill
