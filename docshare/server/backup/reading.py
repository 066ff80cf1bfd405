"""Open and copy the database of an instance while a server may be using it.

The connection is read-only, so it neither writes nor checkpoints, not even when it is closed: two processes that do so
at the same instant can corrupt the file (see ``store.database``).
"""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from docshare.server.store.database_file import DatabaseFile
from docshare.server.store.tables import instance as instance_rows

_PAGES_PER_STEP = 2048  # copied at a time; 8 MB
_BUSY_TIMEOUT_S = 30.0
_CREATE_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
IDENTITY_SECRET = "instance-1"  # noqa: S105 - the name of the secret that identifies an instance


@contextmanager
def open_database(database: Path, *, still: bool = False) -> Iterator[DatabaseFile]:
    """Open the database read-only; ``still``: no other process has it open. Raises sqlite3.Error."""
    mode = "mode=ro&immutable=1" if still else "mode=ro"
    uri = f"file:{quote(str(database.absolute()))}?{mode}"
    with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_TIMEOUT_S, isolation_level=None)) as connection:
        yield DatabaseFile(connection)


def copy_database(source: Path, target: Path, progress: Callable[[int], None]) -> None:
    """Copy a snapshot of the database, which may be written to meanwhile, to a new file (mode 0600).

    Parameters: ``progress`` is called with the bytes that each step copied. Raises OSError, sqlite3.Error.
    """
    target.unlink(missing_ok=True)
    # The mode is set before the file has content, for any umask; SQLite creates the files beside it with the same mode.
    os.close(os.open(target, _CREATE_FLAGS, 0o600))
    with open_database(source) as live, closing(sqlite3.connect(target, isolation_level=None)) as into:
        into.execute("PRAGMA journal_mode = OFF")
        into.execute("PRAGMA synchronous = OFF")
        ((page,),) = live.fetch_all("PRAGMA page_size")
        live.execute("BEGIN")  # kept open, so that a write in between does not restart the copy
        live.fetch_one("SELECT 1 FROM sqlite_schema LIMIT 1")
        before = [0]

        def step(_status: int, remaining: int, total: int) -> None:
            done = (total - remaining) * page
            progress(done - before[0])
            before[0] = done

        live.connection.backup(into, pages=_PAGES_PER_STEP, progress=step)
        live.execute("COMMIT")
        into.execute("PRAGMA journal_mode = DELETE")  # so that the copy is a single file


def database_size(database: Path) -> int:
    """Return the size in bytes of a copy of the database."""
    with open_database(database) as live:
        ((size,),), ((count,),) = live.fetch_all("PRAGMA page_size"), live.fetch_all("PRAGMA page_count")
        return int(size) * int(count)


def count_tables(database: DatabaseFile) -> dict[str, int]:
    """Count accounts, files and webhooks. Works at every step of the schema."""
    return {
        table: database.count_rows(table) for table in ("accounts", "files", "webhooks") if database.has_table(table)
    }


def instance_id(database: DatabaseFile) -> str:
    """Return an id of the instance that is kept by every restore; empty if the instance was last opened by a version
    that did not have it."""
    secret = instance_rows.find_secret(database, IDENTITY_SECRET)
    return "" if secret is None else hash_identity(secret)


def hash_identity(secret: bytes) -> str:
    """Return the id of the instance whose identity is ``secret``."""
    return hashlib.sha256(b"docshare instance " + secret).hexdigest()[:32]
