"""``docshare events list`` and ``tail`` with ``--type activity``: the feed of all kinds of events."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from docshare.cli.reference.tree import load_tree
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.fake_api import UUID, FakeApi, FakeTime, problem, row
from tests.support.shell import CommandResult, Shell

if TYPE_CHECKING:
    from tests.support.people.cast import Person, World

FILE = {"uuid": UUID.format(1), "shortId": "aB3dE5fG7hJ9", "originalName": "deck.pdf"}
LIST = ("events", "list", "--type", "activity")
TAIL = ("events", "tail", "--type", "activity")


def append_event(api: FakeApi, number: int, event: str, **data: Any) -> None:
    api.rows["activity"].append(row("activity", number, event=event, data=data))


def get_row_ids(done: CommandResult) -> list[int]:
    assert done.code == 0, done.err
    return [each["id"] for each in done.rows]


def list_ids(shell: Shell, *options: str) -> list[int]:
    done = shell(*LIST, *options, "--json")
    assert done.code == 0, done.err
    return [each["id"] for each in done.json]


# --- selection -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("options", "expected"), [
    (("-n", "3"), [251, 250, 249]),
    (("-n", "3", "--oldest-first"), [249, 250, 251]),
    (("--all",), list(range(251, 1, -1))),
    (("--since", "247"), [248, 249, 250, 251]),
    (("--since", "10s"), [251, 250, 249, 248, 247, 246, 245, 244, 243, 242]),
])  # fmt: skip
def test_list_options_select_rows_as_in_any_feed(
    api: FakeApi, shell: Shell, time: FakeTime, options: tuple[str, ...], expected: list[int]
) -> None:
    api.add("activity", *range(2, 252))
    time.wall += 252
    assert list_ids(shell, *options) == expected


@pytest.mark.parametrize(("kinds", "expected"), [
    (["note.created"], [5, 2]),
    (["access.denied, note.created"], [5, 4, 2]),
    (["access.denied", "note.created"], [5, 4, 2]),
    (["file.burned"], []),
])  # fmt: skip
def test_kind_filters_the_rows(api: FakeApi, shell: Shell, kinds: list[str], expected: list[int]) -> None:
    for number, event in enumerate(("note.created", "file.viewed", "access.denied", "note.created"), 2):
        append_event(api, number, event)
    assert list_ids(shell, *(word for kind in kinds for word in ("--kind", kind))) == expected


def test_file_resolves_the_file_and_filters_the_rows(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "/files/aB3dE5fG7hJ9", FILE)
    append_event(api, 2, "file.viewed")
    append_event(api, 3, "file.viewed", fileUuid=UUID.format(2))
    assert list_ids(shell, "--file", "aB3dE5fG7hJ9") == [2]
    assert shell(*LIST, "--file", "zzzzzzzzzzz9").code == 3


@pytest.mark.parametrize("options", [
    ("--type", "activity,view"), ("--type", "all,activity"), ("--type", "gate,activity"),
    ("--kind", "note.created"), ("--type", "all", "--kind", "note.created"),
    ("--type", "activity", "--kind", "note"), ("--type", "activity", "--kind", "note.created,"),
    ("--type", "activity", "--kind", ""), ("--type", "activity", "--kind", "webhook.test"),
])  # fmt: skip
@pytest.mark.parametrize("command", ["list", "tail"])
def test_conflicting_options_exit_with_2_before_any_request(
    api: FakeApi, shell: Shell, command: str, options: tuple[str, ...]
) -> None:
    done = shell("events", command, *options)
    assert (done.code, done.out) == (2, "")
    assert api.requests == []


@pytest.mark.parametrize("command", ["list", "tail"])
def test_a_server_without_the_feed_exits_with_3_and_a_hint(api: FakeApi, shell: Shell, command: str) -> None:
    api.on("GET", "/activity", problem(404, "not_found", "Not found."))
    done = shell("events", command, "--type", "activity", "--json")
    assert (done.code, done.out) == (3, "")
    assert done.error["detail"] == f"{api.url} has no activity feed"
    assert "--type all" in done.error["hint"]


@pytest.mark.parametrize(("status", "code", "exit_code"), [(401, "unauthorized", 4), (403, "insufficient_scope", 5)])
def test_any_other_error_response_is_reported_unchanged(
    api: FakeApi, shell: Shell, status: int, code: str, exit_code: int
) -> None:
    api.on("GET", "/activity", problem(status, code))
    done = shell(*TAIL, "--json")
    assert (done.code, done.error["code"]) == (exit_code, code)


# --- output ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("event", "data", "words"), [
    ("file.viewed", {"pagesViewed": 3, "timeMs": 102_000, "sessionId": UUID.format(5)}, "3 pages  1m 42s"),
    ("file.viewed", {"pagesViewed": 1, "timeMs": 0, "sessionId": UUID.format(5), "variantUuid": UUID.format(6),
                     "variantLabel": "Ann Lee"}, "1 page  0s  variant Ann Lee"),
    ("file.downloaded", {}, ""),
    ("file.downloaded", {"variantUuid": UUID.format(6)}, "variant"),
    ("gate.completed", {"source": "form", "email": "a@b.example", "fields": {"email": "a@b.example", "firm": "ACME"}},
     "email=a@b.example firm=ACME"),
    ("gate.completed", {"source": "email", "email": "a@b.example"}, "email=a@b.example"),
    ("note.created", {"author": "Ada", "body": "Typo", "pageNumber": 3}, "Ada on page 3: Typo"),
    ("note.created", {"author": "Ada", "body": "two\nlines"}, "Ada: two\\nlines"),
    ("receipt.confirmed", {"name": "Ada"}, "by Ada"),
    ("file.burned", {}, "last view used, document deleted"),
    ("content.replaced", {"contentVersion": 4}, "version 4"),
    ("invite.viewed", {"email": "ann@b.example", "name": "Ann Lee"}, "Ann Lee <ann@b.example>"),
    ("invite.viewed", {"email": "ann@b.example", "name": ""}, "<ann@b.example>"),
    ("proofing.updated", {"kind": "mark", "pageNumber": 2, "viewer": "Reader 7F3A"},
     "first mark by Reader 7F3A on page 2"),
    ("access.denied", {"reason": "password", "count": 3}, "wrong password  3 times"),
    ("access.denied", {"reason": "revoked", "count": 1}, "link revoked"),
    ("access.denied", {"reason": "tomorrow", "count": 2}, "tomorrow  2 times"),
    ("future.kind", {"zebra": 1, "apple": None}, "zebra=1  apple="),
])  # fmt: skip
def test_tail_prints_a_readable_line_on_a_terminal(
    api: FakeApi, shell: Shell, event: str, data: dict[str, Any], words: str
) -> None:
    api.rows["activity"] = [
        {"id": 2, "event": event, "timestamp": "2026-09-21T14:13:22.000Z",
         "data": {"fileUuid": UUID.format(1), "fileName": "deck.pdf", **data}},
    ]  # fmt: skip
    shell.tty = True
    (line,) = shell(*TAIL, "--once").lines
    clock, rest = line[:8], line[8:]
    assert (clock[2], clock[5]) == (":", ":")
    said = f"{words}  " if words else ""
    assert rest == f"  {event:<17}  deck.pdf  {said}#2"


@pytest.mark.parametrize("data", [None, [], "x", {}, {"pagesViewed": "many", "timeMs": {}, "fileName": 7}])
@pytest.mark.parametrize("event", ["file.viewed", "note.created", "gate.completed", "access.denied", None])
def test_malformed_rows_are_still_printed(api: FakeApi, shell: Shell, event: str | None, data: object) -> None:
    api.rows["activity"] = [{"id": 2, "event": event, "data": data}]
    shell.tty = True
    assert shell(*TAIL, "--once").lines[-1].endswith("#2")
    assert shell(*LIST).code == 0


def test_text_of_a_reader_is_escaped_and_truncated_on_a_terminal(api: FakeApi, shell: Shell) -> None:
    append_event(api, 2, "note.created", author="\x1b[31mEve", body="\x1b[2J" + "x" * 5000)
    shell.tty = True
    (line,) = shell(*TAIL, "--once", "--no-color").lines
    assert "\x1b" not in line
    assert "\\x1b[31mEve: \\x1b[2Jxxx" in line
    assert len(line) < 260


def test_list_prints_a_table_on_a_terminal(api: FakeApi, shell: Shell) -> None:
    append_event(api, 2, "access.denied", reason="domain", count=2)
    shell.tty = True
    head, line = shell(*LIST, "--no-color").lines
    assert head.split() == ["WHEN", "EVENT", "FILE", "DETAILS", "ID"]
    assert line.split("  ")[1:] == ["access.denied", "deck.pdf", "email domain not allowed", "2 times", "2"]


@pytest.mark.parametrize("command", [LIST, (*TAIL, "--from", "start", "--once")])
def test_a_pipe_gets_tab_separated_values_in_a_fixed_order(
    api: FakeApi, shell: Shell, command: tuple[str, ...]
) -> None:
    append_event(api, 2, "note.created", author="A\tB", body="ü")
    data = f'{{"fileUuid":"{UUID.format(1)}","fileName":"deck.pdf","author":"A\\tB","body":"ü"}}'
    assert shell(*command).lines == [f"2\tnote.created\t2026-09-21T14:13:22.000Z\t{UUID.format(1)}\tdeck.pdf\t{data}"]


def test_csv_names_its_columns(api: FakeApi, shell: Shell) -> None:
    append_event(api, 2, "receipt.confirmed", name="=1+1")
    table = list(csv.reader(io.StringIO(shell(*LIST, "--format", "csv").out)))
    assert table[0] == ["id", "event", "timestamp", "data.fileUuid", "data.fileName", "data"]
    assert json.loads(table[1][5])["name"] == "=1+1"


def test_json_rows_are_untouched(api: FakeApi, shell: Shell) -> None:
    api.rows["activity"] = [row("activity", 2**60, 5, data={"zebra": {"b": None, "a": [1.0]}})]
    done = shell(*TAIL, "--from", "start", "--once", "--json")
    assert done.out == json.dumps(api.rows["activity"][0], separators=(",", ":")) + "\n"


def test_fields_can_select_nested_data(api: FakeApi, shell: Shell) -> None:
    append_event(api, 2, "note.created", author="Ada", body="Typo")
    assert shell(*LIST, "--fields", "event,data.author").lines == ["note.created\tAda"]
    assert shell(*LIST, "--fields", "country").code == 2
    assert shell("events", "list", "--fields", "data.author").code == 2


# --- the cursor ------------------------------------------------------------------------------------------------------


def test_one_cursor_covers_all_kinds(api: FakeApi, shell: Shell) -> None:
    append_event(api, 2, "file.viewed")
    assert get_row_ids(shell(*TAIL, "--cursor", "all", "--from", "start", "--once", "--json")) == [2]
    append_event(api, 3, "note.created")
    append_event(api, 4, "file.viewed")
    assert get_row_ids(shell(*TAIL, "--cursor", "all", "--once", "--json")) == [3, 4]
    kept = shell.read_cursor("all")
    assert (kept["stream"], kept["cursor"], kept["recent"], "kinds" in kept) == ("activity", 4, [2, 3, 4], False)


def test_a_cursor_for_some_kinds_is_rejected_for_others(api: FakeApi, shell: Shell) -> None:
    append_event(api, 2, "note.created")
    notes = ("--kind", "note.created", "--cursor", "notes", "--once", "--json")
    assert get_row_ids(shell(*TAIL, *notes, "--from", "start")) == [2]
    assert shell.read_cursor("notes")["kinds"] == ["note.created"]
    done = shell(*TAIL, "--cursor", "notes", "--once", "--json")
    assert done.code == 2
    assert done.error["detail"].endswith("it is for note.created, not for all kinds")
    assert get_row_ids(shell(*TAIL, *notes)) == []


def test_a_cursor_for_activity_is_rejected_for_views(api: FakeApi, shell: Shell) -> None:
    shell(*TAIL, "--cursor", "all", "--once")
    done = shell("events", "tail", "--cursor", "all", "--once", "--json")
    assert done.code == 2
    assert "is for the stream activity, not for view" in done.error["detail"]


def test_a_cursor_can_be_created_and_moved_with_set(api: FakeApi, shell: Shell) -> None:
    for number, event in enumerate(("note.created", "file.viewed", "note.created"), 2):
        append_event(api, number, event)
    made = shell("events", "cursor", "set", "notes", "now", "--type", "activity", "--kind", "note.created")
    assert (made.code, shell.read_cursor("notes")["cursor"]) == (0, 4)
    assert shell("events", "cursor", "set", "notes", "2").code == 0
    assert get_row_ids(shell(*TAIL, "--kind", "note.created", "--cursor", "notes", "--once", "--json")) == [4]
    changed = shell("events", "cursor", "set", "notes", "2", "--type", "activity", "--kind", "file.viewed")
    assert (changed.code, "choice of kinds cannot be changed" in changed.err) == (2, True)


def test_until_match_stops_after_the_first_matching_event(api: FakeApi, shell: Shell) -> None:
    for number, event in enumerate(("file.viewed", "access.denied", "file.viewed"), 2):
        append_event(api, number, event, reason="password", count=4)
    options = ("--from", "start", "--until-match", "event == 'access.denied' && data.count > `3`", "--json")
    assert get_row_ids(shell(*TAIL, *options)) == [2, 3]


def test_the_cursor_does_not_advance_past_an_event_whose_command_failed(api: FakeApi, shell: Shell) -> None:
    append_event(api, 2, "note.created")
    done = shell(*TAIL, "--cursor", "all", "--from", "start", "--once", "--exec", "false", "--json")
    assert (done.code, done.out) == (12, "")
    assert done.error["detail"] == "the --exec command exited with 1 for row 2 of the activity stream"
    assert get_row_ids(shell(*TAIL, "--cursor", "all", "--once", "--json")) == [2]


def test_a_cursor_beyond_64_bits_is_rejected(api: FakeApi, shell: Shell) -> None:
    assert shell(*TAIL, "--from", str(2**63)).code == 2


def test_the_shell_completes_types_and_kinds() -> None:
    tails = [command for command in load_tree().walk() if command.path == ("events", "tail")]
    words = {option.names[0]: option.value.words for option in tails[0].options if option.value is not None}
    assert words["--type"] == ("view", "download", "gate", "activity", "all")
    assert words["--kind"] == (
        "file.viewed", "file.downloaded", "gate.completed", "note.created", "receipt.confirmed", "file.burned",
        "content.replaced", "invite.viewed", "proofing.updated", "access.denied",
    )  # fmt: skip


# --- a real server ---------------------------------------------------------------------------------------------------


def test_tail_and_list_print_the_events_of_a_real_server(
    shell_for: Callable[[Person], Shell], world: World, tmp_path: Path
) -> None:
    other_deck = tmp_path / "other.pdf"
    other_deck.write_bytes(simple_pdf(pages=1))
    shell = shell_for(world.pia)
    follow = (*TAIL, "--cursor", "all", "--once", "--json")
    assert get_row_ids(shell(*follow)) == []
    made = world.pia.upload(name="deck.pdf")
    assert shell("replace", made["uuid"], other_deck).code == 0
    (event,) = shell(*follow).rows
    assert (event["event"], event["data"]["fileUuid"], event["data"]["contentVersion"]) == (
        "content.replaced", made["uuid"], 2,
    )  # fmt: skip
    assert list_ids(shell, "--kind", "content.replaced,note.created") == [event["id"]]
    assert list_ids(shell, "--kind", "note.created,file.burned") == []
    assert get_row_ids(shell(*follow)) == []
