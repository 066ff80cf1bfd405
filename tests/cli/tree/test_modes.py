"""Every command that reads, on every kind of terminal, pipe and environment."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import NamedTuple

import pytest

from docshare.cli.terminal.text import cell_width
from tests.cli.tree.command_table import COMMANDS, CommandCase
from tests.cli.tree.instance import PopulatedInstance
from tests.support.shell import CommandResult

READS = {path: leaf for path, leaf in COMMANDS.items() if leaf.kind in ("read", "offline")}
HEADER = re.compile(r"[A-Z][A-Z ]+\n")  # of a table; single objects may have lines of any length
COLORS = re.compile(r"\x1b\[[0-9;]*m")


class Mode(NamedTuple):
    """``tty``: all streams are a terminal; ``env``: further variables; ``color``: whether color is allowed."""

    tty: bool
    env: dict[str, str]
    color: bool = False


MODES = {
    "a terminal": Mode(True, {}, color=True),
    "NO_COLOR": Mode(True, {"NO_COLOR": "1"}),
    "a dumb terminal": Mode(True, {"TERM": "dumb"}),
    "a narrow terminal": Mode(True, {"COLUMNS": "40", "NO_COLOR": "1"}),
    "a terminal in CI": Mode(True, {"CI": "1", "NO_COLOR": "1"}),
    "a pipe with forced color": Mode(False, {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}),
    "a pipe": Mode(False, {}),
}


# Nothing in their rows can be shortened or left out.
FIXED_WIDTH_COMMANDS = ("readership export", "variants list", "webhooks deliveries", "webhooks kinds")


def get_program_output(path: str, done: CommandResult) -> str:
    """Return what a program reads; forced color is for people, and thus only for notes and manuals."""
    return "" if path == "help" else done.out


@pytest.mark.parametrize(("path", "leaf"), READS.items(), ids=READS)
def test_a_command_fits_every_terminal(instance: PopulatedInstance, path: str, leaf: CommandCase) -> None:
    for name, mode in MODES.items():
        done = instance(leaf.line, "--progress", "none", env=mode.env, tty=mode.tty)
        assert done.code == leaf.code, (name, done.err)
        text = done.out + done.err
        assert mode.color or "\x1b" not in (text if mode.tty else get_program_output(path, done)), name
        assert "\x1b" not in COLORS.sub("", text), name
        if "COLUMNS" in mode.env and HEADER.match(done.out) and path not in FIXED_WIDTH_COMMANDS:
            assert max(map(cell_width, done.lines)) <= int(mode.env["COLUMNS"]), name


@pytest.mark.parametrize("path", [path for path, leaf in COMMANDS.items() if leaf.kind == "read"])
def test_reading_works_if_no_local_file_can_be_written(instance: PopulatedInstance, tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_text("")
    places = {f"DOCSHARE_{kind}_DIR": str(tmp_path / "file" / kind) for kind in ("CONFIG", "STATE", "CACHE")}
    done = instance(COMMANDS[path].line, "--json", env=places)
    assert done.code == COMMANDS[path].code, done.err


@pytest.mark.parametrize("path", [path for path, leaf in COMMANDS.items() if leaf.kind == "offline"])
def test_a_command_that_needs_no_server_opens_no_socket(
    instance: PopulatedInstance, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    line = instance.fill_line(COMMANDS[path].line)
    for way in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, way, _reject_socket)
    assert instance(line).code == COMMANDS[path].code


def _reject_socket(*_: object) -> None:
    raise AssertionError("a socket was opened")
