"""A PostgreSQL server of the tests' own, in a temporary folder and on a free port."""

import atexit
import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

import psycopg

from docshare.server.store.migrations import migrate
from docshare.server.store.postgresql import PostgresqlStore

_MEMORY = Path("/dev/shm")  # each test has a database of its own: on a disk most of the time would go there
_PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def _choose_place() -> Path | None:
    enough = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 2 << 30
    return _MEMORY if enough else None


def _as_ordinary_user() -> dict[str, object]:
    """PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return {}
    user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@contextmanager
def run_postgresql() -> Iterator[str]:
    """The address of a running server's database ``postgres``; the server ends with the block."""
    programs = _PROGRAMS[-1]
    folder = Path(mkdtemp(prefix="pg", dir=_choose_place()))
    try:
        if os.getuid() == 0:
            shutil.chown(folder, "nobody")
        data = folder / "data"
        who = _as_ordinary_user()
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", "docshare", "--auth=trust", "-E", "UTF8", "--locale=C", "-N"],
            check=True, capture_output=True, cwd=folder, **who,
        )  # fmt: skip
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        options = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": folder, "fsync": "off"}
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen([programs / "postgres", "-D", data, *words], stderr=log, cwd=folder, **who)
        try:
            url = f"postgresql://docshare@127.0.0.1:{port}/postgres"
            _wait_until_ready(url, server)
            yield url
        finally:
            server.terminate()
            server.wait(30)
    finally:
        shutil.rmtree(folder)


def _wait_until_ready(url: str, server: subprocess.Popen[bytes]) -> None:
    while server.poll() is None:
        with suppress(psycopg.OperationalError), psycopg.connect(url, connect_timeout=2):
            return
    raise RuntimeError("PostgreSQL did not start")


_server: str | None = None
_stores: dict[str, str] = {}
_numbers = count()


def make_store(name: str) -> PostgresqlStore:
    """The store of the instance ``name``: a copy of an empty database the first time, then the same database."""
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


def drop_store(name: str) -> None:
    """Delete the database of the instance ``name``, which nobody will open again."""
    database = _stores.pop(name, None)
    if database is not None and _server is not None:
        with psycopg.connect(_server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {database} WITH (FORCE)")
