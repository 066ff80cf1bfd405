"""The three streams of the event feed; a row is appended once its event is complete."""

from typing import Any, NamedTuple

from peewee import SQL, Case, ForeignKeyField, IntegerField, TextField, Value

from docshare.server.store.database import Store
from docshare.server.store.tables.base import BatchedTable, Row, SequenceField
from docshare.server.store.tables.files import File


class StreamTable(BatchedTable):
    """The statements for a table whose rows appear in a stream of the feed. A model lists it before ``Row``."""

    @classmethod
    def hide_batch(cls: Any, store: Store, file_id: int, limit: int) -> int:
        """Hide rows of a file from the stream while the file is in the trash; return how many."""
        trashed = File.select(File.id).where(File.id == file_id, File.trashed_at.is_null(False))
        shown = cls.select_first(limit, cls.file == trashed, cls.hidden == 0)
        return store.execute(cls.update(hidden=1).where(cls.id.in_(shown)))

    @classmethod
    def unhide_batch(cls: Any, store: Store, file_id: int, limit: int) -> int:
        """Show hidden rows of a file in the stream again; return how many."""
        hidden = cls.select_first(limit, cls.file == file_id, cls.hidden == 1)
        return store.execute(cls.update(hidden=0).where(cls.id.in_(hidden)))


class ViewRow(StreamTable, Row):
    id = SequenceField()
    owner_id = IntegerField()
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    hidden = IntegerField(default=0)
    read_at = IntegerField(null=True)
    country = TextField(null=True)
    pages_viewed = IntegerField()
    time_ms = IntegerField()

    class Meta:
        table_name = "view_rows"
        indexes = (
            SQL("CREATE INDEX view_rows_file ON view_rows(file_id, hidden, id)"),
            SQL("CREATE INDEX view_rows_owner ON view_rows(owner_id, id) WHERE hidden = 0"),
        )


class DownloadRow(StreamTable, Row):
    id = SequenceField()
    owner_id = IntegerField()
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    hidden = IntegerField(default=0)
    read_at = IntegerField(null=True)
    country = TextField(null=True)

    class Meta:
        table_name = "download_rows"
        indexes = (
            SQL("CREATE INDEX download_rows_file ON download_rows(file_id, hidden, id)"),
            SQL("CREATE INDEX download_rows_owner ON download_rows(owner_id, id) WHERE hidden = 0"),
        )


class GateRow(StreamTable, Row):
    id = SequenceField()
    owner_id = IntegerField()
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    hidden = IntegerField(default=0)
    read_at = IntegerField(null=True)
    fields = TextField(null=True)

    class Meta:
        table_name = "gate_rows"
        indexes = (
            SQL("CREATE INDEX gate_rows_file ON gate_rows(file_id, hidden, id)"),
            SQL("CREATE INDEX gate_rows_owner ON gate_rows(owner_id, id) WHERE hidden = 0"),
        )


_OF_FILE = ("owner_id", "file", "hidden")  # the columns that a row has from its file


def append_download(store: Store, file_id: int, country: str | None, now: int) -> None:
    """Append a download to the stream of the file's owner."""
    row = _select_row(file_id, now, country)
    store.execute(DownloadRow.insert_from(row, (*_OF_FILE, "read_at", "country")))


def append_gate_response(store: Store, file_id: int, fields: str, now: int) -> None:
    """Append a gate response to the stream of the file's owner. ``fields`` is JSON."""
    row = _select_row(file_id, now, fields)
    store.execute(GateRow.insert_from(row, (*_OF_FILE, "read_at", "fields")))


def _select_row(file_id: int, *values: Any) -> Any:
    """Return a query for ``_OF_FILE`` and ``values``. A file without an owner has no feed, so it finds no row then."""
    hidden = Case(None, [(File.trashed_at.is_null(), 0)], 1)
    query = File.select(File.owner, File.id, hidden, *map(Value, values))
    return query.where(File.id == file_id, File.owner.is_null(False))


class Contact(NamedTuple):
    """One completed gate form; ``fields`` as stored."""

    fields: str | None
    created_at: int


def list_contacts(store: Store, file_id: int, limit: int, between: tuple[int, int] | None = None) -> list[Contact]:
    """Return the newest ``limit`` completed gate forms of a file, newest first; only those completed ``between`` two
    instants (ms, the second excluded), if given."""
    query = GateRow.select(GateRow.fields, GateRow.read_at).where(GateRow.file == file_id)
    if between is not None:
        query = query.where(GateRow.read_at >= between[0], GateRow.read_at < between[1])
    return [Contact._make(found) for found in store.fetch_all(query.order_by(GateRow.id.desc()).limit(limit))]


# A text, because a query that joins the session would be longer. A file without an owner has no feed. The feed omits
# trashed files; their rows return when a file is restored.
_APPEND_VIEW = (
    "INSERT INTO view_rows (owner_id, file_id, hidden, read_at, country, pages_viewed, time_ms) "
    "SELECT f.owner_id, f.id, CASE WHEN f.trashed_at IS NULL THEN 0 ELSE 1 END, "
    "s.started_at, s.country, s.pages_viewed, s.time_ms "
    "FROM view_sessions s JOIN files f ON f.id = s.file_id WHERE s.id = ? AND f.owner_id IS NOT NULL"
)


def append_view(store: Store, session_id: int) -> None:
    """Append a counted session to the stream of the file's owner."""
    store.execute(_APPEND_VIEW, (session_id,))
