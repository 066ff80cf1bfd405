"""``docshare auth`` against a real server: browser redirect, pasted URL, refresh, and logout."""

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.servers.server_process import COMMAND, ServerProcess, make_env, run_docshare, run_server
from tests.support.terminal import Terminal

OWNER = "owner@example.com"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with run_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="module")
def browser(server: ServerProcess) -> requests.Session:
    """Return the browser of the signed-in owner."""
    env = make_env(server.data_dir.parent)
    made = run_docshare("admin", "--data", str(server.data_dir), "login-link", OWNER, "--json", env=env)
    session = requests.Session()
    assert session.post(json.loads(made.stdout)["url"], timeout=10).status_code == 200
    return session


def press_consent_button(browser: requests.Session, address: str, decision: str = "approve") -> str:
    """Return the redirect after the owner pressed a button on the consent page."""
    page = browser.get(address, timeout=10)
    found = re.search(r'name="csrf" value="([^"]+)"', page.text)
    assert found is not None, page.text
    data = {"csrf": found[1], "decision": decision}
    return browser.post(address, data=data, timeout=10, allow_redirects=False).headers["Location"]


def start_login(server: ServerProcess, env: dict[str, str], *args: str) -> tuple[Any, str]:
    """Start a login; return its process and the URL that it prints."""
    process = subprocess.Popen(
        [*COMMAND, "auth", "login", "--url", server.url, "--no-browser", *args],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "/oauth/authorize?" in line:
            return process, line.strip()
    raise AssertionError(f"no URL was printed; exited with {process.wait(10)}")


def log_in(server: ServerProcess, browser: requests.Session, env: dict[str, str], *args: str) -> str:
    """Log in; return the output on stderr after the URL."""
    process, address = start_login(server, env, *args)
    answer = requests.get(press_consent_button(browser, address), timeout=10)
    assert "You are signed in" in answer.text
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, ""), err
    return str(err)


def read_credentials(env: dict[str, str]) -> dict[str, Any]:
    path = Path(env["DOCSHARE_CONFIG_DIR"]) / "credentials.json"
    assert path.stat().st_mode & 0o777 == 0o600
    ((_, found),) = json.loads(path.read_text())["profiles"].items()
    return dict(found)


def change_credentials(env: dict[str, str], **changes: Any) -> None:
    path = Path(env["DOCSHARE_CONFIG_DIR"]) / "credentials.json"
    whole = json.loads(path.read_text())
    for row in whole["profiles"].values():
        row.update(changes)
    path.write_text(json.dumps(whole))


def test_login_in_the_browser_creates_a_working_profile(
    server: ServerProcess, browser: requests.Session, env: dict[str, str]
) -> None:
    assert f"as {OWNER}; profile 127-0-0-1" in log_in(server, browser, env)
    assert run_docshare("whoami", "--fields", "email", env=env).stdout == f"{OWNER}\n"
    status = json.loads(run_docshare("auth", "status", "--json", env=env).stdout)
    assert status["account"] == OWNER
    assert status["origin"] == server.url
    assert status["kind"].startswith("OAuth, ends in ")
    assert status["scopes"] == ["files:read", "files:write", "readership:read", "webhooks:manage", "profile"]
    token = read_credentials(env)["token"]
    assert run_docshare("auth", "token", env=env).stdout == f"{token}\n"
    for shown in (run_docshare("auth", "status", env=env), run_docshare("whoami", "-vv", env=env)):
        assert token not in shown.stdout + shown.stderr


def test_a_login_with_one_scope_allows_only_that_scope(
    server: ServerProcess, browser: requests.Session, env: dict[str, str]
) -> None:
    log_in(server, browser, env, "--scope", "files:read", "--profile", "ci")
    assert run_docshare("files", "list", env=env).returncode == 0
    assert run_docshare("whoami", env=env).returncode == 5
    assert run_docshare("auth", "status", env=env).returncode == 0


def test_a_login_with_a_code_is_allowed_on_another_device(
    server: ServerProcess, browser: requests.Session, env: dict[str, str]
) -> None:
    process = subprocess.Popen(
        [*COMMAND, "auth", "login", "--url", server.url, "--device"],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    found = re.search(r"Open (\S+) on any device and enter the code (\S+)", process.stderr.readline())
    assert found is not None
    page, code = found.groups()
    token = re.search(r'name="csrf" value="([^"]+)"', browser.get(page, timeout=10).text)
    assert token is not None
    form = {"csrf": token[1], "user_code": code.lower()}
    assert "docshare command line" in browser.post(page, data=form, timeout=10).text
    assert "is logged in" in browser.post(page, data={**form, "decision": "approve"}, timeout=10).text
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, ""), err
    assert f"as {OWNER}" in err
    assert run_docshare("whoami", "--fields", "email", env=env).stdout == f"{OWNER}\n"
    assert run_docshare("auth", "refresh", env=env).returncode == 0


def test_denying_access_in_the_browser_saves_no_credential(
    server: ServerProcess, browser: requests.Session, env: dict[str, str]
) -> None:
    process, address = start_login(server, env)
    assert "Access was denied" in requests.get(press_consent_button(browser, address, "deny"), timeout=10).text
    _, err = process.communicate(timeout=30)
    assert process.returncode == 4
    assert "access was denied" in err
    assert not (Path(env["DOCSHARE_CONFIG_DIR"]) / "credentials.json").exists()


def test_a_callback_with_a_wrong_state_or_path_is_ignored(
    server: ServerProcess, browser: requests.Session, env: dict[str, str]
) -> None:
    process, address = start_login(server, env)
    back = press_consent_button(browser, address)
    forged = re.sub(r"state=[^&]+", "state=forged", back)
    for wrong in (forged, back.replace("/callback", "/other"), back.partition("?")[0]):
        answer = requests.get(wrong, timeout=10)
        assert answer.status_code == 404
        assert process.poll() is None
    assert requests.get(back, timeout=10).status_code == 200
    process.communicate(timeout=30)
    assert process.returncode == 0


def test_a_callback_from_another_issuer_is_rejected(
    server: ServerProcess, browser: requests.Session, env: dict[str, str]
) -> None:
    process, address = start_login(server, env)
    back = press_consent_button(browser, address)
    requests.get(re.sub(r"iss=[^&]+", "iss=https%3A%2F%2Fevil.example.com", back), timeout=10)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 4
    assert "a different server" in err


def test_the_callback_url_of_a_browser_on_another_machine_can_be_pasted(
    server: ServerProcess, browser: requests.Session, env: dict[str, str]
) -> None:
    argv = [*COMMAND, "auth", "login", "--url", server.url, "--no-browser"]
    with Terminal(argv, {**env, "CI": ""}, columns=600) as terminal:
        shown = terminal.wait_for_text("paste the URL")
        address = re.search(r"http\S+/oauth/authorize\?\S+", shown)
        assert address is not None
        terminal.type("https://docs.example.com/callback?code=x&state=y\n")
        terminal.wait_for_text("Paste the whole URL")
        terminal.type(press_consent_button(browser, address[0]) + "\n")
        assert terminal.wait_for_exit().code == 0
    assert run_docshare("whoami", env=env).returncode == 0


def test_the_next_command_refreshes_an_expiring_credential(
    server: ServerProcess, browser: requests.Session, env: dict[str, str]
) -> None:
    log_in(server, browser, env)
    before = read_credentials(env)
    change_credentials(env, expires_at=int(time.time() * 1000) + 59_000)
    assert run_docshare("files", "list", env=env).returncode == 0
    after = read_credentials(env)
    assert before["token"] != after["token"]
    assert before["refresh"] != after["refresh"]
    assert after["expires_at"] > int(time.time() * 1000) + 3_000_000


def test_concurrent_commands_refresh_only_once(
    server: ServerProcess, browser: requests.Session, env: dict[str, str]
) -> None:
    log_in(server, browser, env)
    change_credentials(env, expires_at=0)
    codes: list[int] = []

    def run() -> None:
        codes.append(run_docshare("files", "list", env=env).returncode)

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0] * 6
    assert run_docshare("auth", "refresh", env=env).returncode == 0


def test_an_invalid_refresh_token_exits_with_4_and_leaves_the_file_unchanged(
    server: ServerProcess, browser: requests.Session, env: dict[str, str]
) -> None:
    log_in(server, browser, env)
    change_credentials(env, expires_at=0, refresh="ds_rt_" + "0" * 32)
    before = read_credentials(env)
    done = run_docshare("files", "list", env=env)
    assert (done.returncode, done.stdout) == (4, "")
    assert "docshare auth login" in done.stderr
    assert read_credentials(env) == before


def test_logout_revokes_the_token_on_the_server(
    server: ServerProcess, browser: requests.Session, env: dict[str, str]
) -> None:
    log_in(server, browser, env)
    token = read_credentials(env)["token"]
    done = run_docshare("auth", "logout", env=env)
    assert done.returncode == 0
    assert "the server could not be notified" not in done.stderr
    answer = requests.get(f"{server.url}/api/v1/files", headers={"Authorization": f"Bearer {token}"}, timeout=10)
    assert answer.status_code == 401
    assert run_docshare("files", "list", env=env).returncode == 4
    assert run_docshare("auth", "logout", env=env).returncode == 3


def test_logout_works_if_the_server_is_unreachable(
    server: ServerProcess, browser: requests.Session, env: dict[str, str]
) -> None:
    log_in(server, browser, env)
    change_credentials(env, origin="http://127.0.0.1:9")
    done = run_docshare("auth", "logout", env=env)
    assert done.returncode == 0
    assert "the server could not be notified" in done.stderr


def test_a_key_from_stdin_is_verified_before_it_is_saved(server: ServerProcess, env: dict[str, str]) -> None:
    login = [*COMMAND, "auth", "login", "--url", server.url, "--with-token"]
    wrong = subprocess.run(login, env=env, input="ds_live_wrong\n", capture_output=True, text=True, check=False)
    assert wrong.returncode == 4
    assert not (Path(env["DOCSHARE_CONFIG_DIR"]) / "credentials.json").exists()
    right = subprocess.run(login, env=env, input=f"{server.token}\n", capture_output=True, text=True, check=False)
    assert (right.returncode, right.stdout) == (0, "")
    assert server.token not in right.stderr
    assert run_docshare("whoami", "--fields", "email", env=env).stdout == f"{OWNER}\n"
    renewed = run_docshare("auth", "refresh", env=env)
    assert renewed.returncode == 2
    out = run_docshare("auth", "logout", env=env)
    assert "the API key stays valid" in out.stderr


def test_the_environment_takes_precedence_and_status_reports_it(
    server: ServerProcess, browser: requests.Session, env: dict[str, str]
) -> None:
    log_in(server, browser, env)
    env |= {"DOCSHARE_TOKEN": server.token}
    status = json.loads(run_docshare("auth", "status", "--json", env=env).stdout)
    assert (status["source"], status["kind"]) == ("env DOCSHARE_TOKEN", f"API key, ends in {server.token[-4:]}")
    assert "scopes" not in status


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("--scope", "files:own"), "files:own"),
        (("--scope", ""), "--scope"),
        (("--callback-port", "70000"), "70000"),
    ],
)
def test_invalid_login_options_are_usage_errors(
    server: ServerProcess, env: dict[str, str], args: tuple[str, ...], expected: str
) -> None:
    done = run_docshare("auth", "login", "--url", server.url, "--no-browser", *args, env=env)
    assert done.returncode == 2
    assert expected in done.stderr


def test_a_callback_port_in_use_is_reported(server: ServerProcess, env: dict[str, str]) -> None:
    port = server.url.rpartition(":")[2]
    done = run_docshare("auth", "login", "--url", server.url, "--no-browser", "--callback-port", port, env=env)
    assert done.returncode == 2
    assert f"cannot listen on port {port}" in done.stderr


def test_login_to_a_server_without_oauth_suggests_with_token(env: dict[str, str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", env["HOME"]],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as other:
        assert other.stdout is not None
        port = re.search(r"port (\d+)", other.stdout.readline())
        assert port is not None
        done = run_docshare("auth", "login", "--url", f"http://127.0.0.1:{port[1]}", env=env)
        other.terminate()
    assert done.returncode == 2
    assert "does not support OAuth" in done.stderr
    assert "--with-token" in done.stderr
