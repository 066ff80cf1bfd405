"""Parse and validate worker replies. A hostile file can take over its worker, so every reply is untrusted input."""

import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, NamedTuple, TypeVar

from docshare.contract.lint import CHECKS, LEVELS, LintFinding
from docshare.server.pdf.child import BrokenWorkerError, WorkerReply
from docshare.server.rules.finding import PAGE_END, UNREAD_PAGE
from docshare.server.rules.outline import MAX_DEPTH, MAX_ENTRIES, MAX_TITLE_CHARS, OutlineEntry
from docshare.server.rules.tiles import ImagePart, ZoomTile

MAX_PAGES = 50_000  # in one document
MAX_COLORS = 6  # of a palette
REASONS = frozenset((
    "animated", "broken", "contents", "damaged", "leak", "looks", "missing", "page", "pages", "password", "pixels",
    "protection", "repair",
))  # fmt: skip
"""The reasons with which a worker can refuse a job (``documents.PdfRefused``). Any other reason is an invalid reply."""
_MAX_BOXES = 100_000  # equals the limit on characters per page
_MAX_LINKS = 2_000
_MAX_JSON_BRACKETS = 300_000  # all boxes, links and targets, and again as many brackets in the text
_ANGLES = (0, 90, 180, 270)
_MAX_URL = 2_048
_LENGTH_RANGE = (0.1, 1_000_000.0)  # sides of a page in points; values outside are clamped
_URL = re.compile(r"(?:https?://|mailto:)[^\x00-\x20\x7f<>\"\\^`{|}]+", re.IGNORECASE)
_MAX_PIXELS = 16_100_000  # 16 MP plus rounding
_MIN_REDUCED_PIXELS, _MIN_REDUCED_HEIGHT = (
    15_000_000,
    16_000,
)  # a page image above either limit can be narrower than the requested width
_JPEG_FRAME, _JPEG_SCAN = b"\xff\xc0", b"\xff\xda"
_JPEG_PARTS = (
    b"\xff\xe0",
    b"\xff\xdb",
    b"\xff\xc4",
    _JPEG_FRAME,
    _JPEG_SCAN,
)  # no comments, no metadata
_MAX_JPEG_PARTS = 64
_MAX_LISTED = 1 << 20  # pages of a linted document, which can exceed MAX_PAGES; pdfium supports no more
_MAX_FINDINGS = 26  # of one check: 25, and one that counts the rest
_MAX_MESSAGE = 1_000  # characters; an honest message quotes five texts of 80
_CONTROL = re.compile("[\0-\x1f]")
_HEX_COLOR = re.compile("#[0-9a-f]{6}")
_T = TypeVar("_T")


class TextBox(NamedTuple):
    """One run of text on a page: position and size as fractions of the page (origin top left).

    ``angle`` is the rotation of the text on the displayed page, in degrees clockwise: 0, 90, 180 or 270.
    """

    x: float
    y: float
    w: float
    h: float
    text: str
    angle: int = 0


class LinkBox(NamedTuple):
    """One clickable area, in fractions of the page. ``target`` is ``{"url": str}`` or ``{"page": int}`` (1-based)."""

    x: float
    y: float
    w: float
    h: float
    target: dict[str, str | int]


@dataclass(frozen=True)
class Inspection:
    """``sizes`` holds the width and height of each page in points, after rotation. ``is_slow``: the first page took
    more than two seconds of processor time to render."""

    total_pages: int
    sizes: list[tuple[float, float]]
    is_slow: bool = False


@dataclass(frozen=True)
class PageText:
    """Text and links of one page; ``width`` and ``height`` in points after rotation, boxes in reading order."""

    width: float
    height: float
    boxes: list[TextBox]
    links: list[LinkBox]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that the share page loads. A box is [x, y, w, h, text], or [x, y, w, h, text, angle]
        if the text is rotated."""
        boxes = [list(box) if box.angle else list(box[:5]) for box in self.boxes]
        return {
            "width": self.width,
            "height": self.height,
            "boxes": boxes,
            "links": [list(link) for link in self.links],
        }


class WorkerRefusal(Exception):
    """A worker refused the job; ``reason`` is one of ``REASONS``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def parse_reply(reply: WorkerReply, read: Callable[[WorkerReply], _T]) -> _T:
    """Return ``reply`` as parsed by ``read``.

    Raises WorkerRefusal if the worker refused the job, BrokenWorkerError if the reply is malformed.
    """
    reason = reply.header.get("error")
    if isinstance(reason, str) and reason in REASONS:
        raise WorkerRefusal(reason)
    if reason is not None:
        raise BrokenWorkerError("the worker refused the job for an unknown reason")
    try:
        return read(reply)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise BrokenWorkerError("the reply is malformed") from error


def parse_inspection(reply: WorkerReply) -> Inspection:
    numbers = array("d", reply.body)
    sizes = [(_parse_length(numbers[at]), _parse_length(numbers[at + 1])) for at in range(0, len(numbers), 2)]
    if not 0 < len(sizes) <= MAX_PAGES:
        raise ValueError("wrong number of pages")
    return Inspection(len(sizes), sizes)


def parse_jpeg(reply: WorkerReply, width: int | None = None) -> bytes:
    """Return a page image. If ``width`` is given, the image must be that wide, or narrower if it would be too large."""
    wide, tall = _read_jpeg_size(reply.body)
    if wide * tall > _MAX_PIXELS:
        raise ValueError("too large")
    if (
        width is not None
        and wide != width
        and not (wide < width and (tall > _MIN_REDUCED_HEIGHT or wide * tall > _MIN_REDUCED_PIXELS))
    ):
        raise ValueError("not the requested size")
    return reply.body


def make_image_parser(part: ImagePart) -> Callable[[WorkerReply], bytes]:
    """Return the parser of the image ``part`` of a page; a tile must have exactly its size."""
    if not isinstance(part, ZoomTile):
        return partial(parse_jpeg, width=part)

    def parse(reply: WorkerReply) -> bytes:
        if _read_jpeg_size(reply.body) != part.size:
            raise ValueError("not the requested size")
        return reply.body

    return parse


def _read_jpeg_size(image: bytes) -> tuple[int, int]:
    """Return the width and height of a JPEG. Raises ValueError if it has segments that workers do not write."""
    if not (image.startswith(b"\xff\xd8") and image.endswith(b"\xff\xd9")):
        raise ValueError("not a JPEG")
    at, wide, tall = 2, 0, 0
    for _ in range(_MAX_JPEG_PARTS):
        kind, length = image[at : at + 2], int.from_bytes(image[at + 2 : at + 4], "big")
        if kind not in _JPEG_PARTS or length < 2 or at + 2 + length > len(image):
            break
        if kind == _JPEG_FRAME:
            tall, wide = (int.from_bytes(image[place : place + 2], "big") for place in (at + 5, at + 7))
        if kind == _JPEG_SCAN and wide and tall:
            return wide, tall
        at += 2 + length
    raise ValueError("not a JPEG")


def check_pdf(sink: IO[bytes], _: WorkerReply) -> None:
    sink.seek(0)
    if sink.read(5) != b"%PDF-":
        raise ValueError("not a PDF")


def parse_page_text(reply: WorkerReply) -> PageText:
    values = _json(reply)
    if len(values["boxes"]) > _MAX_BOXES or len(values["links"]) > _MAX_LINKS:
        raise ValueError("more than a page can hold")
    boxes = [TextBox(*_parse_box(box), _parse_text(box[4]), _parse_angle(box[5])) for box in values["boxes"]]
    links = [LinkBox(*_parse_box(link), _parse_target(link[4])) for link in values["links"]]
    return PageText(_parse_length(values["width"]), _parse_length(values["height"]), boxes, links)


def parse_texts(reply: WorkerReply, most: int) -> list[str]:
    """Return the texts of at most ``most`` pages."""
    texts = reply.body.decode().split(PAGE_END)
    if len(texts) > most or any(text != UNREAD_PAGE and _CONTROL.search(text) for text in texts):
        raise ValueError("not the texts of pages")
    return texts


def parse_outline(reply: WorkerReply) -> list[OutlineEntry]:
    entries: list[OutlineEntry] = []
    for level, page, title in _json(reply):
        deepest = entries[-1].level + 1 if entries else 0
        if type(level) is not int or not 0 <= level <= min(deepest, MAX_DEPTH - 1) or len(entries) == MAX_ENTRIES:
            raise ValueError("not an outline")
        if page is not None and (type(page) is not int or not 1 <= page <= MAX_PAGES):
            raise ValueError("not a page")
        if not 0 < len(_parse_text(title)) <= MAX_TITLE_CHARS or _CONTROL.search(title):
            raise ValueError("not a title")
        entries.append(OutlineEntry(level, page, title))
    return entries


def lint_findings(reply: WorkerReply) -> list[LintFinding]:
    values = _json(reply)
    pages, rows = values["pages"], values["findings"]
    if type(pages) is not int or not 0 <= pages <= _MAX_LISTED or not isinstance(rows, list):
        raise ValueError("not a list of findings")
    found = [_finding(row, pages) for row in rows]
    if any(count > _MAX_FINDINGS for count in Counter(each.check for each in found).values()):
        raise ValueError("more findings than a worker reports")
    return found


def parse_colors(reply: WorkerReply) -> list[str]:
    values = json.loads(reply.body)
    if (
        not isinstance(values, list)
        or len(values) > MAX_COLORS
        or not all(_HEX_COLOR.fullmatch(each) for each in values)
    ):
        raise ValueError("not a palette")
    return values


def _json(reply: WorkerReply) -> Any:
    # A parsed bracket takes 20 times its size in memory, so the brackets are counted before parsing.
    if reply.body.count(b"[") + reply.body.count(b"{") > _MAX_JSON_BRACKETS:
        raise ValueError("more than a document can hold")
    return json.loads(reply.body)


def _finding(row: Any, pages: int) -> LintFinding:
    check, level, page, message = row
    if not isinstance(check, str) or check not in CHECKS or level not in LEVELS:
        raise ValueError("not a check")
    if page is not None and (type(page) is not int or not 1 <= page <= pages):
        raise ValueError("not a page of the document")
    if len(_parse_text(message)) > _MAX_MESSAGE:
        raise ValueError("not a message")
    return LintFinding(check, level, page, message)


def _parse_length(value: Any) -> float:
    number = float(value)
    if not (math.isfinite(number) and number > 0):
        raise ValueError("not a length")
    return round(min(max(number, _LENGTH_RANGE[0]), _LENGTH_RANGE[1]), 3)


def _parse_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a string")
    value.encode()  # a lone surrogate cannot be sent to a client
    return value


def _parse_angle(value: Any) -> int:
    if type(value) is not int or value not in _ANGLES:
        raise ValueError("not an angle")
    return value


def _parse_box(row: list[Any]) -> tuple[float, float, float, float]:
    x, y, w, h = (float(value) for value in row[:4])
    if not all(0 <= value <= 1 for value in (x, y, w, h)):
        raise ValueError("outside the page")
    return x, y, w, h


def _parse_target(value: dict[str, Any]) -> dict[str, str | int]:
    if "page" in value:
        page = value["page"]
        if type(page) is not int or not 1 <= page <= MAX_PAGES:
            raise ValueError("not a page")
        return {"page": page}
    url = _parse_text(value["url"])
    if len(url) > _MAX_URL or not _URL.fullmatch(url):
        raise ValueError("not a URL that readers can open")
    return {"url": url}
