"""On the server's host, only the operator's command line uses loopback without a rate limit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from docshare.contract.local_proof import HEADER, compute_proof
from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.server_process import make_env, run_docshare, start_server

PUBLIC = "https://docs.example.test"  # unreachable
LIMIT = 5


class LocalServerProcess:
    """A running server with a public address, and the environment that started it."""

    def __init__(self, env: dict[str, str], folder: Path) -> None:
        self.env, self.folder = env, folder
        self.data = folder / "data"

    def run(self, *words: str, **env: str) -> Any:
        return run_docshare(*words, env={**self.env, **env})

    @property
    def url(self) -> str:
        return str(json.loads((self.data / "server.json").read_text())["url"])

    @property
    def token(self) -> str:
        saved = json.loads((self.folder / "config" / "credentials.json").read_text())
        return str(saved["profiles"]["local"]["token"])

    @property
    def key(self) -> str:
        return (self.data / "instance.key").read_text().strip()

    def request(self, **headers: str) -> int:
        sent = {"Authorization": f"Bearer {self.token}", **headers}
        return requests.get(f"{self.url}/api/v1/user", headers=sent, timeout=10).status_code


@pytest.fixture
def local_server(tmp_path: Path) -> Iterator[LocalServerProcess]:
    env = make_env(tmp_path, DOCSHARE_RATE_LIMIT=str(LIMIT), HTTP_PROXY="http://127.0.0.1:9")
    process, _ = start_server("--port", "0", "--base-url", PUBLIC, env=env)
    try:
        yield LocalServerProcess(env, tmp_path)
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_profile_local_uses_loopback_without_limit_and_prints_public_links(
    local_server: LocalServerProcess, tmp_path: Path
) -> None:
    names = [tmp_path / f"report-{number}.pdf" for number in range(3 * LIMIT)]
    for number, name in enumerate(names):
        name.write_bytes(simple_pdf(pages=1 + number))
    done = local_server.run("upload", *map(str, names), "--max-wait", "0")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(names)
    assert all(line.startswith(f"{PUBLIC}/") for line in done.stdout.splitlines())
    assert local_server.run("auth", "status").returncode == 0
    listed = local_server.run("ls", "-vv")
    assert (listed.returncode, HEADER in listed.stderr) == (0, True)
    assert not {local_server.key, compute_proof(local_server.key, f"Bearer {local_server.token}")} & {
        *listed.stderr.split()
    }
    (where,) = [line for line in local_server.run("whoami", "--json", "-v").stderr.splitlines() if "GET" in line]
    assert "200" in where


@pytest.mark.parametrize(
    "words",
    [
        ("discover",),
        ("api", "GET", "/api/v1", "--no-auth"),
        ("public", "metadata", "ID"),
        ("public", "qr", "ID", "-o", "code.png"),
    ],
)
def test_profile_local_uses_loopback_for_commands_without_a_credential(
    local_server: LocalServerProcess, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "guest.pdf").write_bytes(simple_pdf(pages=1))
    uploaded = local_server.run("upload", str(tmp_path / "guest.pdf"), "--json")
    code = json.loads(uploaded.stdout)["shortId"]
    done = run_docshare(
        *(code if word == "ID" else word for word in words), "--retries", "0", env=local_server.env, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments", ["", "profile='local'"])
def test_the_library_uses_loopback_without_limit_for_profile_local(
    local_server: LocalServerProcess, arguments: str
) -> None:
    script = f"""
from docshare import Client
client = Client({arguments} {"," if arguments else ""} max_wait=0, retries=0)
for _ in range({LIMIT + 1}):
    client.account.show()
print(client.origin, client.is_local)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], env=local_server.env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == f"{PUBLIC} True\n", done.stderr


def test_localhost_is_free_of_the_limit(local_server: LocalServerProcess) -> None:
    port = local_server.url.rpartition(":")[2]
    access = {"DOCSHARE_URL": f"http://localhost:{port}", "DOCSHARE_TOKEN": local_server.token}
    done = [local_server.run("whoami", "--max-wait", "0", "--retries", "0", **access) for _ in range(LIMIT + 1)]
    assert {each.returncode for each in done} == {0}, done[-1].stderr


def test_another_loopback_address_is_another_server(local_server: LocalServerProcess) -> None:
    port = local_server.url.rpartition(":")[2]
    access = {"DOCSHARE_URL": f"http://127.0.0.2:{port}", "DOCSHARE_TOKEN": local_server.token}
    assert local_server.run("whoami", "--retries", "0", **access).returncode == 11


def test_a_refused_request_shows_the_login_that_would_do(local_server: LocalServerProcess) -> None:
    created = local_server.run("auth", "keys", "create", "--scope", "profile", "--json")
    assert created.returncode == 0, created.stderr
    narrow = json.loads(created.stdout)["key"]
    done = local_server.run("api", "GET", "/events", DOCSHARE_TOKEN=narrow)
    assert (
        done.returncode,
        f"docshare auth login --scope readership:read --profile local-login --url {PUBLIC}" in done.stderr,
    ) == (5, True), done.stderr
    done = local_server.run("auth", "keys", "list", DOCSHARE_TOKEN=narrow)
    assert (done.returncode, "auth login" in done.stderr) == (5, False), done.stderr
    assert "personal API key" in done.stderr


def test_an_explicit_address_is_used_instead_of_loopback(local_server: LocalServerProcess) -> None:
    assert local_server.run("ls", "--url", PUBLIC, "--timeout", "1s", "--retries", "0").returncode == 11
    other = local_server.run("ls", DOCSHARE_URL=local_server.url, DOCSHARE_TOKEN=local_server.token)
    assert other.returncode == 0, other.stderr


@pytest.mark.parametrize(
    "spoof",
    [
        lambda own: {},
        lambda own: {HEADER: "1"},
        lambda own: {HEADER: own.key},
        lambda own: {HEADER: compute_proof("0" * 64, f"Bearer {own.token}")},
        lambda own: {HEADER: compute_proof(own.key, "Bearer another")},
        lambda own: {
            HEADER: compute_proof(own.key, f"Bearer {own.token}"),
            "X-Forwarded-For": "127.0.0.1",
        },
        lambda own: {
            HEADER: compute_proof(own.key, f"Bearer {own.token}"),
            "X-Forwarded-For": "203.0.113.9",
        },
        lambda own: {
            HEADER: compute_proof(own.key, f"Bearer {own.token}"),
            "Forwarded": "for=127.0.0.1",
        },
    ],
)
def test_a_loopback_request_without_a_valid_proof_is_rate_limited(local_server: LocalServerProcess, spoof: Any) -> None:
    assert [local_server.request(**spoof(local_server)) for _ in range(LIMIT + 1)] == [200] * LIMIT + [429]
    true = {HEADER: compute_proof(local_server.key, f"Bearer {local_server.token}")}
    assert local_server.request(**true) == 200, "the operator is not limited"


def test_a_proof_is_not_a_credential(local_server: LocalServerProcess) -> None:
    proof = {HEADER: compute_proof(local_server.key, "Bearer ds_live_nobody"), "Authorization": "Bearer ds_live_nobody"}
    assert local_server.request(**proof) == 401


def test_nothing_is_sent_to_another_program_on_the_port_of_a_stopped_server(tmp_path: Path) -> None:
    from tests.support.outside.fake_api import fake_api

    env = make_env(tmp_path)
    process, url = start_server("--port", "0", env=env)
    process.terminate()
    process.communicate(timeout=30)
    server_info = json.loads((tmp_path / "data" / "server.json").read_text())
    with fake_api() as stranger:
        server_info["url"] = stranger.url
        (tmp_path / "data" / "server.json").write_text(json.dumps(server_info))
        assert run_docshare("ls", "--retries", "0", env=env).returncode == 11
        assert stranger.requests == []
    assert url
