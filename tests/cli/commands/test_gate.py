"""``docshare gate list`` and ``tail``: the gate stream with its own path."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.support.engines.rows import insert_gate_response
from tests.support.outside.fake_api import UUID, FakeApi, FakeTime, problem, row
from tests.support.shell import Shell

if TYPE_CHECKING:
    from tests.support.people.cast import Person, World


def tail_ids(shell: Shell, *options: str, code: int = 0) -> list[int]:
    done = shell("gate", "tail", *options, "--json")
    assert done.code == code, done.err
    return [each["id"] for each in done.rows]


def list_requested_paths(api: FakeApi) -> set[str]:
    return {heard.path for heard in api.requests}


@pytest.mark.parametrize(("options", "expected"), [
    ((), list(range(251, 201, -1))),
    (("-n", "2", "--oldest-first"), [250, 251]),
    (("--all",), list(range(251, 1, -1))),
    (("--since", "249"), [250, 251]),
])  # fmt: skip
def test_list_options_select_rows_as_in_events_list(
    api: FakeApi, shell: Shell, options: tuple[str, ...], expected: list[int]
) -> None:
    api.add("gate", *range(2, 252))
    done = shell("gate", "list", *options, "--json")
    assert [each["id"] for each in done.json] == expected
    assert list_requested_paths(api) == {"/gate-responses"}


def test_tail_prints_new_responses(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    waiting = [lambda: api.rows["gate"].append(row("gate", 2**53 + 1, 5))]
    time.on_sleep = lambda seconds: waiting.pop()() if waiting else None
    assert tail_ids(shell, "--count", "1") == [2**53 + 1]
    assert list_requested_paths(api) == {"/gate-responses"}


def test_a_cursor_is_shared_with_events_tail(api: FakeApi, shell: Shell) -> None:
    api.add("gate", 2, 3)
    assert tail_ids(shell, "--cursor", "leads", "--from", "start", "--once") == [2, 3]
    api.add("gate", 4)
    done = shell("events", "tail", "--type", "gate", "--cursor", "leads", "--once", "--json")
    assert [each["id"] for each in done.rows] == [4]
    assert tail_ids(shell, "--cursor", "leads", "--once") == []


def test_a_pipe_gets_the_columns_of_the_feed(api: FakeApi, shell: Shell) -> None:
    api.add("gate", 2)
    for command in (("list",), ("tail", "--from", "start", "--once")):
        assert shell("gate", *command).lines == [
            f'gate\t2\t2026-09-21T14:13:22.000Z\t{UUID.format(1)}\tdeck.pdf\t\t\t\t{{"email":"ann@example.com"}}'
        ]


def test_a_terminal_shows_each_response_in_one_line(api: FakeApi, shell: Shell) -> None:
    api.rows["gate"] = [row("gate", 2, fields={"email": "ann@example.com", "company": "ACME"})]
    shell.tty = True
    (line,) = shell("gate", "tail", "--once").lines
    assert line.split("  ")[1:] == ["gate", "deck.pdf", "email=ann@example.com company=ACME", "#2"]


@pytest.mark.parametrize("command", [("list",), ("tail", "--once", "--from", "start")])
def test_the_gate_stream_without_pro_exits_with_6(api: FakeApi, shell: Shell, command: tuple[str, ...]) -> None:
    api.is_gate_allowed = False
    done = shell("gate", *command, "--json")
    assert (done.code, done.out, done.error["code"]) == (6, "", "plan_required")


@pytest.mark.parametrize("command", ["list", "tail"])
def test_an_unknown_file_exits_with_3(api: FakeApi, shell: Shell, command: str) -> None:
    assert shell("gate", command, "--file", "zzzzzzzzzzz9").code == 3


@pytest.mark.parametrize("options", [("--type", "view"), ("--kind", "note.created"), ("--require-all",)])
@pytest.mark.parametrize("command", ["list", "tail"])
def test_options_that_select_a_stream_are_rejected(
    api: FakeApi, shell: Shell, command: str, options: tuple[str, ...]
) -> None:
    assert shell("gate", command, *options).code == 2
    assert api.requests == []


def test_a_failure_has_its_exit_code(api: FakeApi, shell: Shell) -> None:
    api.before_page = lambda: problem(401, "unauthorized")
    assert tail_ids(shell, code=4) == []


def test_tail_and_list_print_the_responses_of_a_real_server(shell_for: Callable[[Person], Shell], world: World) -> None:
    shell = shell_for(world.pia)
    uuid = world.pia.upload(name="deck.pdf")["uuid"]
    first = insert_gate_response(world, uuid, {"email": "ann@example.com"})
    assert [each["id"] for each in shell("gate", "list", "--json").json] == [first]
    assert tail_ids(shell, "--cursor", "leads", "--once") == []
    second = insert_gate_response(world, uuid, {"email": "bob@example.com"})
    assert tail_ids(shell, "--cursor", "leads", "--once") == [second]
    assert shell_for(world.fay)("gate", "list").code == 6
