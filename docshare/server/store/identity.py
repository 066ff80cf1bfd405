"""The identity of a data directory: a random key that never leaves it, an id derived from that key, and the database
to which its documents belong."""

import hashlib
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from docshare.server.store.trees import require_directory

DATABASE_MARKER = "database-address"
"""The file in a data directory that names the database with its rows, unless the database is in the directory."""


@dataclass(frozen=True)
class DatabaseMarker:
    """The ``address`` of the database with the rows of a data directory, without user and password, and the id of its
    ``instance``, empty if it is unknown."""

    address: str
    instance: str


def read_database_marker(data_dir: Path) -> DatabaseMarker | None:
    """Return the marker of a data directory, None without one. Raises OSError and UnicodeDecodeError."""
    try:
        address, _, instance = (data_dir / DATABASE_MARKER).read_text(encoding="utf-8").strip().partition(" ")
    except (FileNotFoundError, NotADirectoryError):
        return None
    return DatabaseMarker(address, instance)


def write_database_marker(data_dir: Path, marker: DatabaseMarker) -> None:
    """Store ``marker`` in a data directory. Raises OSError."""
    write_private(data_dir / DATABASE_MARKER, f"{marker.address} {marker.instance}".strip() + "\n")


def instance_key(data_dir: Path) -> str:
    """Return the key of the admin channel, which is created on first use. Raises OSError."""
    path = data_dir / "instance.key"
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        require_directory(data_dir)
        key = secrets.token_hex(32)
        write_private(path, key + "\n")
        return key


def directory_id(data_dir: Path) -> str:
    """Return an id of the data directory, by which its processes identify each other in a shared database. Raises
    OSError."""
    return hashlib.sha256(instance_key(data_dir).encode()).hexdigest()[:16]


def write_private(path: Path, text: str) -> None:
    """Write ``text`` atomically to a file that only its owner may read. Raises OSError."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
