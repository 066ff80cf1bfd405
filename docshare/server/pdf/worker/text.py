"""Extract the text layer of a page: runs of text with their boxes, for selection, find in page and screen readers.

Runs only inside the worker. pdfium returns single characters in reading order, including the spaces and line breaks
that it infers. This module joins them into runs, which end at a line break or at a gap between columns.
"""

import ctypes
import math
import time
import unicodedata
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from docshare.server.pdf.worker.documents import OpenPdfDocument, PdfRefused
from docshare.server.pdf.worker.geometry import PageView, PdfRect
from docshare.server.pdf.worker.links import list_page_links
from docshare.server.rules.finding import PAGE_END, UNREAD_PAGE

_MAX_CHARS = 100_000  # a dense newspaper page has about 20,000
_COLUMN_GAP = 1.5  # in line heights: wider than a space in justified text, narrower than a gap between columns
_HYPHEN_CODE = 0x02  # pdfium's code for a hyphen at the end of a line
_TEXT_HYPHEN_CODE = 0xFFFE  # and its code in the text of a range
_SYMBOL_BULLETS = (0xF0A7, 0xF0B7)  # squares and dots of symbol fonts, in the private use area
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_MAX_PLAIN_BYTES = 4 * _MAX_CHARS  # of one page
_WORD_GAP = 0.15  # in line heights, between two runs of one line; as in pagetext.js

Span = tuple[float, float]


@dataclass(frozen=True)
class Glyph:
    """One character on the displayed page: ``rect`` in points from the top left, ``angle`` in degrees clockwise."""

    text: str
    rect: PdfRect
    angle: int


class TextRun:
    """The text of one box: characters of one line, up to its end or a column gap.

    ``start`` and ``end`` are its extent in the direction of the text, ``low`` and ``high`` its extent across.
    """

    __slots__ = ("angle", "end", "high", "low", "parts", "rects", "start")

    def __init__(self, glyph: Glyph, along: Span, across: Span) -> None:
        self.angle = glyph.angle
        self.parts = [glyph.text]
        self.rects = [glyph.rect]
        self.start, self.end = along
        self.low, self.high = across

    def can_append(self, glyph: Glyph, along: Span, across: Span) -> bool:
        """Return whether ``glyph`` continues this run: same direction, same line, no column gap, no jump back."""
        low, high = across
        height, other = self.high - self.low, high - low
        if low != self.low or high != self.high:
            overlap = min(high, self.high) - max(low, self.low)
            if overlap < 0.5 * min(height, other):
                return False
            height = max(height, other)
        ahead = along[0] - self.end
        if glyph.text > "\u0590" and _is_right_to_left(glyph.text):
            ahead = max(ahead, self.start - along[1])
        return glyph.angle == self.angle and -height < ahead < _COLUMN_GAP * height

    def add(self, space: str, glyph: Glyph, along: Span, across: Span) -> None:
        """Append ``glyph`` with the ``space`` before it."""
        self.parts.append(space + glyph.text if space else glyph.text)
        self.rects.append(glyph.rect)
        self.start, self.end = min(self.start, along[0]), max(self.end, along[1])
        self.low, self.high = min(self.low, across[0]), max(self.high, across[1])

    def rect(self) -> PdfRect:
        """Return the bounding box of all characters."""
        x0, y0, x1, y1 = zip(*self.rects, strict=True)
        return min(x0), min(y0), max(x1), max(y1)


def extract_page_text(document: OpenPdfDocument, number: int) -> dict[str, Any]:
    """Return the width, height, boxes and links of page ``number`` (1-based) as a JSON object.

    A box is [x, y, w, h, text, angle] and a link [x, y, w, h, target], with coordinates as fractions of the page.
    Raises PdfRefused ``page``.
    """
    with document.page(number) as page:
        view = PageView.from_page(page)
        if not all(math.isfinite(side) and side > 0 for side in view.size):
            raise PdfRefused("page")
        with closing(page.get_textpage()) as source:
            boxes = [row for run in _group_runs(_iterate_glyphs(source, view)) if (row := _build_row(run, view))]
            links = list_page_links(document, page, source, view)
        width, height = view.size
        return {"width": width, "height": height, "boxes": boxes, "links": links}


def extract_plain_texts(document: OpenPdfDocument, first: int, last: int, budget_s: float, max_bytes: int) -> bytes:
    """Return the text of the pages ``first`` to ``last`` (1-based) for finding words, in UTF-8, joined by ``PAGE_END``.

    Begins no page after ``budget_s`` seconds of processor time, and no page that might exceed ``max_bytes``, except for
    the first. The text of a page is that of its boxes, as the viewer joins them, without line breaks. Reading it in one
    call to pdfium takes a tenth of the time that the boxes take.
    """
    end = time.process_time() + budget_s
    found = [_read_plain_text(document, first)]
    size = len(found[0])
    for number in range(first + 1, last + 1):
        if time.process_time() >= end or size + _MAX_PLAIN_BYTES > max_bytes:
            break
        found.append(_read_plain_text(document, number))
        size += len(found[-1]) + 1
    return PAGE_END.encode().join(found)


def _read_plain_text(document: OpenPdfDocument, number: int) -> bytes:
    try:
        with document.page(number) as page:
            view = PageView.from_page(page)
            if not all(math.isfinite(side) and side > 0 for side in view.size):
                raise PdfRefused("page")
            with closing(page.get_textpage()) as source:
                if _is_all_visible(source, view):
                    text = _read_characters(source)
                else:
                    rows = (_build_row(run, view) for run in _group_runs(_iterate_glyphs(source, view)))
                    text = _join_rows([row for row in rows if row], view)
    except PdfRefused as refused:
        if refused.reason == "repair":
            raise
        return UNREAD_PAGE.encode()
    return " ".join(text.split()).encode(errors="ignore")


def _read_characters(source: pypdfium2.PdfTextPage) -> str:
    length = min(pdfium.FPDFText_CountChars(source.raw), _MAX_CHARS)
    text: str = source.get_text_range(0, length) if length > 0 else ""
    if len(text) == length:
        return text.translate(_DECODED)
    # The text of a range lacks some characters, and has two for those outside of the basic plane.
    read, handle = pdfium.FPDFText_GetUnicode, source.raw
    return "".join([_DECODED[read(handle, index)] for index in range(length)])


def _is_all_visible(source: pypdfium2.PdfTextPage, view: PageView) -> bool:
    """Return whether no text is outside of the visible part of the page."""
    sides = [ctypes.c_double() for _ in range(4)]
    left, top, right, bottom = sides
    for index in range(pdfium.FPDFText_CountRects(source.raw, 0, -1)):
        pdfium.FPDFText_GetRect(source.raw, index, *map(ctypes.byref, sides))
        if not (
            view.left <= left.value <= right.value <= view.right
            and view.bottom <= bottom.value <= top.value <= view.top
        ):
            return False
    return True


def _join_rows(rows: list[list[Any]], view: PageView) -> str:
    """Return the text of ``rows`` as ``readPageText`` of pagetext.js joins it."""
    width, height = view.size
    parts = [rows[0][4]] if rows else []
    for before, after in pairwise(rows):
        parts += [_separate(before, after, height / width), after[4]]
    return "".join(parts).translate(_LIGATURES)


def _separate(before: list[Any], after: list[Any], ratio: float) -> str:
    """Return what separates two boxes: nothing if the same word continues."""
    (x0, y0, w0, h0, _, angle), (x1, y1, w1, h1, _, other) = before, after
    if angle != other:
        return " "
    if angle % 180:
        x0, y0, w0, h0, x1, y1, w1, h1, ratio = y0, x0, h0, w0, y1, x1, h1, w1, 1 / ratio
    thickness = min(h0, h1)
    if min(y0 + h0, y1 + h1) - max(y0, y1) < thickness / 2:
        return " "
    gap = max(x1 - x0 - w0, x0 - x1 - w1) / ratio
    return " " if gap > thickness * _WORD_GAP else ""


class _DecodedCharacters(dict[int, str]):
    """The text of each character of pdfium, computed on first use. A hyphen ends its line, and ligatures are spelled
    out."""

    def __missing__(self, code: int) -> str:
        self[code] = (
            "- " if code in (_HYPHEN_CODE, _TEXT_HYPHEN_CODE) else _LIGATURES.get(code) or _decode_character(code)
        )
        return self[code]


_DECODED = _DecodedCharacters()


def _iterate_glyphs(source: pypdfium2.PdfTextPage, view: PageView) -> Iterator[Glyph | str]:
    """Yield the characters of the page as glyphs, and white space as " " or a line feed."""
    handle = source.raw
    box = pdfium.FS_RECTF()
    pointer = ctypes.byref(box)
    for index in range(min(pdfium.FPDFText_CountChars(handle), _MAX_CHARS)):
        text = _decode_character(pdfium.FPDFText_GetUnicode(handle, index))
        if text in ("", " ", "\n"):
            yield text
        elif pdfium.FPDFText_GetLooseCharBox(handle, index, pointer):
            angle = pdfium.FPDFText_GetCharAngle(handle, index)
            turned = round(math.degrees(angle)) + view.turn if angle > 0 else view.turn
            yield Glyph(text, view.to_shown(box.left, box.bottom, box.right, box.top), turned % 360)


@lru_cache(4096)
def _decode_character(code: int) -> str:
    """Return the text of one pdfium character: "" to skip it, " " for any white space. pdfium expands ligatures."""
    if 0x20 < code < 0x7F:
        return chr(code)
    if code in (0x0A, 0x0D):
        return "\n"
    if code == _HYPHEN_CODE:
        return "-"
    if code in _SYMBOL_BULLETS:
        return "\u2022"
    if code > 0x10FFFF or code & 0xFFFE == 0xFFFE:
        return ""
    text = chr(code)
    if text.isspace():
        return " "
    if unicodedata.category(text) in ("Cc", "Cn", "Co", "Cs"):
        return ""
    return text


def _group_runs(glyphs: Iterator[Glyph | str]) -> Iterator[TextRun]:
    run: TextRun | None = None
    space = ""
    for glyph in glyphs:
        if isinstance(glyph, str):
            if glyph == "\n" and run is not None:
                yield run
                run = None
            space = " " if glyph else space
            continue
        along, across = _glyph_extents(glyph)
        if run is not None and run.can_append(glyph, along, across):
            run.add(space, glyph, along, across)
        else:
            if run is not None:
                yield run
            run = TextRun(glyph, along, across)
        space = ""
    if run is not None:
        yield run


def _glyph_extents(glyph: Glyph) -> tuple[Span, Span]:
    """Return the extents of the glyph along its line and across it, both increasing in reading direction."""
    x0, y0, x1, y1 = glyph.rect
    match glyph.angle:
        case 0:
            return (x0, x1), (y0, y1)
        case 90:
            return (y0, y1), (-x1, -x0)
        case 180:
            return (-x1, -x0), (-y1, -y0)
        case 270:
            return (-y1, -y0), (x0, x1)
    turn = math.radians(glyph.angle)
    x, y, half = (x0 + x1) / 2, (y0 + y1) / 2, min(x1 - x0, y1 - y0) / 2
    along = x * math.cos(turn) + y * math.sin(turn)
    across = y * math.cos(turn) - x * math.sin(turn)
    return (along - half, along + half), (across - half, across + half)


def _build_row(run: TextRun, view: PageView) -> list[Any] | None:
    """Return a run as [x, y, w, h, text, angle]; None if it is outside the page.

    Slanted text, such as a stamp, gets a horizontal box through its middle: it can be searched and read aloud, but does
    not cover the text under it.
    """
    angle, (x0, y0, x1, y1) = run.angle, run.rect()
    if angle % 90:
        middle, half = (y0 + y1) / 2, min(run.high - run.low, y1 - y0) / 2
        angle, y0, y1 = 0, middle - half, middle + half
    area = view.to_fractions((x0, y0, x1, y1))
    return [*area, "".join(run.parts), angle] if area else None


@lru_cache(4096)
def _is_right_to_left(text: str) -> bool:
    return unicodedata.bidirectional(text[0]) in ("R", "AL", "AN")
