"""``docshare config``: which value is in effect and where it comes from, and edits that reject errors."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support.outside.fake_api import FakeApi
from tests.support.repository import ROOT
from tests.support.shell import TOKEN, Shell
from tests.support.terminal import Terminal

WORK = """\
# mine
profile = "work"  # the usual one

[profiles.work]
url = "https://docs.example"
timeout = 30  # seconds
retries = 1

[profiles.home]
url = "http://127.0.0.1:8787"
format = "json"
"""

# the settings and their built-in values, written by hand
BUILT_IN = [
    ("profile", ""), ("url", "http://127.0.0.1:8787"), ("format", ""), ("timeout", "60.0"), ("retries", "3"),
    ("max_wait", "120.0"), ("allow_http", "false"), ("ca_bundle", ""), ("client_id", ""), ("token_command", ""),
    ("complete_online", "false"),
]  # fmt: skip


@pytest.fixture
def config_file(shell: Shell) -> Path:
    """Write a configuration file with two profiles and return its path."""
    path = shell.home / "config" / "config.toml"
    path.parent.mkdir()
    path.write_text(WORK)
    return path


@pytest.fixture(autouse=True)
def plain(shell: Shell) -> None:
    del shell.env["DOCSHARE_URL"]


# --- the value in effect ---------------------------------------------------------------------------------------------


def test_every_value_is_built_in_if_there_is_no_file(shell: Shell) -> None:
    done = shell("config", "list", "--origin")
    assert [tuple(line.split("\t")) for line in done.lines] == [(*row, "built-in") for row in BUILT_IN]


def test_an_option_overrides_the_environment_the_profile_and_the_built_in_value(
    shell: Shell, config_file: Path
) -> None:
    def list_origins(*line: str, **env: str) -> dict[str, tuple[object, str]]:
        rows = shell("config", "list", "--origin", "--json", *line, env=env).json
        return {row["key"]: (row["value"], row["origin"]) for row in rows}

    found = list_origins("--retries", "7", DOCSHARE_URL="https://env.example", DOCSHARE_FORMAT="csv")
    assert found["retries"] == (7, "option --retries")
    assert found["url"] == ("https://env.example", "env DOCSHARE_URL")
    assert found["timeout"] == (30, "profile work")
    assert found["max_wait"] == (120.0, "built-in")
    assert found["profile"] == ("work", "config.toml")
    assert list_origins("--url", "https://opt.example", DOCSHARE_URL="https://env.example")["url"][1] == "option --url"
    assert list_origins("--profile", "home")["url"] == ("http://127.0.0.1:8787", "profile home")
    assert list_origins(DOCSHARE_PROFILE="home")["profile"] == ("home", "env DOCSHARE_PROFILE")


def test_list_prints_only_keys_and_values_without_origin(shell: Shell, config_file: Path) -> None:
    assert shell("config", "list").lines[:2] == ["profile\twork", "url\thttps://docs.example"]
    assert shell("config", "list", "--json").json[1] == {"key": "url", "value": "https://docs.example"}
    shell.tty = True
    shown = shell("config", "list", "--origin", "--no-color").out
    assert ["timeout", "30", "profile", "work"] in [line.split() for line in shown.splitlines()]


def test_get_prints_the_bare_value_in_effect(shell: Shell, config_file: Path) -> None:
    assert shell("config", "get", "url").out == "https://docs.example\n"
    assert shell("config", "get", "max-wait").out == "120.0\n"
    assert shell("config", "get", "allow_http").out == "false\n"
    done = shell("config", "get", "timeout", "--json")
    assert done.json == {"key": "timeout", "value": 30, "origin": "profile work"}
    shell.tty = True
    assert shell("config", "get", "timeout").out == "30\n"


def test_getting_an_unset_value_exits_with_3(shell: Shell, config_file: Path) -> None:
    done = shell("config", "get", "client_id")
    assert (done.code, done.out) == (3, "")


def test_the_credential_is_never_printed(shell: Shell, config_file: Path) -> None:
    shell("profile", "add", "key", "--url", "https://key.example", "--with-token", stdin=TOKEN.encode())
    for line in (["list", "--origin", "--profile", "key"], ["list", "--json"], ["path"]):
        assert TOKEN not in shell("config", *line).out
    done = shell("config", "get", "token")
    assert (done.code, "docshare auth login" in done.err) == (2, True)


# --- changes ---------------------------------------------------------------------------------------------------------


def test_set_changes_only_one_line_of_the_current_profile(shell: Shell, config_file: Path) -> None:
    assert shell("config", "set", "timeout", "2m").code == 0
    assert config_file.read_text() == WORK.replace("timeout = 30 ", 'timeout = "2m" ')
    assert shell("config", "set", "retries", "5", "--profile", "home").code == 0
    assert config_file.read_text().endswith('format = "json"\nretries = 5\n')
    assert shell("config", "get", "timeout").out == "2m\n"


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("format", "csv", 'format = "csv"'),
        ("timeout", "90", "timeout = 90"),
        ("max_wait", "1.5", "max_wait = 1.5"),
        ("max-wait", "5m", 'max_wait = "5m"'),
        ("retries", "0", "retries = 0"),
        ("allow_http", "true", "allow_http = true"),
        ("client_id", "12", 'client_id = "12"'),
        ("token_command", "pass show 'my docs'", "token_command = \"pass show 'my docs'\""),
        ("url", "https://new.example/docs/", 'url = "https://new.example/docs"'),
    ],
)
def test_a_value_is_stored_with_its_type(shell: Shell, config_file: Path, key: str, value: str, line: str) -> None:
    done = shell("config", "set", key, value)
    assert (done.code, done.out) == (0, "")
    assert f"\n{line}" in config_file.read_text()


def test_a_relative_ca_bundle_is_stored_as_an_absolute_path(
    shell: Shell, config_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ca.pem").write_text("x")
    monkeypatch.chdir(tmp_path)
    assert shell("config", "set", "ca_bundle", "ca.pem").code == 0
    assert f'ca_bundle = "{tmp_path}/ca.pem"' in config_file.read_text()


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("timout", "3", "Did you mean timeout?"),
        ("retry", "3", "Did you mean retries?"),
        ("tint", "3", "Keys: profile, url"),
        ("api_key", "hunter22", "docshare auth login"),
        ("format", "yaml", "not one of"),
        ("timeout", "soon", "duration"),
        ("timeout", "", "empty"),
        ("timeout", "99999999999d", "longer than a year"),
        ("max_wait", "-1", "duration"),
        ("retries", "many", "number"),
        ("retries", "1.5", "number"),
        ("retries", "-1", "number"),
        ("retries", "9" * 5000, "number"),
        ("allow_http", "1", "true or false"),
        ("allow_http", "yes", "true or false"),
        ("url", "docs.example", "address"),
        ("url", "https://me:pw@docs.example", "address"),
        ("url", "", "empty"),
        ("url", "https://docs .example", "address"),
        ("url", "https://docs\n.example", "nonprinting"),
        ("ca_bundle", "/no/such/file.pem", "does not exist"),
        ("token_command", "pass 'show", "not a valid command"),
        ("token_command", " ", "an empty command"),
        ("token_command", "show \udcff", "nonprinting"),
    ],
)
def test_unknown_keys_and_invalid_values_exit_with_2_and_change_nothing(
    shell: Shell, config_file: Path, key: str, value: str, told: str
) -> None:
    done = shell("config", "set", "--", key, value)
    assert (done.code, done.out, told in done.err, "hunter22" in done.err) == (2, "", True, False), done.err
    assert config_file.read_text() == WORK


def test_the_default_profile_can_be_set_like_any_setting(shell: Shell, config_file: Path) -> None:
    assert shell("config", "set", "profile", "home").code == 0
    assert shell("config", "get", "url", "--format", "plain").out == "http://127.0.0.1:8787\n"
    assert shell("config", "set", "profile", "nowhere").code == 3
    assert shell("config", "unset", "profile").code == 0
    assert config_file.read_text() == WORK.replace('profile = "work"  # the usual one\n', "")


def test_unset_removes_one_value_and_succeeds_if_there_is_none(shell: Shell, config_file: Path) -> None:
    for _ in range(2):
        assert shell("config", "unset", "retries").code == 0
        assert config_file.read_text() == WORK.replace("retries = 1\n", "")
    assert shell("config", "get", "retries").out == "3\n"
    assert shell("config", "unset", "retris").code == 2


def test_set_and_unset_require_an_existing_profile(shell: Shell) -> None:
    for line in (["set", "timeout", "3"], ["unset", "timeout"]):
        done = shell("config", *line)
        assert (done.code, "docshare profile add" in done.err) == (2, True)
    assert shell("config", "set", "timeout", "3", "--profile", "nowhere").code == 2


def test_overridden_values_and_orphaned_credentials_cause_a_warning(shell: Shell, config_file: Path) -> None:
    done = shell("config", "set", "format", "csv", env={"DOCSHARE_FORMAT": "ids"})
    assert "env DOCSHARE_FORMAT overrides the profile" in done.err
    shell("profile", "add", "key", "--url", "https://key.example", "--with-token", stdin=TOKEN.encode())
    done = shell("config", "set", "url", "https://other.example", "--profile", "key")
    assert "belongs to https://key.example" in done.err
    assert "warning" not in shell("config", "set", "url", "https://key.example/x", "--profile", "key").err


def test_a_dry_run_prints_the_values_that_would_be_written(shell: Shell, config_file: Path) -> None:
    done = shell("config", "set", "timeout", "2m", "-n")
    assert done.out == f'WRITE\t{config_file}\t{{"profile": "work", "timeout": "2m"}}\n'
    done = shell("config", "unset", "timeout", "-n")
    assert done.out == f'WRITE\t{config_file}\t{{"profile": "work", "timeout": null}}\n'
    assert shell("config", "set", "profile", "home", "-n").out == f'WRITE\t{config_file}\t{{"profile": "home"}}\n'
    assert shell("config", "unset", "profile", "-n").out == f'WRITE\t{config_file}\t{{"profile": null}}\n'
    assert config_file.read_text() == WORK


@pytest.mark.parametrize(
    "line",
    [["config", "set", "timeout", "9"], ["config", "unset", "timeout"], ["profile", "use", "home"],
     ["profile", "remove", "work", "--yes"], ["auth", "logout"]],
    ids=" ".join,
)  # fmt: skip
def test_fields_question_mark_does_nothing_for_commands_that_print_no_data(
    shell: Shell, config_file: Path, line: list[str]
) -> None:
    done = shell(*line, "--fields", "?")
    assert (done.code, done.out, done.err, config_file.read_text()) == (0, "", "", WORK)


def test_path_prints_the_location_of_the_file_even_if_it_does_not_exist(shell: Shell) -> None:
    path = shell.home / "config" / "config.toml"
    assert shell("config", "path").out == f"{path}\n"
    assert shell("config", "path", "--json").json == {"path": str(path), "exists": False}


# --- the editor ------------------------------------------------------------------------------------------------------


def make_editor_env(tmp_path: Path, *lines: str) -> dict[str, str]:
    """Return an environment whose editor is a shell script; ``$1`` is the file."""
    script = tmp_path / "editor.sh"
    script.write_text("\n".join(("#!/bin/sh", "set -e", *lines, "")))
    script.chmod(0o755)
    return {"EDITOR": f"'{script}'"}


def list_drafts(place: Path) -> list[Path]:
    return [path for path in place.parent.iterdir() if path.name not in ("config.toml", ".lock")]


def test_edit_installs_the_file_that_the_editor_saved(shell: Shell, config_file: Path, tmp_path: Path) -> None:
    config_file.chmod(0o640)
    done = shell("config", "edit", env=make_editor_env(tmp_path, "sed -i 's/timeout = 30/timeout = 45/' \"$1\""))
    assert (done.code, done.out) == (0, "")
    assert config_file.read_text() == WORK.replace("timeout = 30", "timeout = 45")
    assert (config_file.stat().st_mode & 0o777, list_drafts(config_file)) == (0o640, [])


def test_visual_takes_precedence_over_editor(shell: Shell, config_file: Path, tmp_path: Path) -> None:
    env = {"EDITOR": "false", "VISUAL": make_editor_env(tmp_path, "echo '# more' >> \"$1\"")["EDITOR"]}
    assert shell("config", "edit", env=env).code == 0
    assert config_file.read_text() == WORK + "# more\n"


def test_edit_writes_nothing_if_the_editor_changes_nothing(shell: Shell, config_file: Path, tmp_path: Path) -> None:
    before = config_file.stat().st_mtime_ns
    done = shell("config", "edit", env=make_editor_env(tmp_path, "true"))
    assert (done.code, "nothing was changed" in done.err, config_file.stat().st_mtime_ns) == (0, True, before)
    assert list_drafts(config_file) == []


def test_edit_starts_from_a_template_if_there_is_no_file(shell: Shell, tmp_path: Path) -> None:
    path = shell.home / "config" / "config.toml"
    assert shell("config", "edit", env=make_editor_env(tmp_path, "true")).code == 0
    assert not path.exists()
    lines = ['grep -q profiles.work "$1"', 'printf \'[profiles.a]\\nurl = "https://a.example"\\n\' > "$1"']
    assert shell("config", "edit", env=make_editor_env(tmp_path, *lines)).code == 0
    assert path.read_text() == '[profiles.a]\nurl = "https://a.example"\n'
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("change", "line", "told"),
    [
        ("s/timeout = 30/timeout = /", 6, ""),
        ("s/timeout/timout/", 6, "did you mean timeout?"),
        ("s/retries = 1/retries = \"1\"/", 7, "retries"),
        ("s/retries = 1/retries = -1/", 7, "must be at least 0"),
        ("s/retries = 1/retries = true/", 7, "number"),
        ("s/= 30/= \"soon\"/", 6, "duration"),
        ("s/\"json\"/\"yaml\"/", 11, "not one of"),
        ("s/\"work\"/\"play\"/", 2, "profile 'play' does not exist"),
        ("s/^profile /profil /", 2, "did you mean profile"),
        ("s/profiles.home/profiles.\"h o\"/", 9, "not a profile name"),
        ("s/https:/ftp:/", 5, "address"),
    ],
)  # fmt: skip
def test_edit_reports_the_line_of_an_error_and_changes_nothing(
    shell: Shell, config_file: Path, tmp_path: Path, change: str, line: int, told: str
) -> None:
    done = shell("config", "edit", env=make_editor_env(tmp_path, f"sed -i '{change}' \"$1\""))
    assert (done.code, config_file.read_text()) == (2, WORK)
    first = done.err.splitlines()[0]
    assert first.startswith(f"config.toml:{line}: ") or f"at line {line}," in first
    assert told in first
    (draft,) = list_drafts(config_file)
    assert str(draft) in done.err
    assert draft.stat().st_mode & 0o777 == 0o600


def test_edit_reports_all_errors_at_once(shell: Shell, config_file: Path, tmp_path: Path) -> None:
    done = shell("config", "edit", env=make_editor_env(tmp_path, "sed -i 's/timeout/timout/; s/= 1/= -1/' \"$1\""))
    assert "invalid in 2 places" in done.err


def test_edit_reports_a_value_that_is_not_a_table(shell: Shell, config_file: Path, tmp_path: Path) -> None:
    for text in ("profiles = 3", "[profiles]\nwork = 3"):
        done = shell("config", "edit", env=make_editor_env(tmp_path, f"printf '{text}\\n' > \"$1\""))
        assert (done.code, "is not a table" in done.err, config_file.read_text()) == (2, True, WORK)


def test_edit_can_repair_a_broken_file(shell: Shell, config_file: Path, tmp_path: Path) -> None:
    config_file.write_text("profile = ")
    assert shell("config", "list").code == 2
    assert shell("config", "edit", env=make_editor_env(tmp_path, 'echo > "$1"')).code == 0
    assert shell("config", "list").code == 0


def test_edit_does_not_overwrite_a_concurrent_change(shell: Shell, config_file: Path, tmp_path: Path) -> None:
    other = WORK + "# from elsewhere\n"
    (tmp_path / "other").write_text(other)
    done = shell(
        "config",
        "edit",
        env=make_editor_env(tmp_path, f"cp '{tmp_path}/other' '{config_file}'", "echo '# mine' >> \"$1\""),
    )
    assert (done.code, config_file.read_text()) == (7, other)
    assert (config_file.parent / "config.toml.edited").read_text() == WORK + "# mine\n"


@pytest.mark.parametrize(
    "env", [{}, {"EDITOR": " "}, {"EDITOR": "/no/such/editor"}, {"EDITOR": "false"}, {"EDITOR": "vi 'x"}]
)
def test_edit_without_a_working_editor_exits_with_2(shell: Shell, config_file: Path, env: dict[str, str]) -> None:
    done = shell("config", "edit", env=env)
    assert (done.code, done.out, config_file.read_text()) == (2, "", WORK)


def test_an_editor_that_deletes_the_file_changes_nothing(shell: Shell, config_file: Path, tmp_path: Path) -> None:
    done = shell("config", "edit", env=make_editor_env(tmp_path, 'rm "$1"'))
    assert (done.code, done.out, config_file.read_text(), "deleted the file" in done.err) == (2, "", WORK, True)


def test_no_input_disables_the_editor(shell: Shell, config_file: Path, tmp_path: Path) -> None:
    env = make_editor_env(tmp_path, 'echo > "$1"')
    assert shell("config", "edit", "--no-input", env=env).code == 2
    assert shell("config", "edit", env=env | {"DOCSHARE_NO_INPUT": "1"}).code == 2
    assert config_file.read_text() == WORK


def test_a_dry_run_of_edit_checks_and_discards_the_draft(shell: Shell, config_file: Path, tmp_path: Path) -> None:
    done = shell("config", "edit", "-n", env=make_editor_env(tmp_path, "echo '# more' >> \"$1\""))
    assert (done.code, done.out, config_file.read_text(), list_drafts(config_file)) == (
        0,
        f"WRITE\t{config_file}\t\n",
        WORK,
        [],
    )
    assert shell("config", "edit", "-n", env=make_editor_env(tmp_path, "echo '[' >> \"$1\"")).code == 2


def test_a_terminal_can_edit_an_invalid_draft_again(
    shell: Shell, config_file: Path, tmp_path: Path, api: FakeApi
) -> None:
    """The first edit breaks the file, the second fixes it."""
    second = tmp_path / "second"
    env = make_editor_env(tmp_path, f"if [ -e '{second}' ]; then sed -i 's/^\\[$/# fine/' \"$1\"",
        f"else touch '{second}'",
                 "echo '[' >> \"$1\"", "fi")  # fmt: skip
    whole = {**{key: os.environ[key] for key in ("PATH", "PYTHONPATH") if key in os.environ}, **shell.env, **env}
    whole |= {"PYTHONPATH": str(ROOT)}
    with Terminal([sys.executable, "-m", "docshare", "config", "edit"], whole) as terminal:
        terminal.wait_for_text("Edit it again? [y/N] ")
        terminal.type("y\n")
        assert terminal.wait_for_exit().code == 0
    assert config_file.read_text() == WORK + "# fine\n"
