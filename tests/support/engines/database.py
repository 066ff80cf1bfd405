"""Read rows of the database and record its statements, on SQLite and on PostgreSQL."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from docshare.server.store.database import Store
from docshare.server.store.tables import TABLES
from tests.support.people.cast import World

ON_POSTGRESQL = os.environ.get("DOCSHARE_TEST_DATABASE") == "postgresql"

sqlite_only = pytest.mark.skipif(ON_POSTGRESQL, reason="files, plans or counts of SQLite")
"""Marks tests of SQLite's own behavior; other tests cover the same rule on both engines."""


def dump_database(world: World) -> list[str]:
    """Return every row of every table as text, in an order that depends on the rows alone."""
    rows = []
    for model in TABLES:
        table: Any = model
        found = world.rt.db.fetch_all(f"SELECT * FROM {table._meta.table_name}")
        rows += sorted(f"{table._meta.table_name} {row}" for row in found)
    return rows


def fetch_dicts(store: Store, query: str, *params: Any) -> list[dict[str, Any]]:
    """Return the rows of ``query``, each by the names of its columns."""
    cursor = store.engine.execute_sql(query.replace("?", "%s") if ON_POSTGRESQL else query, params)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@contextmanager
def record_all(store: Store) -> Iterator[list[str]]:
    """Yield a list that grows by every statement that this thread runs in the block, on SQLite with its values."""
    if ON_POSTGRESQL:
        with _record_calls(store.engine) as seen:
            yield seen
        return
    seen = []
    connection = store.engine.connection()
    connection.set_trace_callback(seen.append)
    try:
        yield seen
    finally:
        connection.set_trace_callback(None)


@contextmanager
def _record_calls(engine: Any) -> Iterator[list[str]]:
    seen: list[str] = []
    run = engine.execute_sql

    def record(sql: str, params: Any = None) -> Any:
        if "pg_advisory" not in sql:
            seen.append(sql)
        return run(sql, params)

    engine.execute_sql = record
    try:
        yield seen
    finally:
        del engine.execute_sql


def record_statements(world: World, path: str) -> list[str]:
    """Return the statements that Pia's ``GET path`` runs."""
    with record_all(world.rt.db) as seen:
        assert world.pia.get(path, buffered=True).status_code == 200
    return seen
