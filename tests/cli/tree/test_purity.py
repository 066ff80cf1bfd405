"""Every command that calls a server, and every way in which that can fail: stdout stays clean, the exit code names the
failure, and the error is one line of JSON. The table of exit codes is written by hand."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.tree.command_table import COMMANDS, CommandCase
from tests.cli.tree.instance import PopulatedInstance
from tests.support.outside.fake_api import FakeApi, FakeTime, fake_api, problem
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
ACCEPTED_FAILURES = {("auth status", 403)}  # a credential without the profile scope still works
ONLINE = {path: leaf for path, leaf in COMMANDS.items() if leaf.kind in ("change", "read") and leaf.operations}
MULTI_REQUEST_COMMANDS = {path: leaf for path, leaf in ONLINE.items() if len(leaf.list_operations) > 1}
# Changes that cannot be read back, and a report whose images cannot be rendered: the command warns on stderr.
SUCCESS_DESPITE_FAILURE = {
    ("settings set", 1),
    ("settings clear", 1),
    ("settings apply", 1),
    ("settings copy", 3),
    ("readership report", 5),
}
STREAMING_COMMANDS = ("apply", "events tail", "gate tail")  # print each completed action before the failure
NO_WAIT_OPTIONS = ("--json", "--retries", "0", "--max-wait", "0s")
# Hostile, so that no failure can control the terminal.
DETAIL = "no \x1b[31m[/] \u202e $(touch pwned)"


@pytest.fixture(scope="module")
def rejecting_api() -> Iterator[FakeApi]:
    with fake_api() as api:
        yield api


@pytest.fixture
def run_against(instance: PopulatedInstance, tmp_path: Path) -> Callable[[CommandCase], Callable[[str], CommandResult]]:
    """Return a function that prepares the line of a leaf to run against a server at another address."""

    def prepare(leaf: CommandCase) -> Callable[[str], CommandResult]:
        words, here = instance.split_line(leaf.line), instance.shell.env["DOCSHARE_URL"]

        def run(url: str) -> CommandResult:
            shell = Shell(tmp_path, url, FakeTime())
            # A share link contains the address of its server.
            return shell(*(word.replace(here, url) for word in words), *NO_WAIT_OPTIONS)

        return run

    return prepare


@pytest.mark.parametrize(("path", "leaf"), ONLINE.items(), ids=ONLINE)
def test_a_rejected_command_prints_nothing_and_exits_with_its_code(
    rejecting_api: FakeApi, run_against: Any, path: str, leaf: CommandCase
) -> None:
    run = run_against(leaf)
    for status, (code, expected) in FAILURES.items():
        refusal = problem(status, code, DETAIL)
        rejecting_api.take_response = lambda method, path, refusal=refusal: refusal
        done = run(rejecting_api.url)
        if (path, status) in ACCEPTED_FAILURES:
            assert (done.code, json.loads(done.out) is None) == (0, False)
            continue
        assert (done.code, done.out) == (expected, ""), (status, done.err)
        assert done.error["exit"] == expected
        assert "\x1b" not in done.err


@pytest.fixture
def failing_instance(instance: PopulatedInstance) -> Iterator[PopulatedInstance]:
    """Yield the instance; its server fails after the number of requests that a test sets."""
    try:
        yield instance
    finally:
        instance.remaining_responses = float("inf")


@pytest.mark.parametrize(("path", "leaf"), MULTI_REQUEST_COMMANDS.items(), ids=MULTI_REQUEST_COMMANDS)
def test_a_command_whose_server_fails_halfway_prints_no_partial_output(
    failing_instance: PopulatedInstance, path: str, leaf: CommandCase
) -> None:
    for answered in range(1, len(leaf.list_operations)):
        failing_instance.remaining_responses = float("inf")
        line = failing_instance.fill_line(leaf.line)
        failing_instance.remaining_responses = answered
        done = failing_instance(line, *NO_WAIT_OPTIONS)
        if (path, answered) in SUCCESS_DESPITE_FAILURE:
            assert (done.code, json.loads(done.out) is None) == (0, False)
            assert ": no\n" in done.err
            continue
        assert (done.code, done.out == "" or path in STREAMING_COMMANDS) == (11, True), (answered, done.err)
        assert all(json.loads(text) for text in done.lines)
        assert done.error["exit"] == 11


@pytest.mark.parametrize(("path", "leaf"), ONLINE.items(), ids=ONLINE)
def test_a_command_with_an_unreachable_server_exits_with_11(run_against: Any, path: str, leaf: CommandCase) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        done = run_against(leaf)(f"http://127.0.0.1:{closed.getsockname()[1]}")
    assert (done.code, done.out) == (UNREACHABLE, "")
    assert done.error["exit"] == UNREACHABLE
