"""Every command that talks to a server, and every way in which that can fail: stdout stays clean, the exit code says
which it was, and the error is one line of JSON. The table is typed from the design by hand."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.tree.table import LEAVES, Leaf
from tests.cli.tree.town import Town
from tests.support.fakefeed import FakeApi, FakeTime, fake_api, problem
from tests.support.shell import Ended, Shell

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
FINE = {("auth status", 403)}  # a credential that may not ask whose it is works all the same
ONLINE = {path: leaf for path, leaf in LEAVES.items() if leaf.kind in ("change", "read") and leaf.operations}
LONGER = {path: leaf for path, leaf in ONLINE.items() if len(leaf.asks) > 1}
# What was written but cannot be read back, and a report whose pictures cannot be drawn: said on stderr.
DONE_ALL_THE_SAME = {
    ("settings set", 1),
    ("settings clear", 1),
    ("settings apply", 1),
    ("settings copy", 3),
    ("readership report", 5),
}
AS_IT_GOES = ("apply", "events tail", "gate tail")  # print what was done, and what was there before
AT_ONCE = ("--json", "--retries", "0", "--max-wait", "0s")
# Hostile, so that no failure can draw on the screen.
DETAIL = "no \x1b[31m[/] \u202e $(touch pwned)"


@pytest.fixture(scope="module")
def wall() -> Iterator[FakeApi]:
    with fake_api() as api:
        yield api


@pytest.fixture
def elsewhere(town: Town, tmp_path: Path) -> Callable[[Leaf], Callable[[str], Ended]]:
    """A function that makes the line of a leaf ready to be run against a server at another address."""

    def ready(leaf: Leaf) -> Callable[[str], Ended]:
        words, here = town.words(leaf.line), town.shell.env["DOCSHARE_URL"]

        def run(url: str) -> Ended:
            shell = Shell(tmp_path, url, FakeTime())
            # A share link says itself where it is.
            return shell(*(word.replace(here, url) for word in words), *AT_ONCE)

        return run

    return ready


@pytest.mark.parametrize(("path", "leaf"), ONLINE.items(), ids=ONLINE)
def test_a_refused_command_prints_nothing_and_ends_with_its_code(
    wall: FakeApi, elsewhere: Any, path: str, leaf: Leaf
) -> None:
    run = elsewhere(leaf)
    for status, (code, expected) in FAILURES.items():
        refusal = problem(status, code, DETAIL)
        wall.next_answer = lambda method, path, refusal=refusal: refusal
        done = run(wall.url)
        if (path, status) in FINE:
            assert (done.code, json.loads(done.out) is None) == (0, False)
            continue
        assert (done.code, done.out) == (expected, ""), (status, done.err)
        assert done.error["exit"] == expected
        assert "\x1b" not in done.err


@pytest.fixture
def failing(town: Town) -> Iterator[Town]:
    """The town, whose server fails after as many requests as a test lets pass."""
    try:
        yield town
    finally:
        town.lasts = float("inf")


@pytest.mark.parametrize(("path", "leaf"), LONGER.items(), ids=LONGER)
def test_a_command_whose_server_fails_halfway_prints_nothing_that_is_not_whole(
    failing: Town, path: str, leaf: Leaf
) -> None:
    for answered in range(1, len(leaf.asks)):
        failing.lasts = float("inf")
        line = failing.filled(leaf.line)
        failing.lasts = answered
        done = failing(line, *AT_ONCE)
        if (path, answered) in DONE_ALL_THE_SAME:
            assert (done.code, json.loads(done.out) is None) == (0, False)
            assert ": no\n" in done.err
            continue
        assert (done.code, done.out == "" or path in AS_IT_GOES) == (11, True), (answered, done.err)
        assert all(json.loads(text) for text in done.lines)
        assert done.error["exit"] == 11


@pytest.mark.parametrize(("path", "leaf"), ONLINE.items(), ids=ONLINE)
def test_a_command_whose_server_is_not_there_says_so(elsewhere: Any, path: str, leaf: Leaf) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        done = elsewhere(leaf)(f"http://127.0.0.1:{closed.getsockname()[1]}")
    assert (done.code, done.out) == (UNREACHABLE, "")
    assert done.error["exit"] == UNREACHABLE
