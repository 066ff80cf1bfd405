"""Feedback of readers on a document: notes, marks, annotations and receipts."""

from typing import Any, NamedTuple

from peewee import JOIN, SQL, Case, CompositeKey, ForeignKeyField, IntegerField, TextField, fn

from docshare.server.store.database import Store
from docshare.server.store.tables.base import AnchoredTable, Row
from docshare.server.store.tables.files import File
from docshare.server.store.tables.readers import Viewer
from docshare.server.store.tables.sharing import Invite


class Note(AnchoredTable, Row):
    uuid = TextField(unique=True)
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    page = IntegerField(null=True)  # None: it refers to the whole document
    author = TextField()
    body = TextField()
    public = IntegerField()
    viewer = ForeignKeyField(Viewer, null=True, on_delete="SET NULL", index=False)
    created_at = IntegerField()

    class Meta:
        table_name = "notes"
        indexes = (
            SQL("CREATE INDEX notes_file ON notes(file_id, id)"),
            SQL("CREATE INDEX notes_viewer ON notes(viewer_id) WHERE viewer_id IS NOT NULL"),
        )


class Mark(AnchoredTable, Row):
    viewer = ForeignKeyField(Viewer, on_delete="CASCADE", index=False)
    page = IntegerField()
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    content_version = IntegerField()
    mark = TextField()
    marked_at = IntegerField()

    class Meta:
        table_name = "marks"
        primary_key = CompositeKey("viewer", "page")
        without_rowid = True
        indexes = (SQL("CREATE INDEX marks_file ON marks(file_id, page)"),)


class Annotation(AnchoredTable, Row):
    uuid = TextField(unique=True)
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    viewer = ForeignKeyField(Viewer, on_delete="CASCADE", index=False)
    content_version = IntegerField()
    page = IntegerField()
    rect = TextField()  # JSON: x, y, width, height as fractions of the page
    note = TextField()
    created_at = IntegerField()

    class Meta:
        table_name = "annotations"
        indexes = (
            SQL("CREATE INDEX annotations_file ON annotations(file_id, page, id)"),
            SQL("CREATE INDEX annotations_viewer ON annotations(viewer_id)"),
        )


class Receipt(Row):
    viewer = ForeignKeyField(Viewer, on_delete="CASCADE", index=False)
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    content_version = IntegerField()
    name = TextField()
    confirmed_at = IntegerField()

    class Meta:
        table_name = "receipts"
        primary_key = CompositeKey("viewer", "content_version")
        without_rowid = True
        indexes = (SQL("CREATE INDEX receipts_file ON receipts(file_id)"),)


class NoteRow(NamedTuple):
    """A note. ``page`` is None for a note on the whole document; ``public`` and ``mine`` are 1 or 0; ``identity`` of
    its author, None for other readers and where the viewer was deleted; ``created_at`` in milliseconds."""

    uuid: str
    author: str
    body: str
    page: int | None
    public: int
    mine: int
    identity: str | None
    created_at: int


class MailedNote(NamedTuple):
    """A note as a mail quotes it. Anybody can sign with any name, so a mail gives the ``author`` and the ``identity``
    of the viewer, None where the viewer was deleted; ``page`` of the document, None for a note on the whole document;
    ``public``: other readers see it."""

    author: str
    identity: str | None
    body: str
    page: int | None
    public: bool

    @property
    def author_label(self) -> str:
        """Return the name and the identity."""
        return f"{self.author} ({self.identity})" if self.identity else self.author


class MarkRow(NamedTuple):
    """A page mark. ``viewer_id`` distinguishes viewers with the same ``identity``; ``marked_at`` in milliseconds."""

    viewer_id: int
    identity: str
    page: int
    mark: str
    marked_at: int


class ReceiptRow(NamedTuple):
    """A receipt: the ``name`` that the reader gave, their ``identity``, ``confirmed_at`` in milliseconds, and the
    version of the content that they confirmed."""

    name: str
    identity: str
    confirmed_at: int
    content_version: int


_MAX_SHOWN_NOTES = 1_000  # the newest; the share page must stay small
# Who wrote a row, for the owner: the invitee's address, or the pseudonym.
_IDENTITY = fn.COALESCE(Invite.email, Viewer.pseudonym)


def _join_author(query: Any) -> Any:
    return query.join(Viewer, JOIN.LEFT_OUTER).join(Invite, JOIN.LEFT_OUTER)


def _is_on_existing_page(model: Any) -> Any:
    return model.page <= File.select(File.total_pages).where(File.id == model.file)


def insert_note(store: Store, file_id: int, viewer_id: int, row: NoteRow) -> None:
    """Insert a note; ``row.page`` in the document's numbers."""
    values = row._asdict()
    del values["mine"], values["identity"]
    store.execute(Note.insert(**values, file=file_id, viewer=viewer_id))


def list_notes(store: Store, file_id: int) -> list[NoteRow]:
    """Return all notes of a file on existing pages, oldest first."""
    return [NoteRow._make(found) for found in store.fetch_all(_select_notes(file_id, None).order_by(Note.id))]


def list_visible_notes(store: Store, file_id: int, viewer_id: int, min_public: int) -> list[NoteRow]:
    """Return the newest notes of a file, newest first: those of the viewer, and those of which ``public`` is at least
    ``min_public``."""
    query = _select_notes(file_id, viewer_id).where((Note.viewer == viewer_id) | (Note.public >= min_public))
    return [NoteRow._make(found) for found in store.fetch_all(query.order_by(Note.id.desc()).limit(_MAX_SHOWN_NOTES))]


def _select_notes(file_id: int, viewer_id: int | None) -> Any:
    is_mine = Case(None, [(Note.viewer == viewer_id, 1)], 0)
    query = Note.select(Note.uuid, Note.author, Note.body, Note.page, Note.public, is_mine, _IDENTITY, Note.created_at)
    return _join_author(query).where(Note.file == file_id, Note.page.is_null() | _is_on_existing_page(Note))


def list_notes_since(store: Store, file_id: int, since: int, limit: int) -> list[MailedNote]:
    """Return the first ``limit`` notes of a file since a moment (ms), oldest first."""
    query = _join_author(Note.select(Note.author, _IDENTITY, Note.body, Note.page, Note.public))
    query = query.where(Note.file == file_id, Note.created_at >= since).order_by(Note.id).limit(limit)
    return [MailedNote._make(found) for found in store.fetch_all(query)]


def count_notes_since(store: Store, file_id: int, since: int) -> int:
    """Return how many notes were added to a file since a moment (ms)."""
    return int(Note.select().where(Note.file == file_id, Note.created_at >= since).count(store.engine))


def update_mark(store: Store, viewer_id: int, page: int, mark: str, content_version: int, now: int) -> bool:
    """Change the mark of a viewer on a page; return False if there is none."""
    changes = {Mark.mark: mark, Mark.content_version: content_version, Mark.marked_at: now}
    return store.execute(Mark.update(changes).where(Mark.viewer == viewer_id, Mark.page == page)) > 0


def insert_mark(
    store: Store, file_id: int, viewer_id: int, page: int, mark: str, content_version: int, now: int
) -> None:
    """Insert the mark of a viewer on a page."""
    query = Mark.insert(
        viewer=viewer_id, page=page, file=file_id, content_version=content_version, mark=mark, marked_at=now
    )
    store.execute(query)


def delete_mark(store: Store, viewer_id: int, page: int) -> None:
    """Delete the mark of a viewer on a page."""
    store.execute(Mark.delete().where(Mark.viewer == viewer_id, Mark.page == page))


def list_marks(store: Store, file_id: int) -> list[MarkRow]:
    """Return all marks of a file on existing pages, by page."""
    query = _join_author(Mark.select(Mark.viewer, _IDENTITY, Mark.page, Mark.mark, Mark.marked_at))
    query = query.where(Mark.file == file_id, _is_on_existing_page(Mark)).order_by(Mark.page, Mark.viewer)
    return [MarkRow._make(found) for found in store.fetch_all(query)]


def list_marks_of_viewer(store: Store, viewer_id: int) -> list[tuple[int, str]]:
    """Return the pages that a viewer marked, each with its mark."""
    query = Mark.select(Mark.page, Mark.mark).where(Mark.viewer == viewer_id).order_by(Mark.page)
    return [(page, mark) for page, mark in store.fetch_all(query)]


def insert_annotation(
    store: Store,
    uuid: str,
    file_id: int,
    viewer_id: int,
    *,
    content_version: int,
    page: int,
    rect: str,
    note: str,
    now: int,
) -> None:
    """Insert an annotation. ``rect`` is JSON."""
    query = Annotation.insert(
        uuid=uuid,
        file=file_id,
        viewer=viewer_id,
        content_version=content_version,
        page=page,
        rect=rect,
        note=note,
        created_at=now,
    )
    store.execute(query)


def list_annotations(store: Store, file_id: int) -> list[tuple[Any, ...]]:
    """Return all annotations of a file on existing pages, by page, then oldest first, as ``(uuid, page, rect, note,
    identity, created_at)``."""
    query = _select_annotations().where(Annotation.file == file_id, _is_on_existing_page(Annotation))
    return store.fetch_all(query.order_by(Annotation.page, Annotation.id))


def list_annotations_of_viewer(store: Store, viewer_id: int) -> list[tuple[Any, ...]]:
    """Return the annotations of a viewer like ``list_annotations``, on all pages, oldest first."""
    return store.fetch_all(_select_annotations().where(Annotation.viewer == viewer_id).order_by(Annotation.id))


def _select_annotations() -> Any:
    columns = (Annotation.uuid, Annotation.page, Annotation.rect, Annotation.note, _IDENTITY, Annotation.created_at)
    return _join_author(Annotation.select(*columns))


def insert_receipt(store: Store, file_id: int, viewer_id: int, content_version: int, name: str, now: int) -> None:
    """Insert the receipt of a viewer for a version of a file."""
    query = Receipt.insert(viewer=viewer_id, file=file_id, content_version=content_version, name=name, confirmed_at=now)
    store.execute(query)


def find_receipt(store: Store, viewer_id: int, content_version: int) -> ReceiptRow | None:
    """Return the receipt of a viewer for a version of the file, or None."""
    query = _select_receipts().where(Receipt.viewer == viewer_id, Receipt.content_version == content_version)
    found = store.fetch_one(query)
    return ReceiptRow._make(found) if found else None


def find_receipt_name(store: Store, viewer_id: int) -> str | None:
    """Return the name in the latest receipt of a viewer, or None."""
    query = Receipt.select(Receipt.name).where(Receipt.viewer == viewer_id)
    found = store.fetch_one(query.order_by(Receipt.content_version.desc()).limit(1))
    return str(found[0]) if found else None


def list_receipts(store: Store, file_id: int) -> list[ReceiptRow]:
    """Return all receipts of a file, oldest first."""
    query = _select_receipts().where(Receipt.file == file_id)
    found = store.fetch_all(query.order_by(Receipt.confirmed_at, Receipt.content_version, Receipt.viewer))
    return [ReceiptRow._make(row) for row in found]


def _select_receipts() -> Any:
    return _join_author(Receipt.select(Receipt.name, _IDENTITY, Receipt.confirmed_at, Receipt.content_version))


_MODELS = {"notes": Note, "marks": Mark, "annotations": Annotation, "receipts": Receipt}


def count_feedback(store: Store, table: str, viewer_id: int, file_id: int) -> tuple[int, int]:
    """Return how many rows of ``table`` belong to a viewer, and how many to the file."""
    model: Any = _MODELS[table]
    own = fn.COUNT(1).filter(model.viewer == viewer_id)
    ((of_viewer, of_file),) = store.fetch_all(model.select(own, fn.COUNT(1)).where(model.file == file_id))
    return of_viewer, of_file


def delete_feedback(store: Store, table: str, uuid: str, viewer_id: int) -> bool:
    """Delete a row of ``table`` (``notes`` or ``annotations``) that a viewer left. Return False without one."""
    model: Any = _MODELS[table]
    return store.execute(model.delete().where(model.uuid == uuid, model.viewer == viewer_id)) > 0
