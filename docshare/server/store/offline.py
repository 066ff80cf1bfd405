"""Read and repair the rows of a database file without a ``Store``: in a backup, or beside or without a server.

Every function takes a connection to that database. Functions that support older steps of the schema document it.
"""

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from docshare.server.store.segments import compute_stored_size

_SHARING_STEP = 2  # the step of the schema that added assets, and files whose bytes were deleted
_WEBHOOKS_STEP = 4  # the step that added webhooks
_DATA_KEYS_STEP = 13  # the step that added the data keys of encrypted blobs
_FILES = "SELECT 'file', uuid, blob, size, sha256, NULL FROM files {} ORDER BY id"
_ASSETS = "SELECT 'asset', uuid, blob, size, NULL, NULL FROM assets ORDER BY id"
_ROWS_WITH_KEYS = (
    "SELECT kind, uuid, b.blob, size, sha256, k.sealed FROM ("
    "SELECT 'file' AS kind, id, uuid, blob, size, sha256 FROM files WHERE destroyed_at IS NULL UNION ALL "
    "SELECT 'asset', id, uuid, blob, size, NULL FROM assets) b LEFT JOIN data_keys k ON k.blob = b.blob "
    "ORDER BY kind DESC, id"
)
_IS_REFERENCED = (
    "SELECT 1 FROM files WHERE blob = ?1 AND destroyed_at IS NULL "
    "UNION ALL SELECT 1 FROM assets WHERE blob = ?1 LIMIT 1"
)
# Rows that docshare never writes, by the kind of the inconsistency.
_INCONSISTENT = {
    "settings": "SELECT uuid FROM files WHERE NOT json_valid(settings)",
    "trash": "SELECT uuid FROM files WHERE trashed_at IS NOT NULL AND purge_at IS NULL",
    "views": "SELECT uuid FROM files WHERE view_limit IS NOT NULL AND views_consumed > view_limit",
    "revisions": "SELECT uuid FROM files WHERE content_version <> "
    "(SELECT COALESCE(MAX(content_version), 0) FROM revisions WHERE file_id = files.id)",
    "overrides": "SELECT uuid FROM variants WHERE NOT json_valid(overrides)",
    "deliveries": "SELECT uuid FROM deliveries WHERE NOT json_valid(body)",
}
_FREEZE = "UPDATE files SET frozen_at = ?, updated_at = ? WHERE uuid = ? AND frozen_at IS NULL"
_SIGN_IN_TABLES = ("login_links", "web_sessions", "oauth_tokens", "oauth_codes", "device_codes")
_SEQUENCE_TABLES = ("view_rows", "download_rows", "gate_rows", "activity_rows", "session_rows", "deliveries")
_CANCEL_PENDING = (
    "UPDATE deliveries SET next_at = NULL, claimed_at = NULL, abandoned_at = ?1 WHERE next_at IS NOT NULL",
    "UPDATE mails SET next_at = NULL, gathers_until = NULL, failed_at = ?1, error = 'held back by a restore' "
    "WHERE next_at IS NOT NULL",
)


class BlobRow(NamedTuple):
    """A row that refers to a blob.

    ``kind`` file or asset; ``blob`` the key; ``plain_size`` and ``plain_sha256`` of the content, the latter None for an
    asset; ``sealed_key`` its data key, encrypted by the vault, None for content in clear.
    """

    kind: str
    uuid: str
    blob: str
    plain_size: int
    plain_sha256: str | None
    sealed_key: bytes | None

    @property
    def size(self) -> int:
        """Return the size of the stored bytes."""
        return self.plain_size if self.sealed_key is None else compute_stored_size(self.plain_size)

    @property
    def sha256(self) -> str | None:
        """Return the SHA-256 of the stored bytes, None if it is not known before they are read."""
        return self.plain_sha256 if self.sealed_key is None else None


def query_number(connection: sqlite3.Connection, sql: str) -> int:
    """Return the single number that ``sql`` selects."""
    return int(connection.execute(sql).fetchone()[0])


def schema_step(connection: sqlite3.Connection) -> int:
    """Return the number of the last step of the schema that was applied."""
    return query_number(connection, "PRAGMA user_version")


def list_tables(connection: sqlite3.Connection) -> set[str]:
    """Return the names of all tables."""
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def find_secret(connection: sqlite3.Connection, name: str) -> bytes | None:
    """Return the instance secret ``name``, or None."""
    found = connection.execute("SELECT value FROM instance_secrets WHERE name = ?", (name,)).fetchone()
    return bytes(found[0]) if found else None


def list_rows(connection: sqlite3.Connection) -> Iterator[BlobRow]:
    """Yield every row whose blob must be in the store. Works at every step of the schema."""
    if schema_step(connection) >= _DATA_KEYS_STEP:
        yield from map(BlobRow._make, connection.execute(_ROWS_WITH_KEYS))
        return
    shared = schema_step(connection) >= _SHARING_STEP
    yield from map(BlobRow._make, connection.execute(_FILES.format("WHERE destroyed_at IS NULL" if shared else "")))
    if shared:
        yield from map(BlobRow._make, connection.execute(_ASSETS))


def count_tables(connection: sqlite3.Connection) -> dict[str, int]:
    """Count accounts, files and webhooks. Works at every step of the schema."""
    tables = ("accounts", "files", "webhooks") if schema_step(connection) >= _WEBHOOKS_STEP else ("accounts", "files")
    return {table: query_number(connection, f"SELECT COUNT(*) FROM {table}") for table in tables}  # noqa: S608


def is_referenced(connection: sqlite3.Connection, blob: str) -> bool:
    """Return whether a file or an asset refers to the blob."""
    return connection.execute(_IS_REFERENCED, (blob,)).fetchone() is not None


def list_inconsistent(connection: sqlite3.Connection, kind: str) -> list[str]:
    """Return the UUIDs of the rows with an inconsistency of this kind.

    Kinds: ``settings`` and ``overrides`` that are not JSON, ``trash`` without an end, more ``views`` than the limit,
    ``revisions`` that do not match the version, ``deliveries`` whose body is not JSON.
    """
    return [uuid for (uuid,) in connection.execute(_INCONSISTENT[kind])]


def list_webhook_secrets(connection: sqlite3.Connection) -> list[tuple[str, bytes]]:
    """Return the UUID and the encrypted secret of every webhook."""
    return connection.execute("SELECT uuid, secret FROM webhooks").fetchall()


def freeze_file(connection: sqlite3.Connection, uuid: str, now: int) -> bool:
    """Freeze the links of a file; return False if they are frozen already."""
    return connection.execute(_FREEZE, (now, now, uuid)).rowcount > 0


def delete_sign_ins(connection: sqlite3.Connection, tables: set[str]) -> None:
    """Delete all sessions, sign-in links and tokens of apps from those of ``tables`` that store them."""
    for table in tables.intersection(_SIGN_IN_TABLES):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - a name from above


def advance_stream_ids(connection: sqlite3.Connection, step: int) -> None:
    """Advance the next ids of all streams and of the deliveries by ``step``."""
    for table in _SEQUENCE_TABLES:
        connection.execute("UPDATE sqlite_sequence SET seq = seq + ? WHERE name = ?", (step, table))


def cancel_pending(connection: sqlite3.Connection, tables: set[str], now: int) -> None:
    """Cancel pending deliveries and mails, if ``tables`` contains both of their tables."""
    if tables.issuperset({"deliveries", "mails"}):
        for statement in _CANCEL_PENDING:
            connection.execute(statement, (now,))
