"""The SQLite store: schema, migrations, transactions and the row cache."""

import errno
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import peewee
import pytest

from docshare.server import faults
from docshare.server.store import migrations
from docshare.server.store.database import Store
from docshare.server.store.migrations import STEPS, DatabaseTooNew, migrate
from docshare.server.store.tables import TABLES


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "docshare.db")
    migrate(opened)
    yield opened
    opened.close()


def test_models_and_schema_have_the_same_columns(store: Store) -> None:
    for model in TABLES:
        table = model._meta.table_name
        schema = {row[1]: bool(row[3]) or bool(row[5]) for row in store.fetch_all(f"PRAGMA table_info({table})")}
        fields = {field.column_name: not field.null for field in model._meta.sorted_fields}
        assert fields == schema, table


def test_every_table_has_a_model(store: Store) -> None:
    tables = {row[0] for row in store.fetch_all("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables - {"sqlite_sequence"} == {model._meta.table_name for model in TABLES}


def test_the_database_uses_wal_full_sync_and_foreign_keys(store: Store) -> None:
    assert store.fetch_one("PRAGMA journal_mode") == ("wal",)
    assert store.fetch_one("PRAGMA synchronous") == (2,)
    assert store.fetch_one("PRAGMA foreign_keys") == (1,)


def test_the_first_id_of_every_feed_is_2(store: Store) -> None:
    """Otherwise ``since=1`` would not list the whole history."""
    sequences = dict(store.fetch_all("SELECT name, seq FROM sqlite_sequence WHERE name LIKE '%_rows'"))
    assert sequences == {"view_rows": 1, "download_rows": 1, "gate_rows": 1, "activity_rows": 1, "session_rows": 1}


def test_migrating_twice_changes_nothing(store: Store) -> None:
    before = store.fetch_all("SELECT sql FROM sqlite_master ORDER BY name")
    migrate(store)
    assert store.fetch_all("SELECT sql FROM sqlite_master ORDER BY name") == before
    assert store.fetch_one("PRAGMA user_version") == (len(STEPS),)


def test_a_database_of_the_first_version_is_upgraded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Store(tmp_path / "old.db")
    monkeypatch.setattr(migrations, "STEPS", STEPS[:1])
    migrations.upgrade(opened)
    columns = "uuid, short_id, original_name, size, mime_type, total_pages, page_sizes, sha256, blob, content_version"
    with opened.write():
        opened.execute(
            f"INSERT INTO files ({columns}, created_at, updated_at) "
            "VALUES ('u', 'aB3dE5fG7hJ9', 'a.pdf', 1, 'application/pdf', 1, '[]', 'x', 'b', 1, 0, 0)"
        )
    monkeypatch.setattr(migrations, "STEPS", STEPS)
    migrate(opened)
    assert opened.fetch_one("PRAGMA user_version") == (len(STEPS),)
    assert opened.fetch_all("SELECT short_id FROM short_ids") == [("aB3dE5fG7hJ9",)]
    assert opened.fetch_one("SELECT original_name, destroyed_at FROM files") == ("a.pdf", None)
    assert opened.fetch_all("PRAGMA foreign_key_check") == []
    opened.close()


def test_a_database_of_a_later_version_is_rejected(store: Store) -> None:
    store.execute(f"PRAGMA user_version = {len(STEPS) + 1}")
    with pytest.raises(DatabaseTooNew, match="upgrade docshare"):
        migrate(store)


Write = Callable[[Callable[[], object]], object]


@pytest.fixture(params=["write", "nested write", "write_rows"])
def write(store: Store, request: pytest.FixtureRequest) -> Write:
    def run(change: Callable[[], object]) -> object:
        with store.write():
            return change()

    def run_nested(change: Callable[[], object]) -> object:
        with store.write():
            return run(change)

    return {"write": run, "nested write": run_nested, "write_rows": store.write_rows}[request.param]


def test_a_failed_write_is_rolled_back(store: Store, write: Write) -> None:
    insert = "INSERT INTO instance_secrets VALUES ('a', x'00')"
    with pytest.raises(peewee.IntegrityError):
        write(lambda: [store.execute(insert) for _ in range(2)])
    assert store.fetch_all("SELECT * FROM instance_secrets") == []
    assert write(lambda: store.execute(insert)) == 1
    assert store.fetch_all("SELECT name FROM instance_secrets") == [("a",)]


def test_a_write_that_is_abandoned_is_rolled_back(store: Store, write: Write) -> None:
    def insert_and_stop() -> None:
        store.execute("INSERT INTO instance_secrets VALUES ('a', x'00')")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(insert_and_stop)
    assert store.fetch_all("SELECT * FROM instance_secrets") == []


def test_a_write_is_not_begun_inside_a_write_of_rows(store: Store) -> None:
    def write_inside() -> None:
        with store.write():
            raise AssertionError

    with pytest.raises(peewee.OperationalError, match="within a transaction"):
        store.write_rows(write_inside)


def fill_database(store: Store) -> None:
    """Write more than fits into the database; SQLite rolls back the whole transaction by itself."""
    pages = store.fetch_all("PRAGMA page_count")[0][0]
    store.fetch_all(f"PRAGMA max_page_count = {pages + 8}")
    store.execute("CREATE TABLE filler (bytes BLOB)")
    store.execute("INSERT INTO filler VALUES (zeroblob(1000000))")


def test_a_full_database_is_the_same_fault_as_a_full_disk(store: Store, write: Write) -> None:
    with pytest.raises(peewee.OperationalError, match="full") as caught:
        write(lambda: fill_database(store))
    assert faults.find_fault(caught.value) == faults.find_fault(OSError(errno.ENOSPC, "full"))
    write(lambda: store.execute("PRAGMA user_version = 7"))
    assert store.fetch_one("PRAGMA user_version") == (7,)


def test_a_transaction_that_ended_early_is_not_acknowledged(store: Store, write: Write) -> None:
    def ignore_error() -> None:
        store.execute("PRAGMA user_version = 7")
        with suppress(peewee.OperationalError):
            fill_database(store)

    with pytest.raises(peewee.OperationalError, match="rolled back"):
        write(ignore_error)
    assert store.fetch_one("PRAGMA user_version") == (len(STEPS),)


def test_writes_of_many_threads_are_serialized(store: Store, write: Write) -> None:
    store.execute("INSERT INTO instance_secrets VALUES ('n', x'00')")

    def increment() -> None:
        row = store.fetch_one("SELECT value FROM instance_secrets WHERE name = 'n'")
        assert row is not None
        store.execute("UPDATE instance_secrets SET value = ?", (bytes([row[0][0] + 1]),))

    def increment_repeatedly() -> None:
        for _ in range(25):
            write(increment)

    threads = [threading.Thread(target=increment_repeatedly) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.fetch_one("SELECT value FROM instance_secrets") == (bytes([200]),)


def test_a_snapshot_does_not_see_later_writes(store: Store) -> None:
    def write() -> None:
        with store.write():
            store.execute("INSERT INTO instance_secrets VALUES ('a', x'00')")

    with store.snapshot():
        assert store.fetch_all("SELECT name FROM instance_secrets") == []
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        assert store.fetch_all("SELECT name FROM instance_secrets") == []
    assert store.fetch_all("SELECT name FROM instance_secrets") == [("a",)]


def test_a_long_result_is_fetched_in_blocks(store: Store) -> None:
    for number in range(10):
        store.execute("INSERT INTO instance_secrets VALUES (?, x'00')", (str(number),))
    assert len(list(store.stream("SELECT name FROM instance_secrets", block=3))) == 10


def test_closing_closes_the_connections_of_all_threads(tmp_path: Path) -> None:
    store = Store(tmp_path / "docshare.db")
    thread = threading.Thread(target=lambda: store.fetch_all("SELECT 1"))
    thread.start()
    thread.join()
    opened = list(store.engine.connections)
    store.close()
    assert opened
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError):
            connection.execute("SELECT 1")


def test_a_cached_row_is_queried_once(store: Store) -> None:
    seen: list[str] = []
    store.engine.connection().set_trace_callback(seen.append)
    count_query = "SELECT COUNT(*) FROM instance_secrets WHERE name = ?"
    assert [store.fetch_cached(count_query, (name,)) for name in ("a", "a", "b")] == [(0,)] * 3
    assert len(seen) == 2


def test_a_missing_row_is_cached(store: Store) -> None:
    seen: list[str] = []
    store.engine.connection().set_trace_callback(seen.append)
    assert [store.fetch_cached("SELECT 1 FROM accounts WHERE id = ?", (7,)) for _ in range(2)] == [None, None]
    assert len(seen) == 1


@pytest.mark.parametrize("fails", [False, True])
def test_every_write_invalidates_the_row_cache(store: Store, fails: bool) -> None:
    count_query = "SELECT COUNT(*) FROM instance_secrets"
    assert store.fetch_cached(count_query, ()) == (0,)
    with suppress(RuntimeError), store.write():
        store.execute("INSERT INTO instance_secrets VALUES ('a', x'00')")
        if fails:
            raise RuntimeError
    assert store.fetch_cached(count_query, ()) == (0 if fails else 1,)


def test_a_row_read_before_a_write_is_not_cached_after_it(store: Store) -> None:
    """A thread may query a row before a write and cache it only after the write."""
    count_query = "SELECT COUNT(*) FROM instance_secrets"
    read = store.fetch_one

    def read_before_write(sql: str, params: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        found = read(sql, params)
        with store.write():
            store.execute("INSERT OR IGNORE INTO instance_secrets VALUES ('a', x'00')")
        return found

    store.fetch_one = read_before_write  # type: ignore[method-assign]
    assert store.fetch_cached(count_query, ()) == (0,)
    store.fetch_one = read  # type: ignore[method-assign]
    assert store.fetch_cached(count_query, ()) == (1,)


def test_uncommitted_rows_are_not_cached(store: Store) -> None:
    count_query = "SELECT COUNT(*) FROM instance_secrets"
    with store.write():
        store.execute("INSERT INTO instance_secrets VALUES ('a', x'00')")
        assert store.fetch_cached(count_query, ()) == (1,)
        assert store._cached == {}


def test_a_write_of_rows_uses_and_keeps_the_row_cache(store: Store) -> None:
    seen: list[str] = []
    count_query = "SELECT COUNT(*) FROM accounts"
    assert store.fetch_cached(count_query, ()) == (0,)
    store.engine.connection().set_trace_callback(seen.append)

    def insert() -> None:
        assert store.fetch_cached(count_query, ()) == (0,)
        store.execute("INSERT INTO instance_secrets VALUES ('a', x'00')")

    store.write_rows(insert)
    assert store.fetch_cached(count_query, ()) == (0,)
    assert seen == ["BEGIN IMMEDIATE", "INSERT INTO instance_secrets VALUES ('a', x'00')", "COMMIT"]


def test_a_write_of_rows_replaces_what_is_cached(store: Store) -> None:
    assert [store.recall("a", lambda: 1), store.recall("b", lambda: 1)] == [1, 1]
    store.write_rows(lambda: store.remember("a", 2))
    assert [store.recall("a", lambda: 3), store.recall("b", lambda: 3)] == [2, 1]
    store.write_rows(store.forget)
    assert [store.recall("a", lambda: 4), store.recall("b", lambda: 4)] == [4, 4]


def test_what_a_failed_write_of_rows_has_replaced_is_not_cached(store: Store) -> None:
    assert store.recall("a", lambda: 1) == 1

    def fail() -> None:
        store.remember("a", 2)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.write_rows(fail)
    assert store.recall("a", lambda: 1) == 1


def test_the_row_cache_is_bounded(store: Store) -> None:
    for number in range(3000):
        store.fetch_cached("SELECT 1 FROM accounts WHERE id = ?", (number,))
    assert len(store._cached) <= 1024


def test_is_answering_is_false_for_a_damaged_file(store: Store, tmp_path: Path) -> None:
    assert store.is_answering()
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"not a database" * 1000)
    with closing(Store(damaged)) as other:
        assert not other.is_answering()
