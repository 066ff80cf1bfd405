"""``docshare dashboard``: the pages of the owner in the browser, signed in if the server is on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.support.servers.server_process import ServerProcess, make_env, run_docshare, run_server
from tests.support.shell import Shell


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Yield a separate server with the accounts owner@example.com and ada@example.com."""
    folder = tmp_path_factory.mktemp("house")
    with run_server(folder) as server:
        made = run_docshare("admin", "--data", str(server.data_dir), "account", "create", "ada@example.com",
                        env=make_env(folder))  # fmt: skip
        assert made.returncode == 0, made.stderr
        yield server


@pytest.fixture
def desktop_shell(shell: Shell) -> Shell:
    """Return a shell in a desktop session."""
    shell.tty = True
    shell.env["DISPLAY"] = ":0"
    shell.env["NO_COLOR"] = "1"
    return shell


def open_and_sign_in(link: str) -> str:
    """Open the link, press its button like a browser would, and return the page of the library."""
    with requests.Session() as browser:
        assert browser.get(link, timeout=20).status_code == 200
        landed = browser.post(link, timeout=20)
        assert landed.url.endswith("/files")
        return landed.text


def test_dashboard_opens_the_library_signed_in_as_the_first_account(
    own_server: ServerProcess, desktop_shell: Shell
) -> None:
    done = desktop_shell("dashboard", "--data", own_server.data_dir)
    assert done.code == 0, done.err
    (link,) = desktop_shell.opened
    assert done.out == f"{link}\n"
    assert link.startswith(f"{own_server.url}/login/")
    assert "owner@example.com" in open_and_sign_in(link)


def test_email_selects_another_account(own_server: ServerProcess, desktop_shell: Shell) -> None:
    done = desktop_shell("dashboard", "--email", "ada@example.com", "--json", "--data", own_server.data_dir)
    assert done.json == {"url": desktop_shell.opened[0], "account": "ada@example.com", "opened": True}
    assert "ada@example.com" in open_and_sign_in(done.json["url"])


def test_each_run_creates_a_new_link_that_works_once(own_server: ServerProcess, shell: Shell) -> None:
    first, second = (shell("dashboard", "--data", own_server.data_dir).out.strip() for _ in range(2))
    assert first != second
    open_and_sign_in(first)
    assert requests.post(first, timeout=20).status_code == 410
    open_and_sign_in(second)


@pytest.mark.parametrize("how", ["print", "pipe", "ssh", "ci", "no desktop"])
def test_the_link_is_only_printed_if_there_is_no_desktop(
    own_server: ServerProcess, desktop_shell: Shell, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docshare.cli.commands.browse.sys.platform", "linux")
    match how:
        case "pipe":
            desktop_shell.tty = False
        case "ssh":
            desktop_shell.env["SSH_CONNECTION"] = "203.0.113.7 1 198.51.100.4 22"
        case "ci":
            desktop_shell.env["CI"] = "true"
        case "no desktop":
            del desktop_shell.env["DISPLAY"]
    done = desktop_shell("dashboard", *(["--print"] if how == "print" else []), "--data", own_server.data_dir)
    assert (done.code, desktop_shell.opened) == (0, [])
    assert done.out.startswith(f"{own_server.url}/login/")


def test_the_server_of_the_configured_url_is_found_without_data(own_server: ServerProcess, shell: Shell) -> None:
    env = {"DOCSHARE_DATA_DIR": str(own_server.data_dir), "DOCSHARE_URL": own_server.url}
    assert shell("dashboard", env=env).out.startswith(f"{own_server.url}/login/")


@pytest.mark.parametrize("url", ["https://docs.example", "https://docs.example/", "http://docs.example"])
def test_the_library_of_a_remote_server_is_opened(desktop_shell: Shell, url: str) -> None:
    done = desktop_shell("dashboard", "--json", env={"DOCSHARE_URL": url})
    library = f"{url.rstrip('/')}/files"
    assert (done.code, done.json) == (0, {"url": library, "opened": True})
    assert desktop_shell.opened == [library]


def test_dashboard_needs_no_credential(shell: Shell) -> None:
    del shell.env["DOCSHARE_TOKEN"]
    done = shell("dashboard", "--format", "ids", env={"DOCSHARE_URL": "https://docs.example"})
    assert (done.code, done.out) == (0, "https://docs.example/files\n")


def test_email_is_rejected_for_a_remote_server(desktop_shell: Shell) -> None:
    done = desktop_shell("dashboard", "--email", "ada@example.com", env={"DOCSHARE_URL": "https://docs.example"})
    assert (done.code, done.out, desktop_shell.opened) == (2, "", [])
    assert "--email requires a server on this machine" in done.err
    assert "--data DIR" in done.err


def test_an_unknown_account_exits_with_3(own_server: ServerProcess, desktop_shell: Shell) -> None:
    done = desktop_shell("dashboard", "--email", "nobody@example.com", "--data", own_server.data_dir)
    assert (done.code, done.out, desktop_shell.opened) == (3, "", [])
    assert "no account for nobody@example.com" in done.err


def test_a_server_that_is_not_running_exits_with_11_and_a_hint(desktop_shell: Shell, tmp_path: Path) -> None:
    done = desktop_shell("dashboard", "--data", tmp_path / "empty")
    assert (done.code, done.out, desktop_shell.opened) == (11, "", [])
    assert "docshare serve" in done.err
    assert not (tmp_path / "empty").exists()


def test_the_link_is_not_stored_on_disk(own_server: ServerProcess, shell: Shell) -> None:
    """Neither in the files of the command nor on the server, which stores only a digest."""
    token = shell("dashboard", "--data", own_server.data_dir).out.strip().rpartition("/")[2].encode()
    places = [path for folder in (shell.home, own_server.data_dir) for path in folder.rglob("*") if path.is_file()]
    assert places
    assert [path for path in places if token in path.read_bytes()] == []


def test_a_dry_run_names_the_account_and_creates_no_link(own_server: ServerProcess, desktop_shell: Shell) -> None:
    (row,) = desktop_shell("dashboard", "-n", "--json", "--data", own_server.data_dir).json
    assert (row["method"], row["path"]) == ("POST", "/_admin")
    assert json.loads(row["body"]) == {"command": "login-link", "args": {"email": "owner@example.com"}}
    assert desktop_shell.opened == []
