"""Store and list page marks: the pages that a reader picks, rejects or is not sure about."""

from collections.abc import Mapping
from typing import Any

from docshare.server.rules import feedback as rules
from docshare.server.runtime import Runtime
from docshare.server.services.readership import readers
from docshare.server.services.readership.readers import ReaderContext
from docshare.server.services.readership.viewers import ViewerRow
from docshare.server.store.tables import feedback
from docshare.server.store.tables.feedback import MarkRow as MarkRow


def set_mark(rt: Runtime, reader: ReaderContext, page: int, body: Mapping[str, Any]) -> str | None:
    """Set or remove the mark in ``body`` on the reader's ``page``; return the token for a browser that had none.

    Raises ``forbidden`` (owner, marks are off, removal by a reader who left nothing), ``bad_request``,
    ``not_found`` (the page), ``conflict`` (the document changed, or the limit is reached).
    """
    readers.require_channel(rt, reader, "marks")
    mark, number = rules.parse_mark(body), readers.to_document_page(reader, page)
    if mark is None:
        _remove_mark(rt, reader, number)
        return None
    now, file = rt.clock(), reader.link.file
    with rt.db.write(file.owner_id):
        viewer, token = readers.ensure_viewer(rt, reader)
        if not feedback.update_mark(rt.db, viewer.id, number, mark, file.content_version, now):
            readers.require_feedback_quota(rt, reader, viewer, "marks")
            feedback.insert_mark(rt.db, file.id, viewer.id, number, mark, file.content_version, now)
        readers.record_proofing(rt, reader, viewer, "mark", number, now)
    return token


def list_own(rt: Runtime, reader: ReaderContext, viewer: ViewerRow | None) -> dict[int, str]:
    """Return the marks of ``viewer`` by the reader's page number, without those on hidden pages."""
    if viewer is None or not readers.find_open_channels(rt, reader.link).marks:
        return {}
    stored = feedback.list_marks_of_viewer(rt.db, viewer.id)
    numbered = ((reader.window.to_reader_page(page), mark) for page, mark in stored)
    return {page: mark for page, mark in numbered if page is not None}


def list_by_file(rt: Runtime, file_id: int) -> list[MarkRow]:
    """Return all marks of a file by page, in the document's numbers."""
    return feedback.list_marks(rt.db, file_id)


def _remove_mark(rt: Runtime, reader: ReaderContext, page: int) -> None:
    viewer = readers.require_viewer(rt, reader)
    with rt.db.write(reader.link.file.owner_id):
        feedback.delete_mark(rt.db, viewer.id, page)
