"""Read the stored bytes of documents, in a directory or in a bucket."""

import logging
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from werkzeug.test import TestResponse

from docshare.server import faults
from docshare.server.runtime import Runtime
from docshare.server.services.files.sealed_blobs import open_blob
from docshare.server.store.blobs import open_folder
from docshare.server.store.master_keys import KeyFile
from docshare.server.store.stored_bytes import StoredBytes
from docshare.server.store.vault import Vault, name_data_key

_FAR = 10**15


def list_stored_keys(rt: Runtime) -> list[str]:
    """Return the keys of all blobs."""
    return sorted(key for page in rt.blobs.list_old(_FAR) for key in page)


def list_stored(rt: Runtime) -> list[bytes]:
    """Return the bytes of all blobs and of all partial files."""
    blobs = [read_stored(rt, key) for key in list_stored_keys(rt)]
    return blobs + _list_partials(rt)


def list_contents(rt: Runtime) -> list[bytes]:
    """Return the decrypted bytes of all blobs, and the stored bytes of all partial files."""
    return [open_blob(rt, key).read_bytes() for key in list_stored_keys(rt)] + _list_partials(rt)


def read_stored(rt: Runtime, key: str) -> bytes:
    """Return the bytes of one blob."""
    return b"".join(rt.blobs.read_blocks(key))


def decrypt_offline(data_dir: Path, connection: sqlite3.Connection, key: str) -> bytes:
    """Return the decrypted bytes of one blob in the data directory of a server in another process. Raises
    FileNotFoundError (also if it has no data key) and DamagedBytesError."""
    found = connection.execute("SELECT sealed FROM data_keys WHERE blob = ?", (key,)).fetchone()
    vault = Vault(KeyFile(data_dir / "vault.key", os.urandom), os.urandom)
    data_key = vault.open_bytes(found[0], name_data_key(key)) if found else None
    return StoredBytes(open_folder(data_dir).path(key), data_key).read_bytes()


def flip_last_bit(path: Path) -> None:
    """Change the last byte of a file."""
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def assert_reported_as_damaged(send: Callable[[], TestResponse], caplog: pytest.LogCaptureFixture) -> None:
    """Assert that the request is answered 503, and that the response and one line of the log report damaged bytes."""
    logging.getLogger("docshare").propagate = True
    faults._last_logged.clear()
    answer = send()
    assert (answer.status_code, answer.get_json()["detail"]) == (503, "The stored document is damaged.")
    lines = [line.getMessage() for line in caplog.records if line.levelno >= logging.WARNING]
    assert ["stored bytes are damaged" in line for line in lines] == [True], lines


def _list_partials(rt: Runtime) -> list[bytes]:
    return [path.read_bytes() for path in rt.blobs.tmp.iterdir() if path.is_file()]
