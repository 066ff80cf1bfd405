"""Files and the revisions of their content."""

from collections.abc import Iterator
from typing import NamedTuple

from peewee import ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
from docshare.server.store.tables.accounts import Account
from docshare.server.store.tables.base import Row


class File(Row):
    uuid = TextField(unique=True)
    short_id = TextField(unique=True)
    slug = TextField(unique=True, null=True)
    owner = ForeignKeyField(Account, null=True)
    original_name = TextField()
    size = IntegerField()
    mime_type = TextField()
    total_pages = IntegerField()
    page_sizes = TextField()  # JSON: [[pages, width, height], ...] in points, equal neighbours folded together
    sha256 = TextField()
    blob = TextField()
    content_version = IntegerField()
    created_at = IntegerField()
    updated_at = IntegerField()
    delete_at = IntegerField(null=True)
    trashed_at = IntegerField(null=True)
    purge_at = IntegerField(null=True)
    burned_at = IntegerField(null=True)
    destroyed_at = IntegerField(null=True)  # when the bytes of a burned file went
    view_count = IntegerField(default=0)
    views_consumed = IntegerField(default=0)
    view_limit = IntegerField(null=True)
    password_hash = TextField(null=True)
    notified_at = IntegerField(null=True)  # of the last mail that told of a view
    notified_views = IntegerField(default=0)  # what the view count was then
    frozen_at = IntegerField(null=True)
    download_warning = TextField(null=True)  # why readers cannot download it as the settings say: a word of the rules
    settings = TextField(default="{}")  # JSON: the settings that deviate from their defaults, by wire name

    class Meta:
        table_name = "files"


class Revision(Row):
    file = ForeignKeyField(File, backref="revisions")
    content_version = IntegerField()
    original_name = TextField()
    size = IntegerField()
    total_pages = IntegerField()
    sha256 = TextField()
    created_at = IntegerField()

    class Meta:
        table_name = "revisions"


class InviteSender(NamedTuple):
    """What a mail to an invitee says of a file and its owner. ``gated``: the file asks for an email or a form."""

    owner: str
    email: str
    document: str
    protected: int
    gated: int


_SELECT_INVITE_SENDER = (
    "SELECT a.name, a.email, f.original_name, f.password_hash IS NOT NULL, "
    "f.settings ->> 'requireEmail' IS 1 OR f.settings ->> 'gateFields' IS NOT NULL "
    "FROM files f JOIN accounts a ON a.id = f.owner_id WHERE f.id = ?"
)
_SELECT_OWNED_BY_ANYBODY = (
    "SELECT id FROM files WHERE (uuid = ? OR short_id = ?) AND trashed_at IS NULL AND owner_id IS NOT NULL"
)
_STORE_WARNING = (
    "UPDATE files SET download_warning = ? WHERE id = ? AND content_version = ? AND settings = ? "
    "AND download_warning IS NOT ?"
)


def find_page_sizes(store: Store, file_id: int) -> str | None:
    """Return the page sizes of a file, JSON as stored, or None if the file was deleted."""
    found = store.row("SELECT page_sizes FROM files WHERE id = ?", (file_id,))
    return str(found[0]) if found else None


def recall_password_hash(store: Store, file_id: int) -> str | None:
    """Return the hash of the share password of a file, or None."""
    found = store.recall("SELECT password_hash FROM files WHERE id = ?", (file_id,))
    return found[0] if found else None


def get_end(store: Store, file_id: int) -> tuple[int | None, int | None]:
    """Return when a file was burned and when it expires (ms), each None for never."""
    ((burned_at, delete_at),) = store.rows("SELECT burned_at, delete_at FROM files WHERE id = ?", (file_id,))
    return burned_at, delete_at


def find_owned_by_anybody(store: Store, uuid: str, short_id: str) -> int | None:
    """Return the id of the file with this UUID or short id, whatever account owns it, or None. Files in the trash and
    files without an owner are not found."""
    found = store.row(_SELECT_OWNED_BY_ANYBODY, (uuid, short_id))
    return int(found[0]) if found else None


def find_invite_sender(store: Store, file_id: int) -> InviteSender | None:
    """Return what a mail to an invitee says of a file, or None if the file has no owner."""
    found = store.row(_SELECT_INVITE_SENDER, (file_id,))
    return InviteSender._make(found) if found else None


def has_warning(store: Store, file_id: int) -> bool:
    """Return whether a download warning is stored for a file."""
    return store.row("SELECT 1 FROM files WHERE id = ? AND download_warning IS NOT NULL", (file_id,)) is not None


def store_warning(store: Store, file_id: int, reason: str | None, *, content_version: int, settings: str) -> None:
    """Store the download warning of a file, or erase it with None.

    Nothing is stored once the file differs from what was tried: a later change is tried by itself.
    """
    store.execute(_STORE_WARNING, (reason, file_id, content_version, settings, reason))


def sum_stored_bytes(store: Store, owner_id: int) -> int:
    """Return the size of all files of an account, without those in the trash and those that are destroyed."""
    ((total,),) = store.rows(
        "SELECT IFNULL(SUM(size), 0) FROM files WHERE owner_id = ? AND trashed_at IS NULL AND destroyed_at IS NULL",
        (owner_id,),
    )
    return int(total)


def mark_all_for_purge(store: Store, owner_id: int, now: int) -> None:
    """Put all files of an account into the trash, due for destruction now."""
    File.update(trashed_at=now, purge_at=now).where(File.owner == owner_id).execute(store.sqlite)


def list_ids_of_owner(store: Store, owner_id: int) -> list[int]:
    """Return the ids of all files of an account, those in the trash too."""
    return [file_id for (file_id,) in store.rows("SELECT id FROM files WHERE owner_id = ?", (owner_id,))]


def has_any(store: Store, owner_id: int) -> bool:
    """Return whether an account has a file, be it in the trash."""
    return store.row("SELECT 1 FROM files WHERE owner_id = ? LIMIT 1", (owner_id,)) is not None


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
    "f.settings ->> 'notifyOnView' IS 1, f.settings ->> 'notifyOnComment' IS 1 "
    "FROM files f JOIN accounts a ON a.id = f.owner_id WHERE f.id = ?"
)


def find_notified_owner(store: Store, file_id: int) -> NotifiedOwner | None:
    """Return the owner of a file with what a notice needs, or None for a file without an owner."""
    found = store.row(_SELECT_NOTIFIED_OWNER, (file_id,))
    return NotifiedOwner._make(found) if found else None


def mark_notified(store: Store, file_id: int, now: int) -> None:
    """Store when the owner was last notified of a view, and the view count of that moment."""
    store.execute("UPDATE files SET notified_at = ?, notified_views = view_count WHERE id = ?", (now, file_id))


_STORED_BLOBS = "SELECT blob FROM files WHERE destroyed_at IS NULL UNION ALL SELECT blob FROM assets"
_MARK_UNCLAIMED = (
    "UPDATE files SET trashed_at = ?1, purge_at = ?1 WHERE owner_id IS NULL AND delete_at <= ?2 AND trashed_at IS NULL"
)


def stream_blobs(store: Store) -> Iterator[str]:
    """Yield the keys of all blobs that files and assets refer to."""
    return (blob for (blob,) in store.stream(_STORED_BLOBS))


def stream_versions(store: Store) -> Iterator[tuple[str, int]]:
    """Yield the UUID and the content version of every file that is not destroyed."""
    rows = store.stream("SELECT uuid, content_version FROM files WHERE destroyed_at IS NULL")
    return ((uuid, version) for uuid, version in rows)


def list_trashed_ids(store: Store) -> list[int]:
    """Return the ids of all files in the trash."""
    return [file_id for (file_id,) in store.rows("SELECT id FROM files WHERE trashed_at IS NOT NULL")]


def list_due_ids(store: Store, now: int) -> list[int]:
    """Return the ids of the files that are due for destruction."""
    return [file_id for (file_id,) in store.rows("SELECT id FROM files WHERE purge_at <= ?", (now,))]


def mark_unclaimed_for_purge(store: Store, expired_by: int, now: int) -> None:
    """Mark the files without an owner that expired by ``expired_by`` (ms) as due for destruction now."""
    store.execute(_MARK_UNCLAIMED, (now, expired_by))


def list_unclaimed_due_ids(store: Store, now: int) -> list[int]:
    """Return the ids of the files without an owner that are due for destruction."""
    due = store.rows("SELECT id FROM files WHERE owner_id IS NULL AND purge_at <= ?", (now,))
    return [file_id for (file_id,) in due]
