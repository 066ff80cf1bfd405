"""Every command that talks to a server, and every way in which that can fail: stdout stays clean, the exit code says
which it was, and the error is one line of JSON. The table is typed from the design by hand."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.tree.command_table import COMMANDS, CommandCase
from tests.cli.tree.instance import PopulatedInstance
from tests.support.fake_api import FakeApi, FakeTime, fake_api, problem
from tests.support.shell import CommandResult, Shell

FAILURES = {
    401: ("unauthorized", 4),
    403: ("forbidden", 5),
    404: ("not_found", 3),
    409: ("conflict", 7),
    410: ("gone", 8),
    429: ("rate_limited", 10),
    500: ("internal", 11),
}
UNREACHABLE = 11
ACCEPTED_FAILURES = {("auth status", 403)}  # a credential that may not ask whose it is works all the same
ONLINE = {path: leaf for path, leaf in COMMANDS.items() if leaf.kind in ("change", "read") and leaf.operations}
MULTI_REQUEST_COMMANDS = {path: leaf for path, leaf in ONLINE.items() if len(leaf.list_operations) > 1}
# What was written but cannot be read back, and a report whose pictures cannot be drawn: said on stderr.
SUCCESS_DESPITE_FAILURE = {
    ("settings set", 1),
    ("settings clear", 1),
    ("settings apply", 1),
    ("settings copy", 3),
    ("readership report", 5),
}
STREAMING_COMMANDS = ("apply", "events tail", "gate tail")  # print what was done, and what was there before
NO_WAIT_OPTIONS = ("--json", "--retries", "0", "--max-wait", "0s")
# Hostile, so that no failure can draw on the screen.
DETAIL = "no \x1b[31m[/] \u202e $(touch pwned)"


@pytest.fixture(scope="module")
def refusing_api() -> Iterator[FakeApi]:
    with fake_api() as api:
        yield api


@pytest.fixture
def run_against(instance: PopulatedInstance, tmp_path: Path) -> Callable[[CommandCase], Callable[[str], CommandResult]]:
    """A function that makes the line of a leaf ready to be run against a server at another address."""

    def ready(leaf: CommandCase) -> Callable[[str], CommandResult]:
        words, here = instance.split_line(leaf.line), instance.shell.env["DOCSHARE_URL"]

        def run(url: str) -> CommandResult:
            shell = Shell(tmp_path, url, FakeTime())
            # A share link says itself where it is.
            return shell(*(word.replace(here, url) for word in words), *NO_WAIT_OPTIONS)

        return run

    return ready


@pytest.mark.parametrize(("path", "leaf"), ONLINE.items(), ids=ONLINE)
def test_a_refused_command_prints_nothing_and_ends_with_its_code(
    refusing_api: FakeApi, run_against: Any, path: str, leaf: CommandCase
) -> None:
    run = run_against(leaf)
    for status, (code, expected) in FAILURES.items():
        refusal = problem(status, code, DETAIL)
        refusing_api.take_response = lambda method, path, refusal=refusal: refusal
        done = run(refusing_api.url)
        if (path, status) in ACCEPTED_FAILURES:
            assert (done.code, json.loads(done.out) is None) == (0, False)
            continue
        assert (done.code, done.out) == (expected, ""), (status, done.err)
        assert done.error["exit"] == expected
        assert "\x1b" not in done.err


@pytest.fixture
def failing_instance(instance: PopulatedInstance) -> Iterator[PopulatedInstance]:
    """The town, whose server fails after as many requests as a test lets pass."""
    try:
        yield instance
    finally:
        instance.remaining_answers = float("inf")


@pytest.mark.parametrize(("path", "leaf"), MULTI_REQUEST_COMMANDS.items(), ids=MULTI_REQUEST_COMMANDS)
def test_a_command_whose_server_fails_halfway_prints_nothing_that_is_not_whole(
    failing_instance: PopulatedInstance, path: str, leaf: CommandCase
) -> None:
    for answered in range(1, len(leaf.list_operations)):
        failing_instance.remaining_answers = float("inf")
        line = failing_instance.fill_line(leaf.line)
        failing_instance.remaining_answers = answered
        done = failing_instance(line, *NO_WAIT_OPTIONS)
        if (path, answered) in SUCCESS_DESPITE_FAILURE:
            assert (done.code, json.loads(done.out) is None) == (0, False)
            assert ": no\n" in done.err
            continue
        assert (done.code, done.out == "" or path in STREAMING_COMMANDS) == (11, True), (answered, done.err)
        assert all(json.loads(text) for text in done.lines)
        assert done.error["exit"] == 11


@pytest.mark.parametrize(("path", "leaf"), ONLINE.items(), ids=ONLINE)
def test_a_command_whose_server_is_not_there_says_so(run_against: Any, path: str, leaf: CommandCase) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        done = run_against(leaf)(f"http://127.0.0.1:{closed.getsockname()[1]}")
    assert (done.code, done.out) == (UNREACHABLE, "")
    assert done.error["exit"] == UNREACHABLE
