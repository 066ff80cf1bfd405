"""Feedback of readers: marks, annotations over thumbnails of the pages, notes, and receipts."""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from docshare.report import charts, words
from docshare.report.pages import Picture
from docshare.report.people import Moment, when
from docshare.report.svg import element, ornament, percent
from docshare.report.values import Row, amount, block, number, rows, text

MARKS = ("pick", "maybe", "reject")
_LETTERS = {"pick": "✓", "maybe": "?", "reject": "✗"}


@dataclass(frozen=True)
class Remark:
    """One annotation; ``number``: its number on the thumbnail."""

    number: int
    author: str
    note: str
    made: Moment | None


@dataclass(frozen=True)
class Proof:
    """One page with its feedback: thumbnail, rectangles over it, and marks as a bar and as text."""

    page: int
    picture: Picture | None
    overlay: Markup
    stack: Markup | None
    marks: tuple[tuple[str, str], ...]
    remarks: tuple[Remark, ...]


@dataclass(frozen=True)
class Note:
    """A note of a reader to the owner or to everyone: ``author`` the name they entered, ``viewer`` their identity."""

    author: str
    viewer: str
    body: str
    place: str
    public: bool
    made: Moment | None


@dataclass(frozen=True)
class Receipt:
    """A reader's confirmation of receipt."""

    name: str
    viewer: str
    made: Moment | None
    version: int


def proofs(marks: Row | None, annotations: Row | None, pictures: Mapping[int, Picture]) -> list[Proof]:
    """Return the pages that have a mark or an annotation, in order."""
    marked = {number(row.get("page")): row for row in rows(block(marks).get("pages")) if _marks(row)}
    told = {number(row.get("page")): rows(row.get("annotations")) for row in rows(block(annotations).get("pages"))}
    told = {page: found for page, found in told.items() if found}
    return [_proof(page, marked.get(page), told.get(page, []), pictures.get(page)) for page in sorted({*marked, *told})]


def proofed_pages(marks: Row | None, annotations: Row | None) -> list[int]:
    """Return the numbers of the pages that have a mark or an annotation."""
    return [proof.page for proof in proofs(marks, annotations, {})]


def _proof(page: int, marks: Row | None, told: list[Row], picture: Picture | None) -> Proof:
    found = _marks(marks) if marks else []
    remarks = tuple(
        Remark(place, text(row.get("identity")) or "A reader", text(row.get("note")), when(row.get("createdAt")))
        for place, row in enumerate(told, 1)
    )
    boxes = [box for place, row in enumerate(told, 1) for box in _box(place, block(row.get("rect")))]
    return Proof(
        page,
        picture,
        ornament(*boxes, class_="overlay"),
        charts.stack([(kind, many) for kind, many in found]) if found else None,
        tuple((kind, f"{_LETTERS[kind]} {words.count(many)} {kind}") for kind, many in found),
        remarks,
    )


def _marks(row: Row) -> list[tuple[str, int]]:
    return [(kind, number(row.get(kind))) for kind in MARKS if number(row.get(kind))]


def _box(place: int, rect: Row) -> list[Markup]:
    """Return the rectangle of an annotation, clipped to the page, and its number."""
    x, y = min(amount(rect.get("x")), 1.0), min(amount(rect.get("y")), 1.0)
    width, height = min(amount(rect.get("width")), 1 - x), min(amount(rect.get("height")), 1 - y)
    if width <= 0 or height <= 0:
        return []
    left, top = percent(x * 100), percent(y * 100)
    size = {"width": percent(width * 100), "height": percent(height * 100)}
    return [
        element("rect", x=left, y=top, **size, rx="2", class_="region"),
        element("circle", cx=left, cy=top, r="9", class_="pin"),
        element("text", str(place), x=left, y=top, dy="0.36em", text_anchor="middle", class_="pin-word"),
    ]


def totals(marks: Row | None) -> tuple[tuple[str, str], ...]:
    """Return the total of each kind of mark: ``(kind, words)``."""
    found = block(block(marks).get("totals"))
    return tuple((kind, f"{_LETTERS[kind]} {words.count(number(found.get(kind)))} {kind}") for kind in MARKS)


def who_marked(marks: Row | None) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """Return each reader with their marks: ``(kind, words)``."""
    told = []
    for row in rows(block(marks).get("viewers")):
        given = [
            (kind, f"{_LETTERS[kind]} {words.pages(page, page)}")
            for mark in rows(row.get("marks"))
            for kind, page in [(text(mark.get("mark")), number(mark.get("page")))]
            if kind in MARKS
        ]
        told.append((text(row.get("identity")) or "A reader", tuple(given)))
    return tuple(told)


def notes(feedback: Row | None) -> list[Note]:
    """Return the notes of readers, newest first."""
    return [
        Note(
            text(row.get("author")) or "A reader",
            text(row.get("viewer")),
            text(row.get("body")),
            f"page {words.count(number(row['pageNumber']))}" if number(row.get("pageNumber")) else "",
            row.get("public") is True,
            when(row.get("createdAt")),
        )
        for row in reversed(rows(block(feedback).get("notes")))
    ]


def receipts(feedback: Row | None) -> list[Receipt]:
    """Return the receipts, newest first."""
    return [
        Receipt(
            text(row.get("name")) or "A reader",
            text(row.get("viewer")),
            when(row.get("confirmedAt")),
            number(row.get("contentVersion")),
        )
        for row in reversed(rows(block(feedback).get("receipts")))
    ]
