"""``docshare doctor`` and completion: the installed shell decides whether it works."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.polling import wait_until
from tests.support.repository import ROOT
from tests.support.shell import Shell

START_FILES = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}
FOLDER, COMPINIT = "fpath=(~/.zfunc $fpath)", "autoload -U compinit; compinit -u"
BASH_LINE = 'eval "$(docshare completion bash)"'
FISH_LINE = "docshare completion fish | source"
SCRIPT = "#compdef docshare\n"


@pytest.fixture(autouse=True)
def patient_shells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let shells start for as long as a busy machine needs: their startup files run programs."""
    monkeypatch.setattr("docshare.cli.completion.shells._SECONDS", 60)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return a search path with a program ``docshare``."""
    program = tmp_path / "bin" / "docshare"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m docshare "$@"\n')
    program.chmod(0o755)
    return f"{program.parent}:/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
def zsh_script(tmp_path: Path) -> Path:
    script = tmp_path / ".zfunc" / "_docshare"
    script.parent.mkdir()
    script.write_text(SCRIPT)
    return script


def check(shell: Shell, name: str, path: str, *lines: str) -> tuple[bool | None, str, str]:
    """Return ok, detail and fix of the check for the shell ``name``, whose startup file has ``lines``."""
    start_file = shell.home / START_FILES[name]
    start_file.parent.mkdir(parents=True, exist_ok=True)
    start_file.write_text("\n".join(lines) + "\n")
    ended = shell("doctor", "--only", "program", "--json", env={"SHELL": f"/nonexistent/{name}", "PATH": path})
    (row,) = (row for row in ended.json if row["check"] == "program.completion")
    return row["ok"], row["detail"], row.get("fix", "")


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_must_know_the_folder_before_compinit(shell: Shell, path: str, zsh_script: Path) -> None:
    ok, detail, fix = check(shell, "zsh", path, COMPINIT, FOLDER)
    assert (ok, detail.partition(", but ")[2]) == (False, ".zshrc adds ~/.zfunc to fpath after it calls compinit")
    assert fix.startswith("Add to ~/.zshrc: fpath=(")
    ok, detail, fix = check(shell, "zsh", path, "false && {", FOLDER, COMPINIT, "}")
    assert (ok, detail) == (False, "completion for zsh is installed, but zsh does not load it")
    assert check(shell, "zsh", path, FOLDER, COMPINIT)[:2] == (True, "completion for zsh is installed")


@pytest.mark.parametrize(
    ("name", "line", "broken"),
    [
        ("bash", BASH_LINE, f"if false; then {BASH_LINE}; fi"),
        ("bash", BASH_LINE, f"return\n{BASH_LINE}"),
        ("zsh", f'{COMPINIT}; eval "$(docshare completion zsh)"', 'eval "$(docshare completion zsh)" # no compinit'),
        ("fish", FISH_LINE, f"if false; {FISH_LINE}; end"),
    ],
)
def test_a_line_that_the_shell_does_not_reach_is_a_warning(
    shell: Shell, path: str, name: str, line: str, broken: str
) -> None:
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    ok, detail, fix = check(shell, name, path, broken)
    assert (ok, detail) == (False, f"completion for {name} does not work, although {START_FILES[name]} loads it")
    assert START_FILES[name] in fix
    assert check(shell, name, path, line)[:2] == (True, f"completion for {name} is installed")


def test_without_the_shell_its_files_decide_and_nothing_is_reported_as_working(
    shell: Shell, tmp_path: Path, zsh_script: Path
) -> None:
    empty = str(tmp_path / "nothing")
    unknown = "completion for zsh is installed, but cannot be checked, because zsh is not installed"
    assert "does not call compinit" in check(shell, "zsh", empty)[1]
    assert "does not add ~/.zfunc to fpath" in check(shell, "zsh", empty, f"# {FOLDER}", COMPINIT)[1]
    assert "after it calls compinit" in check(shell, "zsh", empty, COMPINIT, FOLDER)[1]
    assert check(shell, "zsh", empty, FOLDER, COMPINIT) == (None, unknown, "")
    assert check(shell, "bash", empty, BASH_LINE)[:2] == (None, unknown.replace("zsh", "bash"))
    zsh_script.unlink()
    assert "docshare completion install zsh" in check(shell, "zsh", empty, FOLDER, COMPINIT)[1]
    ended = shell("doctor", "--only", "program", "--json", env={"SHELL": "/bin/tcsh"})
    assert [row["ok"] for row in ended.json if row["check"] == "program.completion"] == [None]


def test_a_startup_file_that_runs_the_doctor_starts_one_shell(shell: Shell, tmp_path: Path, path: str) -> None:
    count = tmp_path / "count"
    lines = (f"echo started >> {count}", "docshare doctor --only program >/dev/null", "complete -F _docshare docshare")
    assert check(shell, "bash", path, *lines)[0] is True
    assert count.read_text() == "started\n"


def test_a_shell_that_does_not_respond_is_ended(
    shell: Shell, tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    communicate, pid = subprocess.Popen.communicate, tmp_path / "pid"

    def wait_for_start(process: subprocess.Popen[bytes], **options: Any) -> Any:
        wait_until(lambda: pid.exists() and pid.read_text().endswith("\n"))
        return communicate(process, **options | {"timeout": 0.1})

    monkeypatch.setattr(subprocess.Popen, "communicate", wait_for_start)
    ok, detail, _fix = check(shell, "bash", path, f"echo $$ > {pid}", BASH_LINE, "sleep 600")
    assert (ok, detail.partition(", because ")[2]) == (None, "bash did not respond")
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()
