"""``docshare admin freeze`` and ``unfreeze``: with and without a running server (operations.md, Administration)."""

import json
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.pdfs import simple_pdf
from tests.support.server_process import make_env, run_docshare, run_server


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return make_env(tmp_path)


def run_admin(env: dict[str, str], *args: str) -> Any:
    done = run_docshare("admin", *args, "--json", env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_link_is_frozen_and_opened_again(tmp_path: Path, env: dict[str, str]) -> None:
    with run_server(tmp_path) as server:
        sent = {"file": ("a.pdf", simple_pdf(pages=1))}
        made = requests.post(f"{server.url}/api/v1/files", headers=server.headers, files=sent, timeout=20).json()
        frozen = run_admin(env, "freeze", made["shortId"])
        assert list(frozen) == ["uuid", "shortId", "originalName", "frozenAt"]
        assert (frozen["uuid"], frozen["originalName"]) == (made["uuid"], "a.pdf")
        assert run_admin(env, "freeze", "--list") == [{**frozen, "owner": "owner@example.com"}]
        page = requests.get(made["shareUrl"], timeout=10)
        assert (page.status_code, "This link is on hold" in page.text) == (403, True)
    assert "frozenAt" not in run_admin(env, "unfreeze", made["uuid"])
    assert run_admin(env, "freeze", "--list") == []
    assert run_docshare("admin", "freeze", env=env).returncode == 2
    with run_server(tmp_path) as server:
        assert requests.get(f"{server.url}/{made['shortId']}", timeout=10).status_code == 200


def test_a_link_that_is_not_there_ends_with_3(tmp_path: Path, env: dict[str, str]) -> None:
    with run_server(tmp_path):
        done = run_docshare("admin", "freeze", "aB3dE5fG7hJ9", env=env)
        assert (done.returncode, done.stdout) == (3, "")
