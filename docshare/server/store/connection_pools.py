"""Connections to PostgreSQL: their time limits, the pools, and what happens while the server does not answer.

A connection ends after a lost network or a suspended process on either side, so that no lock outlives its holder for
long. A suspended PostgreSQL server accepts statements and never answers them, which only the client can notice.
"""

import select
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import psycopg
from peewee import OperationalError
from psycopg.abc import PQGen
from psycopg.adapt import Dumper
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import IntLoader
from psycopg.types.string import TextLoader
from psycopg_pool import ConnectionPool, PoolTimeout

from docshare.server.faults import is_crowded

CONNECT_TIMEOUT_S = 5
LOCK_SECONDS = 10
"""Maximum wait for a lock."""
_STATEMENT_SECONDS = 30
_IDLE_SECONDS = 30  # between two statements of a transaction
HOLD_SECONDS = 120
"""Maximum time for which a lock of a key is held."""
_ANSWER_SECONDS = _STATEMENT_SECONDS + 5  # PostgreSQL has canceled the statement by then, unless it is suspended
_SILENCE_SECONDS = 3.0  # without an answer, after which another connection is tried
_PROBE_TIMEOUT_S = 2
_PROBE_INTERVAL_S = 1.0
# Attempts of the pool to reconnect are further and further apart. After this time it starts again, with the next
# request.
_RECONNECT_SECONDS = 3.0
_CLIENT_OPTIONS = {
    "keepalives": "1",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
_SERVER_OPTIONS = {
    "lock_timeout": f"{LOCK_SECONDS}s",
    "statement_timeout": f"{_STATEMENT_SECONDS}s",
    "idle_in_transaction_session_timeout": f"{_IDLE_SECONDS}s",
    "tcp_keepalives_idle": "10s",
    "tcp_keepalives_interval": "5s",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "20s",
}
LIFT_LIMITS = (
    "SELECT set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true), "
    "set_config('idle_in_transaction_session_timeout', '0', true)"
)
"""A statement that ends the time limits of the current transaction."""


def make_options(url: str) -> dict[str, Any]:
    """Return the options of a connection to ``url``, without those that it sets itself."""
    given = conninfo_to_dict(url)
    session = " ".join(f"-c {name}={value}" for name, value in _SERVER_OPTIONS.items())
    options = {name: value for name, value in _CLIENT_OPTIONS.items() if name not in given}
    options["options"] = f"{session} {given.get('options', '')}".strip()
    return options | {"autocommit": True, "connect_timeout": given.get("connect_timeout", CONNECT_TIMEOUT_S)}


class Outage:
    """Whether the server of ``url`` accepts connections, as last seen by any thread of this process.

    During an outage one thread per second tries to connect; all others fail at once.
    """

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        self._url, self._options = url, options | {"connect_timeout": _PROBE_TIMEOUT_S}
        self._probing = threading.Lock()
        self._probed_at = 0.0
        self.error: psycopg.Error | None = None

    def require_end(self) -> None:
        """Raise the error of an outage that has not ended."""
        if self.error is not None and not is_crowded(self.error):
            self.probe()
            if self.error is not None and not is_crowded(self.error):
                raise psycopg.OperationalError(str(self.error))

    def probe(self) -> None:
        """Try to connect, unless another thread does or did so just now."""
        if not self._probing.acquire(blocking=False):
            return
        try:
            if time.monotonic() - self._probed_at >= _PROBE_INTERVAL_S:
                try:
                    psycopg.connect(self._url, **self._options).close()
                    self.error = None
                except psycopg.Error as error:
                    self.error = error
                self._probed_at = time.monotonic()
        finally:
            self._probing.release()


class LimitedConnection(psycopg.Connection[Any]):
    """A connection that ends if the server does not answer a statement in time."""

    outage: Outage | None = None
    limit_s: float | None = _ANSWER_SECONDS
    """Maximum seconds until an answer; None for work that takes as long as it needs."""

    @classmethod
    def connect(  # type: ignore[override]  # the other parameters are passed on
        cls, conninfo: str = "", *, outage: Outage | None = None, **kwargs: Any
    ) -> Self:
        """Connect, and remember in ``outage`` whether that was possible."""
        try:
            connection = super().connect(conninfo, **kwargs)
        except psycopg.Error as error:
            if outage is not None:
                outage.error = error
            raise
        if outage is not None:
            outage.error = None
        connection.outage = outage
        return connection

    def wait(self, gen: PQGen[Any], *args: Any, **kwargs: Any) -> Any:
        """Wait for the server. Raise OperationalError and close the connection if it does not answer."""
        return super().wait(gen if self.limit_s is None else self._limit(gen, self.limit_s), *args, **kwargs)

    def _limit(self, gen: PQGen[Any], seconds: float) -> PQGen[Any]:
        began = time.monotonic()
        try:
            state = next(gen)
            while True:
                ready = yield state
                if not ready and self._is_given_up(time.monotonic() - began, seconds):
                    self.pgconn.finish()
                    raise psycopg.OperationalError("PostgreSQL does not answer")
                state = gen.send(ready)
        except StopIteration as end:
            return end.value

    def _is_given_up(self, waited_s: float, seconds: float) -> bool:
        if waited_s >= seconds:
            return True
        if self.outage is None or waited_s < _SILENCE_SECONDS:
            return False
        self.outage.probe()
        return self.outage.error is not None and not is_crowded(self.outage.error)

    def is_intact(self) -> bool:
        """Return whether the server has not closed an idle connection, without asking it."""
        poll = select.poll()
        poll.register(self.pgconn.socket, select.POLLIN)
        return not poll.poll(0)


class Pool:
    """Connections to the server of ``url``, at most ``size``, for the threads of this process."""

    def __init__(self, url: str, size: int, outage: Outage, options: dict[str, Any]) -> None:
        self._outage = outage
        self._opening = threading.Lock()
        self._connect = lambda: LimitedConnection.connect(url, outage=outage, **options).close()
        self.connections = ConnectionPool(
            url,
            connection_class=LimitedConnection,
            min_size=0,
            max_size=size,
            timeout=CONNECT_TIMEOUT_S,
            reconnect_timeout=_RECONNECT_SECONDS,
            open=False,
            configure=_configure,
            kwargs=options | {"outage": outage},
        )

    def acquire(self, timeout_s: float = CONNECT_TIMEOUT_S) -> LimitedConnection:
        """Return a connection that this thread must return. Raises peewee's OperationalError."""
        try:
            self._open()
            self._outage.require_end()
            return self._acquire(time.monotonic() + timeout_s)
        except psycopg.OperationalError as error:
            # The pool itself only reports a timeout, without the reason.
            reason = self._outage.error if isinstance(error, PoolTimeout) and self._outage.error else error
            raise OperationalError(reason, *reason.args) from error

    def _acquire(self, until: float) -> LimitedConnection:
        while True:
            connection = self.connections.getconn(until - time.monotonic())
            if connection.is_intact():
                return connection
            connection.close()
            self.release(connection)

    def release(self, connection: LimitedConnection) -> None:
        """Return ``connection`` to the pool, which replaces a closed one."""
        self.connections.putconn(connection)

    @contextmanager
    def borrow(self, timeout_s: float = CONNECT_TIMEOUT_S) -> Iterator[LimitedConnection]:
        """Yield a connection for the duration of the block."""
        connection = self.acquire(timeout_s)
        try:
            yield connection
        finally:
            self.release(connection)

    def _open(self) -> None:
        with self._opening:
            if self.connections.closed:
                self._connect()  # type: ignore[no-untyped-call]
                self.connections.open()

    def count(self) -> dict[str, int]:
        """Return the number of idle and of used connections, and of threads that wait for one."""
        facts = self.connections.get_stats()
        idle = facts.get("pool_available", 0)
        return {"idle": idle, "used": facts.get("pool_size", 0) - idle, "waiting": facts.get("requests_waiting", 0)}

    def close(self) -> None:
        """Close every connection."""
        self.connections.close()


class _BoolDumper(Dumper):
    """Store booleans as 1 or 0, as in SQLite."""

    oid = psycopg.adapters.types["int8"].oid

    def dump(self, obj: Any) -> bytes:
        return b"1" if obj else b"0"


def _configure(connection: LimitedConnection) -> None:
    connection.adapters.register_dumper(bool, _BoolDumper)
    # Sums of integers are integers, and JSON stays text as in SQLite.
    connection.adapters.register_loader("numeric", IntLoader)
    for name in ("json", "jsonb"):
        connection.adapters.register_loader(name, TextLoader)
