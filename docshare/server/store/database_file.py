"""The file of an SQLite database without a ``Store``: in a backup, or beside or without a server.

The file may have any earlier step of the schema; functions of ``tables`` that support those document it.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from docshare.contract.streams import INT32_MAX
from docshare.server.store.dialect import spell_sqlite

_MIN_STEP = 1_000_000
_ADVANCE_LAST_ID = "UPDATE sqlite_sequence SET seq = seq + MIN(?, MAX((? - seq) / 100, ?)) WHERE name = ?"


class DatabaseFile:
    """One open connection to a database file, with those methods of ``Store`` that the functions of ``tables`` use."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def fetch_all(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of one statement."""
        return self.connection.execute(spell_sqlite(sql), params).fetchall()

    def fetch_one(self, sql: str, params: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row of one statement, or None."""
        found: tuple[Any, ...] | None = self.connection.execute(spell_sqlite(sql), params).fetchone()
        return found

    def stream(self, sql: str, params: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of one statement."""
        yield from self.connection.execute(spell_sqlite(sql), params)

    def execute(self, sql: str, params: Sequence[Any] = ()) -> int:
        """Run one statement; return the number of changed rows."""
        return self.connection.execute(spell_sqlite(sql), params).rowcount

    def schema_version(self) -> int:
        """Return the number of the last step of the schema that was applied."""
        ((version,),) = self.fetch_all("PRAGMA user_version")
        return int(version)

    def has_table(self, table: str) -> bool:
        """Return whether the schema has a table of that name, which later steps may have added."""
        statement = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
        return self.fetch_one(statement, (table,)) is not None

    def count_rows(self, table: str) -> int:
        """Return the number of rows of ``table``."""
        ((count,),) = self.fetch_all(f"SELECT COUNT(*) FROM {table}")  # noqa: S608 - a name of the models
        return int(count)

    def advance_last_ids(self, tables: Iterable[str], step: int) -> None:
        """Advance the next ids of ``tables``, which never reuse ids, by ``step``, or by a hundredth of those that are
        left up to the greatest cursor: an instance may be restored many times."""
        for table in tables:
            self.execute(_ADVANCE_LAST_ID, (step, INT32_MAX, _MIN_STEP, table))
