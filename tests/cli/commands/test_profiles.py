"""Profiles, settings and credentials: which value counts, where it came from, and where a token may go."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from tests.support.fake_api import FakeApi, fake_api
from tests.support.repository import ROOT
from tests.support.shell import TOKEN, Shell
from tests.support.terminal import Terminal

KEY = "ds_live_" + "w" * 32


@pytest.fixture
def bare(shell: Shell) -> Shell:
    """A shell whose environment names neither server nor credential."""
    del shell.env["DOCSHARE_URL"], shell.env["DOCSHARE_TOKEN"]
    return shell


def config_path(shell: Shell) -> Path:
    return shell.home / "config" / "config.toml"


def write_config(shell: Shell, text: str) -> None:
    config_path(shell).parent.mkdir(parents=True, exist_ok=True)
    config_path(shell).write_text(text)


def add_profile(shell: Shell, name: str, url: str, key: str = KEY, *options: str) -> None:
    done = shell("profile", "add", name, "--url", url, "--with-token", *options, stdin=f"{key}\n".encode())
    assert done.code == 0, done.err


def sent_credentials(api: FakeApi) -> list[str | None]:
    return [heard.headers["Authorization"] for heard in api.requests]


# --- the commands ------------------------------------------------------------------------------------------------


def test_a_profile_is_added_and_used(api: FakeApi, bare: Shell) -> None:
    add_profile(bare, "work", api.url)
    assert bare("files", "list").code == 0
    assert sent_credentials(api) == [f"Bearer {KEY}"]
    assert bare("profile", "current").out == "work\n"


def test_the_list_shows_no_more_than_the_end_of_a_key(api: FakeApi, bare: Shell) -> None:
    add_profile(bare, "work", api.url)
    add_profile(bare, "other", "https://docs.example", "ds_live_abcdefgh9876")
    done = bare("profile", "list")
    assert done.lines == [
        f"work\t{api.url}\ttrue\tends in wwww",
        "other\thttps://docs.example\tfalse\tends in 9876",
    ]


def test_the_default_changes_and_one_command_may_differ(api: FakeApi, bare: Shell) -> None:
    add_profile(bare, "a", api.url, KEY + "a")
    add_profile(bare, "b", api.url, KEY + "b")
    bare("whoami")
    bare("whoami", "--profile", "b")
    bare("whoami", env={"DOCSHARE_PROFILE": "b"})
    bare("whoami", "--profile", "a", env={"DOCSHARE_PROFILE": "b"})
    assert bare("profile", "use", "b").code == 0
    bare("whoami")
    assert [str(value)[-1] for value in sent_credentials(api)] == ["a", "b", "b", "a", "b"]


def test_removing_a_profile_forgets_its_credential(api: FakeApi, bare: Shell) -> None:
    add_profile(bare, "work", api.url)
    assert bare("profile", "remove", "work").code == 2
    assert bare("profile", "remove", "work", "--yes").code == 0
    assert KEY not in (bare.home / "config" / "credentials.json").read_text()
    assert bare("profile", "list").out == ""
    assert bare("profile", "current").code == 3


@pytest.mark.parametrize("name", ["", "a b", "a.b", "../x", "-x", "ä", "x" * 65, "a]\nb"])
def test_a_profile_name_is_letters_digits_and_dashes(bare: Shell, name: str) -> None:
    done = bare("profile", "add", "--url", "https://docs.example", "--with-token", "--", name, stdin=b"key\n")
    assert done.code == 2
    assert not config_path(bare).exists()


def test_an_existing_profile_is_changed_only_by_force(api: FakeApi, bare: Shell) -> None:
    add_profile(bare, "work", "https://docs.example")
    again = ("profile", "add", "work", "--url", api.url, "--with-token")
    assert bare(*again, stdin=b"newkey99\n").code == 7
    assert bare(*again, "--force", stdin=b"newkey99\n").code == 0
    bare("whoami")
    assert sent_credentials(api) == ["Bearer newkey99"]


@pytest.mark.parametrize(
    "url", ["docs.example", "ftp://docs.example", "https://u:p@docs.example", "https://", "https://x/?a"]
)
def test_an_address_that_cannot_be_used_is_refused(bare: Shell, url: str) -> None:
    assert bare("profile", "add", "work", "--url", url, "--with-token", stdin=b"key\n").code == 2


def test_without_a_terminal_the_key_must_come_from_stdin(bare: Shell) -> None:
    done = bare("profile", "add", "work", "--url", "https://docs.example", stdin=b"key\n")
    assert done.code == 2
    assert "--with-token" in done.err


def test_an_unknown_profile_is_named_with_its_origin(bare: Shell) -> None:
    done = bare("files", "list", env={"DOCSHARE_PROFILE": "nope"})
    assert done.code == 2
    assert "env DOCSHARE_PROFILE" in done.err


# --- precedence --------------------------------------------------------------------------------------------------


def test_option_beats_environment_beats_profile(api: FakeApi, bare: Shell) -> None:
    env = {"DOCSHARE_TOKEN": TOKEN}
    with fake_api() as environment, fake_api() as option:
        add_profile(bare, "work", api.url)
        bare("whoami", env=env)
        bare("whoami", env={**env, "DOCSHARE_URL": environment.url})
        bare("whoami", "--url", option.url, env={**env, "DOCSHARE_URL": environment.url})
        assert (len(api.requests), len(environment.requests), len(option.requests)) == (1, 1, 1)


@pytest.mark.parametrize(
    ("line", "env", "origin"),
    [
        (["--url", "nowhere"], {}, "option --url"),
        ([], {"DOCSHARE_URL": "nowhere"}, "env DOCSHARE_URL"),
        ([], {}, "profile work"),
    ],
)
def test_a_bad_value_names_where_it_came_from(bare: Shell, line: list[str], env: dict[str, str], origin: str) -> None:
    write_config(bare, 'profile = "work"\n[profiles.work]\nurl = "nowhere"\n')
    done = bare("files", "list", *line, env=env)
    assert done.code == 2
    assert f"'nowhere' ({origin})" in done.err


def test_without_any_setting_the_local_server_is_meant(bare: Shell) -> None:
    done = bare("files", "list")
    assert done.code == 4
    assert "no credential for http://127.0.0.1:8787" in done.err


def test_settings_of_a_profile_count(api: FakeApi, bare: Shell) -> None:
    add_profile(bare, "work", api.url)
    with open(config_path(bare), "a") as out:
        out.write('format = "json"\n')
    assert bare("files", "list").out == "[]\n"
    assert bare("files", "list", "--format", "ids").out == ""


# --- credentials -------------------------------------------------------------------------------------------------


def test_the_file_is_private_from_its_first_byte(api: FakeApi, bare: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    modes: list[int] = []
    import os

    real = os.replace

    def replace(source: Path, target: Path) -> None:
        modes.append(stat.S_IMODE(os.stat(source).st_mode))
        real(source, target)

    monkeypatch.setattr("os.replace", replace)
    before = os.umask(0)
    try:
        add_profile(bare, "work", api.url)
    finally:
        os.umask(before)
    path = bare.home / "config" / "credentials.json"
    assert modes == [0o600, 0o600]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_file_that_others_can_read_is_reported_and_repaired_by_the_next_write(api: FakeApi, bare: Shell) -> None:
    add_profile(bare, "work", api.url)
    path = bare.home / "config" / "credentials.json"
    path.chmod(0o644)
    assert "chmod 600" in bare("files", "list").err
    add_profile(bare, "other", "https://docs.example")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_saved_credential_never_goes_to_another_origin(api: FakeApi, bare: Shell) -> None:
    add_profile(bare, "work", "https://docs.example")
    for line, env in ((["--url", api.url], {}), ([], {"DOCSHARE_URL": api.url})):
        done = bare("files", "list", *line, env=env)
        assert done.code == 4
        assert "belongs to https://docs.example" in done.err
    assert api.requests == []


def test_another_port_of_the_same_host_is_another_origin(api: FakeApi, bare: Shell) -> None:
    add_profile(bare, "work", "http://127.0.0.1:1")
    assert bare("files", "list", "--url", api.url).code == 4
    assert api.requests == []


def test_editing_the_address_by_hand_does_not_take_the_credential_along(api: FakeApi, bare: Shell) -> None:
    add_profile(bare, "work", "https://docs.example")
    write_config(bare, config_path(bare).read_text().replace("https://docs.example", api.url))
    assert bare("files", "list").code == 4
    assert api.requests == []


def test_the_token_of_the_environment_wins_and_is_said_to(api: FakeApi, bare: Shell) -> None:
    add_profile(bare, "work", api.url)
    bare("whoami", env={"DOCSHARE_TOKEN": TOKEN})
    assert sent_credentials(api) == [f"Bearer {TOKEN}"]


def test_a_token_command_is_asked_only_for_the_server_of_its_profile(api: FakeApi, bare: Shell) -> None:
    marker = bare.home / "ran"
    command = f"sh -c 'echo >> {marker}; printf %s {KEY}'"
    assert bare("profile", "add", "vault", "--url", api.url, "--token-command", command).code == 0
    assert not marker.exists()
    assert bare("files", "list", "--url", "http://127.0.0.1:1", "--retries", "0").code == 4
    assert not marker.exists()
    assert bare("rm", "aB3dE5fG0001", "aB3dE5fG0002", "--yes").code == 12
    assert sent_credentials(api) == [f"Bearer {KEY}"] * 2
    assert marker.read_text() == "\n"  # asked once for both
    assert KEY not in config_path(bare).read_text().replace(command, "")


@pytest.mark.parametrize(
    ("command", "why"),
    [("false", "exit status 1"), ("true", "printed nothing"), ("/no/such", "No such file"), ("'", "No closing")],
)
def test_a_token_command_that_fails_is_4(api: FakeApi, bare: Shell, command: str, why: str) -> None:
    write_config(bare, f'profile = "v"\n[profiles.v]\nurl = "{api.url}"\ntoken_command = "{command}"\n')
    done = bare("files", "list")
    assert done.code == 4
    assert why in done.err
    assert api.requests == []


def test_netrc_never_replaces_the_credential(api: FakeApi, bare: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    (bare.home / ".netrc").write_text("machine 127.0.0.1 login evil password evil\n")
    (bare.home / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(bare.home))
    add_profile(bare, "work", api.url)
    assert bare("files", "list").code == 0
    assert sent_credentials(api) == [f"Bearer {KEY}"]


def test_plain_http_to_another_machine_needs_consent(bare: Shell) -> None:
    add_profile(bare, "work", "http://docs.example")
    done = bare("files", "list")
    assert done.code == 2
    assert "--allow-http" in done.err


def test_a_damaged_credential_file_is_named(bare: Shell) -> None:
    add_profile(bare, "work", "https://docs.example")
    (bare.home / "config" / "credentials.json").write_text("{")
    done = bare("files", "list")
    assert done.code == 2
    assert "credentials.json" in done.err


def test_two_servers_keep_their_own_credentials(bare: Shell) -> None:
    with fake_api() as first, fake_api() as second:
        add_profile(bare, "first", first.url, KEY + "1")
        add_profile(bare, "second", second.url, KEY + "2")
        bare("whoami", "--profile", "first")
        bare("whoami", "--profile", "second")
        assert (sent_credentials(first), sent_credentials(second)) == ([f"Bearer {KEY}1"], [f"Bearer {KEY}2"])
    saved = json.loads((bare.home / "config" / "credentials.json").read_text())
    assert saved["profiles"]["first"]["origin"] == first.url


def test_the_end_of_input_at_the_prompt_for_a_key_makes_no_profile(api: FakeApi, shell: Shell) -> None:
    env = {"PATH": os.environ["PATH"], **shell.env, "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-m", "docshare", "profile", "add", "work", "--url", api.url]
    with Terminal(line, env) as terminal:
        terminal.wait_for_text("API key: ")
        terminal.type("\x04")
        ended = terminal.wait_for_exit()
    assert ended.code == 2
    assert "no input; nothing was changed" in ended.text
    assert "work" not in shell("profile", "list").out
