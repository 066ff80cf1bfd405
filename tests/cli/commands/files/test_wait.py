"""``docshare files wait``: stop conditions, timeout and failures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from docshare.contract.wire import format_instant
from tests.support.engines.rows import update_file_row
from tests.support.outside.fake_api import BASE, UUID, FakeApi, FakeResponse, FakeTime, problem
from tests.support.people.cast import Person, World
from tests.support.shell import Shell

ID = "aB3dE5fG7hJ9"
PATH = f"/files/{ID}"


class FakeFile:
    """A file on the fake server, which a test changes during the wait."""

    def __init__(self, api: FakeApi) -> None:
        self.row: dict[str, Any] = {
            "uuid": UUID.format(1), "shortId": ID, "originalName": "deck.pdf", "size": 4096, "viewCount": 0,
            "createdAt": format_moment(0), "shareUrl": f"https://d.example/{ID}",
        }  # fmt: skip
        api.on("GET", PATH, lambda heard: self.row)


def format_moment(seconds: float) -> str:
    return format_instant(int((BASE + seconds) * 1000))


@pytest.fixture
def document(api: FakeApi) -> FakeFile:
    return FakeFile(api)


def test_the_wait_ends_when_the_number_of_views_is_reached(document: FakeFile, shell: Shell, time: FakeTime) -> None:
    time.run_in_waits(lambda: document.row.update(viewCount=1), lambda: document.row.update(viewCount=2))
    done = shell("files", "wait", ID, "--views", "2", "--json")
    assert (done.code, done.json, len(time.waits)) == (0, document.row, 2)


def test_a_condition_that_is_already_met_ends_at_once(document: FakeFile, shell: Shell, time: FakeTime) -> None:
    document.row["viewCount"] = 7
    assert shell("files", "wait", ID, "--views", "2").code == 0
    assert shell("files", "wait", ID, "--state", "live").code == 0
    assert time.waits == []


def test_ctrl_c_exits_with_130_without_an_error(document: FakeFile, shell: Shell, time: FakeTime) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    time.run_in_waits(None, interrupt)
    done = shell("files", "wait", ID, "--views", "2")
    assert (done.code, done.out, "interrupted" in done.err) == (130, "", False)


@pytest.mark.parametrize(
    ("state", "change"),
    [
        ("expired", {"deleteAt": format_moment(-1)}),
        ("burned", {"burnedAt": format_moment(0)}),
        ("burned", {"burnedAt": format_moment(0), "deleteAt": format_moment(-1)}),
    ],
)
def test_the_wait_ends_when_the_link_expires_or_burns(
    document: FakeFile, shell: Shell, time: FakeTime, state: str, change: dict[str, str]
) -> None:
    time.run_in_waits(lambda: document.row.update(change))
    assert (shell("files", "wait", ID, "--state", state).code, len(time.waits)) == (0, 1)


def test_the_wait_ends_when_the_clock_reaches_the_expiry(document: FakeFile, shell: Shell, time: FakeTime) -> None:
    document.row["deleteAt"] = format_moment(60)
    assert shell("files", "wait", ID, "--state", "expired", "--timeout", "5m").code == 0
    assert 60 <= time.passed < 90


def test_the_wait_ends_when_a_burned_link_is_live_again(document: FakeFile, shell: Shell, time: FakeTime) -> None:
    document.row["burnedAt"] = format_moment(0)
    time.run_in_waits(lambda: document.row.pop("burnedAt"))
    assert (shell("files", "wait", ID, "--state", "live").code, len(time.waits)) == (0, 1)


def test_the_state_gone_prints_the_last_known_file(
    document: FakeFile, api: FakeApi, shell: Shell, time: FakeTime
) -> None:
    time.run_in_waits(lambda: api.on("GET", PATH, problem(404, "not_found")))
    done = shell("files", "wait", ID, "--state", "gone", "--json")
    assert (done.code, done.json["originalName"]) == (0, "deck.pdf")


@pytest.mark.parametrize("goal", [["--state", "gone"], ["--state", "expired"], ["--views", "1"]])
def test_an_unknown_file_exits_with_3(shell: Shell, time: FakeTime, goal: list[str]) -> None:
    done = shell("files", "wait", ID, *goal)
    assert (done.code, done.out, time.waits) == (3, "", [])


def test_a_file_that_is_deleted_during_a_wait_for_another_condition_exits_with_3(
    document: FakeFile, api: FakeApi, shell: Shell, time: FakeTime
) -> None:
    time.run_in_waits(lambda: api.on("GET", PATH, problem(404, "not_found")))
    assert shell("files", "wait", ID, "--views", "1", "--timeout", "1h").code == 3


def test_a_timeout_exits_with_124(document: FakeFile, shell: Shell, time: FakeTime) -> None:
    done = shell("files", "wait", ID, "--views", "2", "--timeout", "5m")
    assert (done.code, done.out, time.passed) == (124, "", 300)
    assert done.err.splitlines()[-1] == "error: timed out after 5m: the file has fewer than 2 views"
    done = shell("files", "wait", ID, "--state", "burned", "--timeout", "5m")
    assert done.err.splitlines()[-1] == "error: timed out after 5m: the file is not burned"


def test_the_interval_is_respected_and_grows_while_nothing_happens(
    document: FakeFile, shell: Shell, time: FakeTime
) -> None:
    shell("files", "wait", ID, "--views", "2", "--timeout", "10m", "--interval", "5s")
    assert all(4.5 <= pause <= 16.5 for pause in time.waits[:-1])
    assert 36 <= len(time.waits) <= 60
    time.waits.clear()
    shell("files", "wait", ID, "--views", "2", "--timeout", "10s", "--interval", "0s")
    assert all(pause >= 0.9 for pause in time.waits[:-1])  # one second, minus the jitter


def test_temporary_failures_are_retried_and_reported(
    document: FakeFile, api: FakeApi, shell: Shell, time: FakeTime
) -> None:
    document.row["viewCount"] = 2
    api.on("GET", PATH, problem(503, "unavailable"), FakeResponse(connection_action="drop"), lambda heard: document.row)
    done = shell("files", "wait", ID, "--views", "2")
    assert (done.code, "the server is responding again" in done.err) == (0, True)


def test_a_server_that_stays_unreachable_exits_with_11(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    api.on("GET", PATH, problem(503, "unavailable"))
    assert shell("files", "wait", ID, "--views", "2", "--give-up-after", "3m").code == 11
    assert time.passed == 180


@pytest.mark.parametrize(
    "line",
    [
        [],
        ["--views", "0"],
        ["--state", "trashed"],
        ["--views", "1", "--state", "live"],
        ["--views", "1", "--timeout", "soon"],
    ],
    ids=" ".join,
)
def test_an_invalid_command_line_exits_with_2(document: FakeFile, api: FakeApi, shell: Shell, line: list[str]) -> None:
    done = shell("files", "wait", ID, *line)
    assert (done.code, done.out, api.requests) == (2, "", [])


def test_a_pipe_gets_the_row_of_the_list_and_a_terminal_the_details(document: FakeFile, shell: Shell) -> None:
    done = shell("files", "wait", ID, "--state", "live")
    assert done.out == f"{ID}\t{UUID.format(1)}\tdeck.pdf\t4096\t0\t{format_moment(0)}\t\t\n"
    assert shell("files", "wait", ID, "--state", "live", "--fields", "shareUrl").out == f"https://d.example/{ID}\n"
    shell.tty = True
    assert f"https://d.example/{ID}" in shell("files", "wait", ID, "--state", "live").out


def test_a_real_file_goes_through_its_states(
    shell_for: Callable[[Person], Shell], world: World, time: FakeTime
) -> None:
    shell, made = shell_for(world.pia), world.pia.upload()
    time.wall = world.clock.now / 1000

    def burn() -> None:
        update_file_row(world, made["uuid"], burned_at=world.clock.now)

    def trash() -> None:
        assert shell("rm", made["uuid"], "--yes").code == 0

    assert shell("files", "wait", made["shortId"], "--state", "live").code == 0
    time.run_in_waits(burn, trash)
    assert shell("files", "wait", made["shortId"], "--state", "burned", "--timeout", "1m").code == 0
    assert shell("files", "wait", made["shortId"], "--state", "gone", "--timeout", "1m").code == 0
