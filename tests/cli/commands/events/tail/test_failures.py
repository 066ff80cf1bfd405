"""``docshare events tail``: polling interval, server failures, heartbeat and status line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from docshare.server.store.lock import DirectoryLock
from tests.support.outside.fake_api import FakeApi, FakeResponse, FakeTime, problem
from tests.support.shell import Shell


def tail_ids(shell: Shell, *options: str, code: int = 0) -> list[int]:
    """Return the ids that a tail printed, and check that it exits with ``code``."""
    done = shell("events", "tail", *options, "--json")
    assert done.code == code, done.err
    return [each["id"] for each in done.rows]


def do_after(time: FakeTime, moment: float, action: Callable[[], object]) -> None:
    """Call ``action`` once, in the first wait after ``moment`` seconds."""
    waiting = [action]

    def step(seconds: float) -> None:
        if time.passed >= moment and waiting:
            waiting.pop()()

    time.on_sleep = step


def list_intervals(moments: list[float]) -> list[float]:
    return [after - before for before, after in pairwise(moments)]


# --- polling interval ------------------------------------------------------------------------------------------------


def record_polls(api: FakeApi, time: FakeTime) -> list[float]:
    """Return a list that records the moment of every poll."""
    moments: list[float] = []

    def record() -> None:
        moments.append(time.passed)

    api.before_page = record
    return moments


def test_the_interval_of_a_quiet_feed_grows_to_15_seconds(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    moments = record_polls(api, time)
    tail_ids(shell, "--timeout", "3m")
    for gap, expected in zip(list_intervals(moments[1:]), [3, 4.5, 6.75, 10.125, 15, 15, 15], strict=False):
        assert gap == pytest.approx(expected, rel=0.11)


def test_a_quiet_server_on_this_host_is_polled_every_3_seconds(
    api: FakeApi, shell: Shell, time: FakeTime, tmp_path: Path
) -> None:
    moments = record_polls(api, time)
    (tmp_path / "server.json").write_text(json.dumps({"url": api.url, "baseUrl": api.url, "pid": os.getpid()}))
    (tmp_path / "instance.key").write_text("00" * 32)
    shell.env["DOCSHARE_DATA_DIR"] = str(tmp_path)
    with DirectoryLock(tmp_path):
        tail_ids(shell, "--timeout", "1m")
    assert len(moments) > 15
    assert list_intervals(moments[1:]) == pytest.approx([3.0] * (len(moments) - 2), rel=0.11)


def test_a_new_row_resets_the_polling_interval(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    moments = record_polls(api, time)
    do_after(time, 60, lambda: api.add("view", 2))
    tail_ids(shell, "--timeout", "100s")
    late = [gap for gap in list_intervals([moment for moment in moments if moment > 60]) if gap > 0]
    assert late[:3] == [pytest.approx(2, rel=0.11), pytest.approx(3, rel=0.11), pytest.approx(4.5, rel=0.11)]


def test_the_interval_follows_the_rate_limit(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    moments: list[float] = []

    def respond_near_the_limit() -> FakeResponse:
        moments.append(time.passed)
        return FakeResponse([], headers={"RateLimit": '"default";r=2;t=60'})

    api.before_page = respond_near_the_limit
    tail_ids(shell, "--timeout", "5m")
    assert list_intervals(moments[1:]) == [30.0] * 9


# --- server failures -------------------------------------------------------------------------------------------------


def fail_between(api: FakeApi, time: FakeTime, answer: FakeResponse, begin: float, end: float) -> None:
    api.before_page = lambda: answer if begin <= time.passed < end else None


@pytest.mark.parametrize(
    "answer",
    [problem(503, "unavailable"), problem(500, "internal"), FakeResponse(connection_action="drop"), FakeResponse("x")],
)
def test_a_temporary_failure_is_reported_once_and_loses_no_row(
    api: FakeApi, shell: Shell, time: FakeTime, answer: FakeResponse
) -> None:
    fail_between(api, time, answer, 1, 50)
    do_after(time, 20, lambda: api.add("view", *range(2, 150)))
    done = shell("events", "tail", "--timeout", "2m", "--json")
    assert (done.code, [each["id"] for each in done.rows]) == (0, list(range(2, 150)))
    assert done.err.count("retrying") == 1
    assert done.err.count("the server is responding again") == 1


def test_a_long_failure_is_reported_again_from_time_to_time(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    fail_between(api, time, problem(503, "unavailable", "restarting"), 1, 250)
    done = shell("events", "tail", "--timeout", "5m")
    assert 2 <= done.err.count("still failing") <= 4
    assert "attempts, 1m" in done.err


def test_the_tail_exits_with_11_after_ten_minutes_of_failure(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    fail_between(api, time, FakeResponse(connection_action="drop"), 1, 1e9)
    done = shell("events", "tail", "--json")
    assert (done.code, done.out) == (11, "")
    assert "stopped after" in done.error["detail"]
    assert 600 <= time.passed < 640


def test_temporary_failures_do_not_add_up(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    api.before_page = lambda: problem(503, "unavailable") if 1 <= time.passed % 600 < 400 else None
    assert tail_ids(shell, "--timeout", "1h") == []


def test_a_failure_does_not_count_as_idle_time(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    fail_between(api, time, problem(503, "unavailable"), 1, 200)
    tail_ids(shell, "--idle", "30s")
    assert time.passed >= 200


@pytest.mark.parametrize(("answer", "code"), [
    (problem(401, "unauthorized"), 4), (problem(403, "insufficient_scope"), 5),
    (FakeResponse(b"", 302, {"Location": "https://elsewhere.example/"}), 11),
])  # fmt: skip
def test_a_permanent_error_ends_the_tail_at_once(
    api: FakeApi, shell: Shell, time: FakeTime, answer: FakeResponse, code: int
) -> None:
    fail_between(api, time, answer, 1, 1e9)
    assert tail_ids(shell, code=code) == []
    assert time.passed < 10


def test_a_429_between_pages_is_retried_and_loses_no_row(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    api.add("view", *range(2, 252))
    asked: list[float] = []

    def rate_limit_third_page() -> FakeResponse | None:
        asked.append(time.passed)
        return problem(429, "rate_limited", Retry_After="23") if len(asked) == 3 else None

    api.before_page = rate_limit_third_page
    done = shell("events", "tail", "--from", "start", "--timeout", "60s", "--json")
    assert [each["id"] for each in done.rows] == list(range(2, 252))
    assert asked[3] - asked[2] == pytest.approx(23)
    assert "rate limited, waiting 23 s" in done.err


def test_once_fails_like_any_other_command(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    api.before_page = lambda: problem(503, "unavailable")
    assert tail_ids(shell, "--once", "--from", "start", code=11) == []
    assert time.passed < 10


def test_a_clock_jump_causes_a_new_connection_and_an_immediate_poll(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    woken: list[float] = []

    def suspend() -> None:
        time.wall += 3600
        api.add("view", 2)
        woken.append(time.passed)

    moments = record_polls(api, time)
    do_after(time, 31, suspend)
    done = shell("events", "tail", "--timeout", "60s", "--json")
    assert [each["id"] for each in done.rows] == [2]
    assert done.err.count("the clock jumped") == 1
    assert next(moment for moment in moments if moment > woken[0]) - woken[0] < 1.01
    before, after = (len([moment for moment in moments if (moment > woken[0]) == late]) for late in (False, True))
    ports = [heard.port for heard in api.list_requests("GET", "/events")]
    assert not set(ports[:before]) & set(ports[-after:])


# --- heartbeat and status line ---------------------------------------------------------------------------------------


def test_the_ready_message_is_printed_after_the_first_successful_poll(
    api: FakeApi, shell: Shell, time: FakeTime
) -> None:
    api.add("view", 2)
    fail_between(api, time, problem(503, "unavailable"), 0.5, 20)
    done = shell("events", "tail", "--timeout", "30s")
    assert "following view from cursor 2" in done.err


def test_a_heartbeat_line_is_printed_every_minute_if_stderr_is_not_a_terminal(shell: Shell) -> None:
    done = shell("events", "tail", "--timeout", "185s")
    assert done.err.count("still following") == 3
    quiet = shell("events", "tail", "--timeout", "185s", "--heartbeat", "0")
    assert "still following" not in quiet.err
    assert shell("events", "tail", "--timeout", "185s", "-q").err == ""


def test_a_status_line_is_shown_and_cleared_on_a_terminal(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    shell.tty = True
    do_after(time, 0, lambda: api.add("view", 2))
    done = shell("events", "tail", "--timeout", "20s", "--no-color")
    assert "\r\x1b[Kwaiting · cursor 2 · next poll 2 s" in done.err
    assert done.err.endswith("\r\x1b[K")
    assert "waiting" not in done.out
