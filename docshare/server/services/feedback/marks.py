"""Page marks: what each reader picks, rejects or is not sure about."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from docshare.server.rules import feedback as rules
from docshare.server.runtime import Runtime
from docshare.server.services.readership import readers
from docshare.server.services.readership.readers import IDENTITY, JOIN_VIEWER, ON_EXISTING_PAGE, ReaderContext
from docshare.server.services.readership.viewers import ViewerRow


class MarkRow(NamedTuple):
    """One mark. ``viewer_id`` tells viewers apart whose ``identity`` is the same; ``marked_at`` ms."""

    viewer_id: int
    identity: str
    page: int
    mark: str
    marked_at: int


_OF_FILE = (
    f"SELECT r.viewer_id, {IDENTITY}, r.page, r.mark, r.marked_at FROM marks r {JOIN_VIEWER} "  # noqa: S608 - fixed
    f"WHERE r.file_id = ? AND {ON_EXISTING_PAGE} ORDER BY r.page, r.viewer_id"
)
_OWN = "SELECT page, mark FROM marks WHERE viewer_id = ? ORDER BY page"
_CHANGE = "UPDATE marks SET mark = ?, content_version = ?, marked_at = ? WHERE viewer_id = ? AND page = ?"
_ADD = "INSERT INTO marks (mark, content_version, marked_at, viewer_id, page, file_id) VALUES (?, ?, ?, ?, ?, ?)"
_REMOVE = "DELETE FROM marks WHERE viewer_id = ? AND page = ?"


def set_mark(rt: Runtime, reader: ReaderContext, page: int, body: Mapping[str, Any]) -> str | None:
    """Mark the reader's ``page`` as ``body`` says; returns the token for a browser that had none.

    Raises ``forbidden`` (owner, marks are off, none of theirs is known), ``bad_request``, ``not_found`` (the page),
    ``conflict`` (the document changed, or no room).
    """
    readers.require_channel(rt, reader, "marks")
    mark, number = rules.parse_mark(body), readers.to_document_page(reader, page)
    if mark is None:
        _remove_mark(rt, reader, number)
        return None
    now, file = rt.clock(), reader.link.file
    with rt.db.write():
        viewer, token = readers.ensure_viewer(rt, reader)
        row = (mark, file.content_version, now, viewer.id, number)
        if rt.db.execute(_CHANGE, row) == 0:
            readers.require_feedback_quota(rt, reader, viewer, "marks")
            rt.db.execute(_ADD, (*row, file.id))
        readers.record_proofing(rt, reader, viewer, "mark", number, now)
    return token


def list_own(rt: Runtime, reader: ReaderContext, viewer: ViewerRow | None) -> dict[int, str]:
    """The marks of ``viewer`` by the reader's page number, without those on hidden pages."""
    if viewer is None or not readers.find_open_channels(rt, reader.link).marks:
        return {}
    shown = ((reader.window.of_reader(page), mark) for page, mark in rt.db.rows(_OWN, (viewer.id,)))
    return {page: mark for page, mark in shown if page is not None}


def list_by_file(rt: Runtime, file_id: int) -> list[MarkRow]:
    """All marks of a file by page, in the document's numbers."""
    return [MarkRow._make(row) for row in rt.db.rows(_OF_FILE, (file_id,))]


def _remove_mark(rt: Runtime, reader: ReaderContext, page: int) -> None:
    viewer = readers.require_viewer(rt, reader)
    with rt.db.write():
        rt.db.execute(_REMOVE, (viewer.id, page))
