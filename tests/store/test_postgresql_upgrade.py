"""Steps of the schema on PostgreSQL."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from string import ascii_lowercase, ascii_uppercase
from threading import Barrier

import psycopg
import pytest

from docshare.server.config import ConfigError
from docshare.server.store import migrations, postgresql
from docshare.server.store.dialect import spell_postgresql
from docshare.server.store.migrations import STEPS, migrate
from docshare.server.store.postgresql import PostgresqlStore
from docshare.server.store.tables import accounts, sharing
from tests.support.engines.postgresql import open_store

FIRST_STEP = 12  # the first one that is applied to PostgreSQL; earlier releases have no such database
STEP_OF_RELOADS, STEP_OF_ADDRESSES = 17, 18
ALL_TYPES = """
CREATE TABLE moods (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL COLLATE NOCASE, share REAL, picture BLOB,
    seen_at INTEGER REFERENCES files(id) ON DELETE CASCADE
);
INSERT INTO sqlite_sequence (name, seq) VALUES ('moods', 1);
CREATE TABLE moods_by_name (name TEXT PRIMARY KEY NOT NULL, count INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
"""


@pytest.fixture
def store() -> Iterator[PostgresqlStore]:
    with open_store("steps") as store:
        yield store


def describe(store: PostgresqlStore, condition: str = "TRUE") -> list[list[tuple[object, ...]]]:
    """Describe columns, indexes and constraints."""
    columns = (
        "SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name "
        f"FROM information_schema.columns WHERE table_schema = 'public' AND {condition} ORDER BY 1, 2"
    )
    indexes = "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2"
    constraints = "SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint ORDER BY 1, 2"
    return [store.fetch_all(query) for query in (columns, indexes, constraints)]


def return_to_step(store: PostgresqlStore, step: int) -> None:
    with store.write():
        store.execute("DELETE FROM schema_version")
        store.set_schema_version(step)


def restore_unique_addresses(store: PostgresqlStore) -> None:
    """Give the database the indexes that the step of addresses replaces."""
    store.execute("DROP INDEX accounts_address, invites_address")
    store.execute("CREATE UNIQUE INDEX accounts_email ON accounts (email)")
    store.execute("CREATE UNIQUE INDEX invites_file_id_email ON invites (file_id, email)")


def test_a_database_of_an_earlier_release_is_upgraded_to_the_schema_of_a_new_one(store: PostgresqlStore) -> None:
    new = describe(store)
    for table in ("blob_removals", "data_keys", "device_codes", "page_reloads"):
        store.execute(f"DROP TABLE {table}")
    restore_unique_addresses(store)
    added = [("accounts", "disabled_at"), ("login_links", "kind"), ("login_links", "new_email")]
    added += [("api_keys", name) for name in ("scopes", "file_id", "expires_at", "used_at")]
    for table, column in added:
        store.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    return_to_step(store, FIRST_STEP - 1)
    assert describe(store) != new
    migrate(store)
    assert store.schema_version() == len(STEPS)
    assert describe(store) == new


def test_every_type_of_sqlite_is_spelled_for_postgresql(
    store: PostgresqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "STEPS", (*STEPS, ALL_TYPES))
    migrate(store)
    columns, _, _ = describe(store, "table_name LIKE 'moods%'")
    assert {(table, name): kind for table, name, kind, *_ in columns} == {
        ("moods", "id"): "bigint", ("moods", "name"): "text", ("moods", "share"): "double precision",
        ("moods", "picture"): "bytea", ("moods", "seen_at"): "bigint",
        ("moods_by_name", "name"): "text", ("moods_by_name", "count"): "bigint",
    }  # fmt: skip
    ((first,),) = store.fetch_all("INSERT INTO moods (name) VALUES ('glad') RETURNING id")
    assert first == 2


def test_a_server_that_is_too_old_is_rejected(store: PostgresqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "MIN_VERSION", 990_000)
    with pytest.raises(ConfigError, match="is too old"):
        migrate(store)


@pytest.mark.parametrize("number", range(FIRST_STEP, len(STEPS) + 1))
def test_a_step_only_adds(store: PostgresqlStore, number: int) -> None:
    """Instances of the previous release run on the upgraded schema. They do not need an index that a step replaces."""
    text = store.spell_step(STEPS[number - 1])
    assert text.strip()
    assert re.findall(r"\b(?:DROP(?! INDEX\b)|RENAME|ALTER COLUMN)\b", text, re.IGNORECASE) == []


def test_an_instance_of_an_earlier_release_finds_addresses_after_the_upgrade(store: PostgresqlStore) -> None:
    restore_unique_addresses(store)
    return_to_step(store, STEP_OF_ADDRESSES - 1)
    accounts.insert(store, "one", "Ann@example.com", "Ann", 2, 0)
    migrate(store)
    assert store.fetch_all("SELECT uuid FROM accounts WHERE email = ?", ("ANN@example.com",)) == [("one",)]


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (accounts._SELECT_ID_BY_EMAIL, "accounts_address"),
        (accounts._SELECT_PASSWORD, "accounts_address"),
        (sharing._SELECT_INVITE_OF_ADDRESS, "invites_address"),
    ],
)
def test_an_address_is_found_by_its_index(store: PostgresqlStore, statement: str, index: str) -> None:
    params = (1, "ann@example.com")[-statement.count("?") :]
    with store.write():
        store.execute("SET LOCAL enable_seqscan = off")  # the tables are empty
        plan = "\n".join(line for (line,) in store.fetch_all(f"EXPLAIN {statement}", params))
    assert f"Index Scan using {index} on" in plan
    assert re.search(r"Index Cond: .*lower\(\(email\)", plan), plan


@pytest.mark.parametrize("locale", ["LC_CTYPE 'C.UTF-8'", "LOCALE_PROVIDER icu ICU_LOCALE 'tr'"])
def test_no_locale_changes_which_letters_are_equal(store: PostgresqlStore, locale: str) -> None:
    characters = "generate_series(1, 1114111) t(n) WHERE n NOT BETWEEN 55296 AND 57343"  # and no surrogate is one
    address = str(store.engine.pool.conninfo)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE letters TEMPLATE template0 {locale}")
        with psycopg.connect(address, dbname="letters", autocommit=True) as other:
            lowered = spell_postgresql("NOCASE(text)").text.replace("text", "chr(n)")
            found = other.execute(f"SELECT chr(n), {lowered} FROM {characters}").fetchall()
        connection.execute("DROP DATABASE letters")
    assert len(found) > 1_000_000
    assert {upper: lower for upper, lower in found if upper != lower} == dict(
        zip(ascii_uppercase, ascii_lowercase, strict=True)
    )


def test_instances_that_start_at_once_upgrade_the_database_once(store: PostgresqlStore) -> None:
    store.execute("DROP TABLE page_reloads")
    restore_unique_addresses(store)
    return_to_step(store, STEP_OF_RELOADS - 1)
    stores = [PostgresqlStore(str(store.engine.pool.conninfo)) for _ in range(4)]
    barrier = Barrier(len(stores))

    def start(instance: PostgresqlStore) -> int:
        barrier.wait()
        migrate(instance)
        return instance.schema_version()

    with ThreadPoolExecutor(len(stores)) as pool:
        assert list(pool.map(start, stores)) == [len(STEPS)] * len(stores)
    for instance in stores:
        instance.close()
    assert store.fetch_all("SELECT COUNT(*) FROM page_reloads") == [(0,)]
