"""Files and the revisions of their content."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from peewee import JOIN, SQL, Case, ForeignKeyField, IntegerField, TextField, fn

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


_REVISED_COLUMNS = ("content_version", "original_name", "size", "total_pages", "sha256")
_CONTENT_COLUMNS = ("original_name", "size", "total_pages", "page_sizes", "sha256", "blob")


def insert(store: Store, columns: Mapping[str, Any]) -> File:
    """Insert a file with its first revision and return it."""
    row = File(**columns)
    row.id = File.insert(**columns).execute(store.engine)
    revised = {name: getattr(row, name) for name in _REVISED_COLUMNS}
    store.execute(Revision.insert(**revised, file=row.id, created_at=row.created_at))
    return row


def replace_content(
    store: Store, file_id: int, content: tuple[str, int, int, str, str, str], version: int, consumed: int, now: int
) -> None:
    """Replace the content of a file and append the revision; a burned file is active again.

    Parameters: ``content`` name, size, pages, page sizes, SHA-256 and blob; ``consumed`` views of the view limit.
    """
    changes = dict(zip(_CONTENT_COLUMNS, content, strict=True)) | {"content_version": version, "updated_at": now}
    update = File.update(**changes, views_consumed=consumed, burned_at=None, destroyed_at=None)
    store.execute(update.where(File.id == file_id))
    columns = {getattr(Revision, name): getattr(File, name) for name in _REVISED_COLUMNS}
    columns |= {Revision.file: File.id, Revision.created_at: File.updated_at}
    store.execute(Revision.insert_from(File.select(*columns.values()).where(File.id == file_id), [*columns]))


def mark_destroyed(store: Store, file_id: int, now: int) -> None:
    """Store when the bytes of a burned file were deleted."""
    store.execute(File.update(destroyed_at=now).where(File.id == file_id))


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
    ((burned_at, delete_at),) = store.fetch_all(File.select(File.burned_at, File.delete_at).where(File.id == file_id))
    return burned_at, delete_at


def find_owned_by_anybody(store: Store, uuid: str, short_id: str) -> int | None:
    """Return the id of the file with this UUID or short id, whatever account owns it, or None. Files in the trash and
    files without an owner are not found."""
    is_named = (File.uuid == uuid) | (File.short_id == short_id)
    found = store.fetch_one(File.select(File.id).where(is_named, File.trashed_at.is_null(), File.owner.is_null(False)))
    return int(found[0]) if found else None


def has_warning(store: Store, file_id: int) -> bool:
    """Return whether a download warning is stored for a file."""
    return bool(File.select().where(File.id == file_id, File.download_warning.is_null(False)).exists(store.engine))


def store_warning(store: Store, file_id: int, reason: str | None, *, content_version: int, settings: str) -> None:
    """Store the download warning of a file, or erase it with None.

    Nothing is stored if the file has changed since the caller read it.
    """
    store.execute(_STORE_WARNING, (reason, file_id, content_version, settings, reason))


def mark_all_for_purge(store: Store, owner_id: int, now: int) -> None:
    """Move all files of an account to the trash, due for deletion now."""
    store.execute(File.update(trashed_at=now, purge_at=now).where(File.owner == owner_id))


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
    store.execute(File.update(notified_at=now, notified_views=File.view_count).where(File.id == file_id))


def move_notice(store: Store, file_id: int, old: int, new: int) -> None:
    """Change when the owner was last notified of a view from ``old`` to ``new`` (both ms); the view count stays."""
    store.execute(File.update(notified_at=new).where(File.id == file_id, File.notified_at == old))


def list_trashed_ids(store: Store) -> list[int]:
    """Return the ids of all files in the trash."""
    return _list_ids(store, File.trashed_at.is_null(False))


def list_due_ids(store: Store, now: int) -> list[int]:
    """Return the ids of the files that are due for purging."""
    return _list_ids(store, File.purge_at <= now)


def mark_unclaimed_for_purge(store: Store, expired_by: int, now: int) -> None:
    """Mark the files without an owner that expired by ``expired_by`` (ms) as due for purging now."""
    is_expired = File.owner.is_null() & (File.delete_at <= expired_by) & File.trashed_at.is_null()
    store.execute(File.update(trashed_at=now, purge_at=now).where(is_expired))


def list_unclaimed_due_ids(store: Store, now: int) -> list[int]:
    """Return the ids of the files without an owner that are due for purging."""
    return _list_ids(store, File.owner.is_null() & (File.purge_at <= now))


def _list_ids(store: Store, condition: Any) -> list[int]:
    return [file_id for (file_id,) in store.fetch_all(File.select(File.id).where(condition))]


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


def find_owner_and_trash(store: Store, column: str, key: str) -> tuple[Any, ...] | None:
    """Return ``(id, owner_id, trashed_at, purge_at)`` of the file whose ``column`` (``uuid`` or ``short_id``) is
    ``key``, or None."""
    query = File.select(File.id, File.owner, File.trashed_at, File.purge_at)
    return store.fetch_one(query.where(getattr(File, column) == key))


# Run for the short id of every upload, by the benchmark ``embedded``.
_HAS_SLUG = "SELECT 1 FROM files WHERE slug = ?"


def has_slug(store: Store, slug: str) -> bool:
    """Return whether a file has this slug."""
    return store.fetch_one(_HAS_SLUG, (slug,)) is not None


def update_settings(store: Store, file_id: int, settings: str, now: int, **columns: Any) -> None:
    """Store the settings of a file: the JSON, and the ``columns`` of the settings that have one."""
    store.execute(File.update(**columns, settings=settings, updated_at=now).where(File.id == file_id))


_ENABLE_SETTING = Statement(
    sqlite="UPDATE files SET settings = json_set(settings, '$.' || ?, json('true')) WHERE id = ?",
    postgresql="UPDATE files SET settings = jsonb_set(settings::jsonb, ARRAY[?], 'true')::text WHERE id = ?",
)


def enable_setting(store: Store, file_id: int, name: str) -> None:
    """Switch on a setting of a file."""
    store.execute(_ENABLE_SETTING, (name, file_id))


def set_delete_at(store: Store, file_id: int, delete_at: int | None) -> None:
    """Change when the link of a file expires."""
    store.execute(File.update(delete_at=delete_at).where(File.id == file_id))


def find_for_claim(store: Store, file_id: int | None) -> tuple[int, str, str, int | None, int] | None:
    """Return ``(id, uuid, short_id, owner_id, size)`` of an active file, or None."""
    if file_id is None:
        return None
    query = File.select(File.id, File.uuid, File.short_id, File.owner, File.size)
    found = store.fetch_one(query.where(File.id == file_id, File.trashed_at.is_null()))
    return (found[0], found[1], found[2], found[3], found[4]) if found else None


def set_owner(store: Store, file_id: int, owner_id: int, now: int) -> None:
    """Make an account the owner of a file."""
    store.execute(File.update(owner=owner_id, updated_at=now).where(File.id == file_id))


def freeze(store: Store, file_id: int, now: int) -> None:
    """Store when a file was frozen; freezing it again keeps the first date."""
    store.execute(File.update(frozen_at=fn.COALESCE(File.frozen_at, now)).where(File.id == file_id))


def unfreeze(store: Store, file_id: int) -> None:
    """Erase when a file was frozen."""
    store.execute(File.update(frozen_at=None).where(File.id == file_id))


def get_frozen(store: Store, file_id: int) -> FrozenFile:
    """Return an existing file, without the email of its owner."""
    (found,) = store.fetch_all(File.select(*_frozen_columns()).where(File.id == file_id))
    return FrozenFile(*found)


def list_frozen(store: Store) -> list[FrozenFile]:
    """Return all frozen files, the one that was frozen last first."""
    query = File.select(*_frozen_columns(), Account.email).join(Account, JOIN.LEFT_OUTER)
    frozen = query.where(File.frozen_at.is_null(False)).order_by(File.frozen_at.desc(), File.id.desc())
    return [FrozenFile._make(found) for found in store.fetch_all(frozen)]


def _frozen_columns() -> list[Any]:
    return [getattr(File, name) for name in FrozenFile._fields[:-1]]


def find_view_limit(store: Store, file_id: int) -> ViewLimit | None:
    """Return the view limit of a file with its state, or None if the file was deleted."""
    columns = (getattr(File, name) for name in ViewLimit._fields)
    found = store.fetch_one(File.select(*columns).where(File.id == file_id))
    return ViewLimit._make(found) if found else None


def set_views_consumed(store: Store, file_id: int, consumed: int, burned_at: int | None) -> None:
    """Store how many views of its limit a file has used, and when that burned it."""
    store.execute(File.update(views_consumed=consumed, burned_at=burned_at).where(File.id == file_id))


def mark_trashed(store: Store, file_id: int, trashed_at: int, purge_at: int) -> None:
    """Move a file to the trash until ``purge_at`` (ms)."""
    store.execute(File.update(trashed_at=trashed_at, purge_at=purge_at).where(File.id == file_id))


def restore(store: Store, file_id: int) -> None:
    """Restore a file from the trash."""
    store.execute(File.update(trashed_at=None, purge_at=None).where(File.id == file_id))


def mark_for_purge(store: Store, file_id: int, now: int) -> None:
    """Mark a file in the trash as due for purging now."""
    store.execute(File.update(purge_at=now).where(File.id == file_id, File.trashed_at.is_null(False)))


def delete(store: Store, file_id: int) -> None:
    """Delete a file with every row that belongs to it."""
    store.execute(File.delete().where(File.id == file_id))


# Run for every counted session, by the benchmark ``beacons``.
_COUNT_VIEW = "UPDATE files SET view_count = view_count + 1 WHERE id = ?"


def increment_view_count(store: Store, file_id: int) -> None:
    """Count one view."""
    store.execute(_COUNT_VIEW, (file_id,))


def find_name(store: Store, file_id: int) -> tuple[str, str] | None:
    """Return the UUID and the name of a file, or None."""
    found = store.fetch_one(File.select(File.uuid, File.original_name).where(File.id == file_id))
    return (found[0], found[1]) if found else None


def decrement_view_count(store: Store, file_id: int, counted_at: int) -> None:
    """Take back one view that was counted at ``counted_at`` (ms), also from those before the last notice."""
    was_before_notice = Case(None, [(File.notified_at >= counted_at, 1)], 0)
    changed = File.update(view_count=File.view_count - 1, notified_views=File.notified_views - was_before_notice)
    store.execute(changed.where(File.id == file_id))


def replace_blob(store: Store, file_id: int, blob: str, old: str) -> bool:
    """Let a file refer to ``blob``, a copy of ``old``; return False if it does not refer to ``old`` any more."""
    return store.execute(File.update(blob=blob).where(File.id == file_id, File.blob == old)) > 0


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
