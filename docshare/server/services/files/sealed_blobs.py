"""Store bytes under a data key of their own, and open them.

The data key is in the database, encrypted by the vault, from the transaction that inserts the row of the bytes to the
one that deletes it. Bytes of earlier versions, and those stored with ``encryption = off``, have no data key.
"""

from typing import NamedTuple

from docshare.server.runtime import Runtime
from docshare.server.store.blobs import PartialFile
from docshare.server.store.segments import DamagedBytesError
from docshare.server.store.stored_bytes import StoredBytes
from docshare.server.store.tables import instance
from docshare.server.store.vault import name_data_key


class StoredBlob(NamedTuple):
    """Bytes in the store that have no row yet, and their data key; None in clear."""

    blob: str
    data_key: bytes | None


def store(rt: Runtime, part: PartialFile) -> StoredBlob:
    """Store the bytes of ``part`` durably. Raises OSError and StorageUnreachableError."""
    return StoredBlob(rt.blobs.store(part), part.data_key)


def insert_key(rt: Runtime, stored: StoredBlob) -> None:
    """Store the data key, in the transaction that inserts the row of ``stored``.

    It is encrypted here and not before, because a rotation of the master key waits for this transaction only.
    """
    if stored.data_key is not None:
        instance.insert_data_key(rt.db, stored.blob, seal_key(rt, stored.blob, stored.data_key))


def open_blob(rt: Runtime, blob: str) -> StoredBytes:
    """Return the bytes ``blob``, for reading. Raises MasterKeyError; DamagedBytesError if the master key was lost."""
    sealed = instance.find_data_key(rt.db, blob)
    return StoredBytes(rt.blobs.path(blob), None if sealed is None else open_key(rt, blob, sealed))


def open_stored(rt: Runtime, stored: StoredBlob) -> StoredBytes:
    """Return the bytes of ``stored``, for reading, without asking the database."""
    return StoredBytes(rt.blobs.path(stored.blob), stored.data_key)


def seal_key(rt: Runtime, blob: str, data_key: bytes) -> bytes:
    """Return ``data_key`` encrypted for the row of ``blob``."""
    return rt.vault.seal_bytes(data_key, name_data_key(blob))


def open_key(rt: Runtime, blob: str, sealed: bytes) -> bytes:
    """Return the data key in the row of ``blob``. Raises DamagedBytesError if the master key was lost."""
    try:
        return rt.vault.open_bytes(sealed, name_data_key(blob))
    except ValueError as error:
        raise DamagedBytesError(str(error)) from error
