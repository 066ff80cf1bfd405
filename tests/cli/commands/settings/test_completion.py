"""Completion of settings in real shells, with scripts rendered from the current command tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from docshare.cli.completion import scripts
from docshare.cli.reference.tree import Command, load_tree
from tests.support.terminal import Terminal

CACHED = "aB3dE5fG7hJ9"


@pytest.fixture(scope="module")
def tree() -> Command:
    return load_tree()


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a home directory whose ``docshare`` has one cached file."""
    program = tmp_path / "docshare"
    program.write_text(f'#!/bin/sh\n[ "$1 $2" = "__complete files" ] && printf "{CACHED}\\tdeck.pdf\\n"\n')
    program.chmod(0o755)
    return {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path), "TERM": "xterm", "LANG": "C.UTF-8"}


# the command line, words that are offered, and words that are not
CASES = [
    ("docshare settings set x viewerMode=", {"viewerMode=flipbook", "viewerMode=swipe"}, {"slug="}),
    ("docshare settings set x flip.r", {"flip.rtl=true", "flip.rtl=false"}, {"flip.speedMs="}),
    ("docshare settings set x sl", {"slug="}, {CACHED}),
    ("docshare settings set ", {CACHED, "slug=", "allowDownload=true"}, {"password="}),
    ("docshare settings set --set flip.s", {"flip.speedMs=", "flip.sound=true"}, {CACHED}),
    ("docshare settings set --mode ", {"standard", "magazine"}, {"slug="}),
    ("docshare settings set --background d", {"dusk"}, {"sand"}),
    ("docshare settings get x flip.sp", {"flip.speedMs"}, {"flip.speedMs="}),
    ("docshare settings clear x pa", {"password", "page-range", "pageRange"}, {"slug"}),
    ("docshare settings cl", {"clear"}, {"get"}),
    ("docshare upload --mode s", {"standard", "swipe"}, {"flipbook"}),
    ("docshare upload --set allowD", {"allowDownload=true", "allowDownload=false"}, {"slug="}),
    ("docshare files list --sort ", set(), {"slug", "viewerMode"}),
]


@pytest.mark.parametrize(("line", "offered", "not_offered"), CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("breaks", [":=", ""])
def test_bash_offers_keys_and_values(
    tree: Command, env: dict[str, str], tmp_path: Path, line: str, offered: set[str], not_offered: set[str], breaks: str
) -> None:
    (tmp_path / "script").write_text(scripts.render_script("bash", tree))
    request = (
        f"source {tmp_path}/script; COMP_WORDBREAKS=' {breaks}' COMP_LINE='{line}' COMP_POINT={len(line)}; _docshare; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "--norc", "-c", request], env=env, capture_output=True, text=True)
    assert done.stderr == ""
    typed = line.rpartition(" ")[2]
    kept = typed.rpartition("=")[0] + "=" if breaks and "=" in typed else ""  # Readline replaces the text after the =
    found = {kept + word for word in done.stdout.split()}
    assert offered <= found
    assert not not_offered & found


@pytest.mark.parametrize(("line", "offered", "not_offered"), CASES, ids=[case[0] for case in CASES])
def test_fish_offers_keys_and_values(
    tree: Command, env: dict[str, str], tmp_path: Path, line: str, offered: set[str], not_offered: set[str]
) -> None:
    (tmp_path / "script").write_text(scripts.render_script("fish", tree))
    request = f"source {tmp_path}/script; complete -C '{line}'"
    done = subprocess.run(["fish", "--no-config", "-c", request], env=env, capture_output=True, text=True)
    assert done.stderr == ""
    found = {word.split("\t")[0] for word in done.stdout.splitlines()}
    assert offered <= found
    assert not not_offered & found


def test_zsh_appends_a_space_to_a_value_but_not_to_a_key(tree: Command, env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "script").write_text(scripts.render_script("zsh", tree))
    with Terminal(["zsh", "-f", "-i"], env | {"PS1": "READY> "}) as zsh:
        zsh.wait_for_text("READY> ")
        zsh.type("PS1='GO''> '; docshare() { print -r -- \"<$*>\" }; autoload -U compinit; compinit -u -D\n")
        zsh.wait_for_text("GO> ")
        zsh.type(f"source {tmp_path}/script; print LOAD''ED\n")
        at = zsh.wait_for_text("LOADED").rindex("LOADED")
        for typed, told in (
            ("settings set x slu\tq3", "<settings set x slug=q3>"),
            ("settings set x viewerMode=fl\ty", "<settings set x viewerMode=flipbook y>"),
            ("settings set x aB3\ty", f"<settings set x {CACHED} y>"),
            ("upload --mode fl\ty", "<upload --mode flipbook y>"),
            ("settings clear x page-\ty", "<settings clear x page-range y>"),
        ):
            zsh.wait_for_text("GO> ", after=at)
            zsh.type(f"docshare {typed}\n")
            at = zsh.wait_for_text(told).rindex(told)


def test_powershell_lists_keys_and_values_together_with_cached_files(tree: Command) -> None:
    script = scripts.render_script("powershell", tree)
    (line,) = (line for line in script.splitlines() if line.startswith("        'settings set' = @('<files>'"))
    assert "'slug='" in line
    assert "'viewerMode=flipbook'" in line
    assert "'password='" not in line
