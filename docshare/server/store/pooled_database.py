"""peewee's database on a pool of connections to PostgreSQL."""

from contextlib import nullcontext
from typing import Any

from peewee import DatabaseError, InterfaceError, PostgresqlDatabase

from docshare.server import faults
from docshare.server.store.connection_pools import LimitedConnection, Pool
from docshare.server.store.database import CommitUnknownError


class PooledDatabase(PostgresqlDatabase):
    """A database whose connections are borrowed from a pool, for one statement or for one transaction."""

    # Times are milliseconds since 1970, and sizes may exceed 2 GB.
    field_types = PostgresqlDatabase.field_types | {"INT": "BIGINT", "AUTO": "BIGSERIAL"}

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.pool = pool.connections
        super().__init__("docshare", autoconnect=True, prefer_psycopg3=True)
        # peewee would hold its lock while a thread waits for a connection, and threads that return one need
        # the lock. The state behind it belongs to each thread.
        self._lock = nullcontext()

    def _connect(self) -> Any:
        return self._pool.acquire()

    def _close(self, conn: Any) -> None:
        conn.limit_s = LimitedConnection.limit_s
        self._pool.release(conn)

    def commit(self) -> None:
        """Commit. Raises CommitUnknownError if the connection breaks meanwhile."""
        try:
            super().commit()
        except (DatabaseError, InterfaceError) as error:
            if not faults.is_disconnected(error):
                raise
            self.connection().close()  # type: ignore[no-untyped-call]
            raise CommitUnknownError(*unwrap(error)) from error

    def rollback(self) -> None:
        """Roll back, unless the connection broke: then PostgreSQL does so by itself."""
        if not self.is_closed() and not self.connection().closed:  # type: ignore[no-untyped-call]
            super().rollback()

    def execute_sql(self, sql: str, params: Any = None) -> Any:
        """Run one statement; outside of a transaction its connection is returned to the pool at once."""
        try:
            return super().execute_sql(sql, params and tuple(map(replace_nul, params)))  # type: ignore[no-untyped-call]
        finally:
            if not self.in_transaction():
                self.close()


def unwrap(error: BaseException) -> tuple[Any, ...]:
    """Return the arguments with which another of peewee's exceptions wraps the same error of the driver."""
    return (getattr(error, "orig", error), *error.args)


def replace_nul(value: Any) -> Any:
    """Return a text without the character NUL, which PostgreSQL cannot store, so that a search for it finds nothing."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) and "\0" in value else value
