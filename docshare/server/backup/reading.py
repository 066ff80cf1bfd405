"""Reading the database of an instance beside whoever owns it, and the rows that name blobs.

The connection is read-only, so it neither writes nor checkpoints, not even when it is closed: two processes that did so
at the same instant could harm the file (``server.db``).
"""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

_PAGES_PER_STEP = 2048  # copied at a time; 8 MB
_BUSY_TIMEOUT_S = 30.0
_CREATE_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SHARING_STEP = 2  # the step of the schema that brought assets, and files whose bytes are destroyed
IDENTITY_SECRET = "instance-1"  # noqa: S105 - a name: the secret by which an instance is known
_WEBHOOKS_STEP = 4  # the step that brought them
_FILES = "SELECT 'file', uuid, blob, size, sha256 FROM files {} ORDER BY id"
_ASSETS = "SELECT 'asset', uuid, blob, size, NULL FROM assets ORDER BY id"


class BlobRow(NamedTuple):
    """A row whose bytes must be there: ``kind`` file or asset, ``blob`` the key, ``size`` in bytes; ``sha256`` is not
    known of an asset."""

    kind: str
    uuid: str
    blob: str
    size: int
    sha256: str | None


@contextmanager
def open_database(database: Path, *, still: bool = False) -> Iterator[sqlite3.Connection]:
    """The database, to be read; ``still``: nobody else has it open. Raises sqlite3.Error."""
    mode = "mode=ro&immutable=1" if still else "mode=ro"
    uri = f"file:{quote(str(database.absolute()))}?{mode}"
    with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_TIMEOUT_S, isolation_level=None)) as connection:
        yield connection


def copy_database(source: Path, target: Path, progress: Callable[[int], None]) -> None:
    """Copy the database as it is at one instant, whatever is written meanwhile, to a file of its own (0600).

    Parameters: ``progress`` is told the bytes that each step copied. Raises OSError, sqlite3.Error.
    """
    target.unlink(missing_ok=True)
    # Before anything is in it, whatever the umask; what SQLite writes beside it gets the same mode.
    os.close(os.open(target, _CREATE_FLAGS, 0o600))
    with open_database(source) as live, closing(sqlite3.connect(target, isolation_level=None)) as into:
        into.execute("PRAGMA journal_mode = OFF")
        into.execute("PRAGMA synchronous = OFF")
        page = query_number(live, "PRAGMA page_size")
        live.execute("BEGIN")  # held open, so that no write in between makes the copying begin anew
        live.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
        before = [0]

        def step(_status: int, remaining: int, total: int) -> None:
            done = (total - remaining) * page
            progress(done - before[0])
            before[0] = done

        live.backup(into, pages=_PAGES_PER_STEP, progress=step)
        live.execute("COMMIT")
        into.execute("PRAGMA journal_mode = DELETE")  # whoever opens the copy finds nothing beside it


def database_size(database: Path) -> int:
    """How many bytes a copy of the database takes."""
    with open_database(database) as live:
        return query_number(live, "PRAGMA page_size") * query_number(live, "PRAGMA page_count")


def schema_step(connection: sqlite3.Connection) -> int:
    """The step of the schema that the database is at."""
    return query_number(connection, "PRAGMA user_version")


def instance_id(connection: sqlite3.Connection) -> str:
    """A name for the instance that its database carries wherever it is restored; empty where an older version was the
    last to open it."""
    found = connection.execute("SELECT value FROM instance_secrets WHERE name = ?", (IDENTITY_SECRET,)).fetchone()
    return hashlib.sha256(b"docshare instance " + bytes(found[0])).hexdigest()[:32] if found else ""


def query_number(connection: sqlite3.Connection, sql: str) -> int:
    """The one number that ``sql`` asks for."""
    return int(connection.execute(sql).fetchone()[0])


def list_rows(connection: sqlite3.Connection) -> Iterator[BlobRow]:
    """Every row whose bytes must be in the store."""
    shared = schema_step(connection) >= _SHARING_STEP
    yield from map(BlobRow._make, connection.execute(_FILES.format("WHERE destroyed_at IS NULL" if shared else "")))
    if shared:
        yield from map(BlobRow._make, connection.execute(_ASSETS))


def count_tables(connection: sqlite3.Connection) -> dict[str, int]:
    """How many accounts, files and webhooks there are."""
    tables = ("accounts", "files", "webhooks") if schema_step(connection) >= _WEBHOOKS_STEP else ("accounts", "files")
    return {table: query_number(connection, f"SELECT COUNT(*) FROM {table}") for table in tables}  # noqa: S608
