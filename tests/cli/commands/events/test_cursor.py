"""Cursors of ``docshare events tail``: where a tail resumes, also after a crash, and which cursors are rejected."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from docshare.cli.local.storage import hold_lock
from tests.cli.commands.events.event_tail import tail_ids
from tests.support.outside.fake_api import UUID, FakeApi, fake_api, problem, row
from tests.support.shell import CommandResult, Shell

FILE = {"uuid": UUID.format(1), "shortId": "aB3dE5fG7hJ9", "originalName": "deck.pdf"}


def get_error_detail(shell: Shell, *options: str | Path) -> str:
    done: CommandResult = shell("events", "tail", "--once", *options, "--json")
    assert (done.code, done.out) == (2, ""), done.err
    return str(done.error["detail"])


# --- resuming --------------------------------------------------------------------------------------------------------


def test_the_next_tail_resumes_where_the_last_one_ended(api: FakeApi, shell: Shell) -> None:
    api.add("view", 2, 3)
    assert tail_ids(shell, "--cursor", "crm", "--once") == []
    api.add("view", 4, 5)
    assert tail_ids(shell, "--cursor", "crm", "--once") == [4, 5]
    assert tail_ids(shell, "--cursor", "crm", "--once") == []


def test_rows_added_to_an_empty_stream_between_two_runs_are_not_lost(api: FakeApi, shell: Shell) -> None:
    assert tail_ids(shell, "--cursor", "crm", "--once") == []
    api.add("view", *range(2, 152))
    assert tail_ids(shell, "--cursor", "crm", "--once") == list(range(2, 152))


def test_the_cursor_file_records_server_account_and_stream(api: FakeApi, shell: Shell) -> None:
    api.add("view", 2, 3)
    tail_ids(shell, "--cursor", "crm", "--from", "start", "--once")
    assert shell.read_cursor("crm") == {
        "v": 1, "origin": api.url, "account": UUID.format(9), "stream": "view", "file": None, "cursor": 3,
        "recent": [2, 3], "updatedAt": "2026-09-21T14:13:20.000Z",
    }  # fmt: skip
    assert (shell.cursors / "crm.json").stat().st_mode & 0o777 == 0o600


def test_a_cursor_of_several_streams_stores_a_position_for_each(api: FakeApi, shell: Shell) -> None:
    api.add("view", 2, 3)
    api.add("gate", 7)
    tail_ids(shell, "--type", "all", "--cursor", "crm", "--from", "start", "--once")
    assert shell.read_cursor("crm")["cursor"] == {"view": 3, "download": None, "gate": 7}
    api.add("download", 2)
    api.add("gate", 8)
    done = shell("events", "tail", "--type", "all", "--cursor", "crm", "--once", "--json")
    assert [(each["type"], each["id"]) for each in done.rows] == [("download", 2), ("gate", 8)]


def test_a_stream_that_is_added_later_starts_at_that_time(api: FakeApi, shell: Shell) -> None:
    """The account is upgraded to Pro between two runs."""
    api.is_gate_allowed = False
    api.add("view", 2)
    api.add("gate", 2)
    tail_ids(shell, "--type", "all", "--cursor", "crm", "--once")
    api.is_gate_allowed = True
    api.add("view", 3)
    assert tail_ids(shell, "--type", "all", "--cursor", "crm", "--once") == [3]
    api.add("gate", 3)
    assert tail_ids(shell, "--type", "all", "--cursor", "crm", "--once") == [3]


def test_count_leaves_the_cursor_at_the_last_printed_row(api: FakeApi, shell: Shell) -> None:
    api.add("view", *range(2, 12))
    assert tail_ids(shell, "--cursor", "crm", "--from", "start", "--count", "3") == [2, 3, 4]
    assert tail_ids(shell, "--cursor", "crm", "--once") == list(range(5, 12))


def test_from_overrides_the_saved_position(api: FakeApi, shell: Shell) -> None:
    api.add("view", 2, 3)
    tail_ids(shell, "--cursor", "crm", "--once")
    assert tail_ids(shell, "--cursor", "crm", "--from", "2", "--once") == [3]


def test_reset_discards_the_saved_position(api: FakeApi, shell: Shell) -> None:
    tail_ids(shell, "--cursor", "crm", "--once")
    api.add("view", 2, 3)
    assert tail_ids(shell, "--cursor", "crm", "--reset", "--once") == []
    assert shell.read_cursor("crm")["cursor"] == 3


def test_a_cursor_file_can_be_anywhere(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    api.add("view", 2)
    path = tmp_path / "mine.json"
    assert tail_ids(shell, "--cursor-file", path, "--from", "start", "--once") == [2]
    assert json.loads(path.read_text())["cursor"] == 2
    assert tail_ids(shell, "--cursor-file", path, "--once") == []


def test_no_position_is_saved_without_a_cursor_name(api: FakeApi, shell: Shell) -> None:
    tail_ids(shell, "--once")
    tail_ids(shell, "--once", "--no-cursor")
    assert not shell.cursors.exists()


def test_rows_printed_before_a_failure_are_not_printed_again(api: FakeApi, shell: Shell) -> None:
    api.add("view", *range(2, 202))
    asked: list[None] = []

    def fail_second_page() -> Any:
        asked.append(None)
        return problem(401, "unauthorized") if len(asked) == 3 else None

    tail_ids(shell, "--cursor", "crm", "--from", "2", "--count", "1")
    asked.clear()
    api.before_page = fail_second_page
    done = shell("events", "tail", "--cursor", "crm", "--once", "--json")
    assert (done.code, len(done.rows)) == (4, 198)
    assert shell.read_cursor("crm")["cursor"] == 201


def test_a_closed_pipe_loses_no_row(api: FakeApi, shell: Shell) -> None:
    api.add("view", *range(2, 12))

    def break_pipe_at_third_row(text: str) -> None:
        if '"id":4' in text:
            raise BrokenPipeError

    shell.written = break_pipe_at_third_row
    done = shell("events", "tail", "--cursor", "crm", "--from", "start", "--once", "--json")
    assert done.code == 141
    shell.written = lambda text: None
    assert tail_ids(shell, "--cursor", "crm", "--once") == list(range(4, 12))


# --- late rows -------------------------------------------------------------------------------------------------------


def test_overlap_finds_a_row_that_was_committed_late(api: FakeApi, shell: Shell) -> None:
    api.add("view", 2, 3, 5)
    assert tail_ids(shell, "--cursor", "crm", "--from", "start", "--once") == [2, 3, 5]
    api.rows["view"] += [row("view", 4), row("view", 6)]
    assert tail_ids(shell, "--cursor", "crm", "--overlap", "10", "--once") == [4, 6]
    assert tail_ids(shell, "--cursor", "crm", "--overlap", "10", "--once") == []


def test_only_rows_after_the_cursor_are_read_without_overlap(api: FakeApi, shell: Shell) -> None:
    api.add("view", 2, 3, 5)
    tail_ids(shell, "--cursor", "crm", "--from", "start", "--once")
    api.rows["view"] += [row("view", 4), row("view", 6)]
    assert tail_ids(shell, "--cursor", "crm", "--once") == [6]


def test_overlap_prints_no_rows_from_before_the_first_tail(api: FakeApi, shell: Shell) -> None:
    api.add("view", *range(2, 52))
    assert tail_ids(shell, "--cursor", "crm", "--overlap", "20", "--once") == []
    assert tail_ids(shell, "--cursor", "crm", "--overlap", "100", "--once") == []


def test_overlap_finds_late_rows_just_before_the_start(api: FakeApi, shell: Shell) -> None:
    api.add("view", 2, 3, 5)
    tail_ids(shell, "--cursor", "crm", "--overlap", "20", "--once")
    api.rows["view"] += [row("view", 4)]
    assert tail_ids(shell, "--cursor", "crm", "--overlap", "20", "--once") == [4]


def test_only_the_last_hundred_ids_are_stored(api: FakeApi, shell: Shell) -> None:
    api.add("view", *range(2, 302))
    tail_ids(shell, "--cursor", "crm", "--from", "start", "--once")
    assert shell.read_cursor("crm")["recent"] == list(range(202, 302))


# --- rejected cursors ------------------------------------------------------------------------------------------------


def test_a_cursor_is_rejected_for_another_stream(shell_with_cursor: Shell) -> None:
    assert "is for the stream view, not for download" in get_error_detail(
        shell_with_cursor, "--cursor", "crm", "--type", "download"
    )


def test_a_cursor_is_rejected_for_another_file(api: FakeApi, shell_with_cursor: Shell) -> None:
    api.on("GET", "/files/aB3dE5fG7hJ9", FILE)
    why = get_error_detail(shell_with_cursor, "--cursor", "crm", "--file", "aB3dE5fG7hJ9")
    assert f"is for all files, not for the file {UUID.format(1)}" in why


def test_a_cursor_is_rejected_on_another_server(shell_with_cursor: Shell) -> None:
    with fake_api() as other:
        shell_with_cursor.env["DOCSHARE_URL"] = other.url
        assert (
            f"belongs to http://127.0.0.1:{shell_with_cursor.read_cursor('crm')['origin'].rpartition(':')[2]}"
            in get_error_detail(shell_with_cursor, "--cursor", "crm")
        )


def test_a_cursor_is_rejected_for_another_account(api: FakeApi, shell_with_cursor: Shell) -> None:
    api.on("GET", "/user", {"uuid": UUID.format(8)})
    assert "belongs to the account" in get_error_detail(shell_with_cursor, "--cursor", "crm")


def test_a_credential_without_the_profile_scope_can_use_a_cursor(api: FakeApi, shell_with_cursor: Shell) -> None:
    api.on("GET", "/user", problem(403, "insufficient_scope"))
    api.add("view", 4)
    assert tail_ids(shell_with_cursor, "--cursor", "crm", "--once") == [4]
    assert shell_with_cursor.read_cursor("crm")["account"] == UUID.format(9)


def test_reset_moves_a_cursor_to_another_stream(shell_with_cursor: Shell) -> None:
    assert tail_ids(shell_with_cursor, "--cursor", "crm", "--type", "download", "--reset", "--once") == []
    assert shell_with_cursor.read_cursor("crm")["stream"] == "download"


@pytest.mark.parametrize(("stream", "cursor"), [("view", 2**31), ("download", 2**40), ("gate", 2**63)])
def test_a_cursor_beyond_the_ids_of_the_stream_is_rejected(
    api: FakeApi, shell: Shell, stream: str, cursor: int
) -> None:
    api.add(stream, 2)
    tail_ids(shell, "--cursor", "crm", "--type", stream, "--once")
    path = shell.cursors / "crm.json"
    path.write_text(json.dumps({**shell.read_cursor("crm"), "cursor": cursor}))
    assert f"contains an id that the {stream} stream cannot have" in get_error_detail(
        shell, "--cursor", "crm", "--type", stream
    )


@pytest.mark.parametrize("text", [
    "", "{", "[]", "null", '{"v": 1}', "[" * 50_000,
    json.dumps({"v": 2, "origin": "x", "account": None, "stream": "view", "file": None, "cursor": 1, "recent": [],
                "updatedAt": ""}),
    json.dumps({"v": 1, "origin": "x", "account": None, "stream": "view", "file": None, "cursor": "1", "recent": [],
                "updatedAt": ""}),
    json.dumps({"v": 1, "origin": "x", "account": None, "stream": "views", "file": None, "cursor": 1, "recent": [],
                "updatedAt": ""}),
])  # fmt: skip
def test_a_file_that_is_not_a_cursor_is_rejected_and_not_changed(shell: Shell, tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.json"
    path.write_text(text)
    assert "is not a cursor file" in get_error_detail(shell, "--cursor-file", path)
    assert path.read_text() == text


def test_two_tails_cannot_share_a_cursor(shell_with_cursor: Shell) -> None:
    lock = shell_with_cursor.cursors / ".crm.json.lock"
    with hold_lock(lock) as mine:
        assert mine
        lock.write_text("4711\n")
        done = shell_with_cursor("events", "tail", "--cursor", "crm", "--once", "--json")
    assert (done.code, done.out) == (7, "")
    assert done.error["detail"] == "the cursor 'crm' is in use by process 4711"


# --- crashes ---------------------------------------------------------------------------------------------------------

KILLED_BETWEEN_FLUSH_AND_SAVE = """
import os, signal, sys
from docshare.cli.commands.events import cursor_files
save = cursor_files.CursorFile.save
def killed(self, cursor, now):
    if cursor.at["view"] and cursor.at["view"] >= 5:
        os.kill(os.getpid(), signal.SIGKILL)
    save(self, cursor, now)
cursor_files.CursorFile.save = killed
from docshare.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_crash_between_flush_and_save_may_repeat_rows_but_loses_none(api: FakeApi, shell: Shell) -> None:
    api.add("view", 2, 3, 4)
    tail_ids(shell, "--cursor", "crm", "--from", "start", "--once")
    api.add("view", 5, 6)
    command = [
        sys.executable,
        "-c",
        KILLED_BETWEEN_FLUSH_AND_SAVE,
        "events",
        "tail",
        "--cursor",
        "crm",
        "--once",
        "--json",
    ]
    killed = subprocess.run(command, capture_output=True, env={**os.environ, **shell.env}, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [json.loads(line)["id"] for line in killed.stdout.splitlines()] == [5, 6]
    assert shell.read_cursor("crm")["cursor"] == 4
    assert tail_ids(shell, "--cursor", "crm", "--once") == [5, 6]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_tail_after_saving_the_cursor(
    api: FakeApi, shell: Shell, number: signal.Signals, code: int
) -> None:
    api.add("view", 2, 3)
    env = {**os.environ, **shell.env}
    command = [sys.executable, "-m", "docshare", "events", "tail", "--cursor", "crm", "--from", "start", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        shown = [json.loads(process.stdout.readline())["id"] for _ in range(2)]
        assert b"following" in process.stderr.readline()
        process.send_signal(number)
        assert process.wait(20) == code
    assert shown == [2, 3]
    assert shell.read_cursor("crm")["cursor"] == 3
