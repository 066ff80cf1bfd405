"""``docshare auth keys`` on a real server: create, list and revoke restricted keys."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.people.cast import Person, World
from tests.support.shell import Shell

MakeShell = Callable[[Person], Shell]


def create_key(shell: Shell, *options: str) -> dict[str, Any]:
    done = shell("auth", "keys", "create", *options, "--json")
    assert done.code == 0, done.err
    made: dict[str, Any] = done.json
    return made


@pytest.mark.parametrize(
    "given",
    [
        ["--scope", "files:write,files:read"],
        ["--scope", "files:read", "--scope", "files:write"],
        ["--scope", "files:read files:write"],
    ],
    ids=["commas", "repeated", "spaces"],
)
def test_a_key_has_the_given_scopes_and_works(pia: Shell, given: list[str]) -> None:
    made = create_key(pia, *given, "--name", "ci")
    assert (made["name"], made["scopes"]) == ("ci", ["files:read", "files:write"])
    pia.env["DOCSHARE_TOKEN"] = made["key"]
    assert pia("files", "list").code == 0
    refused = pia("webhooks", "list")
    assert (refused.code, "webhooks:manage" in refused.err) == (5, True)


def test_a_pipe_gets_only_the_key(pia: Shell) -> None:
    done = pia("auth", "keys", "create", "--scope", "files:read")
    assert (done.code, len(done.lines)) == (0, 1)
    pia.env["DOCSHARE_TOKEN"] = done.lines[0]
    assert pia("files", "list").code == 0


def test_a_key_for_one_file_sees_no_other(pia: Shell, world: World) -> None:
    mine, other = world.pia.upload(), world.pia.upload()
    made = create_key(pia, "--scope", "files:read", "--file", mine["shortId"], "--expires", "90d")
    assert made["fileUuid"] == mine["uuid"]
    pia.env["DOCSHARE_TOKEN"] = made["key"]
    assert (pia("show", mine["uuid"]).code, pia("show", other["uuid"]).code) == (0, 3)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--scope", "files:own"], "unknown scope in 'files:own'"),
        (["--scope", "files:read", "--scope", "profil"], "unknown scope in 'files:read, profil'"),
        (["--scope", ""], "unknown scope"),
        ([], "--scope"),
        (["--scope", "files:read", "--expires", "2020-01-31"], "is in the past"),
    ],
)
def test_invalid_options_exit_with_2_and_create_nothing(pia: Shell, options: list[str], word: str) -> None:
    done = pia("auth", "keys", "create", *options)
    assert (done.code, word in done.err) == (2, True), done.err
    assert len(pia("auth", "keys", "list", "--json").json) == 1  # the personal key


def test_a_dry_run_prints_the_request_and_creates_nothing(pia: Shell) -> None:
    done = pia("auth", "keys", "create", "--scope", "files:read", "--name", "ci", "--dry-run")
    assert done.code == 0
    assert done.out.startswith("POST\t/api/v1/keys\t{")
    assert len(pia("auth", "keys", "list", "--json").json) == 1


def test_keys_are_listed_newest_first_and_without_their_text(pia: Shell) -> None:
    made = create_key(pia, "--scope", "profile", "--name", "second")
    rows = pia("auth", "keys", "list", "--json").json
    assert rows[0]["name"] == "second"
    assert rows[0]["tail"] == made["key"][-len(rows[0]["tail"]) :]
    assert made["key"] not in pia("auth", "keys", "list", "--json").out


def test_a_revoked_key_is_rejected_and_no_longer_listed(pia: Shell) -> None:
    made = create_key(pia, "--scope", "files:read")
    asked = pia("auth", "keys", "revoke", made["uuid"][:8])
    assert (asked.code, "--yes" in asked.err) == (2, True)
    done = pia("auth", "keys", "revoke", made["uuid"][:8], "--yes")
    assert (done.code, done.out) == (0, "")
    assert made["uuid"] not in pia("auth", "keys", "list").out
    pia.env["DOCSHARE_TOKEN"] = made["key"]
    assert pia("files", "list").code == 4


def test_an_unknown_or_ambiguous_key_is_not_revoked(pia: Shell) -> None:
    create_key(pia, "--scope", "files:read")
    unknown = pia("auth", "keys", "revoke", "zzzzzzzz", "--yes")
    assert (unknown.code, "there is no key zzzzzzzz" in unknown.err) == (3, True)
    several = pia("auth", "keys", "revoke", "", "--yes")
    assert (several.code, "several keys begin with" in several.err) == (3, True)
    assert len(pia("auth", "keys", "list", "--json").json) == 2


def test_a_restricted_key_cannot_manage_keys(pia: Shell) -> None:
    made = create_key(pia, "--scope", "files:read,profile")
    pia.env["DOCSHARE_TOKEN"] = made["key"]
    done = pia("auth", "keys", "create", "--scope", "files:read")
    assert (done.code, done.out) == (5, "")
