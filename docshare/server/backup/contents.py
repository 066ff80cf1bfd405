"""Check whether the stored bytes of a row equal the uploaded ones."""

import errno
from collections.abc import Iterable

from docshare.server.backup import durable
from docshare.server.store.blobs import BlobStore
from docshare.server.store.master_keys import MasterKeyError
from docshare.server.store.segments import DamagedBytesError, decrypt_blocks
from docshare.server.store.tables.contents import BlobRow
from docshare.server.store.vault import Vault, name_data_key

_UNREADABLE = (errno.EIO, errno.EBADMSG, errno.EUCLEAN)


def is_unreadable(error: OSError) -> bool:
    """Return whether the disk has lost the bytes of a file, or knows that they are damaged."""
    return error.errno in _UNREADABLE


def has_key(row: BlobRow, vault: Vault) -> bool:
    """Return whether the bytes of ``row`` are in clear, or a master key decrypts their data key."""
    try:
        if row.sealed_key is not None:
            vault.open_bytes(row.sealed_key, name_data_key(row.blob))
    except (MasterKeyError, ValueError):
        return False
    return True


def is_intact(store: BlobStore, row: BlobRow, vault: Vault) -> bool:
    """Read all bytes of ``row`` and return whether they are intact.

    Raises ValueError if no master key decrypts them, MasterKeyError, FileNotFoundError, OSError and
    StorageUnreachableError.
    """
    return store.find_size(row.blob) == row.size and has_content(store.read_blocks(row.blob), row, vault)


def has_content(blocks: Iterable[bytes], row: BlobRow, vault: Vault) -> bool:
    """Return whether ``blocks``, as they are stored, are the intact bytes of ``row``. Raises as ``is_intact``."""
    try:
        if row.sealed_key is not None:
            blocks = decrypt_blocks(blocks, vault.open_bytes(row.sealed_key, name_data_key(row.blob)))
        digest = durable.hash_blocks(blocks)[0]
    except DamagedBytesError:
        return False
    return digest == (row.plain_sha256 or digest)
