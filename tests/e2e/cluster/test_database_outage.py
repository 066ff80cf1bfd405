"""A server whose database is busy, suspended or away for a while."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import requests

from docshare.cli.framework.admin_channel import translate_data_errors
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.server.store.postgresql import PostgresqlStore
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.postgresql import PostgresqlServer, run_postgresql_server
from tests.support.polling import wait_until
from tests.support.servers.server_process import ServerProcess, make_env, run_docshare, run_server

READERS = 40


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresqlServer]:
    with run_postgresql_server() as server:
        yield server


@pytest.fixture(scope="module")
def server(database: PostgresqlServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    settings = {"THREADS": "32", "RATE_LIMIT": "100000", "ADDRESS_LIMIT": "100000", "DATABASE_URL": database.url}
    environ = {f"DOCSHARE_{name}": value for name, value in settings.items()}
    with run_server(tmp_path_factory.mktemp("outage"), **environ) as server:
        yield server


def upload(server: ServerProcess, timeout: float = 60) -> requests.Response:
    files = {"file": ("a.pdf", simple_pdf(pages=1))}
    return requests.post(f"{server.url}/api/v1/files", headers=server.headers, files=files, timeout=timeout)


def get_user(server: ServerProcess) -> requests.Response:
    return requests.get(f"{server.url}/api/v1/user", headers=server.headers, timeout=60)


def get_health(server: ServerProcess) -> int:
    return requests.get(f"{server.url}/healthz", timeout=60).status_code


def test_many_readers_enter_a_password_at_once_and_nobody_else_waits(server: ServerProcess) -> None:
    file = upload(server).json()
    locked = requests.put(
        f"{server.url}/api/v1/files/{file['uuid']}/settings",
        headers=server.headers, json={"password": "correct horse"}, timeout=60,
    )  # fmt: skip
    assert locked.status_code == 200, locked.text
    link, start = f"{server.url}/{file['shortId']}", threading.Barrier(READERS + 1)

    def enter(_: int) -> int:
        with requests.Session() as browser:
            browser.get(link, timeout=60)
            start.wait(60)
            form = {"password": "correct horse"}
            return browser.post(f"{link}/enter", data=form, allow_redirects=False, timeout=90).status_code

    with ThreadPoolExecutor(READERS) as pool:
        entries = [pool.submit(enter, number) for number in range(READERS)]
        start.wait(60)
        others = []
        while not all(entry.done() for entry in entries):
            began = time.monotonic()
            assert get_user(server).status_code == 200
            others.append(time.monotonic() - began)
    assert {entry.result() for entry in entries} == {303}
    assert max(others) < 5


def test_a_lock_that_another_session_holds_is_reported_as_busy(
    server: ServerProcess, database: PostgresqlServer
) -> None:
    with psycopg.connect(database.url) as holder:
        holder.execute("LOCK TABLE files IN ACCESS EXCLUSIVE MODE")
        answer = upload(server)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30")
        assert "busy" in answer.text
        assert get_health(server) == 200
    assert upload(server).status_code == 200


def test_a_transaction_of_a_suspended_instance_ends(server: ServerProcess, database: PostgresqlServer) -> None:
    """All sessions of the server end transactions that are idle, so none holds a lock for long."""
    assert get_user(server).status_code == 200
    store = PostgresqlStore(database.url)
    try:
        names = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout", "tcp_keepalives_count")
        found = [store.fetch_all(f"SHOW {name}")[0][0] for name in names]
        assert found == ["10s", "30s", "30s", "3"]
        with store.lift_limits(), store.write():
            assert [store.fetch_all(f"SHOW {name}")[0][0] for name in names] == ["0", "0", "0", "3"]
        assert store.fetch_all("SHOW statement_timeout") == [("30s",)]
    finally:
        store.close()


@contextmanager
def suspend(database: PostgresqlServer) -> Iterator[None]:
    """Suspend all processes of PostgreSQL during the block: it keeps its connections and answers nothing."""
    assert database.process is not None
    parent = database.process.pid
    os.kill(parent, signal.SIGSTOP)
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    for pid in children:
        os.kill(int(pid), signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in children:
            os.kill(int(pid), signal.SIGCONT)
        os.kill(parent, signal.SIGCONT)


def test_a_suspended_database_is_reported_and_used_again(server: ServerProcess, database: PostgresqlServer) -> None:
    assert get_user(server).status_code == 200
    with suspend(database), ThreadPoolExecutor(READERS) as pool:
        began = time.monotonic()
        answers = [pool.submit(get_user, server) for _ in range(READERS)]
        assert get_health(server) == 503
        assert time.monotonic() - began < 6
        for answer in answers:
            assert (answer.result().status_code, answer.result().headers["Retry-After"]) == (503, "30")
        assert time.monotonic() - began < 15
    wait_until(lambda: get_health(server) == 200)
    assert get_user(server).status_code == 200


def test_the_server_reconnects_soon_after_an_outage(server: ServerProcess, database: PostgresqlServer) -> None:
    """The pool doubles the time between attempts: after 20 seconds it would wait for 11 more."""
    assert get_user(server).status_code == 200
    database.stop(signal.SIGINT)
    until = time.monotonic() + 20
    try:
        while time.monotonic() < until:
            assert get_user(server).status_code == 503
    finally:
        database.start()
    began = time.monotonic()
    wait_until(lambda: get_user(server).status_code == 200)
    assert time.monotonic() - began < 5
    assert {get_user(server).status_code for _ in range(20)} == {200}


def test_connections_that_break_during_a_backup_are_one_error(
    server: ServerProcess, database: PostgresqlServer, tmp_path: Path
) -> None:
    """A script can try again later, as after any outage."""
    env = make_env(tmp_path / "admin", DOCSHARE_DATABASE_URL=database.url, PGAPPNAME="backup")
    saved = tmp_path / "backup.tar"
    with ThreadPoolExecutor() as pool, psycopg.connect(database.url) as holder:
        holder.execute("LOCK TABLE webhooks IN ACCESS EXCLUSIVE MODE")
        running = pool.submit(run_docshare, "admin", "--data", str(server.data_dir), "backup", str(saved), env=env)
        wait_until(lambda: _terminate_waiting(database, "backup"))
        done = running.result()
    assert (done.returncode, "the database cannot be reached" in done.stderr) == (11, True), done
    assert not saved.exists()


def test_a_connection_that_breaks_while_rows_are_copied_is_an_outage(database: PostgresqlServer) -> None:
    store = PostgresqlStore(f"{database.url}?application_name=copy")

    def copy_rows() -> None:
        with translate_data_errors(Path("data")):
            for number in store.stream("SELECT generate_series(1, 5000)", block=10):
                if number == (1,):
                    _terminate_all(database, "copy")

    try:
        with pytest.raises(Stop) as raised:
            copy_rows()
    finally:
        store.close()
    assert raised.value.exit == ExitCode.UNREACHABLE


def _terminate_waiting(database: PostgresqlServer, name: str) -> bool:
    """Terminate all connections of the program ``name`` once one waits for a lock; return whether it did."""
    waiting = "SELECT 1 FROM pg_stat_activity WHERE application_name = %s AND wait_event_type = 'Lock'"
    with psycopg.connect(database.url) as connection:
        if not connection.execute(waiting, (name,)).fetchone():
            return False
    _terminate_all(database, name)
    return True


def _terminate_all(database: PostgresqlServer, name: str) -> None:
    of_program = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
    with psycopg.connect(database.url) as connection:
        connection.execute(of_program, (name,))
