"""No tail loses or repeats a row: views, all three streams at once, the activity feed, gate responses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.outside.fake_api import FakeApi, FakeResponse, FakeTime, problem
from tests.support.shell import Shell

TAILS = {
    "view": ("events", "tail"),
    "all": ("events", "tail", "--type", "all"),
    "activity": ("events", "tail", "--type", "activity"),
    "gate": ("gate", "tail"),
}
STREAMS = {"view": ["view"], "all": ["view", "download", "gate"], "activity": ["activity"], "gate": ["gate"]}

Rows = dict[str, list[int]]

for_every_tail = pytest.mark.parametrize("name", TAILS)


def tail_rows(shell: Shell, name: str, *options: str) -> Rows:
    """Return the ids that a tail printed, by stream, in order of output; check that it succeeds."""
    done = shell(*TAILS[name], *options, "--json")
    assert done.code == 0, done.err
    shown: Rows = {stream: [] for stream in STREAMS[name]}
    for each in done.rows:
        shown[each.get("type", "activity")].append(each["id"])
    return shown


def append_rows(api: FakeApi, name: str, *numbers: int) -> None:
    for stream in STREAMS[name]:
        api.add(stream, *numbers)


def expect_rows_by_stream(name: str, *numbers: int) -> Rows:
    return {stream: list(numbers) for stream in STREAMS[name]}


def do_once_after(time: FakeTime, moment: float, action: Callable[[], object]) -> None:
    """Call ``action`` once, in the first wait after ``moment`` seconds."""
    waiting = [action]

    def step(_: float) -> None:
        if time.passed >= moment and waiting:
            waiting.pop()()

    time.on_sleep = step


@for_every_tail
@pytest.mark.parametrize("count", [0, 1, 100, 101, 250])
def test_all_rows_added_to_an_empty_feed_are_printed(
    api: FakeApi, shell: Shell, time: FakeTime, name: str, count: int
) -> None:
    numbers = range(2, 2 + count)
    do_once_after(time, 5, lambda: append_rows(api, name, *numbers))
    assert tail_rows(shell, name, "--timeout", "1m") == expect_rows_by_stream(name, *numbers)


@for_every_tail
@pytest.mark.parametrize("count", [0, 1, 100, 101, 250])
def test_from_start_prints_the_whole_history_once(api: FakeApi, shell: Shell, name: str, count: int) -> None:
    numbers = range(2, 2 + count)
    append_rows(api, name, *numbers)
    assert tail_rows(shell, name, "--from", "start", "--once") == expect_rows_by_stream(name, *numbers)


@for_every_tail
@pytest.mark.parametrize("count", [0, 99, 100, 101])
def test_a_cursor_resumes_after_the_last_row_for_any_page_length(
    api: FakeApi, shell: Shell, name: str, count: int
) -> None:
    before, after = range(2, 2 + count), range(2 + count, 2 + 2 * count)
    kept = ("--cursor", "crm", "--once")
    append_rows(api, name, *before)
    assert tail_rows(shell, name, *kept, "--from", "start") == expect_rows_by_stream(name, *before)
    assert tail_rows(shell, name, *kept) == expect_rows_by_stream(name)
    append_rows(api, name, *after)
    assert tail_rows(shell, name, *kept) == expect_rows_by_stream(name, *after)


@for_every_tail
@pytest.mark.parametrize("which", range(2, 9))
def test_a_429_at_any_request_is_retried(api: FakeApi, shell: Shell, time: FakeTime, name: str, which: int) -> None:
    append_rows(api, name, *range(2, 252))
    asked: list[float] = []

    def rate_limit() -> FakeResponse | None:
        asked.append(time.passed)
        return problem(429, "rate_limited", Retry_After="23") if len(asked) == which else None

    api.before_page = rate_limit
    assert tail_rows(shell, name, "--from", "start", "--timeout", "2m") == expect_rows_by_stream(name, *range(2, 252))
    assert asked[which] - asked[which - 1] > 22.99


@for_every_tail
def test_all_rows_added_during_a_clock_jump_are_printed(api: FakeApi, shell: Shell, time: FakeTime, name: str) -> None:
    append_rows(api, name, 2)

    def suspend() -> None:
        time.wall += 8 * 3600
        append_rows(api, name, *range(3, 154))

    do_once_after(time, 31, suspend)
    assert tail_rows(shell, name, "--timeout", "2m") == expect_rows_by_stream(name, *range(3, 154))


@for_every_tail
def test_a_clock_that_is_set_back_loses_no_row(api: FakeApi, shell: Shell, time: FakeTime, name: str) -> None:
    def set_back() -> None:
        time.wall -= 3600
        append_rows(api, name, 2, 3)

    do_once_after(time, 31, set_back)
    assert tail_rows(shell, name, "--timeout", "2m") == expect_rows_by_stream(name, 2, 3)
