"""``config.toml``: edits change one line at a time and never damage the file."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest

from docshare.cli.framework.exits import Stop
from docshare.cli.local.config import CliConfig
from docshare.cli.local.toml_edit import remove_table, set_value
from tests.support.shell import Shell

COMMENTED = """\
# my settings
profile = "work"   # the usual one

[profiles.work]    # production
url = "https://docs.example"  # do not change
# timeout = 5
token_command = '''
pass show # not a comment
'''

# the one at home
[profiles.home]
url = "http://127.0.0.1:8787"
"""


def get_config_path(shell: Shell) -> Path:
    return shell.home / "config" / "config.toml"


def write_config(shell: Shell, text: str) -> None:
    get_config_path(shell).parent.mkdir(parents=True, exist_ok=True)
    get_config_path(shell).write_text(text)


def test_setting_a_value_changes_only_its_line_and_preserves_comments(shell: Shell) -> None:
    write_config(shell, COMMENTED)
    assert shell("profile", "use", "home").code == 0
    expected = COMMENTED.replace('profile = "work"   # the usual one', 'profile = "home"   # the usual one')
    assert get_config_path(shell).read_text() == expected


def test_adding_a_profile_appends_it_and_removing_one_removes_nothing_else(shell: Shell) -> None:
    write_config(shell, COMMENTED)
    new = ("profile", "add", "new", "--url", "https://new.example", "--with-token")
    assert shell(*new, stdin=b"key123\n").code == 0
    assert get_config_path(shell).read_text() == COMMENTED + '\n[profiles.new]\nurl = "https://new.example"\n'
    assert shell("profile", "remove", "work", "--yes").code == 0
    text = get_config_path(shell).read_text()
    assert "# my settings\n" in text
    assert "# the one at home\n[profiles.home]" in text
    assert "docs.example" not in text
    assert "pass show" not in text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'profile = "x"\n'),
        ("# top\n", '# top\nprofile = "x"\n'),
        ("a = 1", 'a = 1\nprofile = "x"\n'),
        ("[t]\nprofile = 1\n", 'profile = "x"\n\n[t]\nprofile = 1\n'),
        ("# about t\n[t]\n", 'profile = "x"\n\n# about t\n[t]\n'),
        ("profile='y'#c\r\nb = 1\r\n", 'profile="x"#c\r\nb = 1\r\n'),
        ('profile = "a # b" # c # d\n', 'profile = "x" # c # d\n'),
        ('profile = """\nmany\n[t]\n""" # c\n[u]\n', 'profile = "x" # c\n[u]\n'),
        ('"profile" = "y"\n', '"profile" = "x"\n'),
    ],
)
def test_a_value_is_set_in_place(before: str, after: str) -> None:
    assert set_value(before, (), "profile", "x") == after


@pytest.mark.parametrize("value", ['quote " and \\', "tab\tline\nbreak", "\x7f\x00ünï", "# = []", True, False, 5, -1.5])
def test_any_value_survives_a_round_trip(value: object) -> None:
    text = set_value(COMMENTED, ("profiles", "work"), "format", value)
    assert tomllib.loads(text)["profiles"]["work"]["format"] == value
    assert set_value(text, ("profiles", "work"), "format", value) == text


def test_a_profile_can_be_removed_from_an_inline_table() -> None:
    text = 'profiles = {work = {url = "x"}, home = {url = "y"}}\n'
    assert tomllib.loads(remove_table(text, ("profiles", "work"))) == {"profiles": {"home": {"url": "y"}}}


@pytest.mark.parametrize(
    "text", ['profiles = {work = {url = "x"}}\n', "profiles.a.retries = 1\nprofiles.b.retries = 2\n"]
)
def test_a_change_that_would_affect_other_values_is_rejected(text: str) -> None:
    with pytest.raises(Stop, match="cannot be changed"):
        set_value(text, ("profiles", "new"), "url", "https://new.example")


def test_removing_a_table_removes_its_subtables() -> None:
    text = "[profiles.a]\nx = 1\n[profiles.a.b]\ny = 1\n[profiles.ab]\nz = 1\n"
    assert remove_table(text, ("profiles", "a")) == "[profiles.ab]\nz = 1\n"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("profile = \n", "config.toml"),
        ("profile = 5\n", "profile must be of type str"),
        ("[profiles]\nwork = 5\n", "profiles.work must be of type dict"),
        ("[profiles.work]\nurl = 5\n", "profiles.work.url must be of type str"),
        ("[profiles.work]\nallow_http = 1\n", "allow_http must be of type bool"),
        ("[profiles.work]\nretries = true\n", "retries must be of type int"),
    ],
)
def test_an_error_in_the_file_names_the_file_or_the_key(shell: Shell, text: str, named: str) -> None:
    write_config(shell, text)
    done = shell("profile", "list")
    assert done.code == 2
    assert named in done.err


def test_unknown_keys_only_cause_a_warning(shell: Shell) -> None:
    write_config(shell, 'tint = 1\n[profiles.work]\nurl = "https://docs.example"\ntoken_comand = "x"\n')
    done = shell("profile", "list")
    assert done.code == 0
    assert "unknown key tint" in done.err
    assert "unknown key profiles.work.token_comand" in done.err


def test_a_symlink_to_a_dotfile_stays_a_symlink_and_preserves_the_mode(shell: Shell) -> None:
    real = shell.home / "dotfiles.toml"
    real.write_text(COMMENTED)
    real.chmod(0o644)
    get_config_path(shell).parent.mkdir(parents=True)
    get_config_path(shell).symlink_to(real)
    assert shell("profile", "use", "home").code == 0
    assert get_config_path(shell).is_symlink()
    assert 'profile = "home"' in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o644


def test_a_full_disk_leaves_no_partial_file(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    write_config(shell, COMMENTED)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    done = shell("profile", "use", "home")
    assert done.code == 2
    assert "No space left on device" in done.err
    assert get_config_path(shell).read_text() == COMMENTED
    assert sorted(path.name for path in get_config_path(shell).parent.iterdir()) == [".lock", "config.toml"]


def test_loading_a_missing_file_returns_an_empty_configuration(tmp_path: Path) -> None:
    assert CliConfig.load(tmp_path / "missing").profiles == {}
