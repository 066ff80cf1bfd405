"""The feedback that readers can leave on a document, and strict parsing of the bodies they send. Pure.

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
_FORBIDDEN_CHARS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class FeedbackQuota(NamedTuple):
    """The most rows of one kind: ``own`` of one viewer, ``file`` of all viewers of a file together."""

    per_viewer: int
    per_file: int


# Strangers write these: one must not fill the disk, nor make the owner's answers endless.
FEEDBACK_QUOTAS: dict[str, FeedbackQuota] = {
    "notes": FeedbackQuota(200, 5_000),
    "annotations": FeedbackQuota(500, 5_000),
    "marks": FeedbackQuota(50_000, 100_000),  # a viewer has one for each page at most anyway
    "receipts": FeedbackQuota(1_000, 5_000),  # one for each version of the document
}


@dataclass(frozen=True)
class FeedbackChannels:
    """The feedback that readers can leave now: ``notes`` (visible to all readers with ``public_notes``), ``marks`` and
    ``annotations`` on pages, and a ``receipt``."""

    notes: bool
    public_notes: bool
    marks: bool
    annotations: bool
    receipt: bool


@dataclass(frozen=True)
class NoteBody:
    """A note as it is sent; ``page`` in the reader's numbers, None for the whole document."""

    author: str
    body: str
    page: int | None
    public: bool


@dataclass(frozen=True)
class AnnotationBody:
    """An annotation as it is sent; ``page`` in the reader's numbers."""

    page: int
    rect: Rect
    note: str


def find_open_channels(settings: Mapping[str, Any], plan: Plan) -> FeedbackChannels:
    """Return the feedback that the ``settings`` of a file allow while its owner is on ``plan``.

    Pro fields are checked again when pages are served, so a downgrade ends what it no longer pays.
    """

    def stands(name: str) -> bool:
        return bool(settings.get(name)) and plan >= SETTINGS[name].plan

    notes = stands("commentsEnabled")
    return FeedbackChannels(
        notes=notes,
        public_notes=notes and stands("commentsAllowPublic"),
        marks=stands("marksEnabled"),
        annotations=stands("annotationsEnabled"),
        receipt=stands("askReceipt"),
    )


def parse_note(body: Mapping[str, Any]) -> NoteBody:
    """``{body, author, page?, public?}``. Raises ``bad_request`` naming the field."""
    page = body.get("page")
    return NoteBody(
        author=fields.text_parser(1, _AUTHOR_CHARS)("author", body.get("author")),
        body=_parse_paragraphs("body", body.get("body")),
        page=None if page is None else _parse_page("page", page),
        public=fields.parse_boolean("public", body.get("public", False)),
    )


def parse_mark(body: Mapping[str, Any]) -> str | None:
    """``{mark}``; None takes the mark away. Raises ``bad_request``."""
    if "mark" in body and body["mark"] is None:
        return None
    return fields.word_parser(*MARKS)("mark", body.get("mark"))


def parse_annotation(body: Mapping[str, Any]) -> AnnotationBody:
    """``{page, rect, note}``. Raises ``bad_request`` naming the field."""
    page = _parse_page("page", body.get("page"))
    return AnnotationBody(page, rects.parse_rect("rect", body.get("rect")), _parse_paragraphs("note", body.get("note")))


def parse_receipt(body: Mapping[str, Any]) -> str:
    """``{name}``. Raises ``bad_request``."""
    return fields.text_parser(1, _NAME_CHARS)("name", body.get("name"))


def parse_tap(body: Mapping[str, Any]) -> str | None:
    """``{"hotspot": uuid}``, or ``{"cta": true}`` for the call to action: then None. Raises ``bad_request``."""
    if body.get("cta") is True and "hotspot" not in body:
        return None
    if "cta" in body:
        raise Problem("bad_request", "A tap is of one hotspot, or of the call to action.")
    return fields.parse_uuid("hotspot", body.get("hotspot"))


def require_feedback_quota(kind: str, own: int, of_file: int) -> None:
    """Raise ``conflict`` when a viewer who has ``own`` rows of ``kind`` (a key of ``BOUNDS``), or the file that has
    ``of_file``, can have no more."""
    bound = FEEDBACK_QUOTAS[kind]
    if own >= bound.per_viewer:
        raise Problem("conflict", f"You have left {bound.per_viewer} {kind} here, which is the most.")
    if of_file >= bound.per_file:
        raise Problem("conflict", f"This document takes no more {kind}.")


def _parse_page(name: str, value: object) -> int:
    # Which pages there are depends on the reader; those that are not there answer 404 and no 400.
    if not fields.is_integer(value):
        raise fields.field_problem(name, "the number of a page")
    return value


def _parse_paragraphs(name: str, value: object) -> str:
    """A text of several lines, trimmed, kept as it was written."""
    if not isinstance(value, str):
        raise fields.field_problem(name, "a string")
    text = value.replace("\r\n", "\n").strip()
    if not 1 <= len(text) <= _TEXT_CHARS:
        raise fields.field_problem(name, f"a text of 1 to {_TEXT_CHARS} characters")
    if _FORBIDDEN_CHARS.search(text):
        raise fields.field_problem(name, "a text without control characters")
    return text
