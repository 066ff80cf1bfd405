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


_LIST = "SELECT uuid, kind, mime_type, size FROM assets WHERE file_id = ? ORDER BY id"


def insert(store: Store, file_id: int, row: AssetRow, blob: str, now: int) -> None:
    """Insert an asset."""
    Asset.insert(**row._asdict(), file=file_id, blob=blob, created_at=now).execute(store.engine)


def list_of_file(store: Store, file_id: int) -> list[AssetRow]:
    """Return the assets of a file, oldest first."""
    return [AssetRow._make(found) for found in store.fetch_all(_LIST, (file_id,))]


def list_blobs(store: Store, file_id: int) -> list[AssetBlob]:
    """Return the assets of a file with their blobs."""
    return [
        AssetBlob._make(found)
        for found in store.fetch_all("SELECT uuid, kind, blob FROM assets WHERE file_id = ?", (file_id,))
    ]


def find_served(store: Store, file_id: int, uuid: str) -> tuple[str, str] | None:
    """Return the blob and the media type of the asset ``uuid`` of a file, or None."""
    found = store.fetch_one("SELECT blob, mime_type FROM assets WHERE file_id = ? AND uuid = ?", (file_id, uuid))
    return (found[0], found[1]) if found else None


def find_id(store: Store, file_id: int, uuid: str, kind: str) -> int | None:
    """Return the id of the asset ``uuid`` of a file if it is of this kind, or None."""
    found = store.fetch_one("SELECT id FROM assets WHERE file_id = ? AND uuid = ? AND kind = ?", (file_id, uuid, kind))
    return int(found[0]) if found else None


def list_uuids(store: Store, file_id: int, kinds: Collection[str]) -> set[str]:
    """Return the UUIDs of the assets of a file that are of one of these kinds."""
    found = Asset.select(Asset.uuid).where((Asset.file == file_id) & Asset.kind.in_(kinds))
    return {row.uuid for row in found.execute(store.engine)}


def delete_others(store: Store, file_id: int, kind: str, uuid: str) -> None:
    """Delete the assets of this kind of a file, except the asset ``uuid``."""
    store.execute("DELETE FROM assets WHERE file_id = ? AND kind = ? AND uuid <> ?", (file_id, kind, uuid))


def replace_blob(store: Store, asset_id: int, blob: str, old: str) -> bool:
    """Let an asset refer to ``blob``, a copy of ``old``; return False if it does not refer to ``old`` any more."""
    return store.execute("UPDATE assets SET blob = ? WHERE id = ? AND blob = ?", (blob, asset_id, old)) > 0
