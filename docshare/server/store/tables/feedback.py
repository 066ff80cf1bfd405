"""Feedback of readers on a document: notes, marks, annotations and receipts."""

from typing import Any, NamedTuple

from peewee import SQL, CompositeKey, ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
from docshare.server.store.tables.base import Row
from docshare.server.store.tables.files import File
from docshare.server.store.tables.readers import Viewer


class Note(Row):
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


class Mark(Row):
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


class Annotation(Row):
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


# Who wrote a row with a ``viewer_id``, for the owner: the invitee's address, or the pseudonym.
_IDENTITY = "COALESCE(i.email, v.pseudonym)"
_JOIN_VIEWER = "LEFT JOIN viewers v ON v.id = r.viewer_id LEFT JOIN invites i ON i.id = v.invite_id"
# Whether the document still has the page of a row.
_ON_EXISTING_PAGE = "r.page <= (SELECT total_pages FROM files WHERE id = r.file_id)"

_MAX_SHOWN_NOTES = 1_000  # the newest; the share page must stay small
_SELECT_NOTES = (
    f"SELECT r.uuid, r.author, r.body, r.page, r.public, r.viewer_id IS NOT DISTINCT FROM ?, {_IDENTITY}, r.created_at "  # noqa: S608 - fixed
    f"FROM notes r {_JOIN_VIEWER} WHERE r.file_id = ? AND (r.page IS NULL OR {_ON_EXISTING_PAGE})"
)
_SELECT_VISIBLE_NOTES = (
    f"{_SELECT_NOTES} AND (r.viewer_id = ? OR r.public >= ?) ORDER BY r.id DESC LIMIT {_MAX_SHOWN_NOTES}"
)
_NOTES_SINCE = "WHERE r.file_id = ? AND r.created_at >= ?"
_SELECT_NOTES_SINCE = (
    f"SELECT r.author, {_IDENTITY}, r.body, r.page, r.public FROM notes r {_JOIN_VIEWER} {_NOTES_SINCE} "  # noqa: S608 - fixed
    "ORDER BY r.id LIMIT ?"
)
_SELECT_MARKS = (
    f"SELECT r.viewer_id, {_IDENTITY}, r.page, r.mark, r.marked_at FROM marks r {_JOIN_VIEWER} "  # noqa: S608 - fixed
    f"WHERE r.file_id = ? AND {_ON_EXISTING_PAGE} ORDER BY r.page, r.viewer_id"
)
_UPDATE_MARK = "UPDATE marks SET mark = ?, content_version = ?, marked_at = ? WHERE viewer_id = ? AND page = ?"
_SELECT_ANNOTATIONS = (
    f"SELECT r.uuid, r.page, r.rect, r.note, {_IDENTITY}, r.created_at FROM annotations r {_JOIN_VIEWER}"  # noqa: S608 - fixed
)
_SELECT_RECEIPTS = f"SELECT r.name, {_IDENTITY}, r.confirmed_at, r.content_version FROM receipts r {_JOIN_VIEWER}"  # noqa: S608 - fixed


def insert_note(store: Store, file_id: int, viewer_id: int, row: NoteRow) -> None:
    """Insert a note; ``row.page`` in the document's numbers."""
    Note.insert(
        uuid=row.uuid,
        file=file_id,
        page=row.page,
        author=row.author,
        body=row.body,
        public=row.public,
        viewer=viewer_id,
        created_at=row.created_at,
    ).execute(store.engine)


def list_notes(store: Store, file_id: int) -> list[NoteRow]:
    """Return all notes of a file on existing pages, oldest first."""
    return [NoteRow._make(found) for found in store.fetch_all(f"{_SELECT_NOTES} ORDER BY r.id", (None, file_id))]


def list_visible_notes(store: Store, file_id: int, viewer_id: int, min_public: int) -> list[NoteRow]:
    """Return the newest notes of a file, newest first: those of the viewer, and those of which ``public`` is at least
    ``min_public``."""
    found = store.fetch_all(_SELECT_VISIBLE_NOTES, (viewer_id, file_id, viewer_id, min_public))
    return [NoteRow._make(row) for row in found]


def list_notes_since(store: Store, file_id: int, since: int, limit: int) -> list[MailedNote]:
    """Return the first ``limit`` notes of a file since a moment (ms), oldest first."""
    return [MailedNote._make(found) for found in store.fetch_all(_SELECT_NOTES_SINCE, (file_id, since, limit))]


def count_notes_since(store: Store, file_id: int, since: int) -> int:
    """Return how many notes were added to a file since a moment (ms)."""
    ((count,),) = store.fetch_all(f"SELECT COUNT(*) FROM notes r {_NOTES_SINCE}", (file_id, since))  # noqa: S608 - fixed
    return int(count)


def update_mark(store: Store, viewer_id: int, page: int, mark: str, content_version: int, now: int) -> bool:
    """Change the mark of a viewer on a page; return False if there is none."""
    return store.execute(_UPDATE_MARK, (mark, content_version, now, viewer_id, page)) > 0


def insert_mark(
    store: Store, file_id: int, viewer_id: int, page: int, mark: str, content_version: int, now: int
) -> None:
    """Insert the mark of a viewer on a page."""
    Mark.insert(
        viewer=viewer_id, page=page, file=file_id, content_version=content_version, mark=mark, marked_at=now
    ).execute(store.engine)


def delete_mark(store: Store, viewer_id: int, page: int) -> None:
    """Delete the mark of a viewer on a page."""
    store.execute("DELETE FROM marks WHERE viewer_id = ? AND page = ?", (viewer_id, page))


def list_marks(store: Store, file_id: int) -> list[MarkRow]:
    """Return all marks of a file on existing pages, by page."""
    return [MarkRow._make(found) for found in store.fetch_all(_SELECT_MARKS, (file_id,))]


def list_marks_of_viewer(store: Store, viewer_id: int) -> list[tuple[int, str]]:
    """Return the pages that a viewer marked, each with its mark."""
    return [
        (page, mark)
        for page, mark in store.fetch_all(
            "SELECT page, mark FROM marks WHERE viewer_id = ? ORDER BY page", (viewer_id,)
        )
    ]


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
    Annotation.insert(
        uuid=uuid,
        file=file_id,
        viewer=viewer_id,
        content_version=content_version,
        page=page,
        rect=rect,
        note=note,
        created_at=now,
    ).execute(store.engine)


def list_annotations(store: Store, file_id: int) -> list[tuple[Any, ...]]:
    """Return all annotations of a file on existing pages, by page, then oldest first, as ``(uuid, page, rect, note,
    identity, created_at)``."""
    condition = f"WHERE r.file_id = ? AND {_ON_EXISTING_PAGE} ORDER BY r.page, r.id"
    return store.fetch_all(f"{_SELECT_ANNOTATIONS} {condition}", (file_id,))


def list_annotations_of_viewer(store: Store, viewer_id: int) -> list[tuple[Any, ...]]:
    """Return the annotations of a viewer like ``list_annotations``, on all pages, oldest first."""
    return store.fetch_all(f"{_SELECT_ANNOTATIONS} WHERE r.viewer_id = ? ORDER BY r.id", (viewer_id,))


def insert_receipt(store: Store, file_id: int, viewer_id: int, content_version: int, name: str, now: int) -> None:
    """Insert the receipt of a viewer for a version of a file."""
    Receipt.insert(
        viewer=viewer_id, file=file_id, content_version=content_version, name=name, confirmed_at=now
    ).execute(store.engine)


def find_receipt(store: Store, viewer_id: int, content_version: int) -> ReceiptRow | None:
    """Return the receipt of a viewer for a version of the file, or None."""
    found = store.fetch_one(
        f"{_SELECT_RECEIPTS} WHERE r.viewer_id = ? AND r.content_version = ?", (viewer_id, content_version)
    )
    return ReceiptRow._make(found) if found else None


def find_receipt_name(store: Store, viewer_id: int) -> str | None:
    """Return the name in the latest receipt of a viewer, or None."""
    found = store.fetch_one(
        "SELECT name FROM receipts WHERE viewer_id = ? ORDER BY content_version DESC LIMIT 1", (viewer_id,)
    )
    return str(found[0]) if found else None


def list_receipts(store: Store, file_id: int) -> list[ReceiptRow]:
    """Return all receipts of a file, oldest first."""
    order = "ORDER BY r.confirmed_at, r.content_version, r.viewer_id"
    return [
        ReceiptRow._make(found)
        for found in store.fetch_all(f"{_SELECT_RECEIPTS} WHERE r.file_id = ? {order}", (file_id,))
    ]


_COUNT_FEEDBACK = "SELECT COUNT(*) FILTER (WHERE viewer_id = ?), COUNT(*) FROM {} WHERE file_id = ?"
_DELETE_FEEDBACK = {
    "notes": "DELETE FROM notes WHERE uuid = ? AND viewer_id = ?",
    "annotations": "DELETE FROM annotations WHERE uuid = ? AND viewer_id = ?",
}


def count_feedback(store: Store, table: str, viewer_id: int, file_id: int) -> tuple[int, int]:
    """Return how many rows of ``table`` belong to a viewer, and how many to the file."""
    ((own, of_file),) = store.fetch_all(_COUNT_FEEDBACK.format(table), (viewer_id, file_id))
    return own, of_file


def delete_feedback(store: Store, table: str, uuid: str, viewer_id: int) -> bool:
    """Delete a row of ``table`` (``notes`` or ``annotations``) that a viewer left. Return False without
    one."""
    return store.execute(_DELETE_FEEDBACK[table], (uuid, viewer_id)) > 0
