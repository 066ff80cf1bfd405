"""The PDF engine as the server sees it: questions about a PDF go in, answers or refusals come out.

No PDF byte is read in this process. Questions go to confined worker processes (``pool``, ``child``, ``worker``); a
document that crashes or stalls a worker costs that worker and nothing else.
"""

import json
import logging
import math
import re
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from docshare.contract.media import detect_asset
from docshare.contract.problems import Problem
from docshare.server.pdf.admission import Hopeless, Turns
from docshare.server.pdf.child import BrokenWorkerError, LateWorkerError, Reply
from docshare.server.pdf.pool import Pool, Slot

MAX_PAGES = 50_000  # Spec gap: page cap 50,000, more is 422
PALETTE_BUDGET_S = 1.5
MAX_COLOURS = 6  # Spec gap: at most 6
_COLOUR = re.compile("#[0-9a-f]{6}")
_INSPECT_PATIENCE_S = 30.0
_WORN_S = 1.0  # a used worker that dies sooner may be worn out: its memory in pieces, or the process gone already
_log = logging.getLogger(__name__)
_T = TypeVar("_T")

_GIVEN_UP = "The PDF engine gives up on this file."
_UNLOCK_HINT = (
    "Remove the password and send the file again, for example: qpdf --decrypt --password=SECRET locked.pdf open.pdf"
)
_REFUSALS: dict[str, tuple[str, str | None]] = {
    "password": ("The PDF needs a password to be opened.", _UNLOCK_HINT),
    "protection": ("The PDF is protected in a way that cannot be opened here.", _UNLOCK_HINT),
    "pages": (f"The PDF has more than {MAX_PAGES:,} pages.", "Split the document and share its parts."),
    "pixels": ("The image has more than 40 million pixels.", "Scale it down and send it again."),
    "animated": ("The image is animated.", "Send one picture of it."),
}
_UNREADABLE: dict[str, tuple[str, str | None]] = {
    "inspect": ("The file cannot be read as a PDF.", None),
    "picture": ("The file cannot be read as an image.", "Open it in an image editor and save it again, then retry."),
}


class Unrenderable(Exception):
    """This page cannot be drawn or read.

    ``lasting`` says whether it will be the same next time (the page is broken or crashes the engine) or may be
    different (it took too long; the file is not there).
    """

    def __init__(self, reason: str, *, lasting: bool) -> None:
        super().__init__(reason)
        self.lasting = lasting


class Mark(NamedTuple):
    """A watermark: ``text`` in ASCII; ``opacity`` 0 to 1; ``density`` ``sparse``, ``normal`` or ``dense``."""

    text: str
    opacity: float
    density: str


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
    """``sizes`` holds width and height of each page in points as shown (rotation applied)."""

    total_pages: int
    sizes: list[tuple[float, float]]


@dataclass(frozen=True)
class Derivation:
    """A document to be made of another, which has ``total_pages``: its pages ``first`` to ``last`` (1-based, included),
    each with ``mark`` over it if there is one."""

    total_pages: int
    first: int
    last: int
    mark: Mark | None = None


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


class Engine:
    """Answers questions about PDF files with a few worker processes, started at the first question.

    Parameters: ``workers`` how many; ``memory_bytes`` address space of each; ``timeout_s`` wall clock of one job;
    ``recycle_after`` jobs a worker is replaced; ``max_waiting`` callers stay waiting while all workers are stuck.
    Safe to use from many threads.
    """

    def __init__(
        self,
        *,
        workers: int = 2,
        memory_bytes: int = 1 << 30,
        timeout_s: float = 10.0,
        recycle_after: int = 500,
        max_waiting: int = 2,
    ) -> None:
        self._patience_s = timeout_s
        self._turns = Turns()
        self._hopeless = Hopeless()
        self._pool = Pool(
            workers=workers,
            memory_bytes=memory_bytes,
            timeout_s=timeout_s,
            recycle_after=recycle_after,
            max_waiting=max_waiting,
        )

    def inspect(self, path: Path) -> Inspection:
        """Count the pages of the file at ``path`` and measure them.

        Raises Problem ``unprocessable`` when it needs a password, cannot be opened, has more than 50,000 pages, or
        when the engine dies or stalls on it, or did within ten minutes on the same bytes; Problem ``unavailable`` when
        no worker can be had or too many callers wait for one.
        """
        return self._judged(path, {"do": "inspect", "path": str(path), "max_pages": MAX_PAGES}, _inspection)

    def picture(self, path: Path, media_type: str) -> bytes:
        """The uploaded image at ``path``, which begins like one of ``media_type``, decoded and encoded anew.

        Raises Problem ``unprocessable`` for one that is broken, animated or larger than 40 million pixels, otherwise
        as ``inspect``.
        """

        def read(reply: Reply) -> bytes:
            if detect_asset(reply.body) != media_type:
                raise ValueError("not such an image")
            return reply.body

        return self._judged(path, {"do": "picture", "path": str(path), "type": media_type}, read)

    def _judged(self, path: Path, job: dict[str, Any], read: Callable[[Reply], _T]) -> _T:
        """What a worker finds out about an upload, a few at a time. Raises Problem as ``inspect``."""
        self._require_hope(path)
        with self._turns.taken() as turn:
            self._require_hope(path)  # the same bytes may have stalled while this caller waited
            try:
                with self._pool.taken(str(path), patience_s=_INSPECT_PATIENCE_S, sheddable=False) as slot:
                    with turn.starting():
                        self._pool.worker(slot)
                    return self._ask(slot, job, read)
            except _Refused as error:
                detail, hint = _REFUSALS.get(error.reason, _UNREADABLE[job["do"]])
                raise Problem("unprocessable", detail, hint=hint) from error
            except (BrokenWorkerError, LateWorkerError) as error:
                self._hopeless.add(path)
                raise Problem("unprocessable", _GIVEN_UP) from error

    def _require_hope(self, path: Path) -> None:
        if self._hopeless.holds(path):
            raise Problem("unprocessable", _GIVEN_UP)

    def render(self, path: Path, page: int, width: int, mark: Mark | None = None) -> bytes:
        """Draw ``page`` (1-based) of the file at ``path`` as a JPEG ``width`` pixels wide (less if over 16 MP), with
        ``mark`` over it.

        Raises Unrenderable, or Problem ``unavailable`` when no worker can be had.
        """
        with self._pool.taken(str(path), patience_s=self._patience_s, sheddable=True) as slot:
            return self._page_job(slot, _render_job(path, page, width, mark), _jpeg)

    def render_if_spare(self, path: Path, page: int, width: int, mark: Mark | None = None) -> bytes | None:
        """As ``render``, for work nobody waits for: None at once unless a worker would stay free for readers."""
        with self._pool.spare(str(path)) as slot:
            return None if slot is None else self._page_job(slot, _render_job(path, page, width, mark), _jpeg)

    def stamp(self, image: Path, mark: Mark) -> bytes:
        """The page image at ``image``, drawn before, with ``mark`` over it. Raises as ``render``."""
        with self._pool.taken(str(image), patience_s=self._patience_s, sheddable=True) as slot:
            return self._page_job(slot, {"do": "stamp", "path": str(image), "mark": mark._asdict()}, _jpeg)

    def wait_for_spare(self, timeout_s: float) -> bool:
        """Wait up to ``timeout_s`` seconds until ``render_if_spare`` would probably draw; says whether it would."""
        return self._pool.wait_for_spare(timeout_s)

    def text(self, path: Path, page: int) -> PageText:
        """Text and links of ``page`` (1-based) of the file at ``path``. Raises as ``render``."""
        with self._pool.taken(str(path), patience_s=self._patience_s, sheddable=True) as slot:
            return self._page_job(slot, {"do": "text", "path": str(path), "page": page}, _page_text)

    def derive(self, path: Path, wanted: Derivation, sink: IO[bytes]) -> None:
        """Write the PDF ``wanted`` of the file at ``path`` into the file ``sink``. Pages that are not wanted leave no
        trace in it: it is checked before it is handed over, and refused when in doubt.

        Raises as ``render``; OSError of ``sink``.
        """
        job = {"do": "derive", "path": str(path), "total": wanted.total_pages, "first": wanted.first}
        job |= {"last": wanted.last, "mark": None if wanted.mark is None else wanted.mark._asdict()}
        with self._pool.taken(str(path), patience_s=self._patience_s, sheddable=True) as slot:
            try:
                self._page_job(slot, job, partial(_pdf_in, sink), sink)
            except OSError:
                self._pool.discard(slot)  # the rest of its answer is still in the pipe
                raise
            except Unrenderable as error:
                _log.warning("a document was not cut or marked: %s", error)
                raise

    def palette(self, path: Path) -> list[str] | None:
        """The dominant colours (``#rrggbb``, at most 6) of the images on the first page of the file at ``path``.

        Never raises and takes at most ``PALETTE_BUDGET_S`` seconds: None where there are no images, where they cannot
        be read in that time, or when readers need all workers meanwhile.
        """
        ends = time.monotonic() + PALETTE_BUDGET_S
        self._pool.wait_for_spare(PALETTE_BUDGET_S)
        with self._pool.spare(str(path)) as slot:
            return None if slot is None else self._palette(slot, path, ends - time.monotonic())

    def _palette(self, slot: Slot, path: Path, budget_s: float) -> list[str] | None:
        if slot.child is None:  # starting one takes longer than a palette is worth
            return None
        job = {"do": "palette", "path": str(path), "budget_s": budget_s}
        try:
            return _checked(slot.child.ask(job, budget_s), _colours) or None
        except _Refused:
            return None
        except (BrokenWorkerError, LateWorkerError) as error:
            _log.warning("a PDF worker was ended: %s", error)
            self._pool.discard(slot)
            return None

    def pids(self) -> list[int]:
        """Process ids of the workers that run now; empty before the first question."""
        return self._pool.pids()

    def close(self) -> None:
        """End the workers; jobs in progress fail."""
        self._pool.close()

    def _page_job(
        self, slot: Slot, job: dict[str, Any], read: Callable[[Reply], _T], sink: IO[bytes] | None = None
    ) -> _T:
        try:
            return self._ask(slot, job, read, sink)
        except _Refused as error:
            raise Unrenderable(f"the page cannot be read: {error.reason}", lasting=error.reason != "missing") from error
        except LateWorkerError as error:
            raise Unrenderable("the page takes too long", lasting=False) from error
        except BrokenWorkerError as error:
            raise Unrenderable("the page crashes the engine", lasting=True) from error

    def _ask(self, slot: Slot, job: dict[str, Any], read: Callable[[Reply], _T], sink: IO[bytes] | None = None) -> _T:
        """One job on the slot's worker; one new try when the worker, not the document, may be why it died."""
        worker = self._pool.worker(slot)
        used, start = worker.jobs > 0, time.monotonic()
        try:
            return _checked(worker.ask(job, sink=sink), read)
        except LateWorkerError as error:
            self._drop(slot, error)
            raise
        except BrokenWorkerError as error:
            self._drop(slot, error)
            worn = used and time.monotonic() - start < _WORN_S
            if not (worn or worker.was_killed()):
                raise
        try:
            return _checked(self._pool.worker(slot).ask(job, sink=sink), read)
        except (BrokenWorkerError, LateWorkerError) as error:
            self._drop(slot, error)
            raise

    def _drop(self, slot: Slot, error: Exception) -> None:
        _log.warning("a PDF worker was ended: %s", error)
        self._pool.discard(slot)
        if self._pool.closed:
            raise Problem("unavailable", "The server is stopping.", headers={"Retry-After": "5"}) from error


class _Refused(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _render_job(path: Path, page: int, width: int, mark: Mark | None) -> dict[str, Any]:
    job: dict[str, Any] = {"do": "render", "path": str(path), "page": page, "width": width}
    return job if mark is None else {**job, "mark": mark._asdict()}


def _checked(reply: Reply, read: Callable[[Reply], _T]) -> _T:
    """The answer as a value, or _Refused. A worker whose answer has the wrong shape counts as broken."""
    reason = reply.header.get("error")
    if reason is not None:
        raise _Refused(str(reason))
    try:
        return read(reply)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise BrokenWorkerError("the answer has the wrong shape") from error


def _inspection(reply: Reply) -> Inspection:
    numbers = array("d", reply.body)
    sizes = [(_length(numbers[at]), _length(numbers[at + 1])) for at in range(0, len(numbers), 2)]
    if not 0 < len(sizes) <= MAX_PAGES:
        raise ValueError("wrong number of pages")
    return Inspection(len(sizes), sizes)


def _jpeg(reply: Reply) -> bytes:
    if not reply.body.startswith(b"\xff\xd8\xff"):
        raise ValueError("not a JPEG")
    return reply.body


def _pdf_in(sink: IO[bytes], _: Reply) -> None:
    sink.seek(0)
    if sink.read(5) != b"%PDF-":
        raise ValueError("not a PDF")


def _page_text(reply: Reply) -> PageText:
    values = json.loads(reply.body)
    boxes = [TextBox(*_place(box), str(box[4]), int(box[5])) for box in values["boxes"]]
    links = [LinkBox(*_place(link), _target(link[4])) for link in values["links"]]
    return PageText(_length(values["width"]), _length(values["height"]), boxes, links)


def _colours(reply: Reply) -> list[str]:
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
