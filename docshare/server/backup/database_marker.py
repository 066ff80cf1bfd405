"""The file in a data directory that says in which database its rows are, unless they are in the directory itself.

The documents that a database does not name are leftovers, which are removed at the start. With another database than
their own, those would be all documents.
"""

import sqlite3
from pathlib import Path
from urllib.parse import urlsplit

from docshare.server.backup import durable, reading
from docshare.server.backup.manifest import DATABASE
from docshare.server.config import DATABASE_MARKER, ConfigError
from docshare.server.store.identity import write_private


def require_own_database(data_dir: Path, instance: str) -> None:
    """Raise ConfigError if the documents in the data directory belong to another instance than ``instance``, the one
    of the PostgreSQL database in use. Raises OSError."""
    marker = data_dir / DATABASE_MARKER
    address, _, owner = marker.read_text(encoding="utf-8").strip().partition(" ") if marker.exists() else ("", "", "")
    if owner not in ("", instance):
        raise ConfigError(
            f"database_url: the documents in {data_dir} belong to {address}, which is another database; correct "
            f"DOCSHARE_DATABASE_URL, or delete {marker} if that database is not used any more"
        )
    if address == "" and (data_dir / DATABASE).exists() and not _is_moved(data_dir / DATABASE, instance):
        raise ConfigError(
            f"database_url: the documents in {data_dir} belong to its {DATABASE}; copy it with docshare admin move "
            "--to-database, without DOCSHARE_DATABASE_URL, or use another data directory"
        )


def mark_database(data_dir: Path, url: str, instance: str) -> None:
    """Store in the data directory that its rows are in the database at ``url``, and the id of their instance, which may
    be empty. The file does not contain the user and the password. Raises OSError."""
    parts = urlsplit(url)
    address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".replace(" ", "%20")
    text = f"{address} {instance}".strip() + "\n"
    marker = data_dir / DATABASE_MARKER
    if not marker.exists() or marker.read_text(encoding="utf-8") != text:
        write_private(marker, text)
        durable.chown_to_owner(data_dir, marker)


def _is_moved(database: Path, instance: str) -> bool:
    """Return whether the SQLite database was copied to that of ``instance``, or has no documents."""
    try:
        with reading.open_database(database) as connection:
            is_empty = next(iter(reading.list_rows(connection)), None) is None
            return is_empty or reading.instance_id(connection) == instance
    except sqlite3.Error:
        return False
