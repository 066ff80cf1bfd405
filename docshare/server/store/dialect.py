"""The spelling of SQL statements for SQLite and for PostgreSQL.

Statements in ``store/tables`` are written once, in the SQL that both engines understand, with ``?`` for parameters and
these standard forms, which each engine spells in its own way:

- ``LEAST(a, b)`` and ``GREATEST(a, b)``
- ``a IS DISTINCT FROM b`` and ``a IS NOT DISTINCT FROM b``: comparisons that know NULL
- ``JSON_VALUE(column, '$.a.b')``: a number of a JSON column, or NULL
- ``JSON_TRUE(column, 'a')``: whether a field of a JSON column is true, as 1 or 0
- ``JSON_EXISTS(column, 'a')``: whether a field of a JSON column has a value
- ``JSON_REMOVE(column, '$.a.b', ...)``: a JSON column without these fields
- ``JSON_ARRAYAGG(JSON_ARRAY(a, b) ORDER BY c)``: the rows as a JSON text
- ``IN (JSON_NUMBERS(?))`` and ``IN (JSON_TEXTS(?))``: membership in a JSON array that is a parameter or a column
- ``NOCASE(column)`` and ``NOCASE(?)``: for comparing and sorting by characters, without regard to the case of ASCII
  letters
- ``NOINDEX(column)``: the column, which SQLite must not look up in an index
- ``FIRST JOIN``: a join whose left side SQLite must read first
- ``FOR UPDATE OF table`` at the end: lock the rows, which the lock of all writes does on SQLite

A statement that cannot be written this way is a ``Statement`` with both texts side by side.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any


@dataclass(frozen=True)
class Statement:
    """One statement in the dialect of each engine."""

    sqlite: str
    postgresql: str


@dataclass(frozen=True)
class SpelledStatement:
    """A text for PostgreSQL's driver, and the parameter of each of its placeholders, from 0."""

    text: str
    order: tuple[int, ...]

    def arrange(self, params: Sequence[Any]) -> tuple[Any, ...]:
        """Return ``params`` in the order of the placeholders."""
        return tuple(params[index] for index in self.order)


_Rule = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]
_ARGUMENT = r"([\w.]+)"
_SQLITE_RULES: tuple[_Rule, ...] = (
    (re.compile(r"\bLEAST\("), "MIN("),
    (re.compile(r"\bGREATEST\("), "MAX("),
    (re.compile(r"\bIS NOT DISTINCT FROM\b"), "IS"),
    (re.compile(r"\bIS DISTINCT FROM\b"), "IS NOT"),
    (re.compile(rf"\bJSON_VALUE\({_ARGUMENT}, "), r"json_extract(\1, "),
    (re.compile(rf"\bJSON_TRUE\({_ARGUMENT}, '(\w+)'\)"), r"(json_extract(\1, '$.\2') IS 1)"),
    (re.compile(rf"\bJSON_EXISTS\({_ARGUMENT}, '(\w+)'\)"), r"json_extract(\1, '$.\2') IS NOT NULL"),
    (
        re.compile(r"\bJSON_ARRAYAGG\(JSON_ARRAY\(([\w., ]+)\) ORDER BY ([\w., ]+)\)"),
        r"json_group_array(json_array(\1))",
    ),
    (re.compile(r"\bJSON_(?:NUMBERS|TEXTS)\((\?|[\w.]+)\)"), r"SELECT value FROM json_each(\1)"),
    (re.compile(r"\bNOCASE\((\?|[\w.]+)\)"), r"\1 COLLATE NOCASE"),
    (re.compile(rf"\bNOINDEX\({_ARGUMENT}\)"), r"+\1"),
    (re.compile(r"\bFIRST JOIN\b"), "CROSS JOIN"),
    (re.compile(r" FOR UPDATE OF \w+$"), ""),
)


def _spell_path(found: re.Match[str]) -> str:
    keys = found[2].removeprefix("$.").replace(".", ",")
    return f"({found[1]}::jsonb #>> '{{{keys}}}')::numeric"


def _spell_removal(found: re.Match[str]) -> str:
    paths = [f"#- '{{{path[2:].replace('.', ',')}}}'" for path in re.findall(r"'([^']+)'", found[2])]
    return f"({found[1]}::jsonb {' '.join(paths)})::text"


_POSTGRESQL_RULES: tuple[_Rule, ...] = (
    (re.compile(rf"\bJSON_VALUE\({_ARGUMENT}, '([^']+)'\)"), _spell_path),
    (re.compile(rf"\bJSON_REMOVE\({_ARGUMENT}((?:, '[^']+')+)\)"), _spell_removal),
    (re.compile(rf"\bJSON_TRUE\({_ARGUMENT}, '(\w+)'\)"), r"COALESCE((\1::jsonb ->> '\2') = 'true', false)::int"),
    (re.compile(rf"\bJSON_EXISTS\({_ARGUMENT}, '(\w+)'\)"), r"(\1::jsonb ->> '\2') IS NOT NULL"),
    (
        re.compile(r"\bJSON_ARRAYAGG\(JSON_ARRAY\(([\w., ]+)\) ORDER BY ([\w., ]+)\)"),
        r"COALESCE(jsonb_agg(jsonb_build_array(\1) ORDER BY \2), '[]')::text",
    ),
    (
        re.compile(r"\bJSON_NUMBERS\((\?|[\w.]+)\)"),
        r"SELECT value::bigint FROM jsonb_array_elements_text(\1::jsonb) t(value)",
    ),
    (re.compile(r"\bJSON_TEXTS\((\?|[\w.]+)\)"), r"SELECT value FROM jsonb_array_elements_text(\1::jsonb) t(value)"),
    (re.compile(r"\bNOCASE\((\?|[\w.]+)\)"), r'lower(\1 COLLATE "C")'),
    (re.compile(rf"\bNOINDEX\({_ARGUMENT}\)"), r"\1"),
    (re.compile(r"\bFIRST JOIN\b"), "JOIN"),
)
# Types and clauses of definitions.
_POSTGRESQL_DEFINITIONS: tuple[_Rule, ...] = (
    (re.compile(r"\bINTEGER PRIMARY KEY( AUTOINCREMENT)?"), "BIGSERIAL PRIMARY KEY"),
    (re.compile(r"\bINTEGER\b"), "BIGINT"),
    (re.compile(r"\bBLOB\b"), "BYTEA"),
    (re.compile(r"\bREAL\b"), "DOUBLE PRECISION"),
    (re.compile(r" WITHOUT ROWID\b"), ""),
)
_FIRST_IDS = re.compile(r"INSERT INTO sqlite_sequence \(name, seq\) VALUES ([^;]+)")
_PLACE = re.compile(r"'[^']*'|\?(\d*)")


@lru_cache(maxsize=1024)
def spell_sqlite(statement: str | Statement) -> str:
    """Return the text of a statement for SQLite."""
    if isinstance(statement, Statement):
        return statement.sqlite
    return _apply(_SQLITE_RULES, statement)


@lru_cache(maxsize=1024)
def spell_postgresql(statement: str | Statement) -> SpelledStatement:
    """Return the text of a statement for PostgreSQL's driver. ``?1`` is the first parameter, wherever it occurs."""
    text = statement.postgresql if isinstance(statement, Statement) else _apply(_POSTGRESQL_RULES, statement)
    order: list[int] = []

    def place(found: re.Match[str]) -> str:
        if found[0] != "?" and not found[1]:
            return found[0]  # a literal
        order.append(int(found[1]) - 1 if found[1] else len(order))
        return "%s"

    return SpelledStatement(_PLACE.sub(place, text.replace("%", "%%")), tuple(order))


def spell_postgresql_step(step: str | Statement) -> str:
    """Return the statements of an upgrade, which is written for SQLite, for PostgreSQL."""
    if isinstance(step, Statement):
        return step.postgresql
    return ";\n".join(map(_spell_postgresql_change, step.split(";\n")))


def _spell_postgresql_change(statement: str) -> str:
    if statement.lstrip().startswith(("CREATE TABLE", "ALTER TABLE")):
        return _apply(_POSTGRESQL_DEFINITIONS, statement)
    return _FIRST_IDS.sub(
        r"SELECT setval(pg_get_serial_sequence(name, 'id'), seq) FROM (VALUES \1) t(name, seq)", statement
    )


def _apply(rules: tuple[_Rule, ...], text: str) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text
