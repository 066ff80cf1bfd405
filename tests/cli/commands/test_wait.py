"""``docshare wait``: waits for a matching session; exit codes, retries and output."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.commands.fakes.readership import (
    ANN,
    BOB,
    FILE,
    PATH,
    SESSIONS,
    FakeReadership,
    make_invite,
    make_session,
    make_variant,
)
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, FakeTime, problem
from tests.support.shell import CommandResult, Shell

LONG = {1: 5, 3: 25}


@pytest.fixture
def fake_readership(api: FakeApi) -> FakeReadership:
    room = FakeReadership(api)
    room.variants = [make_variant(ANN, "Ann"), make_variant(BOB, "Bob")]
    room.invites = [make_invite(1, "eve@example.com")]
    return room


def run_wait(shell: Shell, *options: str, code: int = 0) -> int | None:
    """Return the id of the session that was printed."""
    done = shell("wait", FILE, *options, "--json")
    assert done.code == code, done.err
    return json.loads(done.out)["id"] if done.out else None


# --- matching sessions -----------------------------------------------------------------------------------------------


def test_any_reader_ends_the_wait(fake_readership: FakeReadership, shell: Shell, time: FakeTime) -> None:
    time.run_in_waits(None, None, lambda: fake_readership.sessions.append(make_session(4)))
    assert run_wait(shell, "--timeout", "1h") == 4


def test_earlier_sessions_count(fake_readership: FakeReadership, shell: Shell, time: FakeTime) -> None:
    fake_readership.sessions = [make_session(1), make_session(2)]
    assert (run_wait(shell), time.waits) == (1, [])


def test_new_ignores_earlier_sessions(fake_readership: FakeReadership, shell: Shell, time: FakeTime) -> None:
    fake_readership.sessions = [make_session(number) for number in range(1, 130)]
    time.run_in_waits(None, lambda: fake_readership.sessions.append(make_session(130)))
    assert run_wait(shell, "--new", "--timeout", "1h") == 130


# options, sessions, id of the match
GOALS: list[tuple[list[str], list[dict[str, Any]], int]] = [
    (["--page", "3"], [make_session(1, {1: 50, 2: 50}), make_session(2, {3: 0}), make_session(3, {3: 1})], 3),
    (["--page", "3", "--min-time", "20s"], [make_session(1, {1: 60, 3: 19}), make_session(2, {3: 20})], 2),
    (["--min-time", "20s"], [make_session(1, {1: 19}), make_session(2, {1: 10, 2: 10})], 2),
    (
        ["--variant", "label:Ann"],
        [make_session(1), make_session(2, variantUuid=BOB), make_session(3, variantUuid=ANN)],
        3,
    ),
    (["--variant", "vB3dE5fG7h01"], [make_session(1, variantUuid=BOB), make_session(2, variantUuid=ANN)], 2),
    (["--variant", ANN, "--page", "3"], [make_session(1, variantUuid=ANN), make_session(2, LONG, variantUuid=ANN)], 2),
    (
        ["--invite", "EVE@example.com"],
        [
            make_session(1, email="eve@example.com"),
            make_session(2, inviteUuid=UUID.format(202)),
            make_session(3, inviteUuid=UUID.format(201)),
        ],
        3,
    ),
    (
        ["--invite", "eve@example.com"],
        [
            make_session(1, fromInvite=True, email="x@example.com"),
            make_session(2, fromInvite=True, email="eve@example.com"),
        ],
        2,
    ),
    ([], [make_session(1, contentVersion=1), make_session(2)], 2),
    (
        ["--variant", ANN, "--page", "3"],
        [make_session(1, LONG, variantUuid=ANN, contentVersion=1), make_session(2, LONG, variantUuid=ANN)],
        2,
    ),
    (["--any-version"], [make_session(1, contentVersion=1), make_session(2)], 1),
]


@pytest.mark.parametrize(("options", "sessions", "fits"), GOALS)
def test_the_first_matching_session_is_printed(
    fake_readership: FakeReadership, shell: Shell, options: list[str], sessions: list[dict[str, Any]], fits: int
) -> None:
    fake_readership.sessions = sessions
    assert run_wait(shell, *options, "--timeout", "1h") == fits


def test_a_long_history_is_fetched_without_waiting(
    fake_readership: FakeReadership, shell: Shell, time: FakeTime
) -> None:
    fake_readership.sessions = [make_session(number) for number in range(1, 450)] + [make_session(450, LONG)]
    assert (run_wait(shell, "--page", "3"), time.waits) == (450, [])


def test_each_session_is_fetched_once(
    fake_readership: FakeReadership, api: FakeApi, shell: Shell, time: FakeTime
) -> None:
    fake_readership.sessions = [make_session(7)]
    time.run_in_waits(None, lambda: fake_readership.sessions.append(make_session(9, LONG)))
    assert run_wait(shell, "--page", "3", "--timeout", "1h") == 9
    assert [heard.query["since"] for heard in api.list_requests("GET", SESSIONS)] == ["0", "7", "7", "7"]


def replace_document(room: FakeReadership, *read: dict[str, Any], **facts: Any) -> None:
    """Add the next version of the document, and these sessions."""
    room.file = {**room.file, "contentVersion": room.file["contentVersion"] + 1, **facts}
    room.sessions += read


def test_a_replacement_during_the_wait_changes_the_goal_and_is_reported(
    fake_readership: FakeReadership, shell: Shell, time: FakeTime
) -> None:
    time.run_in_waits(
        None, lambda: replace_document(fake_readership, make_session(1, LONG), make_session(2, LONG, contentVersion=3))
    )
    done = shell("wait", FILE, "--page", "3", "--timeout", "1h", "--json")
    assert (done.code, done.json["id"]) == (0, 2)
    told = done.err.splitlines()
    assert told[0].endswith("waiting until someone has read page 3 in version 2")
    assert told[1].endswith("the document was replaced; waiting until someone has read page 3 in version 3")


def test_a_replacement_that_removes_the_page_exits_with_2(
    fake_readership: FakeReadership, shell: Shell, time: FakeTime
) -> None:
    time.run_in_waits(None, lambda: replace_document(fake_readership, make_session(1, contentVersion=3), totalPages=2))
    done = shell("wait", FILE, "--page", "3", "--timeout", "1h")
    assert (done.code, "--page 3 is out of range: the document has 2 pages" in done.err) == (2, True)


def test_a_failed_version_check_loses_no_session(fake_readership: FakeReadership, api: FakeApi, shell: Shell) -> None:
    fake_readership.sessions = [make_session(1)]
    api.on("GET", PATH, problem(503, "unavailable"), lambda heard: fake_readership.file)
    assert run_wait(shell) == 1


def test_the_version_is_not_fetched_in_every_round(
    fake_readership: FakeReadership, api: FakeApi, shell: Shell, time: FakeTime
) -> None:
    fake_readership.sessions = [make_session(1, contentVersion=1)]
    run_wait(shell, "--timeout", "10m", code=124)
    assert len(api.list_requests("GET", PATH)) == 1


# --- exit codes ------------------------------------------------------------------------------------------------------


def test_a_timeout_exits_with_124(fake_readership: FakeReadership, shell: Shell, time: FakeTime) -> None:
    fake_readership.sessions = [make_session(1)]
    done = shell("wait", FILE, "--variant", "label:Ann", "--page", "3", "--timeout", "10m")
    assert (done.code, done.out, time.passed) == (124, "", 600)
    assert done.err.splitlines()[-1].endswith("timed out: Ann has not read page 3 in version 2")


def test_the_timeout_message_names_no_reader_if_none_was_given(fake_readership: FakeReadership, shell: Shell) -> None:
    fake_readership.file["contentVersion"] = 1
    done = shell("wait", FILE, "--min-time", "20s", "--timeout", "1m")
    assert done.err.splitlines()[-1].endswith("timed out: no one has read it for 20s")


def test_ctrl_c_exits_with_130_without_an_error(fake_readership: FakeReadership, shell: Shell, time: FakeTime) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    time.run_in_waits(None, interrupt)
    done = shell("wait", FILE)
    assert (done.code, done.out, "interrupted" in done.err) == (130, "", False)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--variant", "label:Nobody"], 3),
        (["--invite", "nobody@example.com"], 3),
        (["--page", "4"], 2),
        (["--page", "0"], 2),
        (["--variant", "label:Ann", "--invite", "eve@example.com"], 2),
        (["--min-time", "soon"], 2),
        (["--timeout", "soon"], 2),
    ],
)
def test_an_impossible_condition_fails_at_once(
    fake_readership: FakeReadership, api: FakeApi, shell: Shell, options: list[str], code: int
) -> None:
    assert run_wait(shell, *options, code=code) is None
    assert api.list_requests("GET", SESSIONS) == []


def test_a_revoked_link_and_a_hidden_page_exit_with_2(fake_readership: FakeReadership, shell: Shell) -> None:
    fake_readership.variants = [
        make_variant(ANN, "Ann", revoked=True), make_variant(BOB, "Bob", overrides={"pageRange": {"from": 1, "to": 2}}),
    ]  # fmt: skip
    assert run_wait(shell, "--variant", "label:Ann", code=2) is None
    done = shell("wait", FILE, "--variant", "label:Bob", "--page", "3")
    assert (done.code, "the link shows pages 1 to 2" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("answer", "code"),
    [(problem(401, "unauthorized"), 4), (problem(403, "forbidden"), 5), (problem(403, "plan_required"), 6),
     (problem(404, "not_found"), 3)],
)  # fmt: skip
def test_a_permanent_error_ends_the_wait(
    fake_readership: FakeReadership, api: FakeApi, shell: Shell, answer: FakeResponse, code: int
) -> None:
    api.on("GET", SESSIONS, answer)
    done = shell("wait", FILE)
    assert (done.code, done.out) == (code, "")
    assert ("Only the owner" in done.err) == (code == 5)


# --- polling ---------------------------------------------------------------------------------------------------------


def fail_session_requests(api: FakeApi, room: FakeReadership, *answers: FakeResponse) -> None:
    """Answer the first requests for sessions with ``answers``, and all later ones as usual."""
    api.on("GET", SESSIONS, *answers, room.list_sessions)


def test_temporary_failures_are_retried_and_reported_once_with_their_end(
    fake_readership: FakeReadership, api: FakeApi, shell: Shell, time: FakeTime
) -> None:
    fake_readership.sessions = [make_session(1)]
    fail_session_requests(
        api,
        fake_readership,
        problem(503, "unavailable"),
        FakeResponse(connection_action="drop"),
        FakeResponse(connection_action="reset"),
    )
    done = shell("wait", FILE)
    assert (done.code, len(time.waits)) == (0, 3)
    assert done.err.count("retrying") == 1
    assert "the server is responding again" in done.err


def test_a_failure_between_pages_loses_no_session(fake_readership: FakeReadership, api: FakeApi, shell: Shell) -> None:
    fake_readership.sessions = [make_session(number) for number in range(1, 102)] + [make_session(102, LONG)]
    api.on("GET", SESSIONS, fake_readership.list_sessions, problem(502, "bad_gateway"), fake_readership.list_sessions)
    assert run_wait(shell, "--page", "3") == 102


def test_retry_after_is_respected(fake_readership: FakeReadership, api: FakeApi, shell: Shell, time: FakeTime) -> None:
    fake_readership.sessions = [make_session(1)]
    fail_session_requests(api, fake_readership, problem(429, "rate_limited", Retry_After="23"))
    done = shell("wait", FILE)
    assert (done.code, time.waits) == (0, [23])
    assert "rate limited, waiting 23 s" in done.err


def test_a_server_that_stays_unreachable_exits_with_11(
    fake_readership: FakeReadership, api: FakeApi, shell: Shell, time: FakeTime
) -> None:
    api.on("GET", SESSIONS, problem(503, "unavailable"))
    done = shell("wait", FILE, "--give-up-after", "5m", "--timeout", "48h")
    assert (done.code, time.passed) == (11, 300)


@pytest.mark.parametrize("answer", [problem(503, "unavailable"), FakeResponse(connection_action="drop")])
def test_a_server_that_never_responded_before_the_timeout_exits_with_11(
    fake_readership: FakeReadership, api: FakeApi, shell: Shell, time: FakeTime, answer: FakeResponse
) -> None:
    api.on("GET", SESSIONS, answer)
    done = shell("wait", FILE, "--timeout", "1m", "--json")
    assert (done.code, done.out, time.passed) == (11, "", 60)
    assert done.error["detail"].startswith("could not reach the server before the timeout: ")


def test_a_server_that_becomes_unreachable_before_the_timeout_exits_with_124(
    fake_readership: FakeReadership, api: FakeApi, shell: Shell
) -> None:
    api.on("GET", SESSIONS, fake_readership.list_sessions, problem(503, "unavailable"))
    assert run_wait(shell, "--timeout", "1m", code=124) is None


@pytest.mark.parametrize("interval", ["0s", "100ms"])
def test_the_interval_is_at_least_one_second(
    fake_readership: FakeReadership, shell: Shell, time: FakeTime, interval: str
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    time.run_in_waits(None, None, interrupt)
    assert run_wait(shell, "--interval", interval, code=130) is None
    assert min(time.waits) >= 0.9  # one second, minus the jitter


def test_the_interval_grows_without_new_sessions_up_to_a_limit(
    fake_readership: FakeReadership, shell: Shell, time: FakeTime
) -> None:
    assert run_wait(shell, "--timeout", "1h", code=124) is None
    assert 1.8 <= time.waits[0] <= 3.3
    assert all(pause <= 16.5 for pause in time.waits)
    assert 200 < len(time.waits) < 300


def test_polling_stays_below_the_rate_limit(
    fake_readership: FakeReadership, api: FakeApi, shell: Shell, time: FakeTime
) -> None:
    tight = {"RateLimit": "limit=120, remaining=5, reset=60"}
    api.on("GET", SESSIONS, FakeResponse([], 200, tight))
    run_wait(shell, "--interval", "1s", "--timeout", "10m", code=124)
    assert min(time.waits[:5]) > 5


# --- output ----------------------------------------------------------------------------------------------------------


def run_on_one_session(room: FakeReadership, shell: Shell, *options: str) -> CommandResult:
    room.sessions = [make_session(1, LONG, variantUuid=ANN, country="D\x1bE")]
    return shell("wait", FILE, *options)


def test_a_pipe_gets_the_session_in_one_line(fake_readership: FakeReadership, shell: Shell) -> None:
    done = run_on_one_session(fake_readership, shell)
    assert done.lines == [
        "1\t00000000-0000-4000-8000-000000001001\t2026-09-21T14:13:21.000Z\t30000\t2\tD\\x1bE\tDesktop\tFirefox\tfalse"
        f'\t\t\tfalse\t{ANN}\t2\t[{{"page":1,"timeMs":5000}},{{"page":3,"timeMs":25000}}]'
    ]


def test_json_is_the_session_unchanged(fake_readership: FakeReadership, shell: Shell) -> None:
    done = run_on_one_session(fake_readership, shell, "--json")
    assert done.json == fake_readership.sessions[0]
    assert len(done.lines) == 1


def test_a_terminal_shows_the_reader(fake_readership: FakeReadership, shell: Shell) -> None:
    shell.tty = True
    done = run_on_one_session(fake_readership, shell, "--no-color")
    assert done.lines == ["variant Ann · read 2 pages in 30s · D\\x1bE · Desktop  00000000-0000-4000-8000-000000001001"]


def test_the_condition_is_printed_once(fake_readership: FakeReadership, shell: Shell) -> None:
    done = shell("wait", FILE, "--invite", "eve@example.com", "--page", "3", "--min-time", "20s", "--timeout", "1m")
    assert done.err.count("waiting until eve@example.com has read page 3 for 20s") == 1


def test_a_token_that_cannot_read_the_file_requires_any_version(
    fake_readership: FakeReadership, api: FakeApi, shell: Shell
) -> None:
    api.on("GET", PATH, problem(403, "insufficient_scope"))
    fake_readership.sessions = [make_session(1)]
    assert run_wait(shell, code=5) is None
    assert run_wait(shell, "--any-version") == 1
