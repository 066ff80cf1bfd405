"""The assets of a file."""

from collections.abc import Collection
from typing import NamedTuple

from peewee import SQL, ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
from docshare.server.store.tables.base import Row
from docshare.server.store.tables.files import File


class Asset(Row):
    uuid = TextField(unique=True)
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    kind = TextField()
    mime_type = TextField()
    size = IntegerField()
    blob = TextField()
    created_at = IntegerField()

    class Meta:
        table_name = "assets"
        indexes = (SQL("CREATE INDEX assets_file ON assets(file_id, id)"),)


class AssetRow(NamedTuple):
    """An asset; ``size`` in bytes as stored."""

    uuid: str
    kind: str
    mime_type: str
    size: int


class AssetBlob(NamedTuple):
    """An asset with the key of its blob."""

    uuid: str
    kind: str
    blob: str


def insert(store: Store, file_id: int, row: AssetRow, blob: str, now: int) -> None:
    """Insert an asset."""
    store.execute(Asset.insert(**row._asdict(), file=file_id, blob=blob, created_at=now))


def list_of_file(store: Store, file_id: int) -> list[AssetRow]:
    """Return the assets of a file, oldest first."""
    query = Asset.select(Asset.uuid, Asset.kind, Asset.mime_type, Asset.size).where(Asset.file == file_id)
    return [AssetRow._make(found) for found in store.fetch_all(query.order_by(Asset.id))]


def list_blobs(store: Store, file_id: int) -> list[AssetBlob]:
    """Return the assets of a file with their blobs."""
    query = Asset.select(Asset.uuid, Asset.kind, Asset.blob).where(Asset.file == file_id)
    return [AssetBlob._make(found) for found in store.fetch_all(query)]


def find_served(store: Store, file_id: int, uuid: str) -> tuple[str, str] | None:
    """Return the blob and the media type of the asset ``uuid`` of a file, or None."""
    query = Asset.select(Asset.blob, Asset.mime_type).where(Asset.file == file_id, Asset.uuid == uuid)
    found = store.fetch_one(query)
    return (found[0], found[1]) if found else None


def find_id(store: Store, file_id: int, uuid: str, kind: str) -> int | None:
    """Return the id of the asset ``uuid`` of a file if it is of this kind, or None."""
    query = Asset.select(Asset.id).where(Asset.file == file_id, Asset.uuid == uuid, Asset.kind == kind)
    found = store.fetch_one(query)
    return int(found[0]) if found else None


def list_uuids(store: Store, file_id: int, kinds: Collection[str]) -> set[str]:
    """Return the UUIDs of the assets of a file that are of one of these kinds."""
    query = Asset.select(Asset.uuid).where(Asset.file == file_id, Asset.kind.in_(kinds))
    return {uuid for (uuid,) in store.fetch_all(query)}


def delete_others(store: Store, file_id: int, kind: str, uuid: str) -> None:
    """Delete the assets of this kind of a file, except the asset ``uuid``."""
    store.execute(Asset.delete().where(Asset.file == file_id, Asset.kind == kind, Asset.uuid != uuid))


def replace_blob(store: Store, asset_id: int, blob: str, old: str) -> bool:
    """Let an asset refer to ``blob``, a copy of ``old``; return False if it does not refer to ``old`` any more."""
    return store.execute(Asset.update(blob=blob).where(Asset.id == asset_id, Asset.blob == old)) > 0
