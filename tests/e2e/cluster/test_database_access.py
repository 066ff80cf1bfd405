"""A PostgreSQL server that requires passwords and has a certificate: refused access, at the start and later."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
import requests

from docshare.cli import topics
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.postgresql import PostgresqlServer, run_postgresql_server
from tests.support.outside.import_source import make_certificate
from tests.support.polling import wait_until
from tests.support.servers.server_process import make_env, run_admin, run_docshare, start_server


@dataclass
class GuardedDatabase:
    """``server`` has the role ``guest`` with the password ``right-word``, the owner of the databases ``first``,
    ``second`` and ``ascii``; ``certificate`` is that of the server."""

    server: PostgresqlServer
    certificate: Path

    def make_url(self, name: str, password: str = "right-word") -> str:
        return f"postgresql://guest:{password}@127.0.0.1:{self.server.port}/{name}"

    def set_password(self, password: str) -> None:
        """Change the password, and end the connections that used another one."""
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            connection.execute(f"ALTER ROLE guest PASSWORD '{password}'")
            connection.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = 'guest'")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedDatabase]:
    certificate = make_certificate(tmp_path_factory.mktemp("tls"), "localhost")
    with run_postgresql_server() as server:
        server.require_passwords(certificate)
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("CREATE ROLE guest LOGIN PASSWORD 'right-word'")
            for name in ("first", "second"):
                connection.execute(f"CREATE DATABASE {name} OWNER guest")
            connection.execute("CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0 OWNER guest")
        yield GuardedDatabase(server, certificate)


def require_one_error(folder: Path, code: int, words: str, url: str) -> None:
    done = run_docshare("serve", "--port", "0", env=make_env(folder, DOCSHARE_DATABASE_URL=url))
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] in (["error"], ["error", "hint"]), done.stderr
    assert "-word" not in done.stderr


def test_a_wrong_password_is_one_error_at_the_start(database: GuardedDatabase, tmp_path: Path) -> None:
    url = database.make_url("first", "wrong-word")
    require_one_error(tmp_path, 11, 'password authentication failed for user "guest"', url)


def test_a_database_of_another_encoding_is_one_error_at_the_start(database: GuardedDatabase, tmp_path: Path) -> None:
    require_one_error(tmp_path, 2, "has the encoding SQL_ASCII", database.make_url("ascii"))


def test_verify_full_accepts_the_certificate_of_a_private_authority_and_no_other(
    database: GuardedDatabase, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = make_certificate(tmp_path / "other", "localhost")
    (written,) = re.findall(r"\?sslmode=verify-full\S*", topics.load("cluster"))
    url = database.make_url("first") + written
    require_one_error(tmp_path, 11, "certificate verify failed", url.replace("FILE", str(other)))
    env = make_env(tmp_path, DOCSHARE_DATABASE_URL=url.replace("FILE", str(database.certificate)))
    run_admin(env, "account", "create", "ada@example.com")
    rows = json.loads(run_docshare("doctor", "--only", "instance", "--json", env=env).stdout)
    (tls,) = [row for row in rows if row["check"] == "instance.database-tls"]
    assert tls["ok"], tls


def test_a_password_that_changes_makes_the_server_unavailable_and_the_log_says_why(
    database: GuardedDatabase, tmp_path: Path
) -> None:
    env = make_env(tmp_path, DOCSHARE_DATABASE_URL=database.make_url("second"))
    headers = {"Authorization": f"Bearer {run_admin(env, 'account', 'create', 'bob@example.com')['apiKey']}"}

    def upload() -> requests.Response:
        files = {"file": ("a.pdf", simple_pdf(pages=1))}
        return requests.post(f"{url}/api/v1/files", headers=headers, files=files, timeout=60)

    with (tmp_path / "log").open("w") as log:
        process, url = start_server("--port", "0", "--log", "json", env=env, errors=log)
    try:
        assert upload().status_code == 200
        database.set_password("another-word")
        try:
            for _ in range(3):
                answer = upload()
                assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30"), answer.text
                assert requests.get(f"{url}/healthz", timeout=60).status_code == 503
        finally:
            database.set_password("right-word")
        wait_until(lambda: upload().status_code == 200)
    finally:
        process.terminate()
        process.communicate(timeout=30)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line for line in lines if "password authentication failed" in f"{line['message']}{line.get('reason')}"], (
        lines
    )
    assert [line for line in lines if "cannot be reached" in line["message"] and line["reason"]], lines
    assert not [line for line in lines if "exception" in line], lines
    assert "-word" not in (tmp_path / "log").read_text()
