"""A command renews a login once if the server rejects it, and does not repeat that request after an error."""

from __future__ import annotations

import errno
import json
import os
from typing import Any

import pytest

from tests.support.outside.fake_api import BASE, UUID, FakeApi, FakeResponse, RecordedRequest, problem
from tests.support.shell import Shell

ISSUED = {"access_token": "access-2", "refresh_token": "refresh-2", "expires_in": 3600, "scope": "x"}


@pytest.fixture
def login(api: FakeApi, shell: Shell) -> Shell:
    """Return a shell whose profile has a login that has not expired but that the server rejects."""
    del shell.env["DOCSHARE_URL"], shell.env["DOCSHARE_TOKEN"]
    done = shell("profile", "add", "work", "--url", api.url, "--with-token", stdin=b"access-1\n")
    assert done.code == 0, done.err
    path = shell.home / "config" / "credentials.json"
    saved = json.loads(path.read_text())
    ends = int((BASE + 3_000) * 1000)
    saved["profiles"]["work"] |= {"refresh": "refresh-1", "client_id": "app", "expires_at": ends, "scopes": "x"}
    path.write_text(json.dumps(saved))
    endpoints = {"authorization_endpoint": "/oauth/authorize", "token_endpoint": "/oauth/token"}
    metadata = {"issuer": api.url} | {name: api.url + path for name, path in endpoints.items()}
    api.on("GET", "/.well-known/oauth-authorization-server", metadata)
    api.on("GET", "/user", show_user)
    return shell


def show_user(heard: RecordedRequest) -> Any:
    if heard.headers["Authorization"] != "Bearer access-2":
        return problem(401, "unauthorized", "the token is invalid")
    return {"uuid": UUID.format(9), "tier": "pro", "subscription": "pro", "limits": {}}


def read_tokens(shell: Shell) -> tuple[str, str]:
    saved = json.loads((shell.home / "config" / "credentials.json").read_text())["profiles"]["work"]
    return saved["token"], saved["refresh"]


def test_a_rejected_login_is_renewed_and_the_command_succeeds(api: FakeApi, login: Shell) -> None:
    api.on("POST", "/oauth/token", ISSUED)
    done = login("whoami")
    assert done.code == 0, done.err
    assert len(api.list_requests("POST", "/oauth/token")) == 1
    assert read_tokens(login) == ("access-2", "refresh-2")


def test_a_login_that_cannot_be_renewed_is_reported_as_rejected(api: FakeApi, login: Shell) -> None:
    api.on("POST", "/oauth/token", FakeResponse({"error": "invalid_grant"}, 400))
    done = login("whoami")
    assert done.code == 4
    assert "the token is invalid" in done.err
    assert len(api.list_requests("POST", "/oauth/token")) == 1
    assert read_tokens(login) == ("access-1", "refresh-1")


def test_a_lost_response_of_the_token_endpoint_is_not_retried(api: FakeApi, login: Shell) -> None:
    api.on("POST", "/oauth/token", FakeResponse(connection_action="drop"))
    assert login("whoami").code == 11
    assert len(api.list_requests("POST", "/oauth/token")) == 1
    assert read_tokens(login) == ("access-1", "refresh-1")


def test_a_login_is_not_renewed_if_the_new_tokens_could_not_be_saved(
    api: FakeApi, login: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    api.on("POST", "/oauth/token", ISSUED)
    with monkeypatch.context() as full_disk:
        full_disk.setattr(os, "replace", fail)
        done = login("whoami")
    assert done.code == 2
    assert "credentials.json: No space left on device" in done.err
    assert api.list_requests("POST", "/oauth/token") == []
    assert login("whoami").code == 0
    assert read_tokens(login) == ("access-2", "refresh-2")
