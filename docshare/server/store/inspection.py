"""Inspect the database of a running instance. On SQLite, over a read-only connection that is closed at the end.

The store on SQLite keeps the connections of its threads open, and a scan that is interrupted must not disturb them. On
PostgreSQL its pool lends one for each statement.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from docshare.server.store.database import Store
from docshare.server.store.database_file import DatabaseFile


def find_damage(path: Path, timeout_s: float) -> str:
    """Return the first damage in the database, or an empty text. Raises TimeoutError if the scan takes too long."""
    with _open_read_only(path) as connection:
        timer = threading.Timer(timeout_s, connection.interrupt)
        timer.start()
        try:
            ((answer,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
        except sqlite3.OperationalError as error:
            if timer.is_alive():
                return str(error)
            raise TimeoutError from error
        except sqlite3.DatabaseError as error:
            return str(error)
        finally:
            timer.cancel()
    return "" if answer == "ok" else str(answer)


@contextmanager
def open_reader(store: Store) -> Iterator[Store | DatabaseFile]:
    """Yield the database of ``store``, for reading."""
    if store.is_shared:
        yield store
    else:
        with _open_read_only(store.path) as connection:
            yield DatabaseFile(connection)


def _open_read_only(path: Path) -> "closing[sqlite3.Connection]":
    return closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True))
