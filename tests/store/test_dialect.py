"""Every SQL statement is valid in SQLite and in PostgreSQL."""

import importlib
import pkgutil
import re
from collections.abc import Iterator

import psycopg
import pytest

from docshare.server.store import tables
from docshare.server.store.database import Store
from docshare.server.store.dialect import Statement, spell_postgresql, spell_sqlite
from docshare.server.store.migrations import migrate
from docshare.server.store.postgresql import PostgresqlStore
from tests.support.engines.postgresql import make_store

COMPLETE_STATEMENT = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b")
# Prefixes of statements that functions complete.
STATEMENT_PREFIXES = {"rollups._INTO_TALLIES", "sessions._CHOSEN", "viewing._INTO_PAGES"}


def iterate_statements() -> Iterator[tuple[str, str | Statement]]:
    for module in pkgutil.iter_modules(tables.__path__):
        for name, value in vars(importlib.import_module(f"{tables.__name__}.{module.name}")).items():
            found = value.items() if isinstance(value, dict) and name.isupper() else [("", value)]
            for key, statement in found:
                if isinstance(statement, Statement) or (
                    isinstance(statement, str)
                    and COMPLETE_STATEMENT.match(statement)
                    and "{}" not in statement.replace("'{}'", "")
                ):
                    yield f"{module.name}.{name}{key and '.'}{key}", statement


STATEMENTS = {
    name: text for name, text in iterate_statements() if name not in STATEMENT_PREFIXES and "{" not in str(text)
}


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store(tmp_path_factory.mktemp("store") / "docshare.db")
    migrate(store)
    yield store
    store.close()


@pytest.fixture(scope="module")
def postgresql() -> Iterator[PostgresqlStore]:
    store = make_store("dialect")
    yield store
    store.close()


def test_enough_statements_are_found() -> None:
    assert len(STATEMENTS) >= 134
    assert sum(isinstance(text, Statement) for text in STATEMENTS.values()) >= 4


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_is_valid_in_both_databases(sqlite: Store, postgresql: PostgresqlStore, name: str) -> None:
    text = spell_sqlite(STATEMENTS[name])
    count = max([int(number) for number in re.findall(r"\?(\d+)", text)], default=text.count("?"))
    sqlite.fetch_all(f"EXPLAIN {text}", (None,) * count)
    spelled = spell_postgresql(STATEMENTS[name])
    numbers = iter(range(1, 100))
    numbered = re.sub("%s", lambda _: f"${next(numbers)}", spelled.text).replace("%%", "%")
    with psycopg.connect(postgresql.engine.pool.conninfo, autocommit=True) as connection:
        connection.execute(f"PREPARE statement AS {numbered}")


@pytest.mark.parametrize(
    ("written", "sqlite_text", "postgresql_text"),
    [
        ("SELECT LEAST(a, b)", "SELECT MIN(a, b)", "SELECT LEAST(a, b)"),
        ("a IS NOT DISTINCT FROM ?", "a IS ?", "a IS NOT DISTINCT FROM %s"),
        ("a IS DISTINCT FROM ?", "a IS NOT ?", "a IS DISTINCT FROM %s"),
        ("JSON_VALUE(s, '$.a.b')", "json_extract(s, '$.a.b')", "(s::jsonb #>> '{a,b}')::numeric"),
        ("JSON_REMOVE(d, '$.a', '$.b.c')", "JSON_REMOVE(d, '$.a', '$.b.c')", "(d::jsonb #- '{a}' #- '{b,c}')::text"),
        ("NOINDEX(r.id) = ?", "+r.id = ?", "r.id = %s"),
        ("NOCASE(a) = ?", "a COLLATE NOCASE = ?", 'lower(a COLLATE "C") = %s'),
        ("a = NOCASE(?)", "a = ? COLLATE NOCASE", 'a = lower(%s COLLATE "C")'),
        ("label LIKE '50%?' AND a = ?", "label LIKE '50%?' AND a = ?", "label LIKE '50%%?' AND a = %s"),
    ],
)
def test_an_expression_is_translated_for_each_database(written: str, sqlite_text: str, postgresql_text: str) -> None:
    assert spell_sqlite(written) == sqlite_text
    assert spell_postgresql(written).text == postgresql_text


def test_a_numbered_parameter_can_be_used_several_times() -> None:
    spelled = spell_postgresql("UPDATE t SET a = ?2, b = ?1 WHERE c = ?1")
    assert spelled.text == "UPDATE t SET a = %s, b = %s WHERE c = %s"
    assert spelled.arrange(("x", "y")) == ("y", "x", "x")


def test_names_are_sorted_alike_in_both_databases(sqlite: Store, postgresql: PostgresqlStore) -> None:
    """The locale of a PostgreSQL database has no effect."""
    names = ["Zebra", "Ähre", "a b", "apfel", "äpfel", "A-c", "Ab", "österreich", "Öl", "zebu"]
    statement = "SELECT name FROM sorted ORDER BY NOCASE(name), name"
    found = []
    for store, kind in ((sqlite, "TEXT"), (postgresql, 'TEXT COLLATE "de-x-icu"')):
        with store.write():
            store.engine.execute_sql(f"CREATE TEMPORARY TABLE sorted (name {kind})")
            for name in names:
                store.execute("INSERT INTO sorted (name) VALUES (?)", (name,))
            found.append([name for (name,) in store.fetch_all(statement)])
            store.engine.execute_sql("DROP TABLE sorted")
    assert found[0] == ["a b", "A-c", "Ab", "apfel", "Zebra", "zebu", "Ähre", "Öl", "äpfel", "österreich"]
    assert found[1] == found[0]
