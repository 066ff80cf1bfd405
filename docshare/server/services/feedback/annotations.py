"""Store and list annotations: rectangles that readers draw on a page, with a note."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from docshare.server.rules import feedback as rules
from docshare.server.rules import rects
from docshare.server.rules.rects import Rect
from docshare.server.runtime import Runtime
from docshare.server.services.readership import readers, viewers
from docshare.server.services.readership.readers import ReaderContext
from docshare.server.services.readership.viewers import ViewerRow
from docshare.server.store.tables import feedback


class AnnotationRow(NamedTuple):
    """One annotation. ``page`` in the numbers of the person it is listed for; ``identity`` of its author;
    ``created_at`` in milliseconds."""

    uuid: str
    page: int
    rect: Rect
    note: str
    identity: str
    created_at: int


def add(rt: Runtime, reader: ReaderContext, body: Mapping[str, Any]) -> tuple[AnnotationRow, str | None]:
    """Store the annotation in ``body``; return it, and the token for a browser that had none.

    Raises ``forbidden`` (owner, annotations are off), ``bad_request``, ``not_found`` (the page), ``conflict`` (the
    document changed, or the limit is reached).
    """
    readers.require_channel(rt, reader, "annotations")
    sent = rules.parse_annotation(body)
    page = readers.to_document_page(reader, sent.page)
    now, link = rt.clock(), reader.link
    with rt.db.write(link.file.owner_id):
        viewer, token = readers.ensure_viewer(rt, reader)
        readers.require_feedback_quota(rt, reader, viewer, "annotations")
        row = AnnotationRow(rt.random_uuid(), sent.page, sent.rect, sent.note, viewers.identity(viewer, link), now)
        feedback.insert_annotation(
            rt.db,
            row.uuid,
            link.file.id,
            viewer.id,
            content_version=link.file.content_version,
            page=page,
            rect=row.rect.to_json,
            note=row.note,
            now=now,
        )
        readers.record_proofing(rt, reader, viewer, "annotation", page, now)
    return row, token


def remove(rt: Runtime, reader: ReaderContext, uuid: str) -> None:
    """Delete the reader's own annotation ``uuid``. Raises like ``readers.delete_own``."""
    readers.delete_own(rt, reader, "annotations", uuid)


def list_own(rt: Runtime, reader: ReaderContext, viewer: ViewerRow | None) -> list[AnnotationRow]:
    """Return the annotations of ``viewer``, oldest first, in the reader's page numbers, without those on hidden
    pages."""
    if viewer is None or not readers.find_open_channels(rt, reader.link).annotations:
        return []
    rows = [_parse_row(found) for found in feedback.list_annotations_of_viewer(rt.db, viewer.id)]
    numbered = ((row, reader.window.to_reader_page(row.page)) for row in rows)
    return [row._replace(page=page) for row, page in numbered if page is not None]


def list_by_file(rt: Runtime, file_id: int) -> list[AnnotationRow]:
    """Return all annotations of a file by page, then oldest first, in the document's page numbers."""
    return [_parse_row(found) for found in feedback.list_annotations(rt.db, file_id)]


def _parse_row(found: tuple[Any, ...]) -> AnnotationRow:
    row = AnnotationRow._make(found)
    return row._replace(rect=rects.parse_stored_rect(found[2]))
