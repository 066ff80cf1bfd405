"""``docshare admin freeze`` and ``unfreeze``: with and without a running server (operations.md, Administration)."""

import json
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.pdfs import simple_pdf
from tests.support.served import docshare, home, served


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return home(tmp_path)


def admin(env: dict[str, str], *args: str) -> Any:
    done = docshare("admin", *args, "--json", env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_link_is_frozen_and_opened_again(tmp_path: Path, env: dict[str, str]) -> None:
    with served(tmp_path) as server:
        sent = {"file": ("a.pdf", simple_pdf(pages=1))}
        made = requests.post(f"{server.url}/api/v1/files", headers=server.headers, files=sent, timeout=20).json()
        frozen = admin(env, "freeze", made["shortId"])
        assert list(frozen) == ["uuid", "shortId", "originalName", "frozenAt"]
        assert (frozen["uuid"], frozen["originalName"]) == (made["uuid"], "a.pdf")
        assert admin(env, "freeze", "--list") == [{**frozen, "owner": "owner@example.com"}]
        page = requests.get(made["shareUrl"], timeout=10)
        assert (page.status_code, "This link is on hold" in page.text) == (403, True)
    assert "frozenAt" not in admin(env, "unfreeze", made["uuid"])
    assert admin(env, "freeze", "--list") == []
    assert docshare("admin", "freeze", env=env).returncode == 2
    with served(tmp_path) as server:
        assert requests.get(f"{server.url}/{made['shortId']}", timeout=10).status_code == 200


def test_a_link_that_is_not_there_ends_with_3(tmp_path: Path, env: dict[str, str]) -> None:
    with served(tmp_path):
        done = docshare("admin", "freeze", "aB3dE5fG7hJ9", env=env)
        assert (done.returncode, done.stdout) == (3, "")
