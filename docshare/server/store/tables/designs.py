"""Which design of the design tool a file shows, and what its users have published lately."""

from typing import Any

from peewee import SQL, ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
from docshare.server.store.tables.base import Row
from docshare.server.store.tables.files import File


class Design(Row):
    file = ForeignKeyField(File, primary_key=True, on_delete="CASCADE", index=False)
    design_user = TextField()
    design = TextField()
    bound_at = IntegerField()
    expires_at = IntegerField(null=True)  # what the publishing set

    class Meta:
        table_name = "designs"
        indexes = (SQL("CREATE INDEX designs_design ON designs(design, design_user)"),)


class DesignUpload(Row):
    design_user = TextField()
    uploaded_at = IntegerField()

    class Meta:
        table_name = "design_uploads"
        indexes = (
            SQL("CREATE INDEX design_uploads_age ON design_uploads(uploaded_at)"),
            SQL("CREATE INDEX design_uploads_user ON design_uploads(design_user, uploaded_at)"),
        )


FILE_COLUMNS = (
    "id",
    "uuid",
    "short_id",
    "content_version",
    "blob",
    "delete_at",
    "burned_at",
    "frozen_at",
    "owner_id",
    "view_count",
    "settings",
)
_SELECT_BOUND = (
    f"SELECT {', '.join(f'f.{column}' for column in FILE_COLUMNS)}, d.design_user, d.expires_at "  # noqa: S608 - columns
    "FROM designs d JOIN files f ON f.id = d.file_id WHERE d.design = ? AND f.trashed_at IS NULL"
)
_NEWEST = " ORDER BY d.bound_at DESC, d.file_id DESC"
_SELECT_OTHERS = (
    "SELECT 1 FROM designs d JOIN files f ON f.id = d.file_id WHERE d.design = ? AND d.design_user <> ? AND f.id <> ? "
    "AND f.trashed_at IS NULL AND f.burned_at IS NULL AND (f.delete_at IS NULL OR f.delete_at > ?) LIMIT 1"
)
_DELETE_UNCLAIMED = (
    "DELETE FROM designs WHERE design = ? AND design_user = ? "
    "AND file_id IN (SELECT id FROM files WHERE owner_id IS NULL AND trashed_at IS NULL)"
)
_REPLACE = (
    "INSERT INTO designs (file_id, design_user, design, bound_at, expires_at) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (file_id) DO UPDATE SET design_user = excluded.design_user, design = excluded.design, "
    "bound_at = excluded.bound_at, expires_at = excluded.expires_at"
)


def list_of_user(store: Store, design: str, user: str) -> list[tuple[Any, ...]]:
    """Return the active files to which a user published a design, newest first: ``FILE_COLUMNS`` of the file, the
    user, and the expiry that the user's publishing set."""
    return store.fetch_all(f"{_SELECT_BOUND} AND d.design_user = ?{_NEWEST}", (design, user))


def list_of_owner(store: Store, design: str, owner_id: int) -> list[tuple[Any, ...]]:
    """Return the active files of an account that show a design, like ``list_of_user``."""
    return store.fetch_all(f"{_SELECT_BOUND} AND f.owner_id = ?{_NEWEST}", (design, owner_id))


def is_shown_by_others(store: Store, design: str, user: str, file_id: int, now: int) -> bool:
    """Return whether a live file other than ``file_id`` shows the design, published by another user."""
    return store.fetch_one(_SELECT_OTHERS, (design, user, file_id, now)) is not None


def bind(store: Store, file_id: int, user: str, design: str, *, expires_at: int | None, now: int) -> None:
    """Store that a file shows a design."""
    store.execute(_REPLACE, (file_id, user, design, now, expires_at))


def delete_unclaimed(store: Store, design: str, user: str) -> None:
    """Detach a design of a user from all active files without an owner."""
    store.execute(_DELETE_UNCLAIMED, (design, user))


def set_expires_at(store: Store, file_id: int, expires_at: int | None) -> None:
    """Change the expiry that publishing the design of a file set."""
    Design.update(expires_at=expires_at).where(Design.file == file_id).execute(store.engine)


def delete(store: Store, file_id: int) -> None:
    """Detach a file from its design, if it has one."""
    Design.delete().where(Design.file == file_id).execute(store.engine)


def count_uploads(store: Store, user: str, since: int) -> tuple[int, int | None]:
    """Return how many designs a user has uploaded after ``since`` (ms), and when the first of them."""
    ((count, oldest),) = store.fetch_all(
        "SELECT COUNT(*), MIN(uploaded_at) FROM design_uploads WHERE design_user = ? AND uploaded_at > ?", (user, since)
    )
    return count, oldest


def insert_upload(store: Store, user: str, now: int) -> None:
    """Insert an upload of a user."""
    DesignUpload.insert(design_user=user, uploaded_at=now).execute(store.engine)


def delete_uploads(store: Store, uploaded_by: int) -> None:
    """Delete the uploads of all users until ``uploaded_by`` (ms)."""
    DesignUpload.delete().where(DesignUpload.uploaded_at <= uploaded_by).execute(store.engine)
