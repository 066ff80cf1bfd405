"""The connection to PostgreSQL breaks while a COMMIT is on its way: every change is made exactly once."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.commit_cutter import CommitCutter, run_commit_cutter
from tests.support.engines.postgresql import PostgresqlServer, run_postgresql_server
from tests.support.polling import wait_until
from tests.support.servers.server_process import ServerProcess, make_env, run_docshare, run_server

INSERT, REPLACE, VARIANT = 'INSERT INTO "files"', 'UPDATE "files" SET', 'INSERT INTO "variants"'


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresqlServer]:
    with run_postgresql_server() as server:
        yield server


@pytest.fixture(scope="module")
def cutter(database: PostgresqlServer) -> Iterator[CommitCutter]:
    with run_commit_cutter(database.port) as cutter:
        yield cutter


@pytest.fixture(scope="module")
def server(
    database: PostgresqlServer, cutter: CommitCutter, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    url = database.url.replace(f":{database.port}/", f":{cutter.listening}/")
    settings = {"DOCSHARE_DATABASE_URL": url, "DOCSHARE_RATE_LIMIT": "100000"}
    with run_server(tmp_path_factory.mktemp("commits"), **settings) as server:
        yield server


@pytest.fixture(autouse=True)
def mend(server: ServerProcess, cutter: CommitCutter) -> Iterator[None]:
    """Make the database reachable again, and wait until the server has noticed."""
    cutter.cuts = 0
    yield
    cutter.is_down = False
    wait_until(lambda: send(server, "GET", "/user").status_code == 200)


def send(server: ServerProcess, method: str, path: str, **more: Any) -> requests.Response:
    return requests.request(method, f"{server.url}/api/v1{path}", headers=server.headers, timeout=60, **more)


def upload(server: ServerProcess, name: str = "a.pdf", path: str = "/files") -> requests.Response:
    return send(server, "POST", path, files={"file": (name, simple_pdf(pages=1))})


def list_names(server: ServerProcess) -> list[str]:
    return [file["originalName"] for file in send(server, "GET", "/files").json()]


def test_an_upload_whose_commit_arrived_is_acknowledged(server: ServerProcess, cutter: CommitCutter) -> None:
    cutter.cut(INSERT, "committed")
    answer = upload(server, "arrived.pdf")
    assert (answer.status_code, cutter.cuts) == (200, 1), answer.text
    file = answer.json()
    assert send(server, "GET", f"/files/{file['uuid']}/content").content == simple_pdf(pages=1)
    assert list_names(server).count("arrived.pdf") == 1


def test_an_upload_whose_commit_did_not_arrive_may_be_retried(server: ServerProcess, cutter: CommitCutter) -> None:
    cutter.cut(INSERT, "lost")
    answer = upload(server, "lost.pdf")
    assert (answer.status_code, answer.headers["Retry-After"], cutter.cuts) == (503, "30", 1), answer.text
    assert "lost.pdf" not in list_names(server)
    blobs = [path for path in (server.data_dir / "blobs").rglob("*") if path.is_file()]
    assert len(blobs) == len(list_names(server))  # its bytes are deleted


def test_an_upload_of_which_nothing_is_known_must_not_be_retried(server: ServerProcess, cutter: CommitCutter) -> None:
    cutter.cut(INSERT, "committed", is_down_after=True)
    answer = upload(server, "unknown.pdf")
    assert (answer.status_code, "Retry-After" in answer.headers, cutter.cuts) == (504, False, 1), answer.text
    problem = answer.json()
    assert (problem["code"], "unknown" in problem["detail"]) == ("unavailable", True), problem
    cutter.is_down = False
    wait_until(lambda: send(server, "GET", "/user").status_code == 200)
    (file,) = [file for file in send(server, "GET", "/files").json() if file["originalName"] == "unknown.pdf"]
    assert send(server, "GET", f"/files/{file['uuid']}/content").status_code == 200


@pytest.mark.parametrize("outcome", ["committed", "lost"])
def test_a_replacement_is_one_version(server: ServerProcess, cutter: CommitCutter, outcome: Any) -> None:
    file = upload(server, f"replaced {outcome}.pdf").json()
    cutter.cut(REPLACE, outcome)
    answer = upload(server, "next.pdf", f"/files/{file['uuid']}/content")
    expected = (200, 2) if outcome == "committed" else (503, 1)
    found = send(server, "GET", f"/files/{file['uuid']}").json()
    assert (answer.status_code, found["contentVersion"], cutter.cuts) == (*expected, 1), answer.text
    again = upload(server, "last.pdf", f"/files/{file['uuid']}/content")
    assert again.json()["contentVersion"] == expected[1] + 1


def test_a_variant_of_which_nothing_is_known_must_not_be_created_again(
    server: ServerProcess, cutter: CommitCutter
) -> None:
    path = f"/files/{upload(server, 'variants.pdf').json()['uuid']}/variants"
    cutter.cut(VARIANT, "committed")
    answer = send(server, "POST", path, json={"label": "Ann"})
    assert (answer.status_code, "Retry-After" in answer.headers, cutter.cuts) == (504, False, 1), answer.text
    # The database may still be busy with the commit.
    wait_until(lambda: [row["label"] for row in send(server, "GET", path).json()["variants"]] == ["Ann"])


def test_the_command_line_stores_one_file(server: ServerProcess, cutter: CommitCutter, tmp_path: Path) -> None:
    (tmp_path / "typed.pdf").write_bytes(simple_pdf(pages=2))
    env = make_env(tmp_path, DOCSHARE_URL=server.url, DOCSHARE_TOKEN=server.token)
    cutter.cut(INSERT, "committed")
    done = run_docshare("upload", str(tmp_path / "typed.pdf"), "--json", env=env)
    assert (done.returncode, cutter.cuts) == (0, 1), done.stderr
    (uuid,) = [row["uuid"] for row in send(server, "GET", "/files").json() if row["originalName"] == "typed.pdf"]
    assert json.loads(done.stdout)["uuid"] == uuid
