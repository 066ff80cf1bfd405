"""The Redis server (or Valkey) where instances of one deployment keep short-lived state together.

Nothing permanent is stored there, and the server continues without it. A request sends at most one message to Redis and
waits at most ``_TIMEOUT_S`` for the response. After a failure, each instance uses only its own state until one thread,
which tries about once a second, has reconnected. Only instances with ``redis_url`` import this module.

**Where instances keep short-lived state:**

- In Redis: the windows of limits (``rate_limits`` lists them) and the probes of ``doctor``, whose requests reach
  any instance.
- In the database: everything that must be correct and not only fast. Locks (``lock_key``, ``try_lock``), claims of
  deliveries and mails, sign-in links, codes of apps, denied attempts (counted in memory, added up in a row every five
  seconds), and who is reading now, which reports compute from the page views.
- In each process: state of its own host, which a new process can determine again. Its sockets, threads and processors
  (``connection_limits``, slots, the budget, failures and cache of the PDF engine), its proxies, the heartbeat of its
  jobs, the public keys of token issuers.
- Nowhere: tokens of page views, tickets of gates and sessions of browsers are verified by secrets of the database.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from typing import TypeVar

from redis import Redis
from redis.backoff import NoBackoff
from redis.connection import BlockingConnectionPool
from redis.exceptions import RedisError, ResponseError
from redis.retry import Retry

from docshare.server.logs import LOGGER

_TIMEOUT_S = 0.25  # per connect, handshake step or response, and for a free connection
_PAUSE_S = 1.0  # between two attempts to connect
_START_S = 5.0  # maximum time that the start of the server waits for the first attempt; DNS may take that long
_CLOSE_S = 1.0
_LOG_INTERVAL_S = 10.0
# At least one for each thread: the pool does not serve waiting threads in order, so no thread should have to wait.
_MAX_CONNECTIONS = 512
_READY_CONNECTIONS = 8  # opened in advance
_PREFIX = "docshare"
_KEY_BYTES = 16
# This script fails whenever counting would fail: on a read-only replica, with full memory, without permission.
_TRIAL = "return redis.call('set', KEYS[1], '1', 'px', '1000')"
_T = TypeVar("_T")


class SharedMemory:
    """A connection to Redis with short timeouts that reconnects by itself. Thread-safe.

    Parameters: ``url`` begins with ``redis://`` or ``rediss://``; ``secret()`` returns bytes that only the instances of
    one deployment know.
    """

    def __init__(self, url: str, secret: Callable[[], bytes]) -> None:
        self._read_secret = secret
        self._secret = b""
        self._pool = BlockingConnectionPool.from_url(
            url,
            max_connections=_MAX_CONNECTIONS,
            timeout=_TIMEOUT_S,
            socket_timeout=_TIMEOUT_S,
            socket_connect_timeout=_TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),  # a retry could count a request twice
            protocol=2,  # version 3 needs another round trip for each connection
            driver_info=None,
        )
        self.client = Redis(connection_pool=self._pool)
        self._lock = threading.Lock()
        self._connected = threading.Event()
        self._first_attempt = threading.Event()
        self._closing = threading.Event()
        self._connecting: threading.Thread | None = None
        self._logged_at = -_LOG_INTERVAL_S
        self._failure_is_logged = False
        self.failure = ""
        """Why the last attempt to connect to Redis or to use it failed."""

    @property
    def is_connected(self) -> bool:
        """Return whether Redis was reachable when it was used last."""
        return self._connected.is_set()

    def start(self) -> None:
        """Try to connect; if that fails, keep trying in the background."""
        self._begin_connecting()
        self._first_attempt.wait(_START_S)

    def close(self) -> None:
        """Close all connections."""
        self._closing.set()
        self._connected.clear()
        if self._connecting is not None:
            self._connecting.join(_CLOSE_S)
        self._pool.disconnect()

    def run(self, action: Callable[["Redis"], _T]) -> _T | None:
        """Return the result of ``action``, or None while Redis is not reachable."""
        if not self._connected.is_set():
            return None
        try:
            return action(self.client)
        except (RedisError, OSError) as error:
            self._report_failure(error)
            return None

    def is_answering(self) -> bool:
        """Return whether Redis runs scripts and accepts writes now."""
        return self.run(self._try_to_write) is not None

    def _try_to_write(self, client: "Redis") -> object:
        return client.eval(_TRIAL, 1, self.build_key("trial", ""))

    def read_version(self) -> str:
        """Return the name and the version of the server; empty if Redis is not reachable or does not report them."""
        return self.run(_read_version) or ""

    def build_key(self, kind: str, name: str) -> str:
        """Return the key in Redis for ``name``. Call it only in an action of ``run``.

        The key does not reveal the name, which may contain an address or a token, and differs for every deployment
        that uses the same Redis.
        """
        digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES, key=self._secret)
        return f"{_PREFIX}:{kind}:{digest.hexdigest()}"

    def _report_failure(self, error: Exception) -> None:
        with self._lock:
            if self._closing.is_set() or not self._connected.is_set():
                return  # another thread has reported the same failure
            self._connected.clear()
        self._log_failure(error)
        self._begin_connecting(_PAUSE_S)

    def _begin_connecting(self, delay_s: float = 0.0) -> None:
        self._connecting = threading.Thread(target=self._connect, args=[delay_s], name="redis", daemon=True)
        self._connecting.start()

    def _connect(self, delay_s: float) -> None:
        while not self._closing.wait(delay_s):
            delay_s = _PAUSE_S
            try:
                self._open_connections()
            except (RedisError, OSError) as error:
                self._log_failure(error)
                self._first_attempt.set()
                continue
            with self._lock:
                if not self._closing.is_set():
                    self._connected.set()
            self._first_attempt.set()
            if self._failure_is_logged:
                self._failure_is_logged = False
                LOGGER.info("Redis answers again; rate limits are shared")
            return

    def _open_connections(self) -> None:
        """Open new connections, so that requests rarely have to: resolving a host name can take seconds."""
        self._secret = self._secret or self._read_secret()
        # Not those in use: closing a socket while a thread reads from it causes unexpected errors.
        self._pool.disconnect(inuse_connections=False)
        opened = []
        try:
            for _ in range(_READY_CONNECTIONS):
                opened.append(self._pool.get_connection())  # type: ignore[no-untyped-call]
        finally:
            for connection in opened:
                self._pool.release(connection)  # type: ignore[no-untyped-call]
        self._try_to_write(self.client)

    def _log_failure(self, error: Exception) -> None:
        now = time.monotonic()
        reason = self.failure = " ".join(str(error).split()) or type(error).__name__
        with self._lock:
            if now - self._logged_at < _LOG_INTERVAL_S:
                return
            self._logged_at = now
        self._failure_is_logged = True
        with suppress(ValueError):  # of a log that was closed while the process ends
            LOGGER.error("Redis does not answer; this instance counts rate limits separately", extra={"reason": reason})


def _read_version(client: Redis) -> str:
    try:
        facts = client.info("server")
    except ResponseError:  # the user of the connection is not allowed to run the command
        return ""
    valkey = facts.get("valkey_version")
    return f"Valkey {valkey}" if valkey else f"Redis {facts.get('redis_version', '')}".strip()
