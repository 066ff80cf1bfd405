"""What readers left on a file, for its owner."""

from flask import Response

from docshare.contract.proofing import ANNOTATION_COLUMNS, MARK_COLUMNS
from docshare.contract.wire import instant
from docshare.server.api import answers, sheets
from docshare.server.api.represent import feedback as represent_feedback
from docshare.server.http.views import rt
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.feedback import feedback


def page_marks(caller: Caller, name: str) -> Response:
    """``GET /files/{id}/page-marks``: by page and by viewer; ``format=csv`` one row a mark."""
    rows = feedback.marks_of(rt(), caller, name)
    if not sheets.wanted():
        return answers.json(represent_feedback.page_marks(rows))
    cells = ((row.page, row.mark, row.identity, instant(row.marked_at)) for row in rows)
    return sheets.answer(f"page-marks-{name}.csv", MARK_COLUMNS, cells)


def annotations(caller: Caller, name: str) -> Response:
    """``GET /files/{id}/annotations``: by page; ``format=csv`` one row an annotation."""
    rows = feedback.annotations_of(rt(), caller, name)
    if not sheets.wanted():
        return answers.json(represent_feedback.annotations(rows))
    cells = ((row.page, row.uuid, row.identity, *row.rect, row.note, instant(row.created_at)) for row in rows)
    return sheets.answer(f"annotations-{name}.csv", ANNOTATION_COLUMNS, cells)


def told(caller: Caller, name: str) -> Response:
    """``GET /files/{id}/feedback``: notes, private ones too, and receipts, oldest first."""
    return answers.json(represent_feedback.feedback(feedback.told(rt(), caller, name)))
