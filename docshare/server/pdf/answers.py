"""Answers of the workers as values. Workers read hostile files, so nothing they say is taken unchecked."""

import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any, NamedTuple, TypeVar

from docshare.contract.lint import CHECKS, LEVELS, LintFinding
from docshare.server.pdf.child import BrokenWorkerError, WorkerReply

MAX_PAGES = 50_000  # in one document
MAX_COLORS = 6  # of a palette
REASONS = frozenset((
    "animated", "broken", "contents", "leak", "looks", "missing", "page", "pages", "password", "pixels", "protection",
    "repair",
))  # fmt: skip
"""Why a worker may refuse a job (``documents.Refused``). The log shows these reasons; any other is a broken answer."""
_MAX_BOXES = 100_000  # as many as a page may have characters
_MAX_LINKS = 2_000
_MAX_JSON_BRACKETS = 300_000  # boxes, links and their targets, and as many more in the text
_ANGLES = (0, 90, 180, 270)
_MAX_URL = 2_048
_LENGTH_RANGE = (0.1, 1_000_000.0)  # sides of a page in points; what is beyond is drawn as if it were this
_URL = re.compile(r"(?:https?://|mailto:)[^\x00-\x20\x7f<>\"\\^`{|}]+", re.IGNORECASE)
_MAX_PIXELS = 16_100_000  # 16 MP, with what rounding adds
_MIN_REDUCED_PIXELS, _MIN_REDUCED_HEIGHT = (
    15_000_000,
    16_000,
)  # a page image of so many pixels, or so tall, is less wide than was asked for
_JPEG_FRAME, _JPEG_SCAN = b"\xff\xc0", b"\xff\xda"
_JPEG_PARTS = (b"\xff\xe0", b"\xff\xdb", b"\xff\xc4", _JPEG_FRAME, _JPEG_SCAN)  # and no comment, no foreign block
_MAX_JPEG_PARTS = 64
_MAX_LISTED = 1 << 20  # pages of a document that is linted, which may have more than can be shared; pdfium has no more
_MAX_FINDINGS = 26  # of one check: 25, and one that counts the others
_MAX_MESSAGE = 1_000  # characters; an honest message quotes five texts of 80
_HEX_COLOR = re.compile("#[0-9a-f]{6}")
_T = TypeVar("_T")


class TextBox(NamedTuple):
    """One run of text on a page: position and size as fractions of the page (origin top left).

    ``angle`` is how far the text is turned, in degrees clockwise (0, 90, 180 or 270) as the page is shown.
    """

    x: float
    y: float
    w: float
    h: float
    text: str
    angle: int = 0


class LinkBox(NamedTuple):
    """One clickable place: fractions of the page, and ``{"url": str}`` or ``{"page": int}`` (1-based)."""

    x: float
    y: float
    w: float
    h: float
    target: dict[str, str | int]


@dataclass(frozen=True)
class Inspection:
    """``sizes`` holds width and height of each page in points as shown (rotation applied). ``is_slow``: the first page
    was not drawn within two seconds of processor time."""

    total_pages: int
    sizes: list[tuple[float, float]]
    is_slow: bool = False


@dataclass(frozen=True)
class PageText:
    """Text and links of one page; ``width`` and ``height`` in points as shown, boxes in reading order."""

    width: float
    height: float
    boxes: list[TextBox]
    links: list[LinkBox]

    def document(self) -> dict[str, Any]:
        """What the share page gets: ``boxes`` rows of [x, y, w, h, text] (a sixth member only where turned)."""
        boxes = [list(box) if box.angle else list(box[:5]) for box in self.boxes]
        return {
            "width": self.width,
            "height": self.height,
            "boxes": boxes,
            "links": [list(link) for link in self.links],
        }


class WorkerRefusal(Exception):
    """A worker says why it cannot do the job: ``reason`` as of ``documents.Refused``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def parse_reply(reply: WorkerReply, read: Callable[[WorkerReply], _T]) -> _T:
    """The answer as a value, or Refusal. A worker whose answer has the wrong shape counts as broken."""
    reason = reply.header.get("error")
    if isinstance(reason, str) and reason in REASONS:
        raise WorkerRefusal(reason)
    if reason is not None:
        raise BrokenWorkerError("the answer is a refusal for no known reason")
    try:
        return read(reply)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise BrokenWorkerError("the answer has the wrong shape") from error


def parse_inspection(reply: WorkerReply) -> Inspection:
    numbers = array("d", reply.body)
    sizes = [(_parse_length(numbers[at]), _parse_length(numbers[at + 1])) for at in range(0, len(numbers), 2)]
    if not 0 < len(sizes) <= MAX_PAGES:
        raise ValueError("wrong number of pages")
    return Inspection(len(sizes), sizes)


def parse_jpeg(reply: WorkerReply, width: int | None = None) -> bytes:
    """A page image, ``width`` pixels wide if that is told, or less where the page is too tall for it."""
    wide, tall = _read_jpeg_size(reply.body)
    if wide * tall > _MAX_PIXELS:
        raise ValueError("too large")
    if (
        width is not None
        and wide != width
        and not (wide < width and (tall > _MIN_REDUCED_HEIGHT or wide * tall > _MIN_REDUCED_PIXELS))
    ):
        raise ValueError("not of the size that was asked for")
    return reply.body


def _read_jpeg_size(image: bytes) -> tuple[int, int]:
    """Width and height in a JPEG of those parts alone that the workers write, from its start to its end."""
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


def lint_findings(reply: WorkerReply) -> list[LintFinding]:
    values = _json(reply)
    pages, rows = values["pages"], values["findings"]
    if type(pages) is not int or not 0 <= pages <= _MAX_LISTED or not isinstance(rows, list):
        raise ValueError("not the findings about a document")
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
    # A bracket costs 20 times its size in memory, so they are counted before they are read.
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
        raise TypeError("not a text")
    value.encode()  # half of a surrogate pair could not be sent
    return value


def _parse_angle(value: Any) -> int:
    if type(value) is not int or value not in _ANGLES:
        raise ValueError("not an angle")
    return value


def _parse_box(row: list[Any]) -> tuple[float, float, float, float]:
    x, y, w, h = (float(value) for value in row[:4])
    if not all(0 <= value <= 1 for value in (x, y, w, h)):
        raise ValueError("not a place on the page")
    return x, y, w, h


def _parse_target(value: dict[str, Any]) -> dict[str, str | int]:
    if "page" in value:
        page = value["page"]
        if type(page) is not int or not 1 <= page <= MAX_PAGES:
            raise ValueError("not a page")
        return {"page": page}
    url = _parse_text(value["url"])
    if len(url) > _MAX_URL or not _URL.fullmatch(url):
        raise ValueError("not an address for a reader")
    return {"url": url}
