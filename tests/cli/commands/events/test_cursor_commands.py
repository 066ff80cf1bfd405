"""``docshare events cursor``: list, show, set, reset."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from docshare.cli.local.storage import hold_lock
from tests.cli.commands.events.event_tail import tail_ids
from tests.support.outside.fake_api import UUID, FakeApi
from tests.support.shell import CommandResult, Shell


def test_list_show_and_reset_work_on_saved_cursors(shell_with_cursor: Shell) -> None:
    tail_ids(shell_with_cursor, "--type", "all", "--cursor", "all", "--once")
    assert [each["name"] for each in shell_with_cursor("events", "cursor", "list", "--json").json] == ["all", "crm"]
    assert shell_with_cursor("events", "cursor", "show", "crm", "--json").json["cursor"] == 3
    assert shell_with_cursor("events", "cursor", "list").lines[1].split("\t")[:4] == ["crm", "view", "", "3"]
    assert shell_with_cursor("events", "cursor", "reset", "crm", "all").code == 0
    assert shell_with_cursor("events", "cursor", "list", "--json").json == []


def test_list_prints_a_table_on_a_terminal(shell_with_cursor: Shell) -> None:
    tail_ids(shell_with_cursor, "--type", "view,gate", "--cursor", "two", "--once")
    shell_with_cursor.tty = True
    head, *lines = shell_with_cursor("events", "cursor", "list", "--no-color").lines
    assert head.split()[:3] == ["NAME", "STREAM", "CURSOR"]
    assert "view:3 gate:start" in lines[1]


def test_an_unknown_cursor_exits_with_3(shell: Shell) -> None:
    assert shell("events", "cursor", "show", "nope").code == 3


def test_a_damaged_cursor_does_not_hide_the_others(shell_with_cursor: Shell) -> None:
    (shell_with_cursor.cursors / "bad.json").write_text("{")
    done = shell_with_cursor("events", "cursor", "list", "--json")
    assert [each["name"] for each in done.json] == ["crm"]
    assert "the cursor 'bad' is not a cursor file" in done.err


@pytest.mark.parametrize(
    ("position", "expected"), [("start", [2, 3]), ("2", [3]), ("3", []), ("now", []), ("0", [2, 3])]
)
def test_a_cursor_can_be_moved(shell_with_cursor: Shell, position: str, expected: list[int]) -> None:
    assert shell_with_cursor("events", "cursor", "set", "crm", position).code == 0
    assert tail_ids(shell_with_cursor, "--cursor", "crm", "--once") == expected


def test_a_cursor_can_be_created_before_the_first_tail(api: FakeApi, shell: Shell) -> None:
    api.add("gate", 2, 3)
    assert shell("events", "cursor", "set", "leads", "start", "--type", "gate").code == 0
    assert tail_ids(shell, "--cursor", "leads", "--type", "gate", "--once") == [2, 3]


def test_one_stream_of_several_can_be_moved(api: FakeApi, shell: Shell) -> None:
    api.add("view", 2, 3)
    api.add("download", 2, 3)
    tail_ids(shell, "--type", "view,download", "--cursor", "two", "--once")
    assert shell("events", "cursor", "set", "two", "2", "--type", "download").code == 0
    assert shell.read_cursor("two")["cursor"] == {"view": 3, "download": 2}


@pytest.mark.parametrize("words", [
    ("two", "5"), ("two", "soon"), ("two", "5", "--type", "gate"), ("two", "2147483648", "--type", "view"),
    ("two", "5", "--type", "view", "--file", UUID.format(1)), ("a/b", "5"), ("new", "5", "--type", "all"),
])  # fmt: skip
def test_an_invalid_position_exits_with_2(shell: Shell, words: tuple[str, ...]) -> None:
    tail_ids(shell, "--type", "view,download", "--cursor", "two", "--once")
    before = shell.read_cursor("two")
    assert shell("events", "cursor", "set", *words).code == 2
    assert shell.read_cursor("two") == before


@pytest.mark.parametrize("act", [("set", "crm", "start"), ("reset", "crm")])
def test_a_cursor_in_use_is_not_changed(shell_with_cursor: Shell, act: tuple[str, ...]) -> None:
    with hold_lock(shell_with_cursor.cursors / ".crm.json.lock"):
        assert shell_with_cursor("events", "cursor", *act).code == 7
    assert shell_with_cursor.read_cursor("crm")["cursor"] == 3


def test_setting_a_cursor_needs_no_server(shell: Shell) -> None:
    shell.env["DOCSHARE_URL"] = "http://127.0.0.1:9"
    run: Callable[..., CommandResult] = shell
    assert run("events", "cursor", "set", "crm", "17").code == 0
    assert shell.read_cursor("crm")["cursor"] == 17
