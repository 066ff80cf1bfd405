"""Profiles, settings and credentials: precedence, origin, and the servers that may receive a token."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from tests.support.outside.fake_api import FakeApi, fake_api
from tests.support.repository import ROOT
from tests.support.shell import TOKEN, Shell
from tests.support.terminal import Terminal

KEY = "ds_live_" + "w" * 32


@pytest.fixture
def bare_shell(shell: Shell) -> Shell:
    """Return a shell whose environment sets neither server nor credential."""
    del shell.env["DOCSHARE_URL"], shell.env["DOCSHARE_TOKEN"]
    return shell


def get_config_path(shell: Shell) -> Path:
    return shell.home / "config" / "config.toml"


def write_config(shell: Shell, text: str) -> None:
    get_config_path(shell).parent.mkdir(parents=True, exist_ok=True)
    get_config_path(shell).write_text(text)


def add_profile(shell: Shell, name: str, url: str, key: str = KEY, *options: str) -> None:
    done = shell("profile", "add", name, "--url", url, "--with-token", *options, stdin=f"{key}\n".encode())
    assert done.code == 0, done.err


def list_sent_credentials(api: FakeApi) -> list[str | None]:
    return [heard.headers["Authorization"] for heard in api.requests]


# --- the commands ------------------------------------------------------------------------------------------------


def test_a_profile_is_added_and_used(api: FakeApi, bare_shell: Shell) -> None:
    add_profile(bare_shell, "work", api.url)
    assert bare_shell("files", "list").code == 0
    assert list_sent_credentials(api) == [f"Bearer {KEY}"]
    assert bare_shell("profile", "current").out == "work\n"


def test_list_shows_only_the_last_characters_of_a_key(api: FakeApi, bare_shell: Shell) -> None:
    add_profile(bare_shell, "work", api.url)
    add_profile(bare_shell, "other", "https://docs.example", "ds_live_abcdefgh9876")
    done = bare_shell("profile", "list")
    assert done.lines == [
        f"work\t{api.url}\ttrue\tends in wwww",
        "other\thttps://docs.example\tfalse\tends in 9876",
    ]


def test_use_changes_the_default_and_a_command_can_override_it(api: FakeApi, bare_shell: Shell) -> None:
    add_profile(bare_shell, "a", api.url, KEY + "a")
    add_profile(bare_shell, "b", api.url, KEY + "b")
    bare_shell("whoami")
    bare_shell("whoami", "--profile", "b")
    bare_shell("whoami", env={"DOCSHARE_PROFILE": "b"})
    bare_shell("whoami", "--profile", "a", env={"DOCSHARE_PROFILE": "b"})
    assert bare_shell("profile", "use", "b").code == 0
    bare_shell("whoami")
    assert [str(value)[-1] for value in list_sent_credentials(api)] == ["a", "b", "b", "a", "b"]


def test_removing_a_profile_deletes_its_credential(api: FakeApi, bare_shell: Shell) -> None:
    add_profile(bare_shell, "work", api.url)
    assert bare_shell("profile", "remove", "work").code == 2
    assert bare_shell("profile", "remove", "work", "--yes").code == 0
    assert KEY not in (bare_shell.home / "config" / "credentials.json").read_text()
    assert bare_shell("profile", "list").out == ""
    assert bare_shell("profile", "current").code == 3


@pytest.mark.parametrize("name", ["", "a b", "a.b", "../x", "-x", "ä", "x" * 65, "a]\nb"])
def test_a_profile_name_consists_of_letters_digits_and_dashes(bare_shell: Shell, name: str) -> None:
    done = bare_shell("profile", "add", "--url", "https://docs.example", "--with-token", "--", name, stdin=b"key\n")
    assert done.code == 2
    assert not get_config_path(bare_shell).exists()


def test_an_existing_profile_is_replaced_only_with_force(api: FakeApi, bare_shell: Shell) -> None:
    add_profile(bare_shell, "work", "https://docs.example")
    again = ("profile", "add", "work", "--url", api.url, "--with-token")
    assert bare_shell(*again, stdin=b"newkey99\n").code == 7
    assert bare_shell(*again, "--force", stdin=b"newkey99\n").code == 0
    bare_shell("whoami")
    assert list_sent_credentials(api) == ["Bearer newkey99"]


@pytest.mark.parametrize(
    "url", ["docs.example", "ftp://docs.example", "https://u:p@docs.example", "https://", "https://x/?a"]
)
def test_an_invalid_url_is_rejected(bare_shell: Shell, url: str) -> None:
    assert bare_shell("profile", "add", "work", "--url", url, "--with-token", stdin=b"key\n").code == 2


def test_without_a_terminal_adding_a_profile_requires_with_token(bare_shell: Shell) -> None:
    done = bare_shell("profile", "add", "work", "--url", "https://docs.example", stdin=b"key\n")
    assert done.code == 2
    assert "--with-token" in done.err


def test_an_unknown_profile_is_reported_with_its_origin(bare_shell: Shell) -> None:
    done = bare_shell("files", "list", env={"DOCSHARE_PROFILE": "nope"})
    assert done.code == 2
    assert "env DOCSHARE_PROFILE" in done.err


# --- precedence --------------------------------------------------------------------------------------------------


def test_an_option_overrides_the_environment_and_the_profile(api: FakeApi, bare_shell: Shell) -> None:
    env = {"DOCSHARE_TOKEN": TOKEN}
    with fake_api() as environment, fake_api() as option:
        add_profile(bare_shell, "work", api.url)
        bare_shell("whoami", env=env)
        bare_shell("whoami", env={**env, "DOCSHARE_URL": environment.url})
        bare_shell("whoami", "--url", option.url, env={**env, "DOCSHARE_URL": environment.url})
        assert (len(api.requests), len(environment.requests), len(option.requests)) == (1, 1, 1)


@pytest.mark.parametrize(
    ("line", "env", "origin"),
    [
        (["--url", "nowhere"], {}, "option --url"),
        ([], {"DOCSHARE_URL": "nowhere"}, "env DOCSHARE_URL"),
        ([], {}, "profile work"),
    ],
)
def test_an_invalid_value_is_reported_with_its_origin(
    bare_shell: Shell, line: list[str], env: dict[str, str], origin: str
) -> None:
    write_config(bare_shell, 'profile = "work"\n[profiles.work]\nurl = "nowhere"\n')
    done = bare_shell("files", "list", *line, env=env)
    assert done.code == 2
    assert f"'nowhere' ({origin})" in done.err


def test_the_default_server_is_the_local_one(bare_shell: Shell) -> None:
    done = bare_shell("files", "list")
    assert done.code == 4
    assert "no credential for http://127.0.0.1:8787" in done.err
    assert "Start a server on this machine with docshare serve" in done.err


def test_without_a_credential_for_a_named_server_the_hint_is_to_log_in(bare_shell: Shell) -> None:
    done = bare_shell("files", "list", "--url", "https://docs.example.com")
    assert done.code == 4
    assert "hint: Set DOCSHARE_TOKEN, or run: docshare auth login\n" in done.err


def test_settings_of_a_profile_are_applied(api: FakeApi, bare_shell: Shell) -> None:
    add_profile(bare_shell, "work", api.url)
    with open(get_config_path(bare_shell), "a") as out:
        out.write('format = "json"\n')
    assert bare_shell("files", "list").out == "[]\n"
    assert bare_shell("files", "list", "--format", "ids").out == ""


# --- credentials -------------------------------------------------------------------------------------------------


def test_the_credential_file_is_created_private(
    api: FakeApi, bare_shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    import os

    real = os.replace

    def replace(source: Path, target: Path) -> None:
        modes.append(stat.S_IMODE(os.stat(source).st_mode))
        real(source, target)

    monkeypatch.setattr("os.replace", replace)
    before = os.umask(0)
    try:
        add_profile(bare_shell, "work", api.url)
    finally:
        os.umask(before)
    path = bare_shell.home / "config" / "credentials.json"
    assert modes == [0o600, 0o600]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_file_that_others_can_read_is_reported_and_repaired_by_the_next_write(
    api: FakeApi, bare_shell: Shell
) -> None:
    add_profile(bare_shell, "work", api.url)
    path = bare_shell.home / "config" / "credentials.json"
    path.chmod(0o644)
    assert "chmod 600" in bare_shell("files", "list").err
    add_profile(bare_shell, "other", "https://docs.example")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_saved_credential_is_never_sent_to_another_origin(api: FakeApi, bare_shell: Shell) -> None:
    add_profile(bare_shell, "work", "https://docs.example")
    for line, env in ((["--url", api.url], {}), ([], {"DOCSHARE_URL": api.url})):
        done = bare_shell("files", "list", *line, env=env)
        assert done.code == 4
        assert "belongs to https://docs.example" in done.err
    assert api.requests == []


def test_another_port_of_the_same_host_is_another_origin(api: FakeApi, bare_shell: Shell) -> None:
    add_profile(bare_shell, "work", "http://127.0.0.1:1")
    assert bare_shell("files", "list", "--url", api.url).code == 4
    assert api.requests == []


def test_a_credential_is_not_sent_to_a_url_that_was_edited_by_hand(api: FakeApi, bare_shell: Shell) -> None:
    add_profile(bare_shell, "work", "https://docs.example")
    write_config(bare_shell, get_config_path(bare_shell).read_text().replace("https://docs.example", api.url))
    assert bare_shell("files", "list").code == 4
    assert api.requests == []


def test_the_token_of_the_environment_overrides_the_saved_one(api: FakeApi, bare_shell: Shell) -> None:
    add_profile(bare_shell, "work", api.url)
    bare_shell("whoami", env={"DOCSHARE_TOKEN": TOKEN})
    assert list_sent_credentials(api) == [f"Bearer {TOKEN}"]


def test_a_token_command_runs_only_for_the_server_of_its_profile(api: FakeApi, bare_shell: Shell) -> None:
    marker = bare_shell.home / "ran"
    command = f"sh -c 'echo >> {marker}; printf %s {KEY}'"
    assert bare_shell("profile", "add", "vault", "--url", api.url, "--token-command", command).code == 0
    assert not marker.exists()
    assert bare_shell("files", "list", "--url", "http://127.0.0.1:1", "--retries", "0").code == 4
    assert not marker.exists()
    assert bare_shell("rm", "aB3dE5fG0001", "aB3dE5fG0002", "--yes").code == 12
    assert list_sent_credentials(api) == [f"Bearer {KEY}"] * 2
    assert marker.read_text() == "\n"  # it ran once for both
    assert KEY not in get_config_path(bare_shell).read_text().replace(command, "")


@pytest.mark.parametrize(
    ("command", "why"),
    [("false", "exit status 1"), ("true", "printed nothing"), ("/no/such", "No such file"), ("'", "No closing")],
)
def test_a_failing_token_command_exits_with_4(api: FakeApi, bare_shell: Shell, command: str, why: str) -> None:
    write_config(bare_shell, f'profile = "v"\n[profiles.v]\nurl = "{api.url}"\ntoken_command = "{command}"\n')
    done = bare_shell("files", "list")
    assert done.code == 4
    assert why in done.err
    assert api.requests == []


def test_netrc_never_replaces_the_credential(api: FakeApi, bare_shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    (bare_shell.home / ".netrc").write_text("machine 127.0.0.1 login evil password evil\n")
    (bare_shell.home / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(bare_shell.home))
    add_profile(bare_shell, "work", api.url)
    assert bare_shell("files", "list").code == 0
    assert list_sent_credentials(api) == [f"Bearer {KEY}"]


def test_plain_http_to_another_machine_requires_allow_http(bare_shell: Shell) -> None:
    add_profile(bare_shell, "work", "http://docs.example")
    done = bare_shell("files", "list")
    assert done.code == 2
    assert "--allow-http" in done.err


@pytest.mark.parametrize("name", ["credentials.json", "config.toml"])
@pytest.mark.parametrize("damaged", ["{", "a = " + "[" * 100_000, "[" * 100_000])
def test_a_damaged_file_is_reported(bare_shell: Shell, name: str, damaged: str) -> None:
    add_profile(bare_shell, "work", "https://docs.example")
    (bare_shell.home / "config" / name).write_text(damaged)
    done = bare_shell("files", "list")
    assert done.code == 2
    assert name in done.err


def test_an_empty_device_is_an_empty_configuration(bare_shell: Shell, api: FakeApi) -> None:
    write_config(bare_shell, "")
    get_config_path(bare_shell).unlink()
    get_config_path(bare_shell).symlink_to(os.devnull)
    assert bare_shell("files", "list", "--url", api.url, env={"DOCSHARE_TOKEN": KEY}).code == 0


def test_a_damaged_refresh_token_is_not_sent(bare_shell: Shell, api: FakeApi) -> None:
    add_profile(bare_shell, "work", api.url)
    path = bare_shell.home / "config" / "credentials.json"
    saved = json.loads(path.read_text())
    saved["profiles"]["work"] |= {"refresh": "\ud800", "client_id": "app", "expires_at": 1}
    path.write_text(json.dumps(saved))
    done = bare_shell("files", "list")
    assert done.code == 0
    assert api.list_requests("GET", "/.well-known/oauth-authorization-server") == []


def test_two_servers_have_separate_credentials(bare_shell: Shell) -> None:
    with fake_api() as first, fake_api() as second:
        add_profile(bare_shell, "first", first.url, KEY + "1")
        add_profile(bare_shell, "second", second.url, KEY + "2")
        bare_shell("whoami", "--profile", "first")
        bare_shell("whoami", "--profile", "second")
        assert (list_sent_credentials(first), list_sent_credentials(second)) == ([f"Bearer {KEY}1"], [f"Bearer {KEY}2"])
    saved = json.loads((bare_shell.home / "config" / "credentials.json").read_text())
    assert saved["profiles"]["first"]["origin"] == first.url


def test_end_of_input_at_the_key_prompt_creates_no_profile(api: FakeApi, shell: Shell) -> None:
    env = {"PATH": os.environ["PATH"], **shell.env, "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-m", "docshare", "profile", "add", "work", "--url", api.url]
    with Terminal(line, env) as terminal:
        terminal.wait_for_text("API key: ")
        terminal.type("\x04")
        ended = terminal.wait_for_exit()
    assert ended.code == 2
    assert "no input; nothing was changed" in ended.text
    assert "work" not in shell("profile", "list").out
