"""Check and mark to which database the documents of a data directory belong.

The documents that a database does not name are leftovers, which are removed at the start. With another database than
their own, those would be all documents.
"""

import sqlite3
from pathlib import Path
from urllib.parse import urlsplit

from docshare.server.backup import durable, reading
from docshare.server.backup.manifest import DATABASE
from docshare.server.config import ConfigError
from docshare.server.store.identity import (
    DATABASE_MARKER,
    DatabaseMarker,
    read_database_marker,
    write_database_marker,
)
from docshare.server.store.tables import contents as content_rows


def require_own_database(data_dir: Path, instance: str) -> None:
    """Raise ConfigError if the documents in the data directory belong to another instance than ``instance``, the one
    of the PostgreSQL database in use. Raises OSError."""
    marker = read_database_marker(data_dir)
    if marker is not None and marker.instance not in ("", instance):
        raise ConfigError(
            f"database_url: the documents in {data_dir} belong to {marker.address}, which is another database; correct "
            f"DOCSHARE_DATABASE_URL, or delete {data_dir / DATABASE_MARKER} if that database is no longer used"
        )
    if marker is None and (data_dir / DATABASE).exists() and not _is_moved(data_dir / DATABASE, instance):
        raise ConfigError(
            f"database_url: the documents in {data_dir} belong to its {DATABASE}; copy it with docshare admin move "
            "--to-database, without DOCSHARE_DATABASE_URL, or use another data directory"
        )


def mark_database(data_dir: Path, url: str, instance: str) -> None:
    """Store in the data directory that its rows are in the database at ``url``, and the id of their instance, which may
    be empty. Raises OSError."""
    parts = urlsplit(url)
    address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".replace(" ", "%20")
    marker = DatabaseMarker(address, instance)
    if read_database_marker(data_dir) != marker:
        write_database_marker(data_dir, marker)
        durable.chown_to_owner(data_dir, data_dir / DATABASE_MARKER)


def _is_moved(database: Path, instance: str) -> bool:
    """Return whether the SQLite database was copied to that of ``instance``, or has no documents."""
    try:
        with reading.open_database(database) as opened:
            is_empty = next(iter(content_rows.stream_rows(opened)), None) is None
            return is_empty or reading.instance_id(opened) == instance
    except sqlite3.Error:
        return False
