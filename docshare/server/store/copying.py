"""Copy all rows of one database to another, on any two engines, and verify that nothing differs.

Rows keep their ids, and sequences continue after the highest id that was ever used, so that cursors and links of
clients stay valid.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from peewee import AutoField

from docshare.server.store.database import Store
from docshare.server.store.migrations import STEPS, migrate
from docshare.server.store.tables import TABLES
from docshare.server.store.tables.base import SequenceField

_REPORT_ROWS = 1000


class NotCopyableError(Exception):
    """The databases do not allow a copy; the message has the reason."""


def count_rows(store: Store) -> dict[str, int]:
    """Return the number of rows by table. Raises NotCopyableError if the database is of another version."""
    if store.schema_version() != len(STEPS):
        raise NotCopyableError("the database is of another version of docshare; start docshare serve on it once")
    with store.lift_limits(), store.snapshot():
        return {name: _count(store, name) for name, _, _ in _list_tables()}


def copy_database(source: Store, target: Store, report: Callable[[int], None] = lambda rows: None) -> dict[str, int]:
    """Copy every row of ``source``, as of one moment, to ``target``; return the number of rows by table.

    The rows are read back and compared before they are committed, so ``target`` has all of them or none. ``report``
    is called with each number of rows that was copied. Raises NotCopyableError unless ``target`` is empty.
    """
    count_rows(source)
    migrate(target)
    counts = {}
    with source.lift_limits(), target.lift_limits(), source.snapshot(), target.write():
        filled = [name for name, _, _ in _list_tables() if _count(target, name)]
        if filled:
            raise NotCopyableError(f"the database is not empty: it has rows in {', '.join(filled)}")
        for name, columns, ids in _list_tables():
            sent, found = _Digest(), _Digest()
            statement = f"SELECT {', '.join(columns)} FROM {name}"  # noqa: S608 - names of the models
            target.insert_rows(name, columns, _reporting(sent.watch(source.stream(statement)), report))
            for _ in found.watch(target.stream(statement)):
                pass
            if sent != found:
                raise NotCopyableError(f"the rows of {name} differ after they were copied")
            if ids == "sequence":
                target.set_last_id(name, source.last_id(name), may_reuse=False)
            elif ids == "numbers":
                target.set_last_id(name, _find_highest_id(target, name), may_reuse=True)
            counts[name] = sent.rows
    return counts


class _Digest:
    """Number and digest of rows, in any order: engines sort texts differently."""

    def __init__(self) -> None:
        self.rows = 0
        self._total = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Digest) and (self.rows, self._total) == (other.rows, other._total)

    def __hash__(self) -> int:
        return hash((self.rows, self._total))

    def watch(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        """Yield ``rows`` as PostgreSQL can store them, and add each to the digest."""
        for row in rows:
            storable = tuple(value.replace("\0", "\ufffd") if isinstance(value, str) else value for value in row)
            self.rows += 1
            self._total += int.from_bytes(hashlib.sha256(repr(storable).encode()).digest())
            yield storable


def _reporting(rows: Iterable[tuple[Any, ...]], report: Callable[[int], None]) -> Iterator[tuple[Any, ...]]:
    count = 0
    for row in rows:
        yield row
        count += 1
        if count % _REPORT_ROWS == 0:
            report(_REPORT_ROWS)
    report(count % _REPORT_ROWS)


def _list_tables() -> Iterator[tuple[str, list[str], str]]:
    """Yield the name and the columns of each table, and its kind of ids: "sequence" if none is reused, "numbers", or
    "" for another key."""
    for model in cast(tuple[Any, ...], TABLES):
        key = model._meta.primary_key
        ids = "sequence" if isinstance(key, SequenceField) else "numbers" if isinstance(key, AutoField) else ""
        yield model._meta.table_name, [field.column_name for field in model._meta.sorted_fields], ids


def _count(store: Store, table: str) -> int:
    return _query_number(store, f"SELECT COUNT(*) FROM {table}")  # noqa: S608 - a name of the models


def _find_highest_id(store: Store, table: str) -> int:
    return _query_number(store, f"SELECT COALESCE(MAX(id), 0) FROM {table}")  # noqa: S608 - as above


def _query_number(store: Store, statement: str) -> int:
    ((found,),) = store.fetch_all(statement)
    return int(found)
