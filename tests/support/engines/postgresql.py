"""A local PostgreSQL server, in a temporary folder and on a free port."""

import atexit
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

import psycopg

from docshare.server.store.migrations import migrate
from docshare.server.store.postgresql import PostgresqlStore
from tests.support.polling import wait_until
from tests.support.ports import find_free_port

_MEMORY = Path("/dev/shm")  # each test has its own database, and a disk would take most of the time
_PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def _choose_place() -> Path | None:
    enough = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 2 << 30
    return _MEMORY if enough else None


def _as_ordinary_user() -> dict[str, object]:
    """Return arguments of Popen for an ordinary user, because PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return {}
    user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@dataclass
class PostgresqlServer:
    """A server that can be stopped and started again, with the same rows on the same port."""

    folder: Path
    port: int
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        """Return the URL of its database ``postgres``."""
        return f"postgresql://docshare@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": self.folder}
        words = [word for name, value in (options | {"fsync": "off"}).items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                [_PROGRAMS[-1] / "postgres", "-D", self.folder / "data", *words],
                stderr=log, cwd=self.folder, **_as_ordinary_user(),
            )  # fmt: skip
        while self.process.poll() is None:
            with suppress(psycopg.OperationalError), psycopg.connect(self.url, connect_timeout=10):
                return
        raise RuntimeError("PostgreSQL did not start")

    def require_passwords(self, certificate: Path) -> None:
        """Restart with TLS, and with passwords of everyone but ``docshare``; ``key.pem`` is beside the certificate."""
        data = self.folder / "data"
        for name in (certificate.name, "key.pem"):
            shutil.copy(certificate.with_name(name), data / name)
            (data / name).chmod(0o600)
            if os.getuid() == 0:
                shutil.chown(data / name, "nobody")
        rules = ("host all docshare 127.0.0.1/32 trust", "host all all 127.0.0.1/32 scram-sha-256")
        (data / "pg_hba.conf").write_text("\n".join((*rules, "")))
        with (data / "postgresql.conf").open("a") as settings:
            settings.write(f"ssl = on\nssl_cert_file = '{certificate.name}'\nssl_key_file = 'key.pem'\n")
        self.stop(signal.SIGINT)
        self.start()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop the server. SIGTERM waits until its clients disconnect, SIGINT does not."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(60)


@contextmanager
def run_postgresql_server() -> Iterator[PostgresqlServer]:
    """Yield a running server, which ends with the block."""
    folder = Path(mkdtemp(prefix="pg", dir=_choose_place()))
    server = PostgresqlServer(folder, find_free_port())
    try:
        if os.getuid() == 0:
            shutil.chown(folder, "nobody")
        words = ["-U", "docshare", "--auth=trust", "-E", "UTF8", "--locale=C", "-N"]
        subprocess.run(
            [_PROGRAMS[-1] / "initdb", "-D", folder / "data", *words],
            check=True, capture_output=True, cwd=folder, **_as_ordinary_user(),
        )  # fmt: skip
        server.start()
        yield server
    finally:
        server.stop(signal.SIGINT)
        shutil.rmtree(folder)


@contextmanager
def run_postgresql() -> Iterator[str]:
    """Yield the URL of the database ``postgres`` of a server that ends with the block."""
    with run_postgresql_server() as server:
        yield server.url


_server: str | None = None
_stores: dict[str, str] = {}
_numbers = count()


def make_store(name: str) -> PostgresqlStore:
    """Return the store of the instance ``name``: a copy of an empty database the first time, then the same database."""
    global _server
    if _server is None:
        context = run_postgresql()
        _server = context.__enter__()
        atexit.register(context.__exit__, None, None, None)
        first = PostgresqlStore(_server.replace("/postgres", "/template1"))
        migrate(first)
        first.close()
    if name not in _stores:
        _stores[name] = f"d{next(_numbers)}"
        with psycopg.connect(_server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {_stores[name]} STRATEGY file_copy")
    return PostgresqlStore(_server.replace("/postgres", f"/{_stores[name]}"))


@contextmanager
def open_store(name: str) -> Iterator[PostgresqlStore]:
    """Yield the store of the instance ``name``, which is deleted after the block."""
    store = make_store(name)
    yield store
    store.close()
    drop_store(name)


@contextmanager
def open_database(name: str) -> Iterator[str]:
    """Yield the address of a database with the current schema and no rows, which is deleted after the block."""
    with open_store(name) as store:
        yield str(store.engine.pool.conninfo)


def drop_store(name: str) -> None:
    """Delete the database of the instance ``name``, which no test will open again."""
    database = _stores.pop(name, None)
    if database is not None and _server is not None:
        with psycopg.connect(_server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {database} WITH (FORCE)")


def wait_for_sessions(store: PostgresqlStore, count: int) -> None:
    """Return once ``count`` sessions of the database wait for a lock."""
    query = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with psycopg.connect(store.engine.pool.conninfo, autocommit=True) as connection:
        wait_until(lambda: connection.execute(query).fetchone() == (count,))
