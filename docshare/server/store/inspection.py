"""Inspect the database of a running instance. On SQLite, over a read-only connection that is closed at once.

The store on SQLite keeps the connections of its threads open, and a scan that is interrupted must not disturb them. On
PostgreSQL its pool lends one for each statement.
"""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from docshare.server.store.database import Store

_LATE_DELIVERIES = (
    "SELECT COUNT(*) FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id "
    "WHERE d.next_at <= ? AND w.disabled_at IS NULL"
)
_ABANDONED_DELIVERIES = "SELECT COUNT(*) FROM deliveries WHERE created_at > ? AND abandoned_at > ?"


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


def read_schema_step(store: Store) -> int:
    """Return the number of the last step of the schema that was applied."""
    return store.schema_version() if store.is_shared else _query_number(store, "PRAGMA user_version")


def count_late_deliveries(store: Store, due_before: int) -> int:
    """Return how many deliveries to enabled webhooks were due by ``due_before`` (ms) and are still pending."""
    return _query_number(store, _LATE_DELIVERIES, due_before)


def count_abandoned_deliveries(store: Store, created_after: int, abandoned_after: int) -> int:
    """Return how many deliveries were abandoned after ``abandoned_after`` (ms). Only those created after
    ``created_after`` (ms) are counted, which the index finds."""
    return _query_number(store, _ABANDONED_DELIVERIES, created_after, abandoned_after)


def count_disabled_webhooks(store: Store) -> int:
    """Return how many webhooks are disabled."""
    return _query_number(store, "SELECT COUNT(*) FROM webhooks WHERE disabled_at IS NOT NULL")


def count_late_mails(store: Store, due_before: int) -> int:
    """Return how many mails were due by ``due_before`` (ms) and are still pending."""
    return _query_number(store, "SELECT COUNT(*) FROM mails WHERE next_at <= ?", due_before)


def count_failed_mails(store: Store, failed_after: int) -> int:
    """Return how many mails failed for good after ``failed_after`` (ms)."""
    return _query_number(store, "SELECT COUNT(*) FROM mails WHERE failed_at > ?", failed_after)


def _query_number(store: Store, sql: str, *params: int) -> int:
    if store.is_shared:
        return int(store.fetch_all(sql, params)[0][0])
    with _open_read_only(store.path) as connection:
        ((number,),) = connection.execute(sql, params).fetchall()
    return int(number)


def _open_read_only(path: Path) -> "closing[sqlite3.Connection]":
    return closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True))
