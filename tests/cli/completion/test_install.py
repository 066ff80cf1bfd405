"""``docshare completion install``: real shells load the installed script, with the line that was printed, if any."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.repository import ROOT
from tests.support.shell import Shell
from tests.support.terminal import Terminal

PATHS = {
    "bash": ".local/share/bash-completion/completions/docshare",
    "zsh": ".zfunc/_docshare",
    "fish": ".config/fish/completions/docshare.fish",
}
START_FILES = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}
SCRIPTS = {"bash": "docshare.bash", "zsh": "_docshare", "fish": "docshare.fish"}
PROMPTS = {"bash": "PS1='READY> '", "zsh": "PS1='READY> '", "fish": "function fish_prompt; echo 'READY> '; end"}


def install(shell: Shell, name: str, *options: str, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    done = shell("completion", "install", *options, "--json", env={"SHELL": f"/usr/bin/{name}", **(env or {})})
    assert done.code == 0, done.err
    found: dict[str, Any] = done.json
    return found


@pytest.mark.parametrize("name", [name for name in PATHS if shutil.which(name)])
def test_a_new_shell_completes_after_the_installation(shell: Shell, tmp_path: Path, name: str) -> None:
    program = tmp_path / "bin" / "docshare"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m docshare "$@"\n')
    program.chmod(0o755)
    start_file = tmp_path / START_FILES[name]
    start_file.parent.mkdir(parents=True, exist_ok=True)
    start_file.write_text(PROMPTS[name] + "\n")
    made = install(shell, name)
    assert start_file.read_text() == PROMPTS[name] + "\n"
    start_file.write_text(f"{PROMPTS[name]}\n{made.get('line', '')}\n")
    env = {"HOME": str(tmp_path), "PATH": f"{program.parent}:/usr/bin:/bin", "TERM": "xterm", "LANG": "C.UTF-8"}
    with Terminal([name, "-i"], env, columns=200) as terminal:
        terminal.wait_for_text("READY> ")
        terminal.type("docshare upl\t")
        terminal.wait_for_text("upload")


@pytest.mark.parametrize("name", PATHS)
def test_a_second_installation_changes_nothing(shell: Shell, tmp_path: Path, name: str) -> None:
    path = tmp_path / PATHS[name]
    assert install(shell, name, "--print")["action"] == "created"
    assert not path.exists()
    made = install(shell, name)
    assert (made["shell"], made["path"], made["action"]) == (name, str(path), "created")
    assert path.read_text() == (ROOT / "completions" / SCRIPTS[name]).read_text()
    inode = path.stat().st_ino
    assert install(shell, name)["action"] == "unchanged"
    assert path.stat().st_ino == inode
    path.write_text("old")
    assert install(shell, name, "--print")["action"] == "updated"
    assert path.read_text() == "old"
    assert install(shell, name)["action"] == "updated"
    assert path.read_text() != "old"


def test_an_argument_wins_over_the_shell_in_use(shell: Shell, tmp_path: Path) -> None:
    assert install(shell, "fish", "bash")["path"] == str(tmp_path / PATHS["bash"])


def test_directories_of_the_environment_are_used(shell: Shell, tmp_path: Path) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path / "d"), "XDG_CONFIG_HOME": str(tmp_path / "c")}
    assert install(shell, "bash", env=env)["path"] == str(tmp_path / "d/bash-completion/completions/docshare")
    assert install(shell, "fish", env=env)["path"] == str(tmp_path / "c/fish/completions/docshare.fish")
    env["BASH_COMPLETION_USER_DIR"] = str(tmp_path / "b")
    assert install(shell, "bash", env=env)["path"] == str(tmp_path / "b/completions/docshare")


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_gets_a_folder_that_it_searches_and_no_line(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine needs longer to start a shell that loads its completions.
    monkeypatch.setattr("docshare.cli.completion.shells._SECONDS", 60)
    monkeypatch.setattr("docshare.cli.commands.doctor.checks.TIMEOUT_S", 60.0)
    folder = tmp_path / "my functions"
    folder.mkdir()
    assert install(shell, "zsh", "--print")["line"].startswith("fpath=(~/.zfunc $fpath)")
    (tmp_path / ".zshrc").write_text(
        'echo hello\nfpath=("$HOME/my functions" $fpath)\nautoload -U compinit; compinit -u\n'
    )
    made = install(shell, "zsh")
    assert (made["path"], made.get("line")) == (str(folder / "_docshare"), None)
    checked = shell("doctor", "--only", "program", "--json", env={"SHELL": "/bin/zsh"})
    (row,) = (row for row in checked.json if row["check"] == "program.completion")
    assert row["detail"] == "completion for zsh is installed"


@pytest.mark.parametrize(
    ("words", "env"),
    [
        (("install", "tcsh"), {}),
        (("install",), {"SHELL": ""}),
        (("install",), {"SHELL": "/bin/tcsh"}),
        (("bash", "zsh"), {}),
        (("bash", "--print"), {}),
        (("tcsh",), {}),
    ],
)
def test_a_wrong_shell_is_an_error_that_writes_nothing(
    shell: Shell, tmp_path: Path, words: tuple[str, ...], env: dict[str, str]
) -> None:
    done = shell("completion", *words, env=env)
    assert (done.code, done.out) == (2, "")
    assert not any((tmp_path / path).exists() for path in PATHS.values())
