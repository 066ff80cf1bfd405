"""Engines that a server cannot use: one error at the start, and 503 with Retry-After while it runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.object_store import GUEST, ObjectStore, run_object_store
from tests.support.engines.postgresql import PostgresqlServer, run_postgresql_server
from tests.support.polling import wait_until
from tests.support.servers.server_process import ServerProcess, make_env, run_docshare, run_server


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresqlServer]:
    with run_postgresql_server() as server:
        yield server


@pytest.fixture(scope="module")
def objects() -> Iterator[ObjectStore]:
    with run_object_store() as store:
        yield store


@contextmanager
def connect(database: PostgresqlServer) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database.url, autocommit=True) as connection:
        yield connection


def make_database(database: PostgresqlServer, name: str, *statements: str) -> str:
    """Create a database and its user of the same name, who owns it; return its URL."""
    with connect(database) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN")
        connection.execute(f"CREATE DATABASE {name} OWNER {name}")
        for statement in statements:
            connection.execute(statement)
    return f"postgresql://{name}:pass-word@127.0.0.1:{database.port}/{name}"


def require_one_error(folder: Path, code: int, words: str, **environ: str) -> None:
    """Start a server, which must end with ``code`` and with one error and at most one hint, without a password."""
    done = run_docshare("serve", "--port", "0", env=make_env(folder, **environ))
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] in (["error"], ["error", "hint"]), done.stderr
    assert not [secret for secret in ("Traceback", "pass-word", "visiting") if secret in done.stderr], done.stderr


def upload(server: ServerProcess) -> requests.Response:
    files = {"file": ("a.pdf", simple_pdf(pages=1))}
    return requests.post(f"{server.url}/api/v1/files", headers=server.headers, files=files, timeout=60)


def list_names(server: ServerProcess) -> list[str]:
    answer = requests.get(f"{server.url}/api/v1/files", headers=server.headers, timeout=60)
    assert answer.status_code == 200, answer.text
    return [file["uuid"] for file in answer.json()]


# It waits for their ends, up to 10 s.
TERMINATE = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = 'serving'"


def require_unavailable(server: ServerProcess, words: str) -> None:
    """Upload until the server reports the trouble. A connection that just ended may be reported before."""

    def is_reported() -> bool:
        answer = upload(server)
        assert (answer.status_code, answer.headers.get("Retry-After")) == (503, "30"), answer.text
        return words in answer.text

    wait_until(is_reported)


@pytest.mark.parametrize(
    ("name", "statements", "code", "words"),
    [
        ("reading", ("ALTER DATABASE reading SET default_transaction_read_only = on",), 11, "rejects writes"),
        ("stranger", ("ALTER DATABASE stranger OWNER TO docshare",), 11, "rejects writes"),
        ("barred", ("REVOKE CONNECT ON DATABASE barred FROM PUBLIC, barred",), 11, "permission denied"),
        ("crowded", ("ALTER ROLE crowded CONNECTION LIMIT 0",), 11, "has no free connection"),
        ("unknown", ("ALTER ROLE unknown RENAME TO renamed",), 11, "does not exist"),
    ],
)
def test_an_unusable_database_is_one_error_at_the_start(
    database: PostgresqlServer, tmp_path: Path, name: str, statements: tuple[str, ...], code: int, words: str
) -> None:
    url = make_database(database, name, *statements)
    require_one_error(tmp_path, code, words, DOCSHARE_DATABASE_URL=url)


def test_a_database_of_a_later_release_is_one_error_at_the_start(database: PostgresqlServer, tmp_path: Path) -> None:
    url = make_database(database, "later")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE schema_version (version BIGINT NOT NULL)")
        connection.execute("INSERT INTO schema_version VALUES (1000)")
    require_one_error(tmp_path, 2, "newer than this docshare", DOCSHARE_DATABASE_URL=url)


def test_a_database_that_becomes_unusable_is_unavailable_until_it_is_repaired(
    database: PostgresqlServer, tmp_path: Path
) -> None:
    url = make_database(database, "serving")
    troubles = (
        ("ALTER DATABASE serving SET default_transaction_read_only = on", "rejects writes",
         "ALTER DATABASE serving RESET default_transaction_read_only"),
        ("REVOKE INSERT ON ALL TABLES IN SCHEMA public FROM serving", "rejects writes",
         "GRANT INSERT ON ALL TABLES IN SCHEMA public TO serving"),
        ("ALTER ROLE serving CONNECTION LIMIT 0", "no free connection", "ALTER ROLE serving CONNECTION LIMIT -1"),
    )  # fmt: skip
    with run_server(tmp_path, DOCSHARE_DATABASE_URL=url) as server:
        known = [upload(server).json()["uuid"]]
        for cause, words, cure in troubles:
            with psycopg.connect(database.url.replace("/postgres", "/serving"), autocommit=True) as admin:
                for statement in (cause, cure):
                    admin.execute(statement)
                    # Sessions keep the settings with which they began.
                    admin.execute(TERMINATE)
                    if statement == cause:
                        require_unavailable(server, words)
            wait_until(lambda: requests.get(f"{server.url}/healthz", timeout=20).status_code == 200)
            assert list_names(server) == known
        assert upload(server).status_code == 200
        blobs = [path for path in (server.data_dir / "blobs").rglob("*") if path.is_file()]
    assert len(blobs) == 2, blobs


def test_a_bucket_that_can_only_be_read_is_one_error_at_the_start(objects: ObjectStore, tmp_path: Path) -> None:
    bucket = objects.create_bucket()
    environ = objects.environ | {"DOCSHARE_STORAGE_URL": objects.make_url(bucket)}
    objects.set_guest_rights(bucket, may_write=False)
    require_one_error(tmp_path / "empty", 11, "AccessDenied", **(environ | GUEST))
    with run_server(tmp_path, **environ) as server:
        assert upload(server).status_code == 200
    # The bucket already belongs to the instance.
    require_one_error(tmp_path, 11, "AccessDenied", **(environ | GUEST))


def test_a_bucket_that_becomes_unusable_is_unavailable_until_it_is_repaired(
    objects: ObjectStore, tmp_path: Path
) -> None:
    bucket = objects.create_bucket()
    objects.set_guest_rights(bucket, may_write=True)
    environ = objects.environ | GUEST | {"DOCSHARE_STORAGE_URL": objects.make_url(bucket)}
    with run_server(tmp_path, **environ) as server:
        known = [upload(server).json()["uuid"]]
        objects.set_guest_rights(bucket, may_write=False)
        require_unavailable(server, "cannot reach its storage")
        assert list_names(server) == known
        objects.set_guest_rights(bucket, may_write=True)
        known.insert(0, upload(server).json()["uuid"])
        objects.delete_bucket(bucket)
        require_unavailable(server, "cannot reach its storage")
        assert sorted(list_names(server)) == sorted(known)
        assert list((server.data_dir / "tmp").glob("*")) == []
