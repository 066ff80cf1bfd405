"""``docshare discover``: public information about a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.outside.fake_api import FakeApi, FakeResponse, FakeTime, problem
from tests.support.shell import Shell

ROOT: dict[str, Any] = {
    "name": "docs\x1b[1mhare",
    "version": "1.2.0",
    "specification": {"url": "https://docs.example/api/v1/openapi.json", "version": "1.1.0"},
    "documentation": "https://docs.example/manual",
    "authentication": {
        "lanes": [{"name": "api_key"}, {"name": "oauth"}],
        "oauth": {"authorizationServer": "https://docs.example/.well-known/oauth-authorization-server"},
    },
    "rateLimit": {"policy": '"requests";q=120;w=60'},
    "versioning": {"current": "v1"},
    "endpoints": {"files.list": "GET /api/v1/files", "files.show": "GET /api/v1/files/{uuid}"},
    "unknown": {"kept": True},
}
OAUTH = "/.well-known/oauth-authorization-server"


@pytest.fixture
def stranger(shell: Shell, api: FakeApi) -> Shell:
    """Return a shell without a credential."""
    api.on("GET", "", ROOT)
    del shell.env["DOCSHARE_TOKEN"]
    return shell


def test_json_is_the_response_unchanged(stranger: Shell) -> None:
    done = stranger("discover", "--json")
    assert (done.code, done.json, done.err) == (0, ROOT, "")


def test_a_terminal_shows_version_and_addresses(stranger: Shell) -> None:
    stranger.tty = True
    shown = stranger("discover", "--no-color").out
    for piece in (
        "docs\\x1b[1mhare", "1.2.0", "v1", "1.1.0", "https://docs.example/api/v1/openapi.json",
        "https://docs.example/manual", "api_key, oauth", '"requests";q=120;w=60', "2 (list them with --query",
    ):  # fmt: skip
        assert piece in shown, piece


def test_a_pipe_gets_a_line_per_field(stranger: Shell) -> None:
    lines = stranger("discover").lines
    assert lines[:2] == ["name\tdocs\\x1b[1mhare", "version\t1.2.0"]
    assert 'endpoints\t{"files.list":"GET /api/v1/files","files.show":"GET /api/v1/files/{uuid}"}' in lines
    assert stranger("discover", "--fields", "versioning.current").out == "v1\n"
    assert stranger("discover", "--query", 'endpoints."files.list"', "--format", "plain").out == "GET /api/v1/files\n"


def test_a_response_of_an_older_server_is_printed_without_missing_fields(api: FakeApi, stranger: Shell) -> None:
    api.on("GET", "", {"name": "old", "authentication": "Bearer", "endpoints": 7})
    stranger.tty = True
    done = stranger("discover", "--no-color")
    assert (done.code, done.out.split()) == (0, ["name", "old"])


def test_the_credential_is_not_sent_even_if_there_is_one(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "", ROOT)
    api.on("GET", OAUTH, {"issuer": "https://docs.example"})
    assert [shell("discover").code, shell("discover", "--oauth").code] == [0, 0]
    assert [heard.headers["Authorization"] for heard in api.requests] == [None, None]


def test_oauth_prints_the_metadata_of_the_authorization_server(api: FakeApi, stranger: Shell) -> None:
    told = {"issuer": "https://docs.example", "token_endpoint": "https://docs.example/oauth/token",
            "scopes_supported": ["files:read", "profile"], "odd": 1}  # fmt: skip
    api.on("GET", OAUTH, told)
    assert stranger("discover", "--oauth", "--json").json == told
    assert stranger("discover", "--oauth", "--fields", "token_endpoint").out == "https://docs.example/oauth/token\n"
    stranger.tty = True
    shown = stranger("discover", "--oauth", "--no-color").out
    assert "files:read profile" in shown
    assert "https://docs.example/oauth/token" in shown


def test_a_server_without_oauth_exits_with_3_and_a_hint(stranger: Shell) -> None:
    done = stranger("discover", "--oauth", "--json")
    assert (done.code, done.out, "API key" in done.error["hint"]) == (3, "", True)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (problem(500, "internal"), 11),
        (problem(404, "not_found"), 3),
        (FakeResponse(b"<html>"), 11),
        (FakeResponse(b"[]"), 11),
    ],
)
def test_a_server_that_is_not_docshare_is_reported(
    api: FakeApi, stranger: Shell, answer: FakeResponse, code: int
) -> None:
    api.on("GET", "", answer)
    done = stranger("discover", "--retries", "0")
    assert (done.code, done.out) == (code, "")


def test_a_real_server_returns_every_documented_field(server_url: str, tmp_path: Path) -> None:
    shell = Shell(tmp_path, server_url, FakeTime())
    del shell.env["DOCSHARE_TOKEN"]
    told = [*shell("discover", "--json").json, *shell("discover", "--oauth", "--json").json]
    assert sorted(shell("discover", "--fields", "?").lines) == sorted(told)
