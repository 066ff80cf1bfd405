"""Rules of the architecture: where SQL on the tables is, and which module writes each table."""

import ast
import re
from collections.abc import Iterator
from typing import Any, cast

from docshare.server.store.tables import TABLES
from tests.test_architecture import is_in_scope, list_modules, parse_module

_TABLES_PACKAGE = "docshare.server.store.tables"
# Upgrade steps name tables too: a step imports nothing, and never changes after its release.
_UPGRADES_PACKAGE = "docshare.server.store.upgrades"

# Modules in which a statement has the name of its table as a parameter, and why.
GENERIC_STATEMENTS = {
    "docshare.server.store.copying": "reads all rows of all tables, in the same way",
    "docshare.server.store.database": "inserts the copied rows of any table",
    "docshare.server.store.database_file": "counts the rows of any table",
    "docshare.server.store.postgresql": "reads the sequence of any table",
}
# A model inherits these statements; their table is that of the model.
INHERITED_STATEMENTS = f"{_TABLES_PACKAGE}.base"

MODELS = {model.__name__: model for model in cast(tuple[Any, ...], TABLES)}
NAMES = {model._meta.table_name for model in MODELS.values()}

_PARAMETER = "{}"  # instead of an expression in an f-string, and the placeholder of ``str.format``
_TABLE = r"\s+(\w+|\{\}|$)"
_STATEMENT = re.compile(rf"\b(?:FROM|JOIN|INTO|UPDATE|TABLE){_TABLE}")
_WRITE = re.compile(rf"\b(?:INSERT INTO|REPLACE INTO|INSERT OR \w+ INTO|UPDATE|DELETE FROM){_TABLE}")
_WRITING_METHODS = {
    "bulk_create", "bulk_update", "create", "delete", "delete_by_id", "get_or_create", "insert", "insert_from",
    "insert_many", "replace", "replace_many", "set_by_id", "truncate_table", "update",
}  # fmt: skip


def list_texts(tree: ast.Module) -> Iterator[str]:
    """Yield every string of a module; each expression in an f-string is ``{}``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else _PARAMETER for part in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def list_named_tables(tree: ast.Module, pattern: re.Pattern[str]) -> set[str]:
    """Return the tables in the statements of a module; ``{}`` for one that is a parameter."""
    found = {table or _PARAMETER for text in list_texts(tree) for table in pattern.findall(text)}
    return found & (NAMES | {_PARAMETER})


def list_model_calls(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the table and the method of each call of peewee's query builder."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            called = node.func.value
            if isinstance(called, ast.Name) and called.id in MODELS:
                yield MODELS[called.id]._meta.table_name, node.func.attr


def list_written_tables(tree: ast.Module) -> set[str]:
    built = {table for table, method in list_model_calls(tree) if method in _WRITING_METHODS}
    return list_named_tables(tree, _WRITE) | built


def test_only_the_modules_of_tables_contain_statements_on_them() -> None:
    found = {}
    for name, path in list_modules():
        if not is_in_scope(_TABLES_PACKAGE, name) and not is_in_scope(_UPGRADES_PACKAGE, name):
            tree = parse_module(path)
            named = list_named_tables(tree, _STATEMENT) | {table for table, _ in list_model_calls(tree)}
            if named:
                found[name] = named
    assert found == {name: {_PARAMETER} for name in GENERIC_STATEMENTS}


def test_each_table_is_written_only_by_the_module_of_its_model() -> None:
    writers: dict[str, set[str]] = {}
    for name, path in list_modules():
        if is_in_scope(_TABLES_PACKAGE, name):
            for table in list_written_tables(parse_module(path)):
                writers.setdefault(table, set()).add(name)
    assert writers.pop(_PARAMETER) == {INHERITED_STATEMENTS}
    assert writers == {model._meta.table_name: {model.__module__} for model in MODELS.values()}
