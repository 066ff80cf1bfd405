"""The pager of ``docshare help`` on a real terminal."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT
from tests.support.shell import Shell
from tests.support.terminal import Terminal, TerminalOutput

LAST_LINE = "Default parents of those directories."


@pytest.fixture
def pager(tmp_path: Path) -> Path:
    """Create a pager that adds a line to the text."""
    program = tmp_path / "my pager"
    program.write_text("#!/bin/sh\ncat\necho PAGED $1\n")
    program.chmod(0o755)
    return program


def show_topic(tmp_path: Path, keys: str = "", **env: str) -> TerminalOutput:
    whole = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "TERM": "xterm", "LANG": "C.UTF-8", **env}
    whole["PYTHONPATH"] = str(ROOT)
    with Terminal([sys.executable, "-m", "docshare", "help", "environment"], whole) as terminal:
        if keys:
            terminal.wait_for_text("Server and credential".upper())
            terminal.type(keys)
        return terminal.wait_for_exit()


@pytest.mark.parametrize("variables", [("DOCSHARE_PAGER",), ("PAGER",), ("DOCSHARE_PAGER", "PAGER")])
def test_the_pager_of_the_user_gets_the_text(tmp_path: Path, pager: Path, variables: tuple[str, ...]) -> None:
    others = dict.fromkeys(variables[1:], "false")
    shown = show_topic(tmp_path, **{**others, variables[0]: f"'{pager}' it"})
    assert shown.code == 0
    assert LAST_LINE in shown.text
    assert "PAGED it" in shown.text


@pytest.mark.parametrize("value", ["", "cat"])
def test_an_empty_pager_or_cat_is_none(tmp_path: Path, pager: Path, value: str) -> None:
    shown = show_topic(tmp_path, DOCSHARE_PAGER=value, PAGER=f"'{pager}'")
    assert (shown.code, LAST_LINE in shown.text, "PAGED" in shown.text) == (0, True, False)


def test_ci_gets_no_pager(tmp_path: Path, pager: Path) -> None:
    shown = show_topic(tmp_path, PAGER=f"'{pager}'", CI="1")
    assert (shown.code, LAST_LINE in shown.text, "PAGED" in shown.text) == (0, True, False)


@pytest.mark.parametrize("value", ["true", "head -n 1"])
def test_a_pager_that_ends_early_is_not_an_error(tmp_path: Path, value: str) -> None:
    shown = show_topic(tmp_path, PAGER=value)
    assert (shown.code, "Traceback" in shown.text, "rror" in shown.text) == (0, False, False)


@pytest.mark.parametrize("value", ["no-such-pager", "less 'x"])
def test_a_pager_that_cannot_start_is_reported_and_the_text_is_printed(tmp_path: Path, value: str) -> None:
    shown = show_topic(tmp_path, PAGER=value)
    assert (shown.code, LAST_LINE in shown.text) == (0, True)
    assert "pager" in shown.text.splitlines()[0]


@pytest.mark.skipif(not shutil.which("less"), reason="less is not installed")
def test_less_is_the_default_and_q_leaves_it(tmp_path: Path) -> None:
    shown = show_topic(tmp_path, keys="q")
    assert (shown.code, LAST_LINE in shown.text) == (0, False)


def test_a_pipe_gets_no_pager(shell: Shell, pager: Path) -> None:
    shown = shell("help", "environment", env={"PAGER": f"'{pager}'"})
    assert (shown.code, shown.lines[-1].strip(), "PAGED" in shown.out) == (0, LAST_LINE, False)
