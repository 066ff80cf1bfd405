"""Annotations: rectangles that readers draw on a page, with a note."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from docshare.server.rules import feedback as rules
from docshare.server.rules import rects
from docshare.server.rules.rects import Rect
from docshare.server.runtime import Runtime
from docshare.server.services.readership import readers, viewers
from docshare.server.services.readership.readers import IDENTITY, JOIN_VIEWER, ON_EXISTING_PAGE, ReaderContext
from docshare.server.services.readership.viewers import ViewerRow


class AnnotationRow(NamedTuple):
    """One annotation. ``page`` in the numbers of whoever it is drawn for; ``identity`` of who drew it; ``created_at``
    ms."""

    uuid: str
    page: int
    rect: Rect
    note: str
    identity: str
    created_at: int


_SELECT = f"SELECT r.uuid, r.page, r.rect, r.note, {IDENTITY}, r.created_at FROM annotations r {JOIN_VIEWER}"  # noqa: S608 - fixed
_OF_FILE = f"{_SELECT} WHERE r.file_id = ? AND {ON_EXISTING_PAGE} ORDER BY r.page, r.id"
_OWN = f"{_SELECT} WHERE r.viewer_id = ? ORDER BY r.id"
_ADD = (
    "INSERT INTO annotations (uuid, file_id, viewer_id, content_version, page, rect, note, created_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


def add(rt: Runtime, reader: ReaderContext, body: Mapping[str, Any]) -> tuple[AnnotationRow, str | None]:
    """Keep the annotation in ``body``: the annotation, and the token for a browser that had none.

    Raises ``forbidden`` (owner, annotations are off), ``bad_request``, ``not_found`` (the page), ``conflict`` (the
    document changed, or no room).
    """
    readers.require_channel(rt, reader, "annotations")
    sent = rules.parse_annotation(body)
    page = readers.to_document_page(reader, sent.page)
    now, link = rt.clock(), reader.link
    with rt.db.write():
        viewer, token = readers.ensure_viewer(rt, reader)
        readers.require_feedback_quota(rt, reader, viewer, "annotations")
        row = AnnotationRow(rt.uuid(), sent.page, sent.rect, sent.note, viewers.identity(viewer, link), now)
        place = (link.file.id, viewer.id, link.file.content_version, page)
        rt.db.execute(_ADD, (row.uuid, *place, row.rect.stored, row.note, now))
        readers.record_proofing(rt, reader, viewer, "annotation", page, now)
    return row, token


def remove(rt: Runtime, reader: ReaderContext, uuid: str) -> None:
    """Delete the reader's own annotation ``uuid``. Raises as ``readers.take_back``."""
    readers.delete_own(rt, reader, "annotations", uuid)


def list_own(rt: Runtime, reader: ReaderContext, viewer: ViewerRow | None) -> list[AnnotationRow]:
    """The annotations of ``viewer``, oldest first, in the reader's page numbers, without those on hidden pages."""
    if viewer is None or not readers.find_open_channels(rt, reader.link).annotations:
        return []
    found = [_parse_row(row) for row in rt.db.rows(_OWN, (viewer.id,))]
    shown = ((row, reader.window.of_reader(row.page)) for row in found)
    return [row._replace(page=page) for row, page in shown if page is not None]


def list_by_file(rt: Runtime, file_id: int) -> list[AnnotationRow]:
    """All annotations of a file by page, then oldest first, in the document's page numbers."""
    return [_parse_row(row) for row in rt.db.rows(_OF_FILE, (file_id,))]


def _parse_row(found: tuple[Any, ...]) -> AnnotationRow:
    row = AnnotationRow._make(found)
    return row._replace(rect=rects.parse_stored_rect(found[2]))
