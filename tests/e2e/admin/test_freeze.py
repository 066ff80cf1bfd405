"""``docshare admin freeze`` and ``unfreeze``: with and without a running server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.server_process import make_env, run_admin, run_docshare, run_server


def test_a_link_is_frozen_and_unfrozen(tmp_path: Path, env: dict[str, str]) -> None:
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


def test_freezing_an_unknown_link_exits_with_3(tmp_path: Path, env: dict[str, str]) -> None:
    with run_server(tmp_path):
        done = run_docshare("admin", "freeze", "aB3dE5fG7hJ9", env=env)
        assert (done.returncode, done.stdout) == (3, "")


COMMANDS = {
    "freeze": ("admin", "freeze", "FILE"),
    "unfreeze": ("admin", "unfreeze", "FILE"),
    "invite": ("admin", "invite", "FILE", "ann@example.com"),
    "hotspots": ("admin", "hotspot", "list", "FILE"),
    "hotspot": ("admin", "hotspot", "add", "FILE", "--page", "1", "--rect", "0,0,1,1", "--link", "https://a.example"),
    "trigger": ("trigger", "file.viewed", "--file", "FILE"),
}


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """Yield the environment of a server with a public address, and its file with the slug ``handbook``."""
    folder = tmp_path_factory.mktemp("public")
    with run_server(folder, "--base-url", "https://docs.example") as server:
        sent = {"file": ("a.pdf", simple_pdf(pages=1))}
        here = json.loads((server.data_dir / "server.json").read_text())["url"]
        api = f"{here}/api/v1/files"
        made = requests.post(api, headers=server.headers, files=sent, timeout=20).json()
        slug = requests.put(
            f"{api}/{made['uuid']}/settings", headers=server.headers, json={"slug": "handbook"}, timeout=20
        )
        assert slug.status_code == 200, slug.text
        yield make_env(folder), {**made, "local": f"{here}/{made['shortId']}"}


@pytest.mark.parametrize("path", ["handbook", "{shortId}"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_of_another_server_is_rejected(
    public: tuple[dict[str, str], dict[str, Any]], command: str, path: str
) -> None:
    env, file = public
    link = f"https://other.example/{path.format(**file)}"
    done = run_docshare(*(link if word == "FILE" else word for word in COMMANDS[command]), env=env)
    message = f"{link} belongs to another server, not docs.example"
    assert (done.returncode, done.stdout, message in done.stderr) == (2, "", True), done.stderr
    assert run_admin(env, "freeze", "--list") == []


def test_links_with_any_address_of_the_server_are_accepted(
    public: tuple[dict[str, str], dict[str, Any]],
) -> None:
    env, file = public
    for name in ("https://docs.example/handbook", "http://DOCS.example/handbook?via=qr", "slug:handbook",
                 file["shareUrl"], file["local"]):  # fmt: skip
        assert run_admin(env, "freeze", name)["uuid"] == file["uuid"]
        run_admin(env, "unfreeze", name)
    assert run_admin(env, "hotspot", "list", file["local"]) == []
