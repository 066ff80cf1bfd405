"""Store and list notes of readers on a document or one of its pages: for the owner, or for every reader."""

from collections.abc import Mapping
from typing import Any

from docshare.contract.problems import Problem
from docshare.contract.wire import drop_none
from docshare.server.rules import feedback as rules
from docshare.server.runtime import Runtime
from docshare.server.services.events import activity
from docshare.server.services.operations import notices
from docshare.server.services.readership import readers, viewers
from docshare.server.services.readership.readers import ReaderContext
from docshare.server.services.readership.viewers import ViewerRow
from docshare.server.store.tables import feedback
from docshare.server.store.tables.feedback import MailedNote
from docshare.server.store.tables.feedback import NoteRow as NoteRow

# The least value of ``public`` that a reader sees besides their own notes.
_PRIVATE, _PUBLIC, _NONE = 0, 1, 2


def add(rt: Runtime, reader: ReaderContext, body: Mapping[str, Any]) -> tuple[NoteRow, str | None]:
    """Store the note in ``body``; return it, and the token for a browser that had none.

    Raises ``forbidden`` (owner, notes or public notes are off), ``bad_request``, ``not_found`` (the page),
    ``conflict`` (the document changed, or the limit is reached).
    """
    channels = readers.require_channel(rt, reader, "notes")
    note = rules.parse_note(body)
    if note.public and not channels.public_notes:
        raise Problem("forbidden", "Notes on this document are visible to its owner only.")
    page = None if note.page is None else readers.to_document_page(reader, note.page)
    link = reader.link
    with rt.db.write(link.file.owner_id):
        now = rt.clock()  # in the transaction, so that the notes of a mail are the rows from its first note on
        row = NoteRow(rt.random_uuid(), note.author, note.body, note.page, int(note.public), 1, None, now)
        viewer, token = readers.ensure_viewer(rt, reader)
        readers.require_feedback_quota(rt, reader, viewer, "notes")
        feedback.insert_note(rt.db, link.file.id, viewer.id, row._replace(page=page))
        if note.public:  # private notes are visible to the owner only, not to receivers of webhooks
            data = drop_none({"author": row.author, "body": row.body, "pageNumber": page})
            variant_id = link.variant and link.variant.id
            activity.record(rt, link.file.id, "note.created", data, at=now, variant_id=variant_id)
        mailed = MailedNote(note.author, viewers.identity(viewer, link), note.body, page, note.public)
        notices.notify_note(rt, link.file.id, mailed, now)
    return row, token


def remove(rt: Runtime, reader: ReaderContext, uuid: str) -> None:
    """Delete the reader's own note ``uuid``, also from the mail about it that was not sent yet. Raises like
    ``readers.delete_own``."""
    file = reader.link.file
    with rt.db.write(file.owner_id):
        readers.delete_own(rt, reader, "notes", uuid)
        notices.retract_note(rt, file.id)


def list_visible(rt: Runtime, reader: ReaderContext, viewer: ViewerRow | None) -> list[NoteRow]:
    """Return the notes that ``reader`` sees, oldest first, in their own page numbers, without those on hidden pages.

    A reader sees their own notes and, where the owner allows public notes, those of all readers under the names that
    they chose. The signed-in owner sees all notes, and who left them.
    """
    channels = readers.find_open_channels(rt, reader.link)
    if not channels.notes:
        return []
    min_public = _PRIVATE if reader.is_owner else _PUBLIC if channels.public_notes else _NONE
    found = feedback.list_visible_notes(rt.db, reader.link.file.id, viewer.id if viewer else 0, min_public)
    numbered = [(row, row.page and reader.window.to_reader_page(row.page)) for row in reversed(found)]
    visible = [row._replace(page=page) for row, page in numbered if (page is None) == (row.page is None)]
    return visible if reader.is_owner else [row._replace(identity=None) for row in visible]


def list_by_file(rt: Runtime, file_id: int) -> list[NoteRow]:
    """Return all notes of a file, oldest first, in the document's page numbers."""
    return feedback.list_notes(rt.db, file_id)
