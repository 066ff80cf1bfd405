"""The pager of help, lists and reports on a real terminal."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.commands.fakes.readership import FILE, PATH
from tests.cli.commands.fakes.variants import FakeVariants
from tests.cli.commands.report_samples import PRO_REPORT
from tests.cli.terminal.test_output import make_file
from tests.support.outside.fake_api import FakeApi
from tests.support.repository import ROOT
from tests.support.shell import Shell
from tests.support.terminal import Terminal, TerminalOutput

DOCSHARE = [sys.executable, "-m", "docshare"]
LAST_LINE = "Default parents of those directories."
MANY = [make_file(number) for number in range(1, 1001)]  # more than fits in the buffer of a pipe
LAST_NAME = "report 1000.pdf"
LESS_PROMPT = ":\x1b[K"
needs_less = pytest.mark.skipif(not shutil.which("less"), reason="less is not installed")


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
    with Terminal([*DOCSHARE, "help", "environment"], whole) as terminal:
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


@needs_less
def test_less_is_the_default_and_q_leaves_it(tmp_path: Path) -> None:
    shown = show_topic(tmp_path, keys="q")
    assert (shown.code, LAST_LINE in shown.text) == (0, False)


def test_a_pipe_gets_no_pager(shell: Shell, pager: Path) -> None:
    shown = shell("help", "environment", env={"PAGER": f"'{pager}'"})
    assert (shown.code, shown.lines[-1].strip(), "PAGED" in shown.out) == (0, LAST_LINE, False)


# --- lists and reports -----------------------------------------------------------------------------------------------


@pytest.fixture
def env(shell: Shell, api: FakeApi, pager: Path) -> dict[str, str]:
    """Return the environment of a person with ``pager`` and many files, views and variants."""
    api.files = MANY
    api.add("view", *range(1, 61))
    api.on(
        "GET",
        f"{PATH}/variants",
        {"variants": [{"uuid": str(n), "shortId": f"v{n}", "label": f"L{n}"} for n in range(60)]},
    )
    api.on("GET", f"{PATH}/readership", PRO_REPORT)
    return {"PATH": "/usr/bin:/bin", **shell.env, "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT), "PAGER": f"'{pager}'"}


def run(env: dict[str, str], *line: str, keys: str = "", **more: str) -> TerminalOutput:
    """Run a command, and press ``keys`` of less when its first rows are shown."""
    with Terminal([*DOCSHARE, *line], {**env, **more}) as terminal:
        if keys:
            terminal.wait_for_text("report 10.pdf")
        typed_at = 0
        for key in keys:
            terminal.wait_for_prompt(LESS_PROMPT, after=typed_at)  # less drops keys that come with Ctrl-C
            typed_at = len(terminal.shown)
            terminal.type(key)
        return terminal.wait_for_exit()


@pytest.mark.parametrize(
    ("line", "last"),
    [
        ("files list", LAST_NAME),
        ("events list", "deck.pdf"),
        (f"variants list {FILE}", "L59"),
        (f"readership show {FILE}", "deck.pdf"),
    ],
)
def test_a_list_or_report_longer_than_the_terminal_is_paged_in_color(env: dict[str, str], line: str, last: str) -> None:
    shown = run(env, *line.split())
    assert shown.code == 0
    assert last in shown.text
    assert "\x1b[" in shown.text
    assert shown.text.count("PAGED") == 1


@pytest.mark.parametrize(("count", "paged"), [(22, False), (23, True)])
def test_a_list_that_fits_the_24_lines_of_the_terminal_is_not_paged(
    env: dict[str, str], api: FakeApi, count: int, paged: bool
) -> None:
    api.files = MANY[:count]
    assert ("PAGED" in run(env, "files", "list").text) == paged


@pytest.mark.parametrize("variable", ["CI=1", "DOCSHARE_NO_INPUT=1", "TERM=dumb", "DOCSHARE_PAGER="])
def test_the_environment_turns_the_pager_off(env: dict[str, str], variable: str) -> None:
    shown = run(env, "files", "list", **dict([variable.split("=")]))
    assert (shown.code, LAST_NAME in shown.text, "PAGED" in shown.text) == (0, True, False)


@pytest.mark.parametrize("options", [("--no-input",), ("--json",), ("--format", "plain"), ("--format", "jsonl")])
def test_output_for_programs_is_not_paged(env: dict[str, str], options: tuple[str, ...]) -> None:
    shown = run(env, "files", "list", *options)
    assert (shown.code, LAST_NAME in shown.text, "PAGED" in shown.text) == (0, True, False)


def test_links_that_were_just_created_are_not_paged(env: dict[str, str], api: FakeApi) -> None:
    FakeVariants(api)
    shown = run(env, "variants", "create", FILE, "--count", "30", "--label-template", "Guest {n}")
    assert (shown.code, "Guest 30" in shown.text, "PAGED" in shown.text) == (0, True, False)


def test_a_report_that_is_repeated_is_not_paged(env: dict[str, str]) -> None:
    with Terminal([*DOCSHARE, "readership", "show", FILE, "--watch", "30s"], env) as terminal:
        terminal.wait_for_text("deck.pdf")
        terminal.read_until_quiet()
        terminal.type("\x03")
        shown = terminal.wait_for_exit()
    assert (shown.code, "PAGED" in shown.text) == (130, False)


@needs_less
@pytest.mark.parametrize("pager", ["less", "less -FRX"])
@pytest.mark.parametrize("keys", ["q", "\x03\x03q"], ids=ascii)
def test_less_shows_colors_and_hyperlinks_and_ends_with_q(env: dict[str, str], pager: str, keys: str) -> None:
    shown = run(env, "files", "list", keys=keys, PAGER=pager, DOCSHARE_HYPERLINKS="1")
    assert (shown.code, LAST_NAME in shown.text, "rror" in shown.text) == (0, False, False)
    assert "\x1b[1m" in shown.text
    assert "docs.example/aB3dE5fG0010\x1b\\" in shown.text


def test_other_pagers_get_no_hyperlinks(env: dict[str, str]) -> None:
    shown = run(env, "files", "list", DOCSHARE_HYPERLINKS="1")
    assert ("PAGED" in shown.text, "\x1b]8" in shown.text, "\x1b[1m" in shown.text) == (True, False, True)


@pytest.mark.parametrize("value", ["true", "head -n 20"])
def test_a_pager_of_a_long_list_may_end_early(env: dict[str, str], value: str) -> None:
    shown = run(env, "files", "list", PAGER=value)
    assert (shown.code, LAST_NAME in shown.text, "rror" in shown.text) == (0, False, False)


def test_the_end_of_the_command_ends_its_pager(env: dict[str, str], pager: Path) -> None:
    pager.write_text("#!/bin/sh\ntrap 'echo ENDED; exit' TERM\nhead -n 20\nwhile sleep 0.1; do :; done\n")
    with Terminal([*DOCSHARE, "files", "list"], env) as terminal:
        terminal.wait_for_text("report 10.pdf")
        terminal.process.terminate()
        shown = terminal.wait_for_exit()
    assert (shown.code, "ENDED" in shown.text, "Exception" in shown.text) == (143, True, False)
