"""The database: SQLite in WAL mode with full durability, one connection per thread, one lock around every write.

The lock is not only for speed: two connections that write or checkpoint at the same instant can corrupt a WAL
database in the SQLite versions of stable distributions.
"""

import sqlite3
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import peewee
from peewee import DatabaseError, DatabaseProxy, OperationalError, Query, SqliteDatabase

from docshare.server.logs import LOGGER
from docshare.server.store.dialect import Statement, spell_sqlite
from docshare.server.store.key_locks import KeyLocks

# Bound by ``Store`` when a server starts; the models refer to it.
database: Any = DatabaseProxy()

SERVING_LOCK = "serving"
"""The key of the lock that all processes share which serve an instance; a move holds it alone."""

_PRAGMAS = {
    "journal_mode": "wal",
    "synchronous": "full",
    "foreign_keys": 1,
    "busy_timeout": 5000,
    "cache_size": -64_000,
    "temp_store": "memory",
    "secure_delete": 1,
}


class CommitUnknownError(OperationalError):
    """The connection broke during a commit, and it is unknown whether the transaction was committed."""


class _Sqlite(SqliteDatabase):
    """Tracks the connections that threads opened, so that all of them can be closed, and executes statements faster."""

    def __init__(self, path: str) -> None:
        self.connections: list[Any] = []
        super().__init__(path, pragmas=_PRAGMAS, autoconnect=True, timeout=5, check_same_thread=False)

    def _connect(self) -> Any:
        connection = super()._connect()  # type: ignore[misc]  # its stubs do not declare it
        self.connections.append(connection)
        return connection

    def _in_transaction(self) -> bool:
        return bool(cast(sqlite3.Connection, self.connection()).in_transaction)  # type: ignore[no-untyped-call]

    def execute_sql(self, sql: str, params: Any = None) -> Any:
        """Execute one statement, without the log and the hooks of peewee: with them, beacons reach 0.50 of the rate of
        plain inserts, not 0.52."""
        try:
            connection = self._state.conn or self.connection()  # type: ignore[attr-defined, no-untyped-call]
            return connection.execute(sql, params or ())
        except sqlite3.Error:
            with peewee.__exception_wrapper__:  # type: ignore[attr-defined]  # its stubs do not declare it
                raise  # as one of the errors of peewee

    def commit(self) -> None:
        """Commit, and fail if SQLite has already rolled back the transaction by itself."""
        self.require_transaction()
        self.execute_sql("COMMIT")

    def require_transaction(self) -> None:
        """Raise OperationalError if SQLite has rolled back the transaction by itself."""
        if not self._in_transaction():
            raise OperationalError("the transaction was rolled back before its commit")

    def rollback(self) -> None:
        """Roll back, unless SQLite did so by itself, as it does if the disk is full or fails."""
        if self._in_transaction():
            super().rollback()

    def savepoint(self) -> Any:
        """Return the context manager of a nested write."""
        return _Savepoint(self)


class _Savepoint(peewee._savepoint):
    """A savepoint that does not hide the error for which SQLite has rolled back the whole transaction by itself: then
    there is no savepoint left."""

    def commit(self, begin: bool = True) -> None:
        self.db.require_transaction()
        super().commit(begin)

    def rollback(self, begin: bool = True) -> None:
        if self.db._in_transaction():
            super().rollback(begin)


Protected = int | str | Callable[[], int | None] | None
Look = Callable[[], bool]
"""Return whether the rows of a write are in the database."""
AnyStatement = str | Statement | Query
"""A statement as text, or a query of peewee's query builder."""
_MAX_CACHED = 1024  # results; about a kilobyte each
_NOT_CACHED = object()
Found = TypeVar("Found")


class Store:
    """One open database file. Reads need no lock; writes happen inside ``with store.write():`` or in ``write_rows``."""

    is_shared = False
    """Whether other processes may use the same rows."""
    max_connections = 0
    """Maximum connections of the pool of this process; 0 if each thread has its own."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._key_locks = KeyLocks()
        self._cached: dict[Hashable, object] = {}
        self.path = path
        self.engine: Any = _Sqlite(str(path))
        database.initialize(self.engine)

    @contextmanager
    def write(self, protects: Protected = None, is_stored: Look | None = None) -> Iterator[None]:
        """Run the block in one transaction, which is rolled back if it raises.

        Parameters: ``protects`` whose rows are written: the id of an account, or the name of a queue that belongs to
        no account; None for everything else. Two writes never run at the same time if they protect the same, or if
        one of them protects everything. Here one lock is used for all; on PostgreSQL writes of different accounts run
        concurrently. Instead of an id, a function that finds it may be passed: it is called only if the id is needed.
        A nested write protects the same, or is inside one that protects everything.

        ``is_stored`` is called under the same locks if the connection to the database breaks during the commit: True
        makes it a success. Raises CommitUnknownError if the commit stays unknown, or without ``is_stored``.
        """
        del protects, is_stored
        with self._lock:
            try:
                with self.engine.atomic("IMMEDIATE"):
                    yield
            finally:
                # A new object, because a concurrent reader still uses the old one.
                self._cached = {}

    def write_rows(self, change: Callable[[], Found]) -> Found:
        """Return the result of ``change``, called in one transaction.

        It locks the rows that it changes itself (``FOR UPDATE``), and appends nothing to the feed. Writes of the same
        account may run at the same time; none that protects everything does. It is a function, not a block: as a block,
        beacons would be 2 % slower.

        Results of ``recall`` stay cached, so ``change`` calls ``remember`` or ``forget`` if it changes a row on which
        one depends. Never nested.
        """
        with self._lock:
            # Not a transaction of peewee, inside of which ``recall`` would not use the cache.
            self.engine.execute_sql("BEGIN IMMEDIATE")
            try:
                result = change()
                self.engine.commit()
            except BaseException:
                self.forget()
                self.engine.rollback()
                raise
        return result

    @contextmanager
    def lock_key(self, *keys: object) -> Iterator[None]:
        """Hold the locks of ``keys`` for this block, for work in several transactions that must not overlap with
        conflicting work.

        Never use it inside ``write()``, nor inside itself.
        """
        with self._key_locks.hold(*keys):
            yield

    @contextmanager
    def try_lock(self, key: object) -> Iterator[bool]:
        """Yield whether no other process of the instance holds the lock of ``key``; hold it for the block if so."""
        del key
        yield True  # the data directory belongs to this process alone

    def is_locked(self, key: object) -> bool:  # noqa: ARG002 - as PostgreSQL's
        """Return whether another process holds the lock of ``key``."""
        return False

    def notify(self, channel: str) -> None:
        """Wake all listeners of ``channel`` in any process, once the current write is committed."""

    def listen(self, channel: str, wake: Callable[[], None]) -> Callable[[], None]:  # noqa: ARG002 - as PostgreSQL's
        """Call ``wake`` after every ``notify`` of ``channel``, in a separate thread; return a function that stops it.

        A single process needs neither: its threads poll for work.
        """
        return lambda: None

    @contextmanager
    def lift_limits(self) -> Iterator[None]:
        """Let transactions and locks of this thread take as long as they need during the block: for upgrades and
        copies. SQLite has no limits."""
        yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all reads of the block see the same state of the database, regardless of concurrent writes; the block
        must not write."""
        with self.engine.atomic("DEFERRED"):
            yield

    def _run(self, statement: AnyStatement, params: Sequence[Any]) -> Any:
        if isinstance(statement, Query):
            return self.engine.execute_sql(*self.engine.get_sql_context().parse(statement))
        return self.engine.execute_sql(spell_sqlite(statement), tuple(params))

    def fetch_all(self, statement: AnyStatement, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of one statement as tuples. ``params`` are those of a text; a query has its own."""
        found: list[tuple[Any, ...]] = self._run(statement, params).fetchall()
        return found

    def fetch_one(self, statement: AnyStatement, params: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row of one statement as a tuple, or None."""
        found: tuple[Any, ...] | None = self._run(statement, params).fetchone()
        return found

    def fetch_cached(self, sql: str, params: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return the result of ``fetch_one``, cached as by ``recall``.

        For queries of every request. A query is quick, but its thread releases the interpreter four times, and under
        load each of those is a wait.
        """
        return self.recall((sql, params), lambda: self.fetch_one(sql, params))

    def recall(self, key: Hashable, find: Callable[[], Found]) -> Found:
        """Return the result of ``find``, which depends on the ``key`` and on rows of the database only. It is cached at
        most until the next ``write()``, inside of which nothing is cached."""
        if self.engine.in_transaction():
            return find()  # uncommitted data must not be visible to others
        remembered = self._cached
        found = remembered.get(key, _NOT_CACHED)
        if found is _NOT_CACHED:
            found = find()
            if len(remembered) >= _MAX_CACHED:
                remembered.clear()
            remembered[key] = found
        return cast(Found, found)

    def remember(self, key: Hashable, result: object) -> None:
        """Replace the result that ``recall`` has cached for ``key``, after a change inside ``write_rows``. It is
        forgotten if the transaction fails, and at the end of a ``write()``.

        Such a key is recalled inside writes only: another thread could cache the row before the change again.
        """
        self._cached[key] = result

    def forget(self) -> None:
        """Clear the cache of ``recall``, after a change inside ``write_rows``."""
        self._cached = {}

    def stream(self, sql: str | Statement, params: Sequence[Any] = (), block: int = 1000) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of one statement, fetched ``block`` at a time to save memory."""
        cursor = self.engine.execute_sql(spell_sqlite(sql), tuple(params))
        while rows := cursor.fetchmany(block):
            yield from rows

    def execute(self, statement: AnyStatement, params: Sequence[Any] = ()) -> int:
        """Run one statement inside ``write()`` or ``write_rows``; return the number of changed rows."""
        return int(self._run(statement, params).rowcount)

    def insert_rows(self, table: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
        """Insert many ``rows``, which have all ``columns`` of ``table``; inside ``write()``."""
        places = ", ".join("?" * len(columns))
        statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"  # noqa: S608 - names of the models
        self.engine.connection().executemany(statement, rows)

    def last_id(self, table: str) -> int:
        """Return the highest id that a row of ``table`` ever had, for a table that never reuses ids."""
        found = self.fetch_one("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,))
        return int(found[0]) if found else 0

    def set_last_id(self, table: str, number: int, *, may_reuse: bool) -> None:
        """Make the next row of ``table`` get an id above ``number``; inside ``write()``.

        ``may_reuse``: ids of deleted rows may be used again.
        """
        if may_reuse:
            return  # SQLite finds the highest id itself
        if not self.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = ?", (number, table)):
            self.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, number))

    @contextmanager
    def schema_lock(self) -> Iterator[None]:
        """Hold the right to change the schema; the lock of the data directory gives it."""
        yield

    def schema_version(self) -> int:
        """Return how many steps of ``migrations`` were applied to the schema; 0 for an empty database."""
        found = self.fetch_one("PRAGMA user_version")
        return int(found[0]) if found else 0

    def set_schema_version(self, version: int) -> None:
        """Store how many steps were applied to the schema; inside ``write()``."""
        self.execute(f"PRAGMA user_version = {version}")

    def spell_definition(self, text: str) -> str:
        """Return the statement that creates a table, in the dialect of the engine."""
        return text

    def spell_step(self, step: str | Statement) -> str:
        """Return the statements of an upgrade, in the dialect of the engine."""
        return step.sqlite if isinstance(step, Statement) else step

    def start_streams(self, tables: Sequence[str]) -> None:
        """Give the first row of each of the ``tables`` the id 2: a cursor before it is greater than 0."""
        for table in tables:
            self.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, 1)", (table,))

    def is_answering(self) -> bool:
        """Return whether the database can be read; log the error if it cannot."""
        try:
            return self.fetch_one("SELECT 1 FROM sqlite_master") is not None
        except (DatabaseError, sqlite3.Error):
            LOGGER.exception("the database does not answer")
            return False

    def size_bytes(self) -> int:
        """Return the size of the database on disk."""
        log = self.path.with_name(self.path.name + "-wal")
        return sum(path.stat().st_size for path in (self.path, log) if path.exists())

    def count_connections(self) -> dict[str, int]:
        """Return the number of connections by their state."""
        return {"open": len(self.engine.connections)}

    def release_memory(self) -> None:
        """Return the page caches of all connections to the system: they may have rows that were deleted since."""
        for connection in list(self.engine.connections):
            with suppress(sqlite3.Error):  # a thread has just closed it
                connection.execute("PRAGMA shrink_memory")

    def truncate_wal(self) -> None:
        """Checkpoint the WAL and truncate it, so that erased data is in neither file.

        Waits up to five seconds for readers that still need it; never inside ``write()``.
        """
        with self._lock:
            self.engine.execute_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Checkpoint the WAL and close every connection; the store must not be used afterwards."""
        with self._lock:
            with suppress(DatabaseError):  # on a full disk; the next start reads the log
                self.engine.execute_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            self.engine.close()
            while self.engine.connections:
                self.engine.connections.pop().close()
