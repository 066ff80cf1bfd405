"""Notes of readers on a document or one of its pages: for the owner, or for every reader (Events, ``note.created``)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from docshare.contract.problems import Problem
from docshare.contract.wire import drop_none
from docshare.server.rules import feedback as rules
from docshare.server.runtime import Runtime
from docshare.server.services.events import activity
from docshare.server.services.operations import notices
from docshare.server.services.operations.notices import MailedNote
from docshare.server.services.readership import readers, viewers
from docshare.server.services.readership.readers import IDENTITY, JOIN_VIEWER, ON_EXISTING_PAGE, ReaderContext
from docshare.server.services.readership.viewers import ViewerRow

_MAX_SHOWN = 1_000  # the newest; a page does not grow for ever


class NoteRow(NamedTuple):
    """A note. ``page`` in the numbers of whoever it is drawn for, None: about the whole document; ``public`` and
    ``mine`` 1 or 0; ``identity`` of who left it for the owner, None for readers and where nobody is known;
    ``created_at`` ms."""

    uuid: str
    author: str
    body: str
    page: int | None
    public: int
    mine: int
    identity: str | None
    created_at: int


_SELECT = (
    f"SELECT r.uuid, r.author, r.body, r.page, r.public, r.viewer_id IS ?, {IDENTITY}, r.created_at "  # noqa: S608 - fixed
    f"FROM notes r {JOIN_VIEWER} WHERE r.file_id = ? AND (r.page IS NULL OR {ON_EXISTING_PAGE})"
)
_VISIBLE = f"{_SELECT} AND (r.viewer_id = ? OR r.public >= ?) ORDER BY r.id DESC LIMIT {_MAX_SHOWN}"
_ALL = f"{_SELECT} ORDER BY r.id"
_ADD = (
    "INSERT INTO notes (uuid, file_id, page, author, body, public, viewer_id, created_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_PRIVATE, _PUBLIC, _NONE = 0, 1, 2  # of ``public``: the least that is shown besides one's own


def add(rt: Runtime, reader: ReaderContext, body: Mapping[str, Any]) -> tuple[NoteRow, str | None]:
    """Keep the note in ``body``: the note, and the token for a browser that had none.

    Raises ``forbidden`` (owner, notes or public notes are off), ``bad_request``, ``not_found`` (the page),
    ``conflict`` (the document changed, or no room).
    """
    offer = readers.require_channel(rt, reader, "notes")
    note = rules.parse_note(body)
    if note.public and not offer.public_notes:
        raise Problem("forbidden", "Notes here are for the owner of the document alone.")
    page = None if note.page is None else readers.to_document_page(reader, note.page)
    now, link = rt.clock(), reader.link
    row = NoteRow(rt.uuid(), note.author, note.body, note.page, int(note.public), 1, None, now)
    with rt.db.write():
        viewer, token = readers.ensure_viewer(rt, reader)
        readers.require_feedback_quota(rt, reader, viewer, "notes")
        rt.db.execute(_ADD, (row.uuid, link.file.id, page, row.author, row.body, row.public, viewer.id, row.created_at))
        if note.public:  # A private one is nobody's business but the owner's.
            data = drop_none({"author": row.author, "body": row.body, "pageNumber": page})
            variant_id = link.variant and link.variant.id
            activity.record(rt, link.file.id, "note.created", data, at=now, variant_id=variant_id)
        told = MailedNote(note.author, viewers.identity(viewer, link), note.body, page, note.public)
        notices.notify_note(rt, link.file.id, told)
    return row, token


def remove(rt: Runtime, reader: ReaderContext, uuid: str) -> None:
    """Delete the reader's own note ``uuid``. Raises as ``readers.take_back``."""
    readers.delete_own(rt, reader, "notes", uuid)


def list_visible(rt: Runtime, reader: ReaderContext, viewer: ViewerRow | None) -> list[NoteRow]:
    """The notes that ``reader`` sees, oldest first, in their own page numbers; those on hidden pages are left out.

    Their own and, where the owner lets notes be public, everybody's public ones, under the names they chose; the
    signed-in owner sees all, and who left them.
    """
    offer = readers.find_open_channels(rt, reader.link)
    if not offer.notes:
        return []
    others = _PRIVATE if reader.is_owner else _PUBLIC if offer.public_notes else _NONE
    own = viewer.id if viewer else 0
    found = [NoteRow._make(row) for row in rt.db.rows(_VISIBLE, (own, reader.link.file.id, own, others))]
    shown = [(row, row.page and reader.window.of_reader(row.page)) for row in reversed(found)]
    told = [row._replace(page=page) for row, page in shown if (page is None) == (row.page is None)]
    return told if reader.is_owner else [row._replace(identity=None) for row in told]


def list_by_file(rt: Runtime, file_id: int) -> list[NoteRow]:
    """All notes of a file, oldest first, in the document's page numbers."""
    return [NoteRow._make(row) for row in rt.db.rows(_ALL, (None, file_id))]
