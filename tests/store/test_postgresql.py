"""The PostgreSQL store, used by two instances."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from peewee import DatabaseError, IntegrityError, OperationalError

from docshare.server import faults
from docshare.server.store import migrations
from docshare.server.store.database import Store
from docshare.server.store.migrations import STEPS, DatabaseTooNew, migrate
from docshare.server.store.postgresql import PostgresqlStore
from docshare.server.store.tables import InstanceSecret
from tests.support.engines.postgresql import drop_store, make_store, wait_for_sessions
from tests.support.polling import wait_until


@pytest.fixture
def stores() -> Iterator[tuple[PostgresqlStore, PostgresqlStore]]:
    """Open one database as two instances."""
    one, other = make_store("shared"), make_store("shared")
    yield one, other
    one.close()
    other.close()
    drop_store("shared")


def count_secrets(store: PostgresqlStore) -> int:
    return int(store.fetch_all("SELECT COUNT(*) FROM instance_secrets")[0][0])


def insert_secret(store: PostgresqlStore, name: str) -> None:
    store.execute("INSERT INTO instance_secrets (name, value) VALUES (?, ?)", (name, b"\x00\xff"))


def test_a_query_is_spelled_for_its_store_also_if_another_was_opened_later(
    stores: tuple[PostgresqlStore, PostgresqlStore], tmp_path: Path
) -> None:
    """A move to another engine has both open."""
    insert_secret(stores[0], "one")
    sqlite = Store(tmp_path / "docshare.db")
    migrate(sqlite)
    query = InstanceSecret.select(InstanceSecret.value).where(InstanceSecret.name == "one")
    assert stores[0].fetch_one(query) == (b"\x00\xff",)
    assert sqlite.fetch_one(query) is None
    sqlite.close()


def test_a_transaction_is_visible_after_its_commit(stores: tuple[PostgresqlStore, PostgresqlStore]) -> None:
    one, other = stores
    with one.write():
        insert_secret(one, "a")
        assert (count_secrets(one), count_secrets(other)) == (1, 0)
    assert count_secrets(other) == 1
    assert other.fetch_one("SELECT value FROM instance_secrets") == (b"\x00\xff",)


def test_an_exception_rolls_back(stores: tuple[PostgresqlStore, PostgresqlStore]) -> None:
    one, _ = stores

    def insert_twice() -> None:
        with one.write():
            insert_secret(one, "a")
            insert_secret(one, "a")

    with pytest.raises(IntegrityError):
        insert_twice()
    assert count_secrets(one) == 0


def test_writes_of_two_instances_are_serialized(stores: tuple[PostgresqlStore, PostgresqlStore]) -> None:
    """Each instance reads a number and writes the next one; no increment is lost."""
    for store in stores[:1]:
        with store.write():
            store.execute("INSERT INTO short_ids (short_id) VALUES ('0')")

    def increment_repeatedly(store: PostgresqlStore) -> None:
        for _ in range(20):
            with store.write():
                ((number,),) = store.fetch_all("SELECT short_id FROM short_ids")
                store.execute("UPDATE short_ids SET short_id = ?", (str(int(number) + 1),))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(increment_repeatedly, stores * 4))
    assert stores[0].fetch_all("SELECT short_id FROM short_ids") == [("160",)]


def test_a_lock_blocks_all_instances_but_only_for_its_key(stores: tuple[PostgresqlStore, PostgresqlStore]) -> None:
    one, other = stores
    order: list[str] = []

    def lock_second() -> None:
        with other.lock_key("file 1"):
            order.append("second")

    with one.lock_key("file 1"):
        waiting = threading.Thread(target=lock_second)
        waiting.start()
        with other.lock_key("file 2"):
            order.append("another key")
        wait_for_sessions(one, 1)
        order.append("first")
    waiting.join(10)
    assert order == ["another key", "first", "second"]


def test_writes_of_two_accounts_are_concurrent_and_those_of_one_serialized(
    stores: tuple[PostgresqlStore, PostgresqlStore],
) -> None:
    one, other = stores
    order: list[str] = []

    def write_same() -> None:
        with other.write(1):
            order.append("same account")

    with one.write(1):
        waiting = threading.Thread(target=write_same)
        waiting.start()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(lambda: insert_in_write(other, 2)).result(10)
        order.append("other account")
        wait_for_sessions(one, 1)
        order.append("first")
    waiting.join(10)
    assert order == ["other account", "first", "same account"]
    assert count_secrets(one) == 1


def insert_in_write(store: PostgresqlStore, account: int) -> None:
    with store.write(account):
        insert_secret(store, str(account))


def test_a_write_that_locks_its_rows_runs_beside_those_of_accounts_and_not_beside_one_of_everything(
    stores: tuple[PostgresqlStore, PostgresqlStore],
) -> None:
    one, other = stores
    order: list[str] = []

    def write_rows() -> None:
        other.write_rows(lambda: order.append("rows"))

    with one.write(1), ThreadPoolExecutor(1) as pool:
        pool.submit(write_rows).result(10)
    with one.write():
        waiting = threading.Thread(target=write_rows)
        waiting.start()
        wait_for_sessions(one, 1)
        order.append("everything")
    waiting.join(10)
    assert order == ["rows", "everything", "rows"]
    with pytest.raises(RuntimeError, match="a write that protects 1 inside"):
        one.write_rows(lambda: insert_in_write(one, 1))


def test_a_write_without_an_account_excludes_writes_of_all_accounts(
    stores: tuple[PostgresqlStore, PostgresqlStore],
) -> None:
    one, other = stores
    order: list[str] = []

    def write_everything() -> None:
        with other.write():
            order.append("everything")
            time.sleep(0.3)
            order.append("end of everything")

    def write_account() -> None:
        with other.write(7):
            order.append("account")

    with one.write(1):
        everything = threading.Thread(target=write_everything)
        everything.start()
        wait_for_sessions(one, 1)
        account = threading.Thread(target=write_account)
        account.start()
        wait_for_sessions(one, 2)
        order.append("first")
    everything.join(10)
    account.join(10)
    assert order == ["first", "everything", "end of everything", "account"]


def test_a_nested_write_must_not_need_another_lock_than_the_outer_one(
    stores: tuple[PostgresqlStore, PostgresqlStore],
) -> None:
    one, _ = stores
    with one.write(), one.write(5), one.write():
        insert_secret(one, "a")
    with one.write(5), one.write(lambda: 5):
        insert_secret(one, "b")
    for outer, inner in ((5, 6), (5, None), ("deliveries", 5)):
        with pytest.raises(RuntimeError, match="inside one that protects"), one.write(outer), one.write(inner):
            insert_secret(one, "c")
    assert count_secrets(one) == 2


def test_a_cursor_misses_no_row_during_concurrent_writes(
    stores: tuple[PostgresqlStore, PostgresqlStore],
) -> None:
    """Ids are assigned before the commit: without the lock of the account, a reader could skip a row."""
    stores[0].execute("CREATE TABLE feed_rows (id BIGSERIAL PRIMARY KEY, owner_id BIGINT)")
    done = threading.Event()
    seen: list[int] = []

    def append(number: int) -> None:
        store = stores[number % 2]
        for _ in range(25):
            with store.write(1):
                store.execute("INSERT INTO feed_rows (owner_id) VALUES (1)")

    def read() -> None:
        while True:
            is_last_read = done.is_set()
            after = seen[-1] if seen else 0
            query = "SELECT id FROM feed_rows WHERE owner_id = 1 AND id > ? ORDER BY id LIMIT 7"
            found = [number for (number,) in stores[1].fetch_all(query, (after,))]
            seen.extend(found)
            if is_last_read and not found:
                return

    reader = threading.Thread(target=read)
    reader.start()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(append, range(8)))
    done.set()
    reader.join(30)
    assert len(seen) == len(set(seen)) == 200
    assert seen == sorted(seen)


def test_try_lock_succeeds_in_one_process_and_does_not_wait(
    stores: tuple[PostgresqlStore, PostgresqlStore],
) -> None:
    one, other = stores
    with one.try_lock("job") as is_mine, other.try_lock("job") as is_others, other.try_lock("other job") as is_free:
        assert (is_mine, is_others, is_free) == (True, False, True)
    with other.try_lock("job") as is_others:
        assert is_others


def test_try_lock_does_not_wait_for_threads_that_wait_for_each_other(
    stores: tuple[PostgresqlStore, PostgresqlStore],
) -> None:
    """As many threads as there are connections for locks hold one each, like purges at the same time."""
    one, threads = stores[0], 8
    start = threading.Barrier(threads)

    def try_inside(number: int) -> float:
        with one.lock_key(number):
            start.wait(30)
            begun = time.monotonic()
            with one.try_lock("job"):
                return time.monotonic() - begun

    with ThreadPoolExecutor(threads) as pool:
        assert max(pool.map(try_inside, range(threads))) < 5


def test_a_snapshot_does_not_change(stores: tuple[PostgresqlStore, PostgresqlStore]) -> None:
    one, other = stores
    with one.snapshot():
        assert count_secrets(one) == 0
        with other.write():
            insert_secret(other, "a")
        assert count_secrets(one) == 0
    assert count_secrets(one) == 1


def test_rows_that_another_instance_may_change_are_not_cached(
    stores: tuple[PostgresqlStore, PostgresqlStore],
) -> None:
    one, other = stores
    query = "SELECT COUNT(*) FROM instance_secrets WHERE name = ?"
    assert one.fetch_cached(query, ("a",)) == (0,)
    with other.write():
        insert_secret(other, "a")
    assert one.fetch_cached(query, ("a",)) == (1,)


def test_rows_are_streamed_while_others_write(stores: tuple[PostgresqlStore, PostgresqlStore]) -> None:
    one, other = stores
    with one.write():
        for number in range(25):
            insert_secret(one, f"{number:02}")
    rows = one.stream("SELECT name FROM instance_secrets ORDER BY name", block=10)
    first = next(rows)
    with other.write():
        other.execute("DELETE FROM instance_secrets")
    assert [first, *rows] == [(f"{number:02}",) for number in range(25)]


def is_pool_idle(statistics: dict[str, int]) -> bool:
    return statistics["pool_available"] == statistics["pool_size"]


def test_connections_are_returned_to_the_pool(stores: tuple[PostgresqlStore, PostgresqlStore]) -> None:
    one, _ = stores

    def use(number: int) -> None:
        with one.write():
            insert_secret(one, str(number))
        count_secrets(one)
        list(one.stream("SELECT name FROM instance_secrets"))

    with ThreadPoolExecutor(60) as pool:
        list(pool.map(use, range(120)))
    assert one.engine.pool.get_stats()["pool_size"] <= one.engine.pool.max_size
    wait_until(lambda: is_pool_idle(one.engine.pool.get_stats()))  # a thread of the pool opens and closes connections


def test_emails_are_compared_case_insensitively(stores: tuple[PostgresqlStore, PostgresqlStore]) -> None:
    one, _ = stores
    columns = "INSERT INTO accounts (uuid, email, name, plan, created_at) VALUES (?, ?, 'Ann', 0, 0)"
    with one.write():
        one.execute(columns, ("u1", "Ann@example.com"))
    with pytest.raises(IntegrityError), one.write():
        one.execute(columns, ("u2", "ann@EXAMPLE.com"))
    assert one.fetch_one("SELECT uuid FROM accounts WHERE email = 'ANN@example.com'") == ("u1",)


def test_a_lost_connection_is_a_host_fault_and_later_statements_succeed(
    stores: tuple[PostgresqlStore, PostgresqlStore],
) -> None:
    one, other = stores
    count_secrets(one)
    ending = "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid = ANY(%s)"
    with psycopg.connect(other.engine.pool.conninfo, autocommit=True) as connection:
        others = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        pids = [pid for (pid,) in connection.execute(others)]
        wait_until(lambda: connection.execute(ending, (pids,)).fetchone() == (0,))
    found = None
    for _ in range(30):  # once for each connection of the pool
        try:
            count_secrets(one)
        except OperationalError as error:
            found = faults.find_fault(error)
            assert found is not None
            assert found.log == "the database cannot be reached"
    assert count_secrets(one) == 0


def test_an_unreachable_database_is_a_host_fault() -> None:
    store = PostgresqlStore("postgresql://docshare@127.0.0.1:1/docshare?connect_timeout=1")
    with pytest.raises(OperationalError) as caught:
        store.fetch_one("SELECT 1")
    store.close()
    problem = faults.to_problem(caught.value)
    assert problem is not None
    assert (problem.status, problem.headers["Retry-After"]) == (503, "30")


def test_a_read_only_database_is_a_host_fault(stores: tuple[PostgresqlStore, PostgresqlStore]) -> None:
    one, _ = stores

    def insert_read_only() -> None:
        with one.write():
            one.execute("SET TRANSACTION READ ONLY")
            insert_secret(one, "a")

    with pytest.raises(DatabaseError) as caught:
        insert_read_only()
    fault = faults.find_fault(caught.value)
    assert fault is not None
    assert fault.log == "the database rejects writes"


def test_several_instances_can_start_concurrently_on_an_empty_database() -> None:
    name = "empty"
    address = make_store(name).engine.pool.conninfo
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    stores = [PostgresqlStore(address) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(migrate, stores))
    assert stores[0].fetch_all("SELECT version FROM schema_version") == [(len(STEPS),)]
    for store in stores:
        store.close()
    drop_store(name)


def test_a_database_of_a_later_version_is_rejected(
    stores: tuple[PostgresqlStore, PostgresqlStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "STEPS", STEPS[:-1])
    with pytest.raises(DatabaseTooNew, match="newer than this docshare"):
        migrate(stores[0])
