"""Feedback as JSON: for readers on the share page, and for the owner (page marks, annotations)."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from docshare.contract.proofing import MARKS
from docshare.contract.wire import drop_none, format_instant
from docshare.server.services.feedback.annotations import AnnotationRow
from docshare.server.services.feedback.feedback import OwnerFeedback, ReaderFeedback
from docshare.server.services.feedback.marks import MarkRow
from docshare.server.services.feedback.notes import NoteRow
from docshare.server.services.feedback.receipts import ReceiptRow
from docshare.server.services.files.hotspots import HotspotRow

# For readers


def viewer_feedback(found: ReaderFeedback) -> dict[str, Any]:
    """Return the feedback that a reader sees on the document; marks by page number as text."""
    return drop_none(
        {
            "name": found.known_name,
            "notes": [note_object(row) for row in found.notes],
            "marks": {str(page): mark for page, mark in found.marks.items()},
            "annotations": [annotation_object(row) for row in found.annotations],
            "receipt": None if found.receipt is None else receipt_object(found.receipt),
        }
    )


def note_object(row: NoteRow) -> dict[str, Any]:
    """Return a note for the share page."""
    return drop_none(
        {
            "uuid": row.uuid,
            "author": row.author,
            "identity": row.identity,
            "body": row.body,
            "page": row.page,
            "public": bool(row.public),
            "mine": bool(row.mine),
            "createdAt": format_instant(row.created_at),
        }
    )


def annotation_object(row: AnnotationRow) -> dict[str, Any]:
    """Return an annotation for the reader who created it."""
    return {
        "uuid": row.uuid,
        "page": row.page,
        "rect": row.rect._asdict(),
        "note": row.note,
        "createdAt": format_instant(row.created_at),
    }


def receipt_object(row: ReceiptRow) -> dict[str, Any]:
    """Return a receipt for the reader who gave it."""
    return {"name": row.name, "confirmedAt": format_instant(row.confirmed_at)}


def hotspot_object(base: str, row: HotspotRow) -> dict[str, Any]:
    """Return a hotspot for the script of the page whose URLs begin with ``base``."""
    return drop_none(
        {
            "uuid": row.uuid,
            "page": row.page,
            "rect": row.rect._asdict(),
            "label": row.label,
            "url": row.url,
            "audio": row.asset and f"{base}/assets/{row.asset}",
        }
    )


# For the owner


def page_marks_object(rows: Sequence[MarkRow]) -> dict[str, Any]:
    """Return the page marks of a file; ``rows`` by page. Pages without a mark are omitted."""
    viewers: dict[int, dict[str, Any]] = {}
    for row in rows:
        viewer = viewers.setdefault(row.viewer_id, {"identity": row.identity, "marks": []})
        viewer["marks"].append({"page": row.page, "mark": row.mark})
    return {
        "pages": [{"page": page, **_count_marks(same)} for page, same in groupby(rows, lambda row: row.page)],
        "viewers": [viewers[key] for key in sorted(viewers)],
        "totals": _count_marks(rows),
    }


def annotations_object(rows: Sequence[AnnotationRow]) -> dict[str, Any]:
    """Return the annotations of a file; ``rows`` by page."""
    return {
        "pages": [
            {"page": page, "annotations": [_owner_annotation(row) for row in same]}
            for page, same in groupby(rows, lambda row: row.page)
        ]
    }


def feedback_object(feedback: OwnerFeedback) -> dict[str, Any]:
    """Return notes and receipts."""
    return {
        "notes": [_owner_note(row) for row in feedback.notes],
        "receipts": [_owner_receipt(row) for row in feedback.receipts],
    }


def _count_marks(rows: Any) -> dict[str, int]:
    counted = Counter(row.mark for row in rows)
    return {mark: counted[mark] for mark in MARKS}


def _owner_annotation(row: AnnotationRow) -> dict[str, Any]:
    return {
        "uuid": row.uuid,
        "identity": row.identity,
        "rect": row.rect._asdict(),
        "note": row.note,
        "createdAt": format_instant(row.created_at),
    }


def _owner_note(row: NoteRow) -> dict[str, Any]:
    return drop_none(
        {
            "uuid": row.uuid,
            "author": row.author,
            "body": row.body,
            "pageNumber": row.page,
            "public": bool(row.public),
            "viewer": row.identity,
            "createdAt": format_instant(row.created_at),
        }
    )


def _owner_receipt(row: ReceiptRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "viewer": row.identity,
        "confirmedAt": format_instant(row.confirmed_at),
        "contentVersion": row.content_version,
    }
