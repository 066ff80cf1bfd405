"""``@last`` of several credentials, on servers in separate processes."""

import json
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.server_process import COMMAND, make_env, run_admin, run_docshare, run_server


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a user, whose directories are not those of the servers."""
    return make_env(tmp_path / "user")


@pytest.fixture
def report(tmp_path: Path) -> str:
    path = tmp_path / "report.pdf"
    path.write_bytes(simple_pdf(pages=3))
    return str(path)


def run(env: dict[str, str], *words: str, code: int = 0) -> str:
    done = run_docshare(*words, env=env)
    assert done.returncode == code, done.stderr
    return done.stdout.strip()


def log_in(env: dict[str, str], url: str, token: str) -> None:
    line = [*COMMAND, "profile", "add", "work", "--url", url, "--force", "--with-token"]
    subprocess.run(line, env=env, input=token, text=True, check=True, timeout=60)


def test_another_server_at_the_same_address_has_its_own_last_upload(
    env: dict[str, str], report: str, tmp_path: Path
) -> None:
    with run_server(tmp_path / "one") as server:
        log_in(env, server.url, server.token)
        uploaded = run(env, "upload", report, "--print", "uuid")
        assert json.loads(run(env, "show", "@last", "--json"))["uuid"] == uploaded
    with run_server(tmp_path / "two", "--port", str(urlsplit(server.url).port)) as other:
        assert other.url == server.url
        given = env | {"DOCSHARE_URL": other.url, "DOCSHARE_TOKEN": other.token}
        run(given, "show", "@last", code=2)
        log_in(env, other.url, other.token)
        run(env, "show", "@last", code=2)
        run(given, "upload", report)
        shown = json.loads(run(env, "show", "@last", "--json"))
        assert shown["uuid"] != uploaded


def test_an_operator_command_uses_the_account_that_an_earlier_command_fetched(
    env: dict[str, str], report: str, tmp_path: Path
) -> None:
    with run_server(tmp_path / "one") as server:
        log_in(env, server.url, server.token)
        run(env, "upload", report)
        key = run_admin(env, "key", "create", "owner@example.com", "--data", str(server.data_dir))["key"]
        given = env | {"DOCSHARE_URL": server.url, "DOCSHARE_TOKEN": key, "DOCSHARE_DATA_DIR": str(server.data_dir)}
        run(given, "admin", "hotspot", "list", "@last", code=2)
        run(given, "whoami")
        run(given, "admin", "hotspot", "list", "@last")


def test_the_account_of_an_ephemeral_server_is_not_stored(env: dict[str, str], report: str, tmp_path: Path) -> None:
    docshare = " ".join(COMMAND)
    script = f"{docshare} upload {report} && {docshare} whoami && {docshare} show @last && {docshare} doctor"
    run(env, "serve", "--ephemeral", "--port", "0", "--exec", "sh", "-c", f"{script}; true")
    assert not (tmp_path / "user").exists()
