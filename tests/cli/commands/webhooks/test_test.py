"""``docshare webhooks test``: results of test events, repetition, and rate limits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.commands.fakes.webhooks import URL, FakeWebhooks, webhook_uuid
from tests.support.outside.fake_api import FakeApi, FakeTime, problem
from tests.support.shell import Shell

SUCCESSFUL_TEST = {"delivered": True, "status": 200, "latencyMs": 143}
FAILED_TEST = {"delivered": False, "status": 500, "latencyMs": 90}
UNREACHED_TEST = {"delivered": False, "status": 0, "latencyMs": 10_000}


@pytest.fixture
def fake_webhooks(api: FakeApi) -> FakeWebhooks:
    """Create an account with one webhook."""
    board = FakeWebhooks(api)
    board.add_webhook()
    return board


@pytest.mark.parametrize(
    ("result", "code", "told", "piped"),
    [
        (SUCCESSFUL_TEST, 0, "delivered 200 in 143 ms", "true\t200\t143"),
        (FAILED_TEST, 13, "not delivered: 500 in 90 ms", "false\t500\t90"),
        (UNREACHED_TEST, 13, "not delivered: no response after 10000 ms", "false\t0\t10000"),
        ({"delivered": "yes", "status": 200, "latencyMs": 1}, 13, "not delivered: 200 in 1 ms", "yes\t200\t1"),
    ],
)
def test_the_result_is_printed_and_decides_the_exit_code(
    fake_webhooks: FakeWebhooks, shell: Shell, result: dict[str, Any], code: int, told: str, piped: str
) -> None:
    fake_webhooks.results = [result]
    done = shell("webhooks", "test", webhook_uuid(1))
    assert (done.code, done.out) == (code, f"{piped}\n")
    done = shell("webhooks", "test", URL, "--json")
    assert (done.code, done.json) == (code, result)
    shell.tty = True
    assert shell("webhooks", "test", URL, "--no-color").out == f"{told}\n"


def test_repeated_tests_are_six_seconds_apart(fake_webhooks: FakeWebhooks, shell: Shell, time: FakeTime) -> None:
    fake_webhooks.results = [SUCCESSFUL_TEST, FAILED_TEST, SUCCESSFUL_TEST]
    done = shell("webhooks", "test", webhook_uuid(1), "--repeat", "3", "--json")
    assert (done.code, done.rows) == (13, [SUCCESSFUL_TEST, FAILED_TEST, SUCCESSFUL_TEST])
    assert time.waits == [6.0, 6.0]


def test_ten_tests_are_sent_in_a_burst_and_the_eleventh_a_minute_after_the_first(
    fake_webhooks: FakeWebhooks, shell: Shell, time: FakeTime
) -> None:
    when: list[float] = []
    fake_webhooks.api.on(
        "POST", f"/webhooks/{webhook_uuid(1)}/test", lambda heard: when.append(time.passed) or SUCCESSFUL_TEST
    )
    assert shell("webhooks", "test", webhook_uuid(1), "--repeat", "21", "--every", "1s").code == 0
    assert when[:11] == [*range(10), 60]
    assert all(later - earlier >= 60 for earlier, later in zip(when, when[10:], strict=False))


def test_the_time_of_a_slow_receiver_counts_toward_the_interval(
    fake_webhooks: FakeWebhooks, shell: Shell, time: FakeTime
) -> None:
    def respond_slowly(_: object) -> dict[str, Any]:
        time.passed += 4
        return SUCCESSFUL_TEST

    fake_webhooks.api.on("POST", f"/webhooks/{webhook_uuid(1)}/test", respond_slowly)
    shell("webhooks", "test", webhook_uuid(1), "--repeat", "2")
    assert time.waits == [2.0]


def test_the_rate_limit_of_the_server_is_respected(fake_webhooks: FakeWebhooks, shell: Shell, time: FakeTime) -> None:
    fake_webhooks.results = [problem(429, "rate_limited", Retry_After="17"), SUCCESSFUL_TEST]
    assert shell("webhooks", "test", webhook_uuid(1)).code == 0
    assert time.waits == [17.0]


@pytest.mark.parametrize(("status", "code", "exit_code"), [(404, "not_found", 3), (403, "insufficient_scope", 5)])
def test_an_error_response_has_its_exit_code(
    fake_webhooks: FakeWebhooks, shell: Shell, status: int, code: str, exit_code: int
) -> None:
    fake_webhooks.results = [problem(status, code)]
    done = shell("webhooks", "test", webhook_uuid(1), "--repeat", "3")
    assert (done.code, done.out, len(fake_webhooks.list_changes())) == (exit_code, "", 1)


def test_a_dry_run_sends_nothing(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    done = shell("webhooks", "test", URL, "--repeat", "2", "-n")
    assert done.lines == [f"POST\t/api/v1/webhooks/{webhook_uuid(1)}/test\t"] * 2
    assert fake_webhooks.list_changes() == []


@pytest.mark.parametrize("words", [("--repeat", "0"), ("--every", "soon"), ("--repeat", "x")])
def test_an_invalid_command_line_exits_with_2(
    fake_webhooks: FakeWebhooks, shell: Shell, words: tuple[str, ...]
) -> None:
    assert shell("webhooks", "test", webhook_uuid(1), *words).code == 2
    assert fake_webhooks.list_changes() == []
