"""Secrets that the instance generated: its own, and the data keys of encrypted blobs.

Deleting the row of a data key destroys the bytes, in every copy that does not have the row. A blob without a row is not
encrypted. The statements on the blobs of three tables are text, which is shorter here than their queries.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from peewee import BlobField, TextField

from docshare.server.store.database import Store
from docshare.server.store.database_file import DatabaseFile
from docshare.server.store.tables.base import Row

FOLDER_SECRET = "blobs-directory"  # noqa: S105 - a name
"""The secret that identifies the data directory with the documents of a PostgreSQL database without a shared store."""


class InstanceSecret(Row):
    name = TextField(primary_key=True)
    value = BlobField()

    class Meta:
        table_name = "instance_secrets"
        without_rowid = True


def find_secret(store: Store | DatabaseFile, name: str) -> bytes | None:
    """Return the secret ``name``, or None."""
    found = store.fetch_one("SELECT value FROM instance_secrets WHERE name = ?", (name,))
    return bytes(found[0]) if found else None


def insert_secret(store: Store, name: str, value: bytes) -> None:
    """Insert a secret, unless one of that name exists."""
    store.execute(InstanceSecret.insert(name=name, value=value).on_conflict_ignore())


def delete_secret(store: Store, name: str) -> None:
    """Delete the secret ``name``."""
    store.execute(InstanceSecret.delete().where(InstanceSecret.name == name))


def update_secret(store: Store, name: str, value: bytes, old: bytes) -> None:
    """Store another value of the secret ``name``, unless it has changed from ``old``."""
    is_unchanged = (InstanceSecret.name == name) & (InstanceSecret.value == old)
    store.execute(InstanceSecret.update(value=value).where(is_unchanged))


def list_secrets(store: Store) -> list[tuple[str, bytes]]:
    """Return the name and the value of every secret."""
    query = InstanceSecret.select(InstanceSecret.name, InstanceSecret.value)
    return [(name, bytes(value)) for name, value in store.fetch_all(query)]


class DataKey(Row):
    blob = TextField(primary_key=True)
    sealed = BlobField()  # by the vault, about the blob

    class Meta:
        table_name = "data_keys"
        without_rowid = True


class UnencryptedBlob(NamedTuple):
    """A blob in clear. ``kind``: ``files`` or ``assets``, the table of its row ``id``; ``owner_id`` of the file."""

    kind: str
    id: int
    blob: str
    owner_id: int | None
    file_uuid: str


_UNENCRYPTED = (
    "SELECT 'files', f.id, f.blob, f.owner_id, f.uuid FROM files f WHERE f.destroyed_at IS NULL "
    "AND NOT EXISTS (SELECT 1 FROM data_keys k WHERE k.blob = f.blob) "
    "UNION ALL SELECT 'assets', a.id, a.blob, f.owner_id, f.uuid FROM assets a JOIN files f ON f.id = a.file_id "
    "WHERE NOT EXISTS (SELECT 1 FROM data_keys k WHERE k.blob = a.blob)"
)
_COUNT_STORED = "SELECT (SELECT COUNT(*) FROM files WHERE destroyed_at IS NULL) + (SELECT COUNT(*) FROM assets)"
# Run whenever a document is stored or read, by the benchmarks ``embedded`` and ``download``.
_INSERT_DATA_KEY = "INSERT INTO data_keys (blob, sealed) VALUES (?, ?)"
_SELECT_DATA_KEY = "SELECT sealed FROM data_keys WHERE blob = ?"


def insert_data_key(store: Store, blob: str, sealed: bytes) -> None:
    """Store the sealed data key of ``blob``, in the transaction that inserts what refers to the blob."""
    store.execute(_INSERT_DATA_KEY, (blob, sealed))


def find_data_key(store: Store, blob: str) -> bytes | None:
    """Return the sealed data key of ``blob``, None if it is not encrypted or destroyed."""
    found = store.fetch_cached(_SELECT_DATA_KEY, (blob,))
    return bytes(found[0]) if found else None


def delete_data_keys(store: Store, blobs: Sequence[str]) -> None:
    """Destroy the data keys of ``blobs``."""
    store.execute("DELETE FROM data_keys WHERE blob IN (JSON_TEXTS(?))", (json.dumps(list(blobs)),))


def list_unencrypted(store: Store, most: int) -> list[UnencryptedBlob]:
    """Return up to ``most`` stored blobs that are not encrypted, in random order."""
    rows = store.fetch_all(f"SELECT * FROM ({_UNENCRYPTED}) AS found ORDER BY RANDOM() LIMIT ?", (most,))  # noqa: S608
    return [UnencryptedBlob._make(row) for row in rows]


def count_encrypted(store: Store) -> tuple[int, int]:
    """Return the number of stored blobs that are encrypted, and of all."""
    ((total,),) = store.fetch_all(_COUNT_STORED)
    ((unencrypted,),) = store.fetch_all(f"SELECT COUNT(*) FROM ({_UNENCRYPTED}) AS found")  # noqa: S608 - no values
    return total - unencrypted, total


def has_data_keys(store: Store) -> bool:
    """Return whether any blob is encrypted."""
    return bool(DataKey.select().exists(store.engine))


def list_data_keys(store: Store, blob: str, most: int) -> list[tuple[str, bytes]]:
    """Return up to ``most`` blobs behind ``blob``, in their order, with their sealed keys."""
    query = DataKey.select(DataKey.blob, DataKey.sealed).where(DataKey.blob > blob).order_by(DataKey.blob)
    return [(name, bytes(sealed)) for name, sealed in store.fetch_all(query.limit(most))]


def update_data_key(store: Store, blob: str, sealed: bytes, old: bytes) -> None:
    """Store the key of ``blob`` under another master key, unless it has changed from ``old``."""
    store.execute(DataKey.update(sealed=sealed).where(DataKey.blob == blob, DataKey.sealed == old))
