"""Check whether the stored bytes of a row equal the uploaded ones."""

from docshare.server.backup import durable
from docshare.server.store.blobs import BlobStore
from docshare.server.store.segments import DamagedBytesError, decrypt_blocks
from docshare.server.store.tables.contents import BlobRow
from docshare.server.store.vault import Vault, name_data_key


def is_intact(store: BlobStore, row: BlobRow, vault: Vault) -> bool:
    """Read all bytes of ``row`` and return whether they are intact.

    Raises ValueError if no master key decrypts them, MasterKeyError, FileNotFoundError, OSError and
    StorageUnreachableError.
    """
    if store.find_size(row.blob) != row.size:
        return False
    blocks = store.read_blocks(row.blob)
    try:
        if row.sealed_key is not None:
            blocks = decrypt_blocks(blocks, vault.open_bytes(row.sealed_key, name_data_key(row.blob)))
        digest = durable.hash_blocks(blocks)[0]
    except DamagedBytesError:
        return False
    return digest == (row.plain_sha256 or digest)
