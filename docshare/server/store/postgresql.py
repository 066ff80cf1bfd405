"""The store on PostgreSQL: a pool of connections, advisory locks instead of one lock, and no cached rows.

Only an instance with a database URL imports this module. Statements and models are those of SQLite; ``dialect``
translates them.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from peewee import DatabaseError, InterfaceError, OperationalError, Query
from psycopg.sql import SQL, Identifier
from psycopg_pool import PoolTimeout

from docshare.server import faults
from docshare.server.config import ConfigError
from docshare.server.store.connection_pools import (
    HOLD_SECONDS,
    LIFT_LIMITS,
    LOCK_SECONDS,
    LimitedConnection,
    Outage,
    Pool,
    make_options,
)
from docshare.server.store.database import (
    SERVING_LOCK,
    AnyStatement,
    CommitUnknownError,
    Found,
    Look,
    Protected,
    Store,
    database,
)
from docshare.server.store.dialect import Statement, spell_postgresql, spell_postgresql_step
from docshare.server.store.key_locks import KeyLocks
from docshare.server.store.pooled_database import PooledDatabase, unwrap

# Per process. The threads of the setting, those for requests that wait for other hosts, and background jobs.
_MORE_CONNECTIONS, _MAX_CONNECTIONS = 24, 64
_MORE_LOCKS, _MAX_LOCKS = 4, 16
_LISTENERS = 1
MIN_VERSION = 130_000
_ENCODING = "UTF8"
_LISTEN_SECONDS = 1.0  # interval at which a listener checks whether to stop or to reconnect
_HEALTH_SECONDS = 2.0
_LOOK_SECONDS = 10.0  # for which an unknown commit is looked for
_LOOK_INTERVAL_S = 0.2
_TRY_SECONDS = 1.0
_HOLD_LONGER = f"SET LOCAL idle_in_transaction_session_timeout = '{HOLD_SECONDS}s'"
_INSTANCE_KEY = "instance"
_ITS_ROWS = "its rows"  # what a write protects that locks rows itself
_NOCASE = "CREATE COLLATION IF NOT EXISTS nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"


class PostgresqlStore(Store):
    """The rows of an instance in a PostgreSQL database, shared with the other processes of the instance."""

    is_shared = True

    def __init__(self, url: str, threads: int = 8) -> None:
        self._url, self._options = url, make_options(url)
        self._thread = threading.local()
        self._key_locks = KeyLocks()
        outage = Outage(url, self._options)
        self._pool = Pool(url, min(threads + _MORE_CONNECTIONS, _MAX_CONNECTIONS), outage, self._options)
        # A separate pool: a thread that holds a lock must always get a connection for its work.
        self._lock_pool = Pool(url, min(threads // 2 + _MORE_LOCKS, _MAX_LOCKS), outage, self._options)
        self.max_connections = self._pool.connections.max_size + self._lock_pool.connections.max_size + _LISTENERS
        self.engine: Any = PooledDatabase(self._pool)
        database.initialize(self.engine)

    @contextmanager
    def write(self, protects: Protected = None, is_stored: Look | None = None) -> Iterator[None]:
        """Run the block in one transaction, under advisory locks; the parameters as in ``Store.write``.

        A write that protects an account shares the lock of the instance with others and holds that of its account; one
        that protects everything holds the lock of the instance alone. PostgreSQL releases them after the commit, so
        rows of one account are committed in the order of their ids, and a reader of the feed misses none.
        """
        key = protects() if callable(protects) else protects
        if self.engine.in_transaction():
            outer = getattr(self._thread, "protects", None)
            if outer is not None and outer != key:
                raise RuntimeError(f"a write that protects {key} inside one that protects {outer}")
            with self.engine.atomic():
                yield
            return
        try:
            with self._transaction(""):
                self._take_locks(key)
                self._thread.protects = key
                yield
        except CommitUnknownError as error:
            if is_stored is None:
                raise
            if not self._look(key, is_stored, error):
                raise OperationalError(*unwrap(error)) from error  # it may be tried again

    def write_rows(self, change: Callable[[], Found]) -> Found:
        """Call ``change`` as ``Store.write_rows`` does: with a share of the lock of the instance only."""
        with self._transaction(""):
            self.engine.execute_sql("SELECT pg_advisory_xact_lock_shared(%s)", (_number_of(_INSTANCE_KEY),))
            self._thread.protects = _ITS_ROWS
            return change()

    def _look(self, key: int | str | None, is_stored: Look, unknown: CommitUnknownError) -> bool:
        """Return whether a transaction was committed whose locks were those of ``key``. They are free when PostgreSQL
        has ended it. Raises ``unknown`` if the database does not answer in time."""
        until = time.monotonic() + _LOOK_SECONDS
        while True:
            try:
                with self._transaction(""):
                    self._take_locks(key)
                    return is_stored()
            except (DatabaseError, InterfaceError) as error:
                if time.monotonic() >= until:
                    raise unknown from error
                time.sleep(_LOOK_INTERVAL_S)

    def _take_locks(self, key: int | str | None) -> None:
        instance = _number_of(_INSTANCE_KEY)
        if key is None:
            self.engine.execute_sql("SELECT pg_advisory_xact_lock(%s)", (instance,))
            return
        locks = "SELECT pg_advisory_xact_lock_shared(%s), pg_advisory_xact_lock(%s)"
        self.engine.execute_sql(locks, (instance, _number_of(("account", key))))

    @contextmanager
    def try_lock(self, key: object) -> Iterator[bool]:
        """Yield whether no other process holds the lock of ``key``; hold it for the block if so. Never use it inside
        ``write()``.

        Inside ``lock_key`` it needs a second connection. All threads that hold one could wait for another, so False is
        also yielded if there is none within a second.
        """
        number = _number_of(key)
        try:
            connection = self._lock_pool.acquire(_TRY_SECONDS)
        except OperationalError as error:
            if not isinstance(unwrap(error)[0], PoolTimeout):
                raise
            yield False
            return
        try:
            (is_mine,) = connection.execute("SELECT pg_try_advisory_lock(%s)", (number,)).fetchone() or (False,)
            try:
                yield bool(is_mine)
            finally:
                if is_mine:
                    connection.execute("SELECT pg_advisory_unlock(%s)", (number,))
        finally:
            self._lock_pool.release(connection)

    def is_locked(self, key: object) -> bool:
        """Return whether a process holds the lock of ``key`` alone."""
        found = self.fetch_one("SELECT pg_try_advisory_xact_lock_shared(?)", (_number_of(key),))
        return not (found and found[0])

    @contextmanager
    def lift_limits(self) -> Iterator[None]:
        """Let transactions and locks of this thread take as long as they need during the block."""
        self._thread.has_no_limits = True
        try:
            yield
        finally:
            self._thread.has_no_limits = False

    @contextmanager
    def _transaction(self, isolation: str) -> Iterator[None]:
        if self.engine.in_transaction():
            with self.engine.atomic():
                yield
            return
        try:
            with self.engine.atomic(isolation) if isolation else self.engine.atomic():
                if self._has_no_limits():
                    _lift_limits(self.engine.connection())
                yield
        finally:
            self.engine.close()

    def _has_no_limits(self) -> bool:
        return getattr(self._thread, "has_no_limits", False)

    @contextmanager
    def lock_key(self, *keys: object) -> Iterator[None]:
        """Hold the locks of ``keys`` for this block, in all processes. Never use it inside ``write()``, nor inside
        itself.

        Only one thread of this process waits in the database for a key. The locks are those of a transaction, which
        PostgreSQL ends if this process is suspended.
        """
        numbers = sorted(map(_number_of, keys))
        with self._key_locks.hold(*keys), self._lock_pool.borrow(LOCK_SECONDS) as connection:
            try:
                with connection.transaction():
                    if self._has_no_limits():
                        _lift_limits(connection)
                    else:
                        connection.execute(_HOLD_LONGER)
                    for number in numbers:
                        connection.execute("SELECT pg_advisory_xact_lock(%s)", (number,))
                    yield
            finally:
                connection.limit_s = LimitedConnection.limit_s

    def notify(self, channel: str) -> None:
        self._run("SELECT pg_notify(?, '')", (channel,))

    def listen(self, channel: str, wake: Callable[[], None]) -> Callable[[], None]:
        is_over = threading.Event()
        listener = threading.Thread(
            target=self._listen, args=(channel, wake, is_over), name="notifications", daemon=True
        )
        listener.start()
        return is_over.set

    def _listen(self, channel: str, wake: Callable[[], None], is_over: threading.Event) -> None:
        while not is_over.is_set():
            try:
                with psycopg.connect(self._url, **self._options) as connection:
                    connection.execute(SQL("LISTEN {}").format(Identifier(channel)))
                    # While a process serves the instance, it cannot be moved.
                    connection.execute("SELECT pg_try_advisory_lock_shared(%s)", (_number_of(SERVING_LOCK),))
                    wake()  # for rows that were committed while no listener was connected
                    while not is_over.is_set():
                        for _ in connection.notifies(timeout=_LISTEN_SECONDS, stop_after=1):
                            wake()
            except psycopg.Error:  # such as a restart of the server; until then the threads poll for work
                is_over.wait(_LISTEN_SECONDS)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all reads of the block see the same state of the database."""
        with self._transaction("REPEATABLE READ"):
            yield

    def _run(self, statement: AnyStatement, params: Sequence[Any]) -> Any:
        if isinstance(statement, Query):
            return self.engine.execute_sql(*self.engine.get_sql_context().parse(statement))
        spelled = spell_postgresql(statement)
        return self.engine.execute_sql(spelled.text, spelled.arrange(params))

    def fetch_cached(self, sql: str | Statement, params: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return the result of ``fetch_one``. Nothing is cached: another process may have changed it."""
        return self.fetch_one(sql, params)

    def recall(self, key: Hashable, find: Callable[[], Found]) -> Found:  # noqa: ARG002 - as SQLite's
        """Return the result of ``find``. Nothing is cached."""
        return find()

    def remember(self, key: Hashable, result: object) -> None:
        pass

    def forget(self) -> None:
        pass

    def stream(self, sql: str | Statement, params: Sequence[Any] = (), block: int = 1000) -> Iterator[tuple[Any, ...]]:
        spelled = spell_postgresql(sql)
        with self._open_transaction() as connection, connection.cursor(name="rows") as cursor:
            cursor.itersize = block
            cursor.execute(spelled.text, spelled.arrange(params))
            yield from cursor

    @contextmanager
    def _open_transaction(self) -> Iterator[psycopg.Connection]:
        """Yield the connection of the transaction of this thread, or that of a new one."""
        if self.engine.in_transaction():
            yield self.engine.connection()
            return
        with self._pool.borrow() as connection, connection.transaction():
            yield connection

    def insert_rows(self, table: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
        names = SQL(", ").join(map(Identifier, columns))
        statement = SQL("COPY {} ({}) FROM STDIN").format(Identifier(table), names)
        with self.engine.connection().cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)

    def last_id(self, table: str) -> int:
        ((sequence,),) = self.fetch_all("SELECT pg_get_serial_sequence(?, 'id')", (table,))
        found = self.fetch_one(f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}")  # noqa: S608
        return int(found[0]) if found else 0

    def set_last_id(self, table: str, number: int, *, may_reuse: bool) -> None:  # noqa: ARG002 - as SQLite's
        if number:
            self.execute("SELECT setval(pg_get_serial_sequence(?, 'id'), ?)", (table, number))

    @contextmanager
    def schema_lock(self) -> Iterator[None]:
        """Hold the right to change the schema, between all instances on this database. Raises ConfigError for a
        database that docshare cannot use."""
        self._require_usable()
        with self.lift_limits(), self.lock_key("schema"):
            self.engine.execute_sql("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
            self.engine.execute_sql(_NOCASE)
            yield

    def _require_usable(self) -> None:
        with self._pool.borrow() as connection:
            version, encoding = connection.info.server_version, connection.info.parameter_status("server_encoding")
        if version < MIN_VERSION:
            raise ConfigError(f"database_url: PostgreSQL {version // 10_000} is too old; it must be 13 or later")
        if encoding != _ENCODING:
            raise ConfigError(
                f"database_url: the database has the encoding {encoding}; create one with ENCODING 'UTF8' "
                "TEMPLATE template0"
            )

    def schema_version(self) -> int:
        found = self.fetch_one("SELECT COALESCE(MAX(version), 0) FROM schema_version")
        return int(found[0]) if found else 0

    def set_schema_version(self, version: int) -> None:
        self.execute("INSERT INTO schema_version (version) VALUES (?)", (version,))

    def spell_definition(self, text: str) -> str:
        """Return ``text`` without the clause of SQLite for tables without a hidden key."""
        return text.removesuffix(" WITHOUT ROWID")

    def spell_step(self, step: str | Statement) -> str:
        """Return the statements of an upgrade with the types of PostgreSQL."""
        return spell_postgresql_step(step)

    def start_streams(self, tables: Sequence[str]) -> None:
        for table in tables:
            self.execute("SELECT setval(pg_get_serial_sequence(?, 'id'), 1)", (table,))

    def is_answering(self) -> bool:
        try:
            with self._pool.borrow(_HEALTH_SECONDS) as connection:
                connection.limit_s = _HEALTH_SECONDS
                try:
                    return connection.execute("SELECT 1").fetchone() is not None
                finally:
                    connection.limit_s = LimitedConnection.limit_s
        except (DatabaseError, psycopg.Error) as error:
            faults.log_error(error, "the database does not answer")
            return False

    def size_bytes(self) -> int:
        ((size,),) = self.fetch_all("SELECT pg_database_size(current_database())")
        return int(size)

    def count_connections(self) -> dict[str, int]:
        """Return the number of idle and of used connections, and of threads that wait for one."""
        both = self._pool.count(), self._lock_pool.count()
        return {name: sum(one[name] for one in both) for name in both[0]}

    def release_memory(self) -> None:
        """Do nothing: this process has no pages of the database."""

    def truncate_wal(self) -> None:
        """Do nothing: the operator manages the log of PostgreSQL."""

    def close(self) -> None:
        """Close every connection; the store must not be used afterwards."""
        self._lock_pool.close()
        self._pool.close()


def _lift_limits(connection: LimitedConnection) -> None:
    """End the time limits of the current transaction of ``connection``."""
    connection.execute(LIFT_LIMITS)
    connection.limit_s = None


def _number_of(key: object) -> int:
    """Return the 64-bit number of ``key`` for the advisory locks of a database."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], signed=True)
