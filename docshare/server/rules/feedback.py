"""The feedback that readers can leave on a document, and strict parsing of the bodies they send. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True)
class FeedbackQuota:
    """The maximum number of rows of one kind: ``per_viewer`` of one viewer, ``per_file`` of all viewers of a file
    together."""

    per_viewer: int
    per_file: int


# Feedback comes from strangers, who must not be able to fill the disk or make the owner's responses too large.
FEEDBACK_QUOTAS: dict[str, FeedbackQuota] = {
    "notes": FeedbackQuota(200, 5_000),
    "annotations": FeedbackQuota(500, 5_000),
    "marks": FeedbackQuota(50_000, 100_000),  # a viewer has at most one for each page anyway
    "receipts": FeedbackQuota(1_000, 5_000),  # one for each version of the document
}


@dataclass(frozen=True)
class FeedbackChannels:
    """The feedback that readers can leave now: ``notes`` (visible to all readers with ``public_notes``), ``marks``
    and ``annotations`` on pages, and a ``receipt``."""

    notes: bool
    public_notes: bool
    marks: bool
    annotations: bool
    receipt: bool


@dataclass(frozen=True)
class NoteBody:
    """A note as submitted; ``page`` in the reader's numbers, None for the whole document."""

    author: str
    body: str
    page: int | None
    public: bool


@dataclass(frozen=True)
class AnnotationBody:
    """An annotation as submitted; ``page`` in the reader's numbers."""

    page: int
    rect: Rect
    note: str


def find_open_channels(settings: Mapping[str, Any], plan: Plan) -> FeedbackChannels:
    """Return the feedback that the ``settings`` of a file allow while its owner is on ``plan``.

    Pro features are checked again when pages are served, so a downgrade switches them off.
    """

    def is_open(name: str) -> bool:
        return bool(settings.get(name)) and plan >= SETTINGS[name].plan

    notes = is_open("commentsEnabled")
    return FeedbackChannels(
        notes=notes,
        public_notes=notes and is_open("commentsAllowPublic"),
        marks=is_open("marksEnabled"),
        annotations=is_open("annotationsEnabled"),
        receipt=is_open("askReceipt"),
    )


def parse_note(body: Mapping[str, Any]) -> NoteBody:
    """Parse ``{body, author, page?, public?}``. Raises ``bad_request`` naming the field."""
    page = body.get("page")
    return NoteBody(
        author=fields.text_parser(1, _AUTHOR_CHARS)("author", body.get("author")),
        body=_parse_paragraphs("body", body.get("body")),
        page=None if page is None else _parse_page("page", page),
        public=fields.parse_boolean("public", body.get("public", False)),
    )


def parse_mark(body: Mapping[str, Any]) -> str | None:
    """Parse ``{mark}``; None removes the mark. Raises ``bad_request``."""
    if "mark" in body and body["mark"] is None:
        return None
    return fields.word_parser(*MARKS)("mark", body.get("mark"))


def parse_annotation(body: Mapping[str, Any]) -> AnnotationBody:
    """Parse ``{page, rect, note}``. Raises ``bad_request`` naming the field."""
    page = _parse_page("page", body.get("page"))
    return AnnotationBody(page, rects.parse_rect("rect", body.get("rect")), _parse_paragraphs("note", body.get("note")))


def parse_receipt(body: Mapping[str, Any]) -> str:
    """Parse ``{name}``. Raises ``bad_request``."""
    return fields.text_parser(1, _NAME_CHARS)("name", body.get("name"))


def parse_tap(body: Mapping[str, Any]) -> str | None:
    """Parse ``{"hotspot": uuid}``, or ``{"cta": true}`` for the call to action (returns None). Raises
    ``bad_request``."""
    if body.get("cta") is True and "hotspot" not in body:
        return None
    if "cta" in body:
        raise Problem("bad_request", "A tap must name either one hotspot or the call to action.")
    return fields.parse_uuid("hotspot", body.get("hotspot"))


def require_feedback_quota(kind: str, own: int, of_file: int) -> None:
    """Raise ``conflict`` if a viewer with ``own`` rows of ``kind`` (a key of ``FEEDBACK_QUOTAS``), or the file with
    ``of_file`` rows, can have no more."""
    bound = FEEDBACK_QUOTAS[kind]
    if own >= bound.per_viewer:
        raise Problem(
            "conflict", f"You have left {bound.per_viewer} {kind} on this document, the maximum for a reader."
        )
    if of_file >= bound.per_file:
        raise Problem("conflict", f"This document does not accept more {kind}.")


def _parse_page(name: str, value: object) -> int:
    # Which pages exist depends on the reader; a page that does not exist is a 404, not a 400.
    if not fields.is_integer(value):
        raise fields.field_problem(name, "the number of a page")
    return value


def _parse_paragraphs(name: str, value: object) -> str:
    """Parse a text of several lines; only leading and trailing whitespace is removed."""
    if not isinstance(value, str):
        raise fields.field_problem(name, "a string")
    text = value.replace("\r\n", "\n").strip()
    if not 1 <= len(text) <= _TEXT_CHARS:
        raise fields.field_problem(name, f"a string of 1 to {_TEXT_CHARS} characters")
    if _FORBIDDEN_CHARS.search(text):
        raise fields.field_problem(name, "a string without control characters")
    return text
