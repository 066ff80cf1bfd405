"""The store on PostgreSQL, as two instances see it."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from peewee import DatabaseError, IntegrityError, OperationalError

from docshare.server.http import faults
from docshare.server.store import migrations
from docshare.server.store.migrations import STEPS, DatabaseTooNew, migrate
from docshare.server.store.postgresql import PostgresqlStore
from tests.support.postgresql import drop_store, make_store


@pytest.fixture
def stores() -> Iterator[tuple[PostgresqlStore, PostgresqlStore]]:
    """Two instances on one database."""
    one, other = make_store("shared"), make_store("shared")
    yield one, other
    one.close()
    other.close()
    drop_store("shared")


def count_secrets(store: PostgresqlStore) -> int:
    return int(store.fetch_all("SELECT COUNT(*) FROM instance_secrets")[0][0])


def insert_secret(store: PostgresqlStore, name: str) -> None:
    store.execute("INSERT INTO instance_secrets (name, value) VALUES (?, ?)", (name, b"\x00\xff"))


def test_a_transaction_is_seen_when_it_is_committed(stores: tuple[PostgresqlStore, PostgresqlStore]) -> None:
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


def test_writes_of_two_instances_do_not_overlap(stores: tuple[PostgresqlStore, PostgresqlStore]) -> None:
    """Each reads a number and writes the next one: none is lost."""
    for store in stores[:1]:
        with store.write():
            store.execute("INSERT INTO short_ids (short_id) VALUES ('0')")

    def count_up(store: PostgresqlStore) -> None:
        for _ in range(20):
            with store.write():
                ((number,),) = store.fetch_all("SELECT short_id FROM short_ids")
                store.execute("UPDATE short_ids SET short_id = ?", (str(int(number) + 1),))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count_up, stores * 4))
    assert stores[0].fetch_all("SELECT short_id FROM short_ids") == [("160",)]


def test_a_lock_holds_in_all_instances_and_another_key_is_free(stores: tuple[PostgresqlStore, PostgresqlStore]) -> None:
    one, other = stores
    order: list[str] = []

    def follow() -> None:
        with other.lock_key("file 1"):
            order.append("second")

    with one.lock_key("file 1"):
        waiting = threading.Thread(target=follow)
        waiting.start()
        with other.lock_key("file 2"):
            order.append("another key")
        time.sleep(0.3)
        order.append("first")
    waiting.join(10)
    assert order == ["another key", "first", "second"]


def test_a_snapshot_does_not_change(stores: tuple[PostgresqlStore, PostgresqlStore]) -> None:
    one, other = stores
    with one.snapshot():
        assert count_secrets(one) == 0
        with other.write():
            insert_secret(other, "a")
        assert count_secrets(one) == 0
    assert count_secrets(one) == 1


def test_nothing_is_remembered_that_another_instance_may_change(
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


def test_connections_go_back_to_the_pool(stores: tuple[PostgresqlStore, PostgresqlStore]) -> None:
    one, _ = stores

    def use(number: int) -> None:
        with one.write():
            insert_secret(one, str(number))
        count_secrets(one)
        list(one.stream("SELECT name FROM instance_secrets"))

    with ThreadPoolExecutor(60) as pool:
        list(pool.map(use, range(120)))
    statistics = one.engine.pool.get_stats()
    assert statistics["pool_size"] <= statistics["pool_max"]
    assert statistics["pool_available"] == statistics["pool_size"]


def test_emails_are_compared_without_regard_to_case(stores: tuple[PostgresqlStore, PostgresqlStore]) -> None:
    one, _ = stores
    columns = "INSERT INTO accounts (uuid, email, name, plan, created_at) VALUES (?, ?, 'Ann', 0, 0)"
    with one.write():
        one.execute(columns, ("u1", "Ann@example.com"))
    with pytest.raises(IntegrityError), one.write():
        one.execute(columns, ("u2", "ann@EXAMPLE.com"))
    assert one.fetch_one("SELECT uuid FROM accounts WHERE email = 'ANN@example.com'") == ("u1",)


def test_a_lost_connection_is_a_fault_of_the_host_and_the_next_statement_succeeds(
    stores: tuple[PostgresqlStore, PostgresqlStore],
) -> None:
    one, other = stores
    count_secrets(one)
    other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    found = None
    for _ in range(30):  # once for each connection that the pool held
        try:
            count_secrets(one)
        except OperationalError as error:
            found = faults.find_fault(error)
            assert found is not None
            assert found.log == "the database cannot be reached"
    assert count_secrets(one) == 0


def test_an_address_where_nothing_answers_is_a_fault_of_the_host() -> None:
    store = PostgresqlStore("postgresql://docshare@127.0.0.1:1/docshare?connect_timeout=1")
    with pytest.raises(OperationalError) as caught:
        store.fetch_one("SELECT 1")
    store.close()
    problem = faults.to_problem(caught.value)
    assert problem is not None
    assert (problem.status, problem.headers["Retry-After"]) == (503, "30")


def test_a_user_who_may_only_read_is_a_fault_of_the_host(stores: tuple[PostgresqlStore, PostgresqlStore]) -> None:
    one, _ = stores

    def insert_read_only() -> None:
        with one.write():
            one.execute("SET TRANSACTION READ ONLY")
            insert_secret(one, "a")

    with pytest.raises(DatabaseError) as caught:
        insert_read_only()
    fault = faults.find_fault(caught.value)
    assert fault is not None
    assert fault.log == "the database refuses to write"


def test_many_instances_start_at_once_on_an_empty_database() -> None:
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


def test_a_database_of_a_later_version_is_refused(
    stores: tuple[PostgresqlStore, PostgresqlStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "STEPS", STEPS[:-1])
    with pytest.raises(DatabaseTooNew, match="newer than this docshare"):
        migrate(stores[0])
