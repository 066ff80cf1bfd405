"""Which design of the design tool a file shows, and what its users have published lately."""

from typing import Any

from peewee import SQL, ForeignKeyField, IntegerField, TextField, fn

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


def list_of_user(store: Store, design: str, user: str) -> list[tuple[Any, ...]]:
    """Return the active files to which a user published a design, newest first: ``FILE_COLUMNS`` of the file, the
    user, and the expiry that the user's publishing set."""
    return _list_bound(store, design, Design.design_user == user)


def list_of_owner(store: Store, design: str, owner_id: int) -> list[tuple[Any, ...]]:
    """Return the active files of an account that show a design, like ``list_of_user``."""
    return _list_bound(store, design, File.owner == owner_id)


def _list_bound(store: Store, design: str, condition: Any) -> list[tuple[Any, ...]]:
    columns = (getattr(File, name) for name in FILE_COLUMNS)
    query = Design.select(*columns, Design.design_user, Design.expires_at).join(File)
    query = query.where(Design.design == design, File.trashed_at.is_null(), condition)
    return store.fetch_all(query.order_by(Design.bound_at.desc(), Design.file.desc()))


def is_shown_by_others(store: Store, design: str, user: str, file_id: int, now: int) -> bool:
    """Return whether a live file other than ``file_id`` shows the design, published by another user."""
    is_live = File.trashed_at.is_null() & File.burned_at.is_null() & (File.delete_at.is_null() | (File.delete_at > now))
    by_others = (Design.design == design) & (Design.design_user != user) & (Design.file != file_id)
    return bool(Design.select().join(File).where(by_others, is_live).exists(store.engine))


def bind(store: Store, file_id: int, user: str, design: str, *, expires_at: int | None, now: int) -> None:
    """Store that a file shows a design."""
    query = Design.insert(file=file_id, design_user=user, design=design, bound_at=now, expires_at=expires_at)
    replaced = (Design.design_user, Design.design, Design.bound_at, Design.expires_at)
    store.execute(query.on_conflict(conflict_target=Design.file, preserve=replaced))


def delete_unclaimed(store: Store, design: str, user: str) -> None:
    """Detach a design of a user from all active files without an owner."""
    unclaimed = File.select(File.id).where(File.owner.is_null(), File.trashed_at.is_null())
    is_of_user = (Design.design == design) & (Design.design_user == user)
    store.execute(Design.delete().where(is_of_user, Design.file.in_(unclaimed)))


def set_expires_at(store: Store, file_id: int, expires_at: int | None) -> None:
    """Change the expiry that publishing the design of a file set."""
    store.execute(Design.update(expires_at=expires_at).where(Design.file == file_id))


def delete(store: Store, file_id: int) -> None:
    """Detach a file from its design, if it has one."""
    store.execute(Design.delete().where(Design.file == file_id))


def count_uploads(store: Store, user: str, since: int) -> tuple[int, int | None]:
    """Return how many designs a user has uploaded after ``since`` (ms), and when the first of them."""
    query = DesignUpload.select(fn.COUNT(DesignUpload.id), fn.MIN(DesignUpload.uploaded_at))
    query = query.where(DesignUpload.design_user == user, DesignUpload.uploaded_at > since)
    ((count, oldest),) = store.fetch_all(query)
    return count, oldest


def insert_upload(store: Store, user: str, now: int) -> None:
    """Insert an upload of a user."""
    store.execute(DesignUpload.insert(design_user=user, uploaded_at=now))


def delete_uploads(store: Store, uploaded_by: int) -> None:
    """Delete the uploads of all users until ``uploaded_by`` (ms)."""
    store.execute(DesignUpload.delete().where(DesignUpload.uploaded_at <= uploaded_by))
