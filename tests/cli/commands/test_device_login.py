"""``docshare auth login --device``: the code on the terminal, the polls, and each way that a login ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, FakeTime
from tests.support.shell import CommandResult, Shell

METADATA = "/.well-known/oauth-authorization-server"
BEGIN, POLL = "/oauth/device_authorization", "/oauth/token"
TOKENS = {"access_token": "ds_at_" + "a" * 32, "refresh_token": "ds_rt_" + "r" * 32, "expires_in": 3600, "scope": "x"}


def failure(error: str) -> FakeResponse:
    return FakeResponse({"error": error}, 400, {"Content-Type": "application/json"})


@pytest.fixture
def login(api: FakeApi) -> dict[str, Any]:
    """Let the fake API support device logins; return its response with the codes."""
    metadata = {"issuer": api.url, "authorization_endpoint": f"{api.url}/oauth/authorize"}
    metadata |= {"token_endpoint": api.url + POLL, "device_authorization_endpoint": api.url + BEGIN}
    codes = {
        "device_code": "d" * 43,
        "user_code": "WDJB-MJHT",
        "verification_uri": f"{api.url}/device",
        "verification_uri_complete": f"{api.url}/device?user_code=WDJB-MJHT",
        "expires_in": 900,
        "interval": 5,
    }
    api.on("GET", METADATA, metadata)
    api.on("POST", BEGIN, codes)
    api.on("GET", "/user", {"uuid": UUID.format(9), "email": "pia@example.com", "name": "Pia"})
    return codes


def log_in(shell: Shell, *options: str) -> CommandResult:
    return shell("auth", "login", "--device", *options, env={"DOCSHARE_TOKEN": ""})


def has_credential(shell: Shell) -> bool:
    return (shell.home / "config" / "credentials.json").exists()


def test_the_code_is_one_line_without_a_terminal(
    api: FakeApi, login: dict[str, Any], shell: Shell, time: FakeTime
) -> None:
    api.on("POST", POLL, failure("authorization_pending"), failure("authorization_pending"), TOKENS)
    done = log_in(shell, "--no-input", "--scope", "files:read", "--scope", "profile")
    assert (done.code, done.out) == (0, "")
    first, *others = done.err.splitlines()
    assert first == f"Open {api.url}/device on any device and enter the code WDJB-MJHT within 15 min."
    assert others == [f"logged in to {api.url} as pia@example.com; profile 127-0-0-1"]
    assert time.waits == [5, 5, 5]
    (begun,) = api.list_requests("POST", BEGIN)
    assert begun.body == b"client_id=docshare-cli&scope=files%3Aread+profile"
    (saved,) = json.loads((shell.home / "config" / "credentials.json").read_text())["profiles"].values()
    assert (saved["token"], saved["refresh"]) == (TOKENS["access_token"], TOKENS["refresh_token"])


def test_a_login_to_another_profile_than_the_default_tells_how_to_use_it(
    api: FakeApi, login: dict[str, Any], shell: Shell
) -> None:
    api.on("POST", POLL, TOKENS)
    (shell.home / "config").mkdir(parents=True, exist_ok=True)
    (shell.home / "config" / "config.toml").write_text('profile = "work"\n[profiles.work]\nurl = "https://w.example"\n')
    done = log_in(shell, "--no-input")
    assert done.code == 0
    assert done.err.splitlines()[-1].endswith(
        "use it with --profile 127-0-0-1, or make it the default: docshare profile use 127-0-0-1"
    )


def test_a_terminal_also_shows_a_qr_code(api: FakeApi, login: dict[str, Any], shell: Shell) -> None:
    api.on("POST", POLL, TOKENS)
    shell.tty = True
    assert "█▀▀▀▀▀█" in log_in(shell).err.translate(str.maketrans("█▀▄ ", " ▄▀█"))
    shell.env["COLUMNS"] = "20"
    assert "█" not in log_in(shell).err


def test_slow_down_makes_all_further_waits_longer(
    api: FakeApi, login: dict[str, Any], shell: Shell, time: FakeTime
) -> None:
    api.on("POST", POLL, failure("slow_down"), failure("authorization_pending"), failure("slow_down"), TOKENS)
    assert log_in(shell).code == 0
    assert time.waits == [5, 10, 10, 15]


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        ("access_denied", 4, "login failed: access was denied"),
        ("expired_token", 124, "login failed: the code expired"),
        ("invalid_grant", 9, "invalid_grant"),
    ],
)
def test_a_login_that_fails_saves_nothing(
    api: FakeApi, login: dict[str, Any], shell: Shell, error: str, code: int, words: str
) -> None:
    api.on("POST", POLL, failure("authorization_pending"), failure(error))
    done = log_in(shell)
    assert done.code == code
    assert words in done.err
    assert "Traceback" not in done.err
    assert not has_credential(shell)


def test_polling_ends_when_the_code_expires(api: FakeApi, login: dict[str, Any], shell: Shell, time: FakeTime) -> None:
    login["expires_in"] = 60
    api.on("POST", POLL, failure("authorization_pending"))
    done = log_in(shell)
    assert done.code == 124
    assert "docshare auth login --device" in done.err
    assert sum(time.waits) < 60


def test_an_interruption_ends_quietly(api: FakeApi, login: dict[str, Any], shell: Shell, time: FakeTime) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    time.run_in_waits(interrupt)
    done = log_in(shell)
    assert done.code == 130
    assert "Traceback" not in done.err
    assert not has_credential(shell)


def test_a_server_without_device_logins_is_an_error_with_a_hint(api: FakeApi, shell: Shell) -> None:
    metadata = {"issuer": api.url, "authorization_endpoint": f"{api.url}/a", "token_endpoint": f"{api.url}/t"}
    api.on("GET", METADATA, metadata)
    done = log_in(shell)
    assert done.code == 2
    assert "--no-browser" in done.err


@pytest.mark.parametrize(
    "changes",
    [
        {"verification_uri": "https://evil.example/device"},
        {"verification_uri_complete": "https://evil.example/device"},
        {"device_code": None},
        {"expires_in": "soon"},
    ],
    ids=str,
)
def test_a_response_with_a_foreign_page_or_without_codes_is_rejected(
    api: FakeApi, login: dict[str, Any], shell: Shell, changes: dict[str, Any]
) -> None:
    api.on("POST", BEGIN, {**login, **changes})
    done = log_in(shell)
    assert done.code == 11
    assert "WDJB" not in done.err
    assert api.list_requests("POST", POLL) == []


def test_a_preview_sends_nothing(api: FakeApi, login: dict[str, Any], shell: Shell) -> None:
    done = log_in(shell, "--dry-run", "--scope", "profile")
    assert done.code == 0
    assert "/oauth/device_authorization" in done.out
    assert api.requests == []


def test_other_ways_to_log_in_are_excluded(shell: Shell) -> None:
    assert [log_in(shell, option).code for option in ("--with-token", "--no-browser")] == [2, 2]
