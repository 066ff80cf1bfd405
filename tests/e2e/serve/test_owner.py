"""The owner of an instance: the address at the first start, later, and the warning while no mail can reach it."""

import json
from pathlib import Path
from typing import Any

from tests.support.outside.mail_server import FakeMailServer
from tests.support.servers.server_process import make_env, run_docshare, start_server


def serve(folder: Path, *args: str, **environ: str) -> tuple[list[dict[str, Any]], str]:
    """Run a server until it is ready; return its accounts and what it wrote on stderr."""
    env, data = make_env(folder, **environ), str(folder / "data")
    log = folder / "log"
    with log.open("w") as errors:
        process, _ = start_server("--data", data, "--port", "0", *args, env=env, errors=errors)
        listed = run_docshare("admin", "--data", data, "account", "list", "--json", env=env)
        process.terminate()
        process.communicate(timeout=30)
    assert listed.returncode == 0, listed.stderr
    return json.loads(listed.stdout), log.read_text()


def test_the_owner_gets_the_configured_address_until_one_is_set(tmp_path: Path) -> None:
    ((owner,), _) = serve(tmp_path)
    assert (owner["email"], owner["name"]) == ("owner@localhost", "Owner")
    ((owner,), _) = serve(tmp_path, "--owner", "ada@example.com")
    assert owner["email"] == "ada@example.com"
    ((owner,), _) = serve(tmp_path, DOCSHARE_OWNER="other@example.com")
    assert owner["email"] == "ada@example.com"


def test_the_first_start_creates_the_owner_with_the_configured_address(tmp_path: Path) -> None:
    ((owner,), _) = serve(tmp_path, DOCSHARE_OWNER="ada@example.com")
    assert (owner["email"], owner["name"], owner["tier"]) == ("ada@example.com", "ada", "pro")


def test_serve_warns_while_mails_to_the_owner_wait(tmp_path: Path) -> None:
    command = "docshare admin account set-email owner@localhost"
    assert command not in serve(tmp_path)[1]
    with FakeMailServer() as server:
        assert command in serve(tmp_path, DOCSHARE_SMTP_URL=server.url)[1]
        assert command not in serve(tmp_path, "--owner", "ada@example.com", DOCSHARE_SMTP_URL=server.url)[1]


def test_an_address_that_is_malformed_is_refused_at_the_start(tmp_path: Path) -> None:
    done = run_docshare("serve", "--data", str(tmp_path / "data"), "--owner", "ada", env=make_env(tmp_path))
    assert (done.returncode, "owner: expected an address like ada@example.com" in done.stderr) == (2, True)


def test_accounts_are_renamed_disabled_and_enabled_by_the_operator(tmp_path: Path) -> None:
    env, data = make_env(tmp_path), str(tmp_path / "data")

    def run(*args: str) -> Any:
        done = run_docshare("admin", "--data", data, "account", *args, "--json", "--yes", env=env)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        return found[0] if isinstance(found, list) else found

    run("create", "boss@example.com")
    run("create", "ada@example.com")
    assert run("rename", "ada@example.com", "Ada Lovelace")["name"] == "Ada Lovelace"
    assert run("set-email", "ada@example.com", "ada@example.org")["email"] == "ada@example.org"
    assert "disabledAt" in run("disable", "ada@example.org")
    assert "disabledAt" not in run("enable", "ada@example.org")
    assert run("usage", "ada@example.org")["files"] == 0
    refused = run_docshare("admin", "--data", data, "account", "disable", "boss@example.com", "--yes", env=env)
    assert (refused.returncode, "cannot be disabled" in refused.stderr) == (7, True)
