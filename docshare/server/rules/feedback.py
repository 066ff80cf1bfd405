"""What readers may leave on a document: what of it stands now, and the bodies they send, read strictly. Pure.

All bounds.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from docshare.contract import fields
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.proofing import MARKS
from docshare.contract.settings import SETTINGS
from docshare.server.rules import rects
from docshare.server.rules.rects import Rect

_AUTHOR_CHARS = 80
_NAME_CHARS = 120
_TEXT_CHARS = 2_000
_NOT_IN_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Bound(NamedTuple):
    """The most rows of one kind: ``own`` of one viewer, ``file`` of all viewers of a file together."""

    own: int
    file: int


# Strangers write these: one must not fill the disk, nor make the owner's answers endless.
BOUNDS: dict[str, Bound] = {
    "notes": Bound(200, 5_000),
    "annotations": Bound(500, 5_000),
    "marks": Bound(50_000, 100_000),  # a viewer has one for each page at most anyway
    "receipts": Bound(1_000, 5_000),  # one for each version of the document
}


@dataclass(frozen=True)
class Offer:
    """What readers can leave now: ``notes``, for everybody to see where ``public_notes`` stands too, ``marks`` and
    ``annotations`` on pages, and a ``receipt``."""

    notes: bool
    public_notes: bool
    marks: bool
    annotations: bool
    receipt: bool


@dataclass(frozen=True)
class Note:
    """A note as it is sent; ``page`` in the reader's numbers, None for the whole document."""

    author: str
    body: str
    page: int | None
    public: bool


@dataclass(frozen=True)
class Annotation:
    """An annotation as it is sent; ``page`` in the reader's numbers."""

    page: int
    rect: Rect
    note: str


def offer(settings: Mapping[str, Any], plan: Plan) -> Offer:
    """What stands of the ``settings`` of a file whose owner is on ``plan`` at this moment.

    Pro fields are checked again when pages are served, so a downgrade ends what it no longer pays.
    """

    def stands(name: str) -> bool:
        return bool(settings.get(name)) and plan >= SETTINGS[name].plan

    notes = stands("commentsEnabled")
    return Offer(
        notes=notes,
        public_notes=notes and stands("commentsAllowPublic"),
        marks=stands("marksEnabled"),
        annotations=stands("annotationsEnabled"),
        receipt=stands("askReceipt"),
    )


def read_note(body: Mapping[str, Any]) -> Note:
    """``{body, author, page?, public?}``. Raises ``bad_request`` naming the field."""
    page = body.get("page")
    return Note(
        author=fields.text(1, _AUTHOR_CHARS)("author", body.get("author")),
        body=_paragraphs("body", body.get("body")),
        page=None if page is None else _page("page", page),
        public=fields.boolean("public", body.get("public", False)),
    )


def read_mark(body: Mapping[str, Any]) -> str | None:
    """``{mark}``; None takes the mark away. Raises ``bad_request``."""
    if "mark" in body and body["mark"] is None:
        return None
    return fields.word(*MARKS)("mark", body.get("mark"))


def read_annotation(body: Mapping[str, Any]) -> Annotation:
    """``{page, rect, note}``. Raises ``bad_request`` naming the field."""
    page = _page("page", body.get("page"))
    return Annotation(page, rects.read("rect", body.get("rect")), _paragraphs("note", body.get("note")))


def read_receipt(body: Mapping[str, Any]) -> str:
    """``{name}``. Raises ``bad_request``."""
    return fields.text(1, _NAME_CHARS)("name", body.get("name"))


def read_tap(body: Mapping[str, Any]) -> str | None:
    """``{"hotspot": uuid}``, or ``{"cta": true}`` for the call to action: then None. Raises ``bad_request``."""
    if body.get("cta") is True and "hotspot" not in body:
        return None
    if "cta" in body:
        raise Problem("bad_request", "A tap is of one hotspot, or of the call to action.")
    return fields.uuid("hotspot", body.get("hotspot"))


def require_room(kind: str, own: int, of_file: int) -> None:
    """Raise ``conflict`` when a viewer who has ``own`` rows of ``kind`` (a key of ``BOUNDS``), or the file that has
    ``of_file``, can have no more."""
    bound = BOUNDS[kind]
    if own >= bound.own:
        raise Problem("conflict", f"You have left {bound.own} {kind} here, which is the most.")
    if of_file >= bound.file:
        raise Problem("conflict", f"This document takes no more {kind}.")


def _page(name: str, value: object) -> int:
    # Which pages there are depends on the reader; those that are not there answer 404 and no 400.
    if not fields.is_integer(value):
        raise fields.refusal(name, "the number of a page")
    return value


def _paragraphs(name: str, value: object) -> str:
    """A text of several lines, trimmed, kept as it was written."""
    if not isinstance(value, str):
        raise fields.refusal(name, "a string")
    text = value.replace("\r\n", "\n").strip()
    if not 1 <= len(text) <= _TEXT_CHARS:
        raise fields.refusal(name, f"a text of 1 to {_TEXT_CHARS} characters")
    if _NOT_IN_TEXT.search(text):
        raise fields.refusal(name, "a text without control characters")
    return text
