"""``docshare doctor`` on an instance with PostgreSQL: one test per finding of the real server."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import psycopg
import pytest

from docshare.contract.findings import DiagnosticFinding
from docshare.server.runtime import Runtime
from docshare.server.services.operations import database_checks, diagnosis
from docshare.server.store import postgresql_facts
from docshare.server.store.postgresql import PostgresqlStore
from docshare.server.store.postgresql_facts import Encryption, ServerConnections, ServerVersion
from tests.support.engines.postgresql import open_database
from tests.support.people.cast import World

ENGINE_ROWS = ("database", "database-clock", "database-rights", "database-tls", "database-pool")


@pytest.fixture
def address() -> Iterator[str]:
    """Yield the URL of a database with the current schema, for a superuser."""
    with open_database("doctor") as address:
        yield address


@pytest.fixture
def connect(world: World, address: str) -> Iterator[Callable[..., Runtime]]:
    """Yield a function that returns a runtime on that database, for the superuser or another role."""
    stores: list[PostgresqlStore] = []

    def build(role: str = "docshare", clock: Callable[[], int] | None = None) -> Runtime:
        url = address.replace("docshare@", f"{role}@")
        stores.append(PostgresqlStore(url))
        config = replace(world.rt.config, database_url=url)
        return replace(world.rt, db=stores[-1], config=config, clock=clock or world.rt.clock)

    yield build
    for store in stores:
        store.close()


@pytest.fixture
def role(address: str) -> Iterator[str]:
    """Yield a role without any rights in the database."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE ROLE plain LOGIN")
        yield "plain"
        connection.execute("REASSIGN OWNED BY plain TO docshare")
        connection.execute("DROP OWNED BY plain")
        connection.execute("DROP ROLE plain")


def run_statements(address: str, *statements: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def test_all_checks_of_the_instance_run_on_postgresql(connect: Callable[..., Runtime]) -> None:
    rt = connect()
    clock = postgresql_facts.read_clock(rt.db)
    rows = {row["check"]: row for row in diagnosis.run_checks(replace(rt, clock=lambda: clock), {})}
    assert {name: rows[name]["ok"] for name in (*ENGINE_ROWS, "schema", "deliveries", "outbox")} == {
        "database": True, "database-clock": True, "database-rights": False, "database-tls": True,
        "database-pool": True, "schema": True, "deliveries": True, "outbox": True,
    }  # fmt: skip
    assert rows["database"]["detail"].startswith("PostgreSQL ")
    assert "of 41 connections in use, " in rows["database-pool"]["detail"]
    assert rows["database-tls"]["detail"] == "the connection does not leave this machine"
    assert rows["database-rights"]["level"] == "warning"
    assert "is a superuser" in rows["database-rights"]["detail"]
    assert "wal" not in rows, "the log of PostgreSQL is its operator's"


def test_an_instance_on_sqlite_has_no_postgresql_checks(world: World) -> None:
    if world.rt.db.is_shared:
        pytest.skip("the world is on PostgreSQL")
    names = [row["check"] for row in diagnosis.run_checks(world.rt, {})]
    assert {"database", "wal"} <= set(names)
    assert not [name for name in names if name.startswith("database-")]


def test_an_unreachable_database_is_an_error_in_each_of_its_checks(connect: Callable[..., Runtime]) -> None:
    rt = connect()
    rt.db.close()
    rt = replace(rt, db=PostgresqlStore("postgresql://nobody@127.0.0.1:1/none"))
    rows = {row["check"]: row for row in diagnosis.run_checks(rt, {})}
    for name in ENGINE_ROWS:
        assert (rows[name]["ok"], rows[name]["level"]) == (False, "error")
        assert "DOCSHARE_DATABASE_URL" in rows[name]["fix"]
    assert rows["disk"]["ok"] is True


def check_rights(rt: Runtime) -> DiagnosticFinding:
    return database_checks.check_rights(rt, {})


def test_missing_privileges_for_an_upgrade_are_reported(
    connect: Callable[..., Runtime], address: str, role: str
) -> None:
    found = check_rights(connect(role))
    assert (found.ok, found.level) == (False, "error")
    assert found.detail == "the role plain cannot create tables, so an upgrade fails"
    run_statements(address, "GRANT CREATE, USAGE ON SCHEMA public TO plain")
    found = check_rights(connect(role))
    assert "tables belong to another role" in found.detail
    run_statements(
        address,
        "DO $$ DECLARE name text; BEGIN FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP "
        "EXECUTE format('ALTER TABLE public.%I OWNER TO plain', name); END LOOP; END $$",
    )
    found = check_rights(connect(role))
    assert (found.ok, found.detail) == (True, "the role plain can write and upgrade the schema")


@pytest.mark.parametrize(
    ("difference", "level"), [(0, "info"), (1_900, "info"), (5_000, "warning"), (-5_000, "warning"), (60_000, "error")]
)
def test_a_clock_difference_of_the_database_is_reported(
    connect: Callable[..., Runtime], monkeypatch: pytest.MonkeyPatch, difference: int, level: str
) -> None:
    rt = connect()
    monkeypatch.setattr(postgresql_facts, "read_clock", lambda store: rt.clock() + difference)
    found = database_checks.check_clock(rt, {})
    assert (found.ok, found.level) == (level == "info", level)
    assert level == "info" or f"{abs(difference) / 1000:.1f} s" in found.detail


@pytest.mark.parametrize(
    ("found", "query", "level"),
    [
        (Encryption(False, "", "10.0.0.5"), "", "error"),
        (Encryption(True, "TLSv1.3", "10.0.0.5"), "", "warning"),
        (Encryption(True, "TLSv1.3", "10.0.0.5"), "?sslmode=require", "warning"),
        (Encryption(True, "TLSv1.3", "10.0.0.5"), "?sslmode=verify-full", "info"),
        (Encryption(False, "", ""), "", "info"),
        (Encryption(False, "", "::1"), "", "info"),
    ],
)
def test_a_remote_connection_requires_tls_and_a_verified_server(
    world: World, monkeypatch: pytest.MonkeyPatch, found: Encryption, query: str, level: str
) -> None:
    monkeypatch.setattr(postgresql_facts, "read_encryption", lambda store: found)
    config = replace(world.rt.config, database_url=f"postgresql://u@db.example/docshare{query}")
    row = database_checks.check_tls(replace(world.rt, config=config), {})
    assert (row.ok, row.level) == (level == "info", level)
    assert level == "info" or "sslmode=verify-full" in row.fix


def test_an_old_or_slow_server_is_reported(connect: Callable[..., Runtime], monkeypatch: pytest.MonkeyPatch) -> None:
    rt = connect()
    monkeypatch.setattr(postgresql_facts, "measure_latency_ms", lambda store: 80.0)
    assert database_checks.check_server(rt, {}).level == "warning"
    monkeypatch.setattr(postgresql_facts, "read_version", lambda store: ServerVersion("12.9", 120_009))
    found = database_checks.check_server(rt, {})
    assert (found.level, "requires version 13" in found.detail) == ("error", True)


def test_a_server_with_too_few_connections_for_the_pool_is_reported(
    connect: Callable[..., Runtime], monkeypatch: pytest.MonkeyPatch
) -> None:
    rt = connect()
    monkeypatch.setattr(postgresql_facts, "read_connections", lambda store: ServerConnections(90, 97))
    found = database_checks.check_pool(rt, {})
    assert (found.level, "max_connections" in found.fix) == ("warning", True)


@pytest.mark.parametrize(("used", "idle", "level"), [(41, 0, "warning"), (1, 0, "info")])
def test_waiting_threads_are_a_warning_only_if_the_pool_is_exhausted(
    connect: Callable[..., Runtime], monkeypatch: pytest.MonkeyPatch, used: int, idle: int, level: str
) -> None:
    rt = connect()
    monkeypatch.setattr(PostgresqlStore, "count_connections", lambda s: {"used": used, "idle": idle, "waiting": 3})
    assert database_checks.check_pool(rt, {}).level == level
