"""What readers left, as JSON: for themselves on the share page, and for the owner (Page marks, Annotations)."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from docshare.contract.proofing import MARKS
from docshare.contract.wire import instant, present
from docshare.server.services.feedback.annotations import AnnotationRow
from docshare.server.services.feedback.feedback import Left, Told
from docshare.server.services.feedback.marks import MarkRow
from docshare.server.services.feedback.notes import NoteRow
from docshare.server.services.feedback.receipts import ReceiptRow
from docshare.server.services.files.hotspots import HotspotRow

# To readers


def left(found: Left) -> dict[str, Any]:
    """What a reader finds on the document; marks by page, as JSON writes keys."""
    return present(
        {
            "name": found.name,
            "notes": [note(row) for row in found.notes],
            "marks": {str(page): mark for page, mark in found.marks.items()},
            "annotations": [annotation(row) for row in found.annotations],
            "receipt": None if found.receipt is None else receipt(found.receipt),
        }
    )


def note(row: NoteRow) -> dict[str, Any]:
    """A note, on the share page."""
    return present(
        {
            "uuid": row.uuid,
            "author": row.author,
            "identity": row.identity,
            "body": row.body,
            "page": row.page,
            "public": bool(row.public),
            "mine": bool(row.mine),
            "createdAt": instant(row.created_at),
        }
    )


def annotation(row: AnnotationRow) -> dict[str, Any]:
    """An annotation, for the reader who drew it."""
    return {
        "uuid": row.uuid,
        "page": row.page,
        "rect": row.rect._asdict(),
        "note": row.note,
        "createdAt": instant(row.created_at),
    }


def receipt(row: ReceiptRow) -> dict[str, Any]:
    """A receipt, for the reader who gave it."""
    return {"name": row.name, "confirmedAt": instant(row.confirmed_at)}


def hotspot(base: str, row: HotspotRow) -> dict[str, Any]:
    """A hotspot, for the script of the page whose addresses begin with ``base``."""
    return present(
        {
            "uuid": row.uuid,
            "page": row.page,
            "rect": row.rect._asdict(),
            "label": row.label,
            "url": row.url,
            "audio": row.asset and f"{base}/assets/{row.asset}",
        }
    )


# To the owner


def page_marks(rows: Sequence[MarkRow]) -> dict[str, Any]:
    """Return the page marks of a file; ``rows`` by page. Pages without a mark are left out."""
    viewers: dict[int, dict[str, Any]] = {}
    for row in rows:
        told = viewers.setdefault(row.viewer_id, {"identity": row.identity, "marks": []})
        told["marks"].append({"page": row.page, "mark": row.mark})
    return {
        "pages": [{"page": page, **_counts(same)} for page, same in groupby(rows, lambda row: row.page)],
        "viewers": [viewers[key] for key in sorted(viewers)],
        "totals": _counts(rows),
    }


def annotations(rows: Sequence[AnnotationRow]) -> dict[str, Any]:
    """Return the annotations of a file; ``rows`` by page."""
    return {
        "pages": [
            {"page": page, "annotations": [_owners_annotation(row) for row in same]}
            for page, same in groupby(rows, lambda row: row.page)
        ]
    }


def feedback(told: Told) -> dict[str, Any]:
    """Notes and receipts."""
    return {
        "notes": [_owners_note(row) for row in told.notes],
        "receipts": [_owners_receipt(row) for row in told.receipts],
    }


def _counts(rows: Any) -> dict[str, int]:
    counted = Counter(row.mark for row in rows)
    return {mark: counted[mark] for mark in MARKS}


def _owners_annotation(row: AnnotationRow) -> dict[str, Any]:
    return {
        "uuid": row.uuid,
        "identity": row.identity,
        "rect": row.rect._asdict(),
        "note": row.note,
        "createdAt": instant(row.created_at),
    }


def _owners_note(row: NoteRow) -> dict[str, Any]:
    return present(
        {
            "uuid": row.uuid,
            "author": row.author,
            "body": row.body,
            "pageNumber": row.page,
            "public": bool(row.public),
            "viewer": row.identity,
            "createdAt": instant(row.created_at),
        }
    )


def _owners_receipt(row: ReceiptRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "viewer": row.identity,
        "confirmedAt": instant(row.confirmed_at),
        "contentVersion": row.content_version,
    }
