"""The three streams of the event feed; a row is appended once its event is complete."""

from typing import NamedTuple

from peewee import SQL, ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
from docshare.server.store.tables.base import Row, SequenceField
from docshare.server.store.tables.files import File


class ViewRow(Row):
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


class DownloadRow(Row):
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


class GateRow(Row):
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


# A file without an owner has no feed, so nothing is appended for it.
_APPEND_DOWNLOAD = (
    "INSERT INTO download_rows (owner_id, file_id, hidden, read_at, country) "
    "SELECT owner_id, id, CASE WHEN trashed_at IS NULL THEN 0 ELSE 1 END, ?, ? FROM files "
    "WHERE id = ? AND owner_id IS NOT NULL"
)
_APPEND_GATE_RESPONSE = (
    "INSERT INTO gate_rows (owner_id, file_id, hidden, read_at, fields) "
    "SELECT owner_id, id, CASE WHEN trashed_at IS NULL THEN 0 ELSE 1 END, ?, ? FROM files "
    "WHERE id = ? AND owner_id IS NOT NULL"
)


def append_download(store: Store, file_id: int, country: str | None, now: int) -> None:
    """Append a download to the stream of the file's owner."""
    store.execute(_APPEND_DOWNLOAD, (now, country, file_id))


def append_gate_response(store: Store, file_id: int, fields: str, now: int) -> None:
    """Append a gate response to the stream of the file's owner. ``fields`` is JSON."""
    store.execute(_APPEND_GATE_RESPONSE, (now, fields, file_id))


class Contact(NamedTuple):
    """One completed gate form; ``fields`` as stored."""

    fields: str | None
    created_at: int


_SELECT_CONTACTS = "SELECT fields, read_at FROM gate_rows WHERE file_id = ? ORDER BY id DESC LIMIT ?"


def list_contacts(store: Store, file_id: int, limit: int) -> list[Contact]:
    """Return the newest ``limit`` completed gate forms of a file, newest first."""
    return [Contact._make(found) for found in store.fetch_all(_SELECT_CONTACTS, (file_id, limit))]


# A file without an owner has no feed. The feed omits trashed files; their rows return when a file is restored.
_APPEND_VIEW = (
    "INSERT INTO view_rows (owner_id, file_id, hidden, read_at, country, pages_viewed, time_ms) "
    "SELECT f.owner_id, f.id, CASE WHEN f.trashed_at IS NULL THEN 0 ELSE 1 END, "
    "s.started_at, s.country, s.pages_viewed, s.time_ms "
    "FROM view_sessions s JOIN files f ON f.id = s.file_id WHERE s.id = ? AND f.owner_id IS NOT NULL"
)


def append_view(store: Store, session_id: int) -> None:
    """Append a counted session to the stream of the file's owner."""
    store.execute(_APPEND_VIEW, (session_id,))
