"""Answers of the workers as values. Workers read hostile files, so nothing they say is taken unchecked."""

import json
import math
import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any, NamedTuple, TypeVar

from docshare.server.pdf.child import BrokenWorkerError, Reply

MAX_PAGES = 50_000  # in one document
MAX_COLOURS = 6  # of a palette
_COLOUR = re.compile("#[0-9a-f]{6}")
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


class Refusal(Exception):
    """A worker says why it cannot do the job: ``reason`` as of ``documents.Refused``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def checked(reply: Reply, read: Callable[[Reply], _T]) -> _T:
    """The answer as a value, or Refusal. A worker whose answer has the wrong shape counts as broken."""
    reason = reply.header.get("error")
    if reason is not None:
        raise Refusal(str(reason))
    try:
        return read(reply)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise BrokenWorkerError("the answer has the wrong shape") from error


def inspection(reply: Reply) -> Inspection:
    numbers = array("d", reply.body)
    sizes = [(_length(numbers[at]), _length(numbers[at + 1])) for at in range(0, len(numbers), 2)]
    if not 0 < len(sizes) <= MAX_PAGES:
        raise ValueError("wrong number of pages")
    return Inspection(len(sizes), sizes)


def jpeg(reply: Reply) -> bytes:
    if not reply.body.startswith(b"\xff\xd8\xff"):
        raise ValueError("not a JPEG")
    return reply.body


def pdf_in(sink: IO[bytes], _: Reply) -> None:
    sink.seek(0)
    if sink.read(5) != b"%PDF-":
        raise ValueError("not a PDF")


def page_text(reply: Reply) -> PageText:
    values = json.loads(reply.body)
    boxes = [TextBox(*_place(box), str(box[4]), int(box[5])) for box in values["boxes"]]
    links = [LinkBox(*_place(link), _target(link[4])) for link in values["links"]]
    return PageText(_length(values["width"]), _length(values["height"]), boxes, links)


def colours(reply: Reply) -> list[str]:
    values = json.loads(reply.body)
    if not isinstance(values, list) or len(values) > MAX_COLOURS or not all(_COLOUR.fullmatch(each) for each in values):
        raise ValueError("not a palette")
    return values


def _length(value: Any) -> float:
    number = float(value)
    if not (math.isfinite(number) and number > 0):
        raise ValueError("not a length")
    return round(number, 3)


def _place(row: list[Any]) -> tuple[float, float, float, float]:
    x, y, w, h = (float(value) for value in row[:4])
    if not all(0 <= value <= 1 for value in (x, y, w, h)):
        raise ValueError("not a place on the page")
    return x, y, w, h


def _target(value: dict[str, Any]) -> dict[str, str | int]:
    return {"page": int(value["page"])} if "page" in value else {"url": str(value["url"])}
