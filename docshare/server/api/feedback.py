"""Feedback of readers on a file, for its owner."""

from flask import Response

from docshare.contract.proofing import ANNOTATION_COLUMNS, MARK_COLUMNS
from docshare.contract.wire import format_instant
from docshare.server.api import answers, csv_answers
from docshare.server.api.represent import feedback as represent_feedback
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.feedback import feedback


def list_page_marks(caller: Caller, name: str) -> Response:
    """``GET /files/{id}/page-marks``: list marks by page and by viewer; ``format=csv`` has one row per mark."""
    rows = feedback.list_marks(current_runtime(), caller, name)
    if not csv_answers.is_csv_requested():
        return answers.json_response(represent_feedback.page_marks_object(rows))
    cells = ((row.page, row.mark, row.identity, format_instant(row.marked_at)) for row in rows)
    return csv_answers.csv_response(f"page-marks-{name}.csv", MARK_COLUMNS, cells)


def list_annotations(caller: Caller, name: str) -> Response:
    """``GET /files/{id}/annotations``: list annotations by page; ``format=csv`` has one row per annotation."""
    rows = feedback.list_annotations(current_runtime(), caller, name)
    if not csv_answers.is_csv_requested():
        return answers.json_response(represent_feedback.annotations_object(rows))
    cells = ((row.page, row.uuid, row.identity, *row.rect, row.note, format_instant(row.created_at)) for row in rows)
    return csv_answers.csv_response(f"annotations-{name}.csv", ANNOTATION_COLUMNS, cells)


def show_feedback(caller: Caller, name: str) -> Response:
    """``GET /files/{id}/feedback``: list notes, private ones too, and receipts, oldest first."""
    return answers.json_response(
        represent_feedback.feedback_object(feedback.load_for_owner(current_runtime(), caller, name))
    )
