"""The store on PostgreSQL: a pool of connections, advisory locks instead of one lock, and no cached rows.

Only an instance with a database URL imports this module. Statements and models are those of SQLite; ``dialect``
translates them.
"""

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import psycopg
from peewee import DatabaseError, OperationalError, PostgresqlDatabase
from psycopg.adapt import Dumper
from psycopg.sql import SQL, Identifier
from psycopg.types.numeric import IntLoader
from psycopg.types.string import TextLoader
from psycopg_pool import ConnectionPool

from docshare.server.logs import LOGGER
from docshare.server.store.database import Protected, Store, database
from docshare.server.store.dialect import Statement, spell_postgresql

_MAX_CONNECTIONS = 24  # per process: its threads, the jobs, and one for each held lock
_CONNECT_TIMEOUT_S = 5
_LISTEN_SECONDS = 1.0  # interval at which a listener checks whether to stop or to reconnect
_INSTANCE_KEY = "instance"
_NOCASE = "CREATE COLLATION IF NOT EXISTS nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"


class _Postgresql(PostgresqlDatabase):
    """A database whose connections are borrowed from a pool, for one statement or for one transaction."""

    # Times are milliseconds since 1970, and sizes may exceed 2 GB.
    field_types = PostgresqlDatabase.field_types | {"INT": "BIGINT", "AUTO": "BIGSERIAL"}

    def __init__(self, url: str) -> None:
        self._url = url
        self._opening = threading.Lock()
        self.pool = ConnectionPool(
            url,
            min_size=1,
            max_size=_MAX_CONNECTIONS,
            timeout=_CONNECT_TIMEOUT_S,
            open=False,
            configure=_configure,
            kwargs={"autocommit": True, "connect_timeout": _CONNECT_TIMEOUT_S},
        )
        super().__init__("docshare", autoconnect=True, prefer_psycopg3=True)
        # peewee would hold its lock while a thread waits for a connection, and threads that return one need
        # the lock. The state behind it belongs to each thread.
        self._lock = nullcontext()

    def open_pool(self) -> ConnectionPool:
        """Return the pool; open it if necessary."""
        with self._opening:
            if self.pool.closed:
                try:
                    # The pool itself would only report a timeout, without the reason.
                    psycopg.connect(self._url, connect_timeout=_CONNECT_TIMEOUT_S).close()
                    self.pool.open(wait=True, timeout=_CONNECT_TIMEOUT_S)
                except psycopg.OperationalError as error:
                    raise OperationalError(error, *error.args) from error
        return self.pool

    def _connect(self) -> Any:
        return self.open_pool().getconn()

    def _close(self, conn: Any) -> None:
        self.pool.putconn(conn)

    def execute_sql(self, sql: str, params: Any = None) -> Any:
        """Run one statement; outside of a transaction its connection is returned to the pool at once."""
        try:
            return super().execute_sql(sql, params and tuple(map(_replace_nul, params)))  # type: ignore[no-untyped-call]
        finally:
            if not self.in_transaction():
                self.close()


def _replace_nul(value: Any) -> Any:
    """Return a text without the character NUL, which PostgreSQL cannot store, so that a search for it finds nothing."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) and "\0" in value else value


class _BoolDumper(Dumper):
    """Store booleans as 1 or 0, as in SQLite."""

    oid = psycopg.adapters.types["int8"].oid

    def dump(self, obj: Any) -> bytes:
        return b"1" if obj else b"0"


def _configure(connection: psycopg.Connection) -> None:
    connection.adapters.register_dumper(bool, _BoolDumper)
    # Sums of integers are integers, and JSON stays text as in SQLite.
    connection.adapters.register_loader("numeric", IntLoader)
    for name in ("json", "jsonb"):
        connection.adapters.register_loader(name, TextLoader)


class PostgresqlStore(Store):
    """The rows of an instance in a PostgreSQL database, shared with the other processes of the instance."""

    is_shared = True
    max_connections = _MAX_CONNECTIONS

    def __init__(self, url: str) -> None:
        self._url = url
        self._thread = threading.local()
        self.engine: Any = _Postgresql(url)
        database.initialize(self.engine)

    @contextmanager
    def write(self, protects: Protected = None) -> Iterator[None]:
        """Run the block in one transaction, under advisory locks; ``protects`` as in ``Store.write``.

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
        with self._transaction(""):
            self._take_locks(key)
            self._thread.protects = key
            yield

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
        ``write()``."""
        number = _number_of(key)
        with self.engine.open_pool().connection() as connection:
            (is_mine,) = connection.execute("SELECT pg_try_advisory_lock(%s)", (number,)).fetchone()
            try:
                yield bool(is_mine)
            finally:
                if is_mine:
                    connection.execute("SELECT pg_advisory_unlock(%s)", (number,))

    @contextmanager
    def _transaction(self, isolation: str) -> Iterator[None]:
        if self.engine.in_transaction():
            with self.engine.atomic():
                yield
            return
        try:
            with self.engine.atomic(isolation) if isolation else self.engine.atomic():
                yield
        finally:
            self.engine.close()

    @contextmanager
    def lock_key(self, key: object) -> Iterator[None]:
        """Hold the lock of ``key`` for this block, in all processes. Never use it inside ``write()``."""
        number = _number_of(key)
        with self.engine.open_pool().connection() as connection:
            connection.execute("SELECT pg_advisory_lock(%s)", (number,))
            try:
                yield
            finally:
                connection.execute("SELECT pg_advisory_unlock(%s)", (number,))

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
                with psycopg.connect(self._url, autocommit=True, connect_timeout=_CONNECT_TIMEOUT_S) as connection:
                    connection.execute(SQL("LISTEN {}").format(Identifier(channel)))
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

    def _run(self, statement: str | Statement, params: Sequence[Any]) -> Any:
        spelled = spell_postgresql(statement)
        return self.engine.execute_sql(spelled.text, spelled.arrange(params))

    def fetch_all(self, sql: str | Statement, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self._run(sql, params).fetchall()
        return found

    def fetch_one(self, sql: str | Statement, params: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self._run(sql, params).fetchone()
        return found

    def fetch_cached(self, sql: str | Statement, params: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return the result of ``fetch_one``. Nothing is cached: another process may have changed it."""
        return self.fetch_one(sql, params)

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
        with self.engine.open_pool().connection() as connection, connection.transaction():
            yield connection

    def execute(self, sql: str | Statement, params: Sequence[Any] = ()) -> int:
        return int(self._run(sql, params).rowcount)

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
        """Hold the right to change the schema, between all instances on this database."""
        with self.lock_key("schema"):
            self.engine.execute_sql("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
            self.engine.execute_sql(_NOCASE)
            yield

    def schema_version(self) -> int:
        found = self.fetch_one("SELECT COALESCE(MAX(version), 0) FROM schema_version")
        return int(found[0]) if found else 0

    def set_schema_version(self, version: int) -> None:
        self.execute("INSERT INTO schema_version (version) VALUES (?)", (version,))

    def spell_definition(self, text: str) -> str:
        """Return ``text`` without the clause of SQLite for tables without a hidden key."""
        return text.removesuffix(" WITHOUT ROWID")

    def start_streams(self, tables: Sequence[str]) -> None:
        for table in tables:
            self.execute("SELECT setval(pg_get_serial_sequence(?, 'id'), 1)", (table,))

    def is_answering(self) -> bool:
        try:
            return self.fetch_one("SELECT 1") is not None
        except (DatabaseError, psycopg.Error):
            LOGGER.exception("the database does not answer")
            return False

    def size_bytes(self) -> int:
        ((size,),) = self.fetch_all("SELECT pg_database_size(current_database())")
        return int(size)

    def count_connections(self) -> dict[str, int]:
        """Return the number of idle and of used connections, and of threads that wait for one."""
        facts = self.engine.pool.get_stats()
        idle = facts.get("pool_available", 0)
        return {"idle": idle, "used": facts.get("pool_size", 0) - idle, "waiting": facts.get("requests_waiting", 0)}

    def truncate_wal(self) -> None:
        """Do nothing: the operator manages the log of PostgreSQL."""

    def close(self) -> None:
        """Close every connection; the store must not be used afterwards."""
        self.engine.pool.close()


def _number_of(key: object) -> int:
    """Return the 64-bit number of ``key`` for the advisory locks of a database."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], signed=True)
