"""Files and the revisions of their content."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from peewee import SQL, ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
from docshare.server.store.database_file import DatabaseFile
from docshare.server.store.dialect import Statement
from docshare.server.store.tables.accounts import Account
from docshare.server.store.tables.base import Row, SequenceField


class File(Row):
    id = SequenceField()
    uuid = TextField(unique=True)
    short_id = TextField(unique=True)
    slug = TextField(unique=True, null=True)
    owner = ForeignKeyField(Account, null=True, on_delete="CASCADE", index=False)
    original_name = TextField()
    size = IntegerField()
    mime_type = TextField()
    total_pages = IntegerField()
    page_sizes = TextField()  # JSON: [[pages, width, height], ...] in points, runs of equal pages folded together
    sha256 = TextField()
    blob = TextField()
    content_version = IntegerField()
    created_at = IntegerField()
    updated_at = IntegerField()
    delete_at = IntegerField(null=True)
    trashed_at = IntegerField(null=True)
    purge_at = IntegerField(null=True)
    burned_at = IntegerField(null=True)
    destroyed_at = IntegerField(null=True)  # when the bytes of a burned file were deleted
    view_count = IntegerField(default=0)
    views_consumed = IntegerField(default=0)
    view_limit = IntegerField(null=True)
    password_hash = TextField(null=True)
    notified_at = IntegerField(null=True)  # when the last notice of a view was sent
    notified_views = IntegerField(default=0)  # the view count at that time
    frozen_at = IntegerField(null=True)
    download_warning = TextField(null=True)  # the reason why readers cannot download it, None if they can
    settings = TextField(default="{}")  # JSON: the settings that differ from their defaults, by wire name

    class Meta:
        table_name = "files"
        indexes = (
            SQL("CREATE INDEX files_burned ON files(burned_at) WHERE burned_at IS NOT NULL AND destroyed_at IS NULL"),
            SQL("CREATE INDEX files_owner ON files(owner_id, id) WHERE trashed_at IS NULL"),
            SQL("CREATE INDEX files_purge ON files(purge_at) WHERE purge_at IS NOT NULL"),
            SQL("CREATE INDEX files_unclaimed ON files(delete_at) WHERE owner_id IS NULL AND delete_at IS NOT NULL"),
        )


class Revision(Row):
    file = ForeignKeyField(File, backref="revisions", on_delete="CASCADE", index=False)
    content_version = IntegerField()
    original_name = TextField()
    size = IntegerField()
    total_pages = IntegerField()
    sha256 = TextField()
    created_at = IntegerField()

    class Meta:
        table_name = "revisions"
        indexes = ((("file", "content_version"), True),)


_REPLACE_CONTENT = (
    "UPDATE files SET original_name = ?, size = ?, total_pages = ?, page_sizes = ?, sha256 = ?, blob = ?, "
    "content_version = ?, updated_at = ?, burned_at = NULL, destroyed_at = NULL, views_consumed = ? WHERE id = ?"
)
_ADD_REVISION = (
    "INSERT INTO revisions (file_id, content_version, original_name, size, total_pages, sha256, created_at) "
    "SELECT id, content_version, original_name, size, total_pages, sha256, updated_at FROM files WHERE id = ?"
)


def insert(store: Store, columns: Mapping[str, Any]) -> File:
    """Insert a file with its first revision and return it."""
    row = File(**columns)
    row.id = File.insert(**columns).execute(store.engine)
    Revision.insert(
        file=row.id,
        content_version=row.content_version,
        original_name=row.original_name,
        size=row.size,
        total_pages=row.total_pages,
        sha256=row.sha256,
        created_at=row.created_at,
    ).execute(store.engine)
    return row


def replace_content(
    store: Store, file_id: int, content: tuple[str, int, int, str, str, str], version: int, consumed: int, now: int
) -> None:
    """Replace the content of a file and append the revision; a burned file is active again.

    Parameters: ``content`` name, size, pages, page sizes, SHA-256 and blob; ``consumed`` views of the view limit.
    """
    store.execute(_REPLACE_CONTENT, (*content, version, now, consumed, file_id))
    store.execute(_ADD_REVISION, (file_id,))


def mark_destroyed(store: Store, file_id: int, now: int) -> None:
    """Store when the bytes of a burned file were deleted."""
    store.execute("UPDATE files SET destroyed_at = ? WHERE id = ?", (now, file_id))


_SELECT_OWNED_BY_ANYBODY = (
    "SELECT id FROM files WHERE (uuid = ? OR short_id = ?) AND trashed_at IS NULL AND owner_id IS NOT NULL"
)
_STORE_WARNING = (
    "UPDATE files SET download_warning = ? WHERE id = ? AND content_version = ? AND settings = ? "
    "AND download_warning IS DISTINCT FROM ?"
)


def recall_password_hash(store: Store, file_id: int) -> str | None:
    """Return the hash of the share password of a file, or None."""
    found = store.fetch_cached("SELECT password_hash FROM files WHERE id = ?", (file_id,))
    return found[0] if found else None


def get_end(store: Store, file_id: int) -> tuple[int | None, int | None]:
    """Return when a file was burned and when it expires (ms), each None for never."""
    ((burned_at, delete_at),) = store.fetch_all("SELECT burned_at, delete_at FROM files WHERE id = ?", (file_id,))
    return burned_at, delete_at


def find_owned_by_anybody(store: Store, uuid: str, short_id: str) -> int | None:
    """Return the id of the file with this UUID or short id, whatever account owns it, or None. Files in the trash and
    files without an owner are not found."""
    found = store.fetch_one(_SELECT_OWNED_BY_ANYBODY, (uuid, short_id))
    return int(found[0]) if found else None


def has_warning(store: Store, file_id: int) -> bool:
    """Return whether a download warning is stored for a file."""
    return store.fetch_one("SELECT 1 FROM files WHERE id = ? AND download_warning IS NOT NULL", (file_id,)) is not None


def store_warning(store: Store, file_id: int, reason: str | None, *, content_version: int, settings: str) -> None:
    """Store the download warning of a file, or erase it with None.

    Nothing is stored if the file has changed since the copy was tried: the change starts another trial.
    """
    store.execute(_STORE_WARNING, (reason, file_id, content_version, settings, reason))


def mark_all_for_purge(store: Store, owner_id: int, now: int) -> None:
    """Move all files of an account to the trash, due for deletion now."""
    File.update(trashed_at=now, purge_at=now).where(File.owner == owner_id).execute(store.engine)


class NotifiedOwner(NamedTuple):
    """The owner of a file, and what a notice about the file needs. ``notified_at`` of the last notice of a view (ms);
    ``views_since`` then; ``of_views`` and ``of_notes``: 1 where the setting is on."""

    account_id: int
    uuid: str
    document: str
    notified_at: int | None
    views_since: int
    email: str
    plan: int
    of_views: int
    of_notes: int


_SELECT_NOTIFIED_OWNER = (
    "SELECT a.id, f.uuid, f.original_name, f.notified_at, f.view_count - f.notified_views, a.email, a.plan, "
    "JSON_TRUE(f.settings, 'notifyOnView'), JSON_TRUE(f.settings, 'notifyOnComment') "
    "FROM files f JOIN accounts a ON a.id = f.owner_id WHERE f.id = ?"
)


def find_notified_owner(store: Store, file_id: int) -> NotifiedOwner | None:
    """Return the owner of a file with what a notice needs, or None for a file without an owner."""
    found = store.fetch_one(_SELECT_NOTIFIED_OWNER, (file_id,))
    return NotifiedOwner._make(found) if found else None


def mark_notified(store: Store, file_id: int, now: int) -> None:
    """Store when the owner was last notified of a view, and the view count of that moment."""
    store.execute("UPDATE files SET notified_at = ?, notified_views = view_count WHERE id = ?", (now, file_id))


_MARK_UNCLAIMED = (
    "UPDATE files SET trashed_at = ?1, purge_at = ?1 WHERE owner_id IS NULL AND delete_at <= ?2 AND trashed_at IS NULL"
)


def list_trashed_ids(store: Store) -> list[int]:
    """Return the ids of all files in the trash."""
    return [file_id for (file_id,) in store.fetch_all("SELECT id FROM files WHERE trashed_at IS NOT NULL")]


def list_due_ids(store: Store, now: int) -> list[int]:
    """Return the ids of the files that are due for purging."""
    return [file_id for (file_id,) in store.fetch_all("SELECT id FROM files WHERE purge_at <= ?", (now,))]


def mark_unclaimed_for_purge(store: Store, expired_by: int, now: int) -> None:
    """Mark the files without an owner that expired by ``expired_by`` (ms) as due for purging now."""
    store.execute(_MARK_UNCLAIMED, (now, expired_by))


def list_unclaimed_due_ids(store: Store, now: int) -> list[int]:
    """Return the ids of the files without an owner that are due for purging."""
    due = store.fetch_all("SELECT id FROM files WHERE owner_id IS NULL AND purge_at <= ?", (now,))
    return [file_id for (file_id,) in due]


class FrozenFile(NamedTuple):
    """A file with ``frozen_at`` in milliseconds, None once its links are open again, and the email of its owner."""

    uuid: str
    short_id: str
    original_name: str
    frozen_at: int | None
    owner: str | None = None


class ViewLimit(NamedTuple):
    """The view limit of a file, and the columns that decide whether its link is live. Times in milliseconds."""

    view_limit: int | None
    views_consumed: int
    trashed_at: int | None
    burned_at: int | None
    delete_at: int | None


_SELECT_OWNER_AND_TRASH = {
    column: f"SELECT id, owner_id, trashed_at, purge_at FROM files WHERE {column} = ?"  # noqa: S608 - two columns
    for column in ("uuid", "short_id")
}
_LIST_FROZEN = (
    "SELECT files.uuid, files.short_id, files.original_name, files.frozen_at, accounts.email FROM files "
    "LEFT JOIN accounts ON accounts.id = files.owner_id WHERE files.frozen_at IS NOT NULL "
    "ORDER BY files.frozen_at DESC, files.id DESC"
)
_SELECT_VIEW_LIMIT = f"SELECT {', '.join(ViewLimit._fields)} FROM files WHERE id = ?"  # noqa: S608 - columns from the row


def find_owner_and_trash(store: Store, column: str, key: str) -> tuple[Any, ...] | None:
    """Return ``(id, owner_id, trashed_at, purge_at)`` of the file whose ``column`` (``uuid`` or ``short_id``) is
    ``key``, or None."""
    return store.fetch_one(_SELECT_OWNER_AND_TRASH[column], (key,))


def has_slug(store: Store, slug: str) -> bool:
    """Return whether a file has this slug."""
    return store.fetch_one("SELECT 1 FROM files WHERE slug = ?", (slug,)) is not None


def update_settings(store: Store, file_id: int, settings: str, now: int, **columns: Any) -> None:
    """Store the settings of a file: the JSON, and the ``columns`` of the settings that have one."""
    File.update(**columns, settings=settings, updated_at=now).where(File.id == file_id).execute(store.engine)


_ENABLE_SETTING = Statement(
    sqlite="UPDATE files SET settings = json_set(settings, '$.' || ?, json('true')) WHERE id = ?",
    postgresql="UPDATE files SET settings = jsonb_set(settings::jsonb, ARRAY[?], 'true')::text WHERE id = ?",
)


def enable_setting(store: Store, file_id: int, name: str) -> None:
    """Switch on a setting of a file."""
    store.execute(_ENABLE_SETTING, (name, file_id))


def set_delete_at(store: Store, file_id: int, delete_at: int | None) -> None:
    """Change when the link of a file expires."""
    File.update(delete_at=delete_at).where(File.id == file_id).execute(store.engine)


def find_for_claim(store: Store, file_id: int | None) -> tuple[int, str, str, int | None, int] | None:
    """Return ``(id, uuid, short_id, owner_id, size)`` of an active file, or None."""
    found = store.fetch_one(
        "SELECT id, uuid, short_id, owner_id, size FROM files WHERE id = ? AND trashed_at IS NULL", (file_id,)
    )
    return (found[0], found[1], found[2], found[3], found[4]) if found else None


def set_owner(store: Store, file_id: int, owner_id: int, now: int) -> None:
    """Make an account the owner of a file."""
    File.update(owner=owner_id, updated_at=now).where(File.id == file_id).execute(store.engine)


def freeze(store: Store, file_id: int, now: int) -> None:
    """Store when a file was frozen; freezing it again keeps the first date."""
    store.execute("UPDATE files SET frozen_at = COALESCE(frozen_at, ?) WHERE id = ?", (now, file_id))


def unfreeze(store: Store, file_id: int) -> None:
    """Erase when a file was frozen."""
    store.execute("UPDATE files SET frozen_at = NULL WHERE id = ?", (file_id,))


def get_frozen(store: Store, file_id: int) -> FrozenFile:
    """Return an existing file, without the email of its owner."""
    found = store.fetch_all("SELECT uuid, short_id, original_name, frozen_at FROM files WHERE id = ?", (file_id,))
    return FrozenFile(*found[0])


def list_frozen(store: Store) -> list[FrozenFile]:
    """Return all frozen files, the one that was frozen last first."""
    return [FrozenFile._make(found) for found in store.fetch_all(_LIST_FROZEN)]


def find_view_limit(store: Store, file_id: int) -> ViewLimit | None:
    """Return the view limit of a file with its state, or None if the file was deleted."""
    found = store.fetch_one(_SELECT_VIEW_LIMIT, (file_id,))
    return ViewLimit._make(found) if found else None


def set_views_consumed(store: Store, file_id: int, consumed: int, burned_at: int | None) -> None:
    """Store how many views of its limit a file has used, and when that burned it."""
    store.execute("UPDATE files SET views_consumed = ?, burned_at = ? WHERE id = ?", (consumed, burned_at, file_id))


def mark_trashed(store: Store, file_id: int, trashed_at: int, purge_at: int) -> None:
    """Move a file to the trash until ``purge_at`` (ms)."""
    store.execute("UPDATE files SET trashed_at = ?, purge_at = ? WHERE id = ?", (trashed_at, purge_at, file_id))


def restore(store: Store, file_id: int) -> None:
    """Restore a file from the trash."""
    store.execute("UPDATE files SET trashed_at = NULL, purge_at = NULL WHERE id = ?", (file_id,))


def mark_for_purge(store: Store, file_id: int, now: int) -> None:
    """Mark a file in the trash as due for purging now."""
    store.execute("UPDATE files SET purge_at = ? WHERE id = ? AND trashed_at IS NOT NULL", (now, file_id))


def delete(store: Store, file_id: int) -> None:
    """Delete a file with every row that belongs to it."""
    store.execute("DELETE FROM files WHERE id = ?", (file_id,))


def increment_view_count(store: Store, file_id: int) -> None:
    """Count one view."""
    store.execute("UPDATE files SET view_count = view_count + 1 WHERE id = ?", (file_id,))


def find_name(store: Store, file_id: int) -> tuple[str, str] | None:
    """Return the UUID and the name of a file, or None."""
    found = store.fetch_one("SELECT uuid, original_name FROM files WHERE id = ?", (file_id,))
    return (found[0], found[1]) if found else None


def decrement_view_count(store: Store, file_id: int) -> None:
    """Take back one view."""
    store.execute("UPDATE files SET view_count = view_count - 1 WHERE id = ?", (file_id,))


def replace_blob(store: Store, file_id: int, blob: str, old: str) -> bool:
    """Let a file refer to ``blob``, a copy of ``old``; return False if it does not refer to ``old`` any more."""
    return store.execute("UPDATE files SET blob = ? WHERE id = ? AND blob = ?", (blob, file_id, old)) > 0


def freeze_by_uuid(database: DatabaseFile, uuid: str, now: int) -> bool:
    """Freeze a file; return False if it is frozen already."""
    statement = "UPDATE files SET frozen_at = ?, updated_at = ? WHERE uuid = ? AND frozen_at IS NULL"
    return database.execute(statement, (now, now, uuid)) > 0


def list_with_invalid_settings(database: DatabaseFile) -> list[str]:
    """Return the UUIDs of the files whose settings are not JSON."""
    return [uuid for (uuid,) in database.fetch_all("SELECT uuid FROM files WHERE NOT json_valid(settings)")]


def list_without_purge_date(database: DatabaseFile) -> list[str]:
    """Return the UUIDs of the files in the trash that would stay there for good."""
    statement = "SELECT uuid FROM files WHERE trashed_at IS NOT NULL AND purge_at IS NULL"
    return [uuid for (uuid,) in database.fetch_all(statement)]


def list_over_view_limit(database: DatabaseFile) -> list[str]:
    """Return the UUIDs of the files with more views than their limit allows."""
    statement = "SELECT uuid FROM files WHERE view_limit IS NOT NULL AND views_consumed > view_limit"
    return [uuid for (uuid,) in database.fetch_all(statement)]


def list_without_revision(database: DatabaseFile) -> list[str]:
    """Return the UUIDs of the files whose version is not that of their newest revision."""
    statement = (
        "SELECT uuid FROM files WHERE content_version <> "
        "(SELECT COALESCE(MAX(content_version), 0) FROM revisions WHERE file_id = files.id)"
    )
    return [uuid for (uuid,) in database.fetch_all(statement)]
