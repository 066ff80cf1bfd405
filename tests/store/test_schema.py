"""A database that was upgraded through all versions equals one that was created from the models."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import peewee
import pytest

from docshare.server.store import migrations
from docshare.server.store.database import Store
from docshare.server.store.migrations import STEPS, migrate, upgrade


@pytest.fixture
def upgraded_store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "upgraded.db")
    upgrade(store)
    yield store
    store.close()


@pytest.fixture
def new_store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "new.db")
    migrate(store)
    yield store
    store.close()


def list_tables(store: Store) -> list[str]:
    found = store.fetch_all("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return [name for (name,) in found]


def describe_table(store: Store, table: str) -> dict[str, Any]:
    """Describe columns, references and indexes; ignore the order of columns and the names of unique indexes."""
    (sql,) = store.fetch_one("SELECT sql FROM sqlite_master WHERE name = ?", (table,)) or ("",)
    columns = store.fetch_all(f"SELECT name, type, \"notnull\" OR pk, dflt_value, pk FROM pragma_table_info('{table}')")
    references = store.fetch_all(
        f'SELECT "from", "table", "to", on_update, on_delete FROM pragma_foreign_key_list(\'{table}\')'
    )
    indexes = []
    for _, name, unique, origin, partial in store.fetch_all(f"PRAGMA index_list('{table}')"):
        found = store.fetch_all(f"SELECT name, \"desc\", coll FROM pragma_index_xinfo('{name}') WHERE key")
        (text,) = store.fetch_one("SELECT sql FROM sqlite_master WHERE name = ?", (name,)) or (None,)
        condition = " ".join(text.partition(" WHERE ")[2].split()) if text else ""
        key = [(column, order, collation.upper()) for column, order, collation in found]
        indexes.append(("" if unique else name, unique, origin == "pk", partial, key, condition))
    return {
        "columns": sorted(columns),
        "references": sorted(references),
        "indexes": sorted(indexes),
        "without rowid": "WITHOUT ROWID" in sql,
        "never reuses ids": "AUTOINCREMENT" in sql,
        "cases": sql.upper().count("COLLATE NOCASE"),
    }


def test_an_upgraded_and_a_new_database_have_the_same_schema(upgraded_store: Store, new_store: Store) -> None:
    tables = list_tables(new_store)
    assert len(tables) > 45
    assert list_tables(upgraded_store) == tables
    for table in tables:
        assert describe_table(upgraded_store, table) == describe_table(new_store, table), table


def test_a_difference_is_detected(upgraded_store: Store, new_store: Store) -> None:
    with new_store.write():
        new_store.execute("DROP INDEX files_owner")
        new_store.execute("CREATE INDEX files_owner ON files(owner_id, id)")
    assert describe_table(upgraded_store, "files") != describe_table(new_store, "files")
    with new_store.write():
        new_store.execute("ALTER TABLE notes ADD COLUMN mood TEXT")
    assert describe_table(upgraded_store, "notes") != describe_table(new_store, "notes")


def test_sequences_start_at_the_same_number(upgraded_store: Store, new_store: Store) -> None:
    query = "SELECT name, seq FROM sqlite_sequence WHERE seq > 0 ORDER BY name"
    assert new_store.fetch_all(query) == upgraded_store.fetch_all(query) != []


def test_a_step_that_fails_changes_nothing_and_the_next_start_continues_with_it(
    tmp_path: Path, new_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = f"{STEPS[4]};\nCREATE TABLE more (id INTEGER);\nCREATE TABLE more (id INTEGER)"
    monkeypatch.setattr(migrations, "STEPS", STEPS[:4])
    store = Store(tmp_path / "interrupted.db")
    upgrade(store)
    before = {table: describe_table(store, table) for table in list_tables(store)}
    monkeypatch.setattr(migrations, "STEPS", (*STEPS[:4], broken, *STEPS[5:]))
    with pytest.raises(peewee.OperationalError, match="more already exists"):
        migrate(store)
    assert store.schema_version() == 4
    assert {table: describe_table(store, table) for table in list_tables(store)} == before
    monkeypatch.setattr(migrations, "STEPS", STEPS)
    migrate(store)
    assert store.schema_version() == len(STEPS)
    assert list_tables(store) == list_tables(new_store)
    store.close()
