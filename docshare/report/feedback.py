"""Feedback of readers: marks, annotations over thumbnails of the pages, notes, and receipts."""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from docshare.report import charts, words
from docshare.report.pages import Thumbnail
from docshare.report.people import DisplayTime, display_time
from docshare.report.svg import decorative_svg, element, format_length
from docshare.report.values import Row, clean_text, list_objects, read_amount, read_number, read_object

MARKS = ("pick", "maybe", "reject")
_SYMBOLS = {"pick": "✓", "maybe": "?", "reject": "✗"}


@dataclass(frozen=True)
class AnnotationEntry:
    """One annotation; ``number``: its number on the thumbnail."""

    number: int
    author: str
    note: str
    made: DisplayTime | None


@dataclass(frozen=True)
class ProofedPage:
    """One page with its feedback: thumbnail, rectangles over it, and marks as a bar and as text."""

    page: int
    picture: Thumbnail | None
    overlay: Markup
    stack: Markup | None
    marks: tuple[tuple[str, str], ...]
    remarks: tuple[AnnotationEntry, ...]


@dataclass(frozen=True)
class NoteEntry:
    """A note of a reader to the owner or to everyone: ``author`` the name they entered, ``viewer`` their identity."""

    author: str
    viewer: str
    body: str
    place: str
    public: bool
    made: DisplayTime | None


@dataclass(frozen=True)
class ReceiptEntry:
    """A reader's confirmation of receipt."""

    name: str
    viewer: str
    made: DisplayTime | None
    version: int


def list_proofed_pages(
    marks: Row | None, annotations: Row | None, pictures: Mapping[int, Thumbnail]
) -> list[ProofedPage]:
    """Return the pages that have a mark or an annotation, in order."""
    marked = {
        read_number(row.get("page")): row for row in list_objects(read_object(marks).get("pages")) if _count_marks(row)
    }
    rows = {
        read_number(row.get("page")): list_objects(row.get("annotations"))
        for row in list_objects(read_object(annotations).get("pages"))
    }
    rows = {page: found for page, found in rows.items() if found}
    return [
        _build_proofed_page(page, marked.get(page), rows.get(page, []), pictures.get(page))
        for page in sorted({*marked, *rows})
    ]


def list_proofed_numbers(marks: Row | None, annotations: Row | None) -> list[int]:
    """Return the numbers of the pages that have a mark or an annotation."""
    return [proof.page for proof in list_proofed_pages(marks, annotations, {})]


def _build_proofed_page(page: int, marks: Row | None, annotations: list[Row], picture: Thumbnail | None) -> ProofedPage:
    found = _count_marks(marks) if marks else []
    remarks = tuple(
        AnnotationEntry(
            place,
            clean_text(row.get("identity")) or "A reader",
            clean_text(row.get("note")),
            display_time(row.get("createdAt")),
        )
        for place, row in enumerate(annotations, 1)
    )
    boxes = [
        box for place, row in enumerate(annotations, 1) for box in _draw_region(place, read_object(row.get("rect")))
    ]
    return ProofedPage(
        page,
        picture,
        decorative_svg(*boxes, class_="overlay"),
        charts.draw_stack([(kind, many) for kind, many in found]) if found else None,
        tuple((kind, f"{_SYMBOLS[kind]} {words.format_count(many)} {kind}") for kind, many in found),
        remarks,
    )


def _count_marks(row: Row) -> list[tuple[str, int]]:
    return [(kind, read_number(row.get(kind))) for kind in MARKS if read_number(row.get(kind))]


def _draw_region(place: int, rect: Row) -> list[Markup]:
    """Return the rectangle of an annotation, clipped to the page, and its number."""
    x, y = min(read_amount(rect.get("x")), 1.0), min(read_amount(rect.get("y")), 1.0)
    width, height = min(read_amount(rect.get("width")), 1 - x), min(read_amount(rect.get("height")), 1 - y)
    if width <= 0 or height <= 0:
        return []
    left, top = format_length(x * 100), format_length(y * 100)
    size = {"width": format_length(width * 100), "height": format_length(height * 100)}
    return [
        element("rect", x=left, y=top, **size, rx="2", class_="region"),
        element("circle", cx=left, cy=top, r="9", class_="pin"),
        element("text", str(place), x=left, y=top, dy="0.36em", text_anchor="middle", class_="pin-word"),
    ]


def summarize_marks(marks: Row | None) -> tuple[tuple[str, str], ...]:
    """Return the total of each kind of mark: ``(kind, words)``."""
    found = read_object(read_object(marks).get("totals"))
    return tuple(
        (kind, f"{_SYMBOLS[kind]} {words.format_count(read_number(found.get(kind)))} {kind}") for kind in MARKS
    )


def list_marks_by_viewer(marks: Row | None) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """Return each reader with their marks: ``(kind, words)``."""
    rows = []
    for row in list_objects(read_object(marks).get("viewers")):
        given = [
            (kind, f"{_SYMBOLS[kind]} {words.format_pages(page, page)}")
            for mark in list_objects(row.get("marks"))
            for kind, page in [(clean_text(mark.get("mark")), read_number(mark.get("page")))]
            if kind in MARKS
        ]
        rows.append((clean_text(row.get("identity")) or "A reader", tuple(given)))
    return tuple(rows)


def list_notes(feedback: Row | None) -> list[NoteEntry]:
    """Return the notes of readers, newest first."""
    return [
        NoteEntry(
            clean_text(row.get("author")) or "A reader",
            clean_text(row.get("viewer")),
            clean_text(row.get("body")),
            f"page {words.format_count(read_number(row['pageNumber']))}" if read_number(row.get("pageNumber")) else "",
            row.get("public") is True,
            display_time(row.get("createdAt")),
        )
        for row in reversed(list_objects(read_object(feedback).get("notes")))
    ]


def list_receipts(feedback: Row | None) -> list[ReceiptEntry]:
    """Return the receipts, newest first."""
    return [
        ReceiptEntry(
            clean_text(row.get("name")) or "A reader",
            clean_text(row.get("viewer")),
            display_time(row.get("confirmedAt")),
            read_number(row.get("contentVersion")),
        )
        for row in reversed(list_objects(read_object(feedback).get("receipts")))
    ]
