"""The database of an earlier version, as a backup may have it, is read and prepared for a restore."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from docshare.server.backup import reading
from docshare.server.store.database_file import DatabaseFile
from docshare.server.store.dialect import Statement
from docshare.server.store.migrations import STEPS
from docshare.server.store.tables import STREAMS, contents, deliveries, mail, oauth, sign_in

SIGN_IN_TABLES = ("login_links", "web_sessions", "oauth_tokens", "oauth_codes", "device_codes")
FIRST_STEPS = {"assets": 2, "mails": 3, "webhooks": 4, "deliveries": 4, "oauth_tokens": 5, "data_keys": 13}


@pytest.fixture(params=range(1, len(STEPS) + 1))
def database(request: pytest.FixtureRequest) -> Iterator[DatabaseFile]:
    """A database of each step of the schema, with a row in each table."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for step in STEPS[: request.param]:
            connection.executescript(spell_step(step))
        connection.execute(f"PRAGMA user_version = {request.param}")
        opened = DatabaseFile(connection)
        for (table,) in opened.fetch_all("SELECT name FROM sqlite_schema WHERE type = 'table'"):
            if not table.startswith("sqlite_"):
                insert_row(opened, table)
        yield opened


def spell_step(step: str | Statement) -> str:
    return step.sqlite if isinstance(step, Statement) else step


def insert_row(database: DatabaseFile, table: str) -> None:
    """Insert a row with 7 in each column that needs a value, or "7" in a text."""
    columns = database.fetch_all(f"SELECT name, type FROM pragma_table_info('{table}') WHERE \"notnull\" OR pk")
    names = ", ".join(name for name, _ in columns)
    values = ["7" if kind == "TEXT" else 7 for _, kind in columns]
    database.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})", values)


def is_upgraded(database: DatabaseFile, table: str) -> bool:
    return database.schema_version() >= FIRST_STEPS[table]


def test_every_row_with_a_blob_is_read(database: DatabaseFile) -> None:
    key = bytes([55]) if is_upgraded(database, "data_keys") else None
    if key is not None:
        database.execute("UPDATE data_keys SET sealed = ?", (key,))
    expected = [("file", "7", "7", 7, "7", key)]
    if is_upgraded(database, "assets"):
        expected.append(("asset", "7", "7", 7, None, key))
    assert list(contents.stream_rows(database)) == expected


def test_a_file_whose_bytes_were_deleted_is_not_read(database: DatabaseFile) -> None:
    if is_upgraded(database, "assets"):
        database.execute("UPDATE files SET destroyed_at = 1")
        assert [row.kind for row in contents.stream_rows(database)] == ["asset"]


def test_accounts_files_and_webhooks_are_counted(database: DatabaseFile) -> None:
    expected = {"accounts": 1, "files": 1} | ({"webhooks": 1} if is_upgraded(database, "webhooks") else {})
    assert reading.count_tables(database) == expected


def test_nobody_stays_signed_in(database: DatabaseFile) -> None:
    present = [table for table in SIGN_IN_TABLES if database.has_table(table)]
    assert present[:2] == ["login_links", "web_sessions"]
    assert ("oauth_codes" in present) == is_upgraded(database, "oauth_tokens")
    sign_in.delete_all(database)
    oauth.delete_all_tokens(database)
    assert {table: database.count_rows(table) for table in present} == dict.fromkeys(present, 0)


def test_ids_of_streams_are_advanced(database: DatabaseFile) -> None:
    before = dict(database.fetch_all("SELECT name, seq FROM sqlite_sequence"))
    database.advance_last_ids(STREAMS, 1000)
    after = dict(database.fetch_all("SELECT name, seq FROM sqlite_sequence"))
    assert before["view_rows"] == 7
    assert after == {name: number + 1000 * (name in STREAMS) for name, number in before.items()}


def test_pending_messages_are_cancelled(database: DatabaseFile) -> None:
    pending = [table for table in ("mails", "deliveries") if is_upgraded(database, table)]
    for table in pending:
        database.execute(f"UPDATE {table} SET next_at = 5")
    deliveries.cancel_pending(database, 9)
    mail.cancel_pending(database, 9)
    ends = {"mails": "failed_at", "deliveries": "abandoned_at"}
    for table in pending:
        assert database.fetch_all(f"SELECT next_at, {ends[table]} FROM {table}") == [(None, 9)]
