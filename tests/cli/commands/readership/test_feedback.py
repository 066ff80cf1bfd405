"""``docshare readership marks``, ``annotations``, ``notes`` and ``export``."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands.fakes.readership import ANN, FILE, PATH, SESSIONS, FakeReadership, make_session, make_variant
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, RecordedRequest, problem
from tests.support.shell import Shell

MARKS, ANNOTATIONS, NOTES = f"{PATH}/page-marks", f"{PATH}/annotations", f"{PATH}/feedback"
AT = "2026-09-21T12:00:00.000Z"
SHEET = b"\xef\xbb\xbfpage,identity\r\n1,'=ann\r\n"  # to be forwarded byte by byte

MARKS_RESPONSE = {
    "pages": [{"page": 1, "pick": 1, "reject": 0, "maybe": 1}, {"page": 2, "pick": 0, "reject": 1, "maybe": 0}],
    "viewers": [
        {"identity": "ann@example.com", "marks": [{"page": 1, "mark": "pick"}, {"page": 2, "mark": "reject"}]},
        {"identity": "Reader 7F3A", "marks": [{"page": 1, "mark": "maybe"}]},
    ],
    "totals": {"pick": 1, "reject": 1, "maybe": 1},
}
ANNOTATIONS_RESPONSE = {
    "pages": [
        {
            "page": 3,
            "annotations": [
                {"uuid": UUID.format(5), "identity": "Reader 7F3A", "note": "Move\x1b[31m this", "createdAt": AT,
                 "rect": {"x": 0.1, "y": 0.2, "width": 0.3, "height": 0.045}},
            ],
        }
    ]
}  # fmt: skip
NOTES_RESPONSE = {
    "notes": [
        {"uuid": UUID.format(6), "author": "Ann", "body": "Nice\nwork", "pageNumber": 2, "public": True,
         "createdAt": "2026-09-21T12:00:02.000Z"},
        {"uuid": UUID.format(7), "author": "Bob", "body": "Hm", "public": False, "viewer": "Reader 1",
         "createdAt": "2026-09-21T12:00:00.000Z"},
    ],
    "receipts": [{"name": "Eve", "viewer": "Reader 2", "confirmedAt": "2026-09-21T12:00:01.000Z", "contentVersion": 2}],
}  # fmt: skip


def make_route(response: dict[str, Any]) -> Any:
    """Return a respond that sends ``response``, or the CSV file if the request asks for CSV."""

    def respond(heard: RecordedRequest) -> Any:
        return FakeResponse(SHEET, 200, {"Content-Type": "text/csv; charset=utf-8"}) if heard.query else response

    return respond


@pytest.fixture
def feedback_api(api: FakeApi) -> FakeApi:
    """Return a file with every kind of reader feedback."""
    api.on("GET", MARKS, make_route(MARKS_RESPONSE))
    api.on("GET", ANNOTATIONS, make_route(ANNOTATIONS_RESPONSE))
    api.on("GET", NOTES, NOTES_RESPONSE)
    return api


# --- output ----------------------------------------------------------------------------------------------------------


def test_a_pipe_gets_one_line_per_mark(feedback_api: FakeApi, shell: Shell) -> None:
    assert shell("readership", "marks", FILE).lines == [
        "1\tann@example.com\tpick", "1\tReader 7F3A\tmaybe", "2\tann@example.com\treject",
    ]  # fmt: skip


def test_a_terminal_shows_marks_by_page_with_totals(feedback_api: FakeApi, shell: Shell) -> None:
    shell.tty = True
    done = shell("readership", "marks", FILE, "--no-color")
    assert [line.split() for line in done.lines] == [
        ["PAGE", "PICK", "MAYBE", "REJECT", "READERS"],
        ["1", "1", "1", "0", "ann@example.com", "pick,", "Reader", "7F3A", "maybe"],
        ["2", "0", "0", "1", "ann@example.com", "reject"],
        ["all", "1", "1", "1"],
    ]
    assert "personal data" in done.err


def test_annotations_are_printed_with_position_and_text(feedback_api: FakeApi, shell: Shell) -> None:
    assert shell("readership", "annotations", FILE).lines == [
        f'3\t{UUID.format(5)}\tReader 7F3A\t{{"x":0.1,"y":0.2,"width":0.3,"height":0.045}}\tMove\\x1b[31m this\t{AT}'
    ]
    shell.tty = True
    assert "10,20 30x5 %" in shell("readership", "annotations", FILE, "--no-color").lines[1]


def test_notes_and_receipts_are_sorted_by_time(feedback_api: FakeApi, shell: Shell) -> None:
    assert shell("readership", "notes", FILE).lines == [
        f"note\t2026-09-21T12:00:00.000Z\tBob\t\tfalse\tHm\tReader 1\t{UUID.format(7)}\t",
        "receipt\t2026-09-21T12:00:01.000Z\tEve\t\t\t\tReader 2\t\t2",
        f"note\t2026-09-21T12:00:02.000Z\tAnn\t2\ttrue\tNice\\nwork\t\t{UUID.format(6)}\t",
    ]
    shell.tty = True
    lines = shell("readership", "notes", FILE, "--no-color").lines
    assert ["everyone" in line for line in lines[1:]] == [False, False, True]


def test_notes_are_printed_with_the_signed_name_and_the_identified_reader(feedback_api: FakeApi, shell: Shell) -> None:
    """Also on a narrow terminal."""
    shell.tty, shell.env["COLUMNS"] = True, "80"
    lines = shell("readership", "notes", FILE, "--no-color").lines
    assert ["NAME" in lines[0], "READER" in lines[0]] == [True, True]
    assert [("Bob" in line, "Reader 1" in line) for line in lines[1:2]] == [(True, True)]
    assert [("Eve" in line, "Reader 2" in line) for line in lines[2:3]] == [(True, True)]


@pytest.mark.parametrize(
    ("words", "response"), [("marks", MARKS_RESPONSE), ("annotations", ANNOTATIONS_RESPONSE), ("notes", NOTES_RESPONSE)]
)
def test_json_is_the_response_of_the_server(feedback_api: FakeApi, shell: Shell, words: str, response: Any) -> None:
    done = shell("readership", words, FILE, "--json")
    assert (done.json, done.err) == (response, "")


@pytest.mark.parametrize("words", ["marks", "annotations", "notes"])
def test_a_file_without_feedback_is_a_success(api: FakeApi, shell: Shell, words: str) -> None:
    for path in (MARKS, ANNOTATIONS, NOTES):
        api.on("GET", path, {"pages": [], "viewers": [], "totals": {"pick": 0}, "notes": [], "receipts": []})
    shell.tty = True
    done = shell("readership", words, FILE)
    assert (done.code, done.out) == (0, "")
    assert "personal data" not in done.err


@pytest.mark.parametrize("words", ["marks", "annotations", "notes"])
def test_malformed_responses_do_not_crash_the_command(api: FakeApi, shell: Shell, words: str) -> None:
    strange = {"pages": [7, {"page": None, "annotations": [None, {}]}], "viewers": [{"marks": "x"}, 1], "notes": [{}]}
    for path in (MARKS, ANNOTATIONS, NOTES):
        api.on("GET", path, strange)
    for options in (["--format", "table"], ["--format", "plain"], ["--json"]):
        assert shell("readership", words, FILE, *options).code == 0


# --- the server's own CSV --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["marks", "annotations"])
@pytest.mark.parametrize("options", [["--format", "csv"], ["-o", "-"], ["-o", "-", "--format", "csv"]])
def test_csv_is_forwarded_byte_by_byte(feedback_api: FakeApi, shell: Shell, words: str, options: list[str]) -> None:
    done = shell("readership", words, FILE, *options)
    assert (done.code, done.out.encode()) == (0, SHEET)
    assert [heard.query for heard in feedback_api.requests] == [{"format": "csv"}]


def test_csv_can_be_saved_to_a_private_file(feedback_api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    assert shell("readership", "marks", FILE, "-o", path).out == ""
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (SHEET, 0o600)
    feedback_api.requests.clear()
    assert shell("readership", "marks", FILE, "-o", path).code == 2
    assert feedback_api.requests == []
    assert shell("readership", "marks", FILE, "-o", path, "--force").code == 0


def test_output_to_a_file_rejects_json(feedback_api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    done = shell("readership", "marks", FILE, "-o", tmp_path / "marks.json", "--json")
    assert (done.code, done.error["detail"], feedback_api.requests) == (2, "-o writes CSV, not json", [])


def test_csv_with_fields_is_written_by_the_command(feedback_api: FakeApi, shell: Shell) -> None:
    assert shell("readership", "marks", FILE, "--format", "csv", "--fields", "mark").lines == [
        "mark", "pick", "maybe", "reject",
    ]  # fmt: skip


@pytest.mark.parametrize(("words", "path"), [("marks", MARKS), ("annotations", ANNOTATIONS), ("notes", NOTES)])
def test_a_file_of_another_account_exits_with_5(api: FakeApi, shell: Shell, words: str, path: str) -> None:
    api.on("GET", path, problem(403, "forbidden"))
    done = shell("readership", words, FILE, "--json")
    assert (done.code, done.out) == (5, "")
    assert "Only the owner" in done.error["hint"]


# --- export ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def full_feedback_api(feedback_api: FakeApi) -> FakeApi:
    """Add a report, pages and variants to ``feedback_api``."""
    room = FakeReadership(feedback_api)
    room.variants = [make_variant(ANN, "=Ann")]
    room.sessions = [make_session(number, {1: 4, 3: 9}, name="=Eve") for number in range(1, 103)]
    read = [{"uuid": ANN, "label": "=Ann", "sessions": 4, "avgTimeMs": 31_000}]
    feedback_api.on("GET", f"{PATH}/readership", {"tier": "pro", "variants": read, "name": "Größe"})
    page = {"pageNumber": 1, "views": 9, "avgDurationMs": 20_000, "backTurns": 4}
    feedback_api.on("GET", f"{PATH}/readership/pages", {"totalPages": 1, "pages": [page]})
    feedback_api.on("GET", f"{PATH}/variants", {"variants": [make_variant(ANN, "=Ann")]})
    return feedback_api


def test_export_writes_all_tables(full_feedback_api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "out" / "readers"
    done = shell("readership", "export", FILE, "-o", folder)
    names = ["readership.json", "pages.csv", "sessions.csv", "notes.csv", "receipts.csv", "marks.csv",
             "annotations.csv", "variants.csv"]  # fmt: skip
    assert (done.code, [Path(line.split("\t")[0]).name for line in done.lines]) == (0, names)
    assert json.loads((folder / "readership.json").read_text())["name"] == "Größe"
    assert (folder / "pages.csv").read_text() == "pageNumber,views,avgDurationMs,backTurns\n1,9,20000,4\n"
    assert (folder / "marks.csv").read_bytes() == (folder / "annotations.csv").read_bytes() == SHEET
    row = next(csv.DictReader((folder / "variants.csv").read_text().splitlines()))
    assert (row["label"], row["sessions"], row["avgTimeMs"]) == ("'=Ann", "4", "31000")
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_export_preserves_every_character(full_feedback_api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    full_feedback_api.on(
        "GET", NOTES, {"notes": [{**NOTES_RESPONSE["notes"][0], "body": "zero\u200cwidth\nline\rend"}], "receipts": []}
    )
    assert shell("readership", "export", FILE, "-o", tmp_path / "out").code == 0
    with (tmp_path / "out" / "notes.csv").open(newline="") as table:
        assert [row["body"] for row in csv.DictReader(table)] == ["zero\u200cwidth\nline\rend"]


def test_csv_of_the_server_is_escaped_on_a_terminal(feedback_api: FakeApi, shell: Shell) -> None:
    sent = "\ufeffpage,identity\r\n1,\x1b[31mann\u202e\r\n"
    feedback_api.on("GET", MARKS, FakeResponse(sent.encode(), 200, {"Content-Type": "text/csv; charset=utf-8"}))
    line = ("readership", "marks", FILE, "--format", "csv")
    assert shell(*line).out == sent
    shell.tty = True
    assert shell(*line).out == "page,identity\n1,\\x1b[31mann\\u202e\n"


def test_export_escapes_formulas_in_sessions_notes_and_receipts(
    full_feedback_api: FakeApi, shell: Shell, tmp_path: Path
) -> None:
    typed = {**NOTES_RESPONSE["receipts"][0], "name": "=Eve"}
    full_feedback_api.on("GET", NOTES, {"notes": [{**NOTES_RESPONSE["notes"][0], "body": "=1+1"}], "receipts": [typed]})
    assert shell("readership", "export", FILE, "-o", tmp_path / "out").code == 0

    def read_table(name: str) -> list[dict[str, str]]:
        return list(csv.DictReader((tmp_path / "out" / name).read_text().splitlines()))

    sessions = read_table("sessions.csv")
    assert [int(row["id"]) for row in sessions] == list(range(1, 103))
    assert (sessions[0]["name"], sessions[0]["totalTimeMs"]) == ("'=Eve", "13000")
    assert json.loads(sessions[0]["pages"]) == [{"page": 1, "timeMs": 4000}, {"page": 3, "timeMs": 9000}]
    (note,) = read_table("notes.csv")
    assert (note["author"], note["pageNumber"], note["public"], note["body"]) == ("Ann", "2", "true", "'=1+1")
    (receipt,) = read_table("receipts.csv")
    assert receipt == {
        "confirmedAt": "2026-09-21T12:00:01.000Z", "name": "'=Eve", "viewer": "Reader 2", "contentVersion": "2",
    }  # fmt: skip
    assert len(full_feedback_api.list_requests("GET", NOTES)) == 1


def test_export_skips_and_reports_tables_above_the_plan(
    full_feedback_api: FakeApi, shell: Shell, tmp_path: Path
) -> None:
    for path in (SESSIONS, NOTES, MARKS, ANNOTATIONS, f"{PATH}/variants"):
        full_feedback_api.on("GET", path, problem(403, "plan_required", "requires the pro plan"))
    done = shell("readership", "export", FILE, "-o", tmp_path / "a", "--json")
    assert (done.code, [row.get("skipped") for row in done.json]) == (
        0, [None, None, *["requires the pro plan"] * 6],
    )  # fmt: skip
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["pages.csv", "readership.json"]
    assert shell("readership", "export", FILE, "-o", tmp_path / "b", "--strict").code == 12


def test_export_writes_nothing_without_the_report(full_feedback_api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    full_feedback_api.on("GET", f"{PATH}/readership", problem(403, "forbidden"))
    done = shell("readership", "export", FILE, "-o", tmp_path / "out")
    assert (done.code, done.out, (tmp_path / "out").exists()) == (5, "", False)


def test_export_does_not_skip_a_table_on_a_server_error(
    full_feedback_api: FakeApi, shell: Shell, tmp_path: Path
) -> None:
    full_feedback_api.on("GET", MARKS, problem(500, "internal"))
    assert shell("readership", "export", FILE, "-o", tmp_path / "out", "--retries", "0").code == 11


def test_export_does_not_overwrite_existing_files(full_feedback_api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "marks.csv").write_text("mine")
    assert shell("readership", "export", FILE, "-o", tmp_path).code == 2
    assert (full_feedback_api.requests, (tmp_path / "marks.csv").read_text()) == ([], "mine")
    assert shell("readership", "export", FILE, "-o", tmp_path, "--force").code == 0
    assert (tmp_path / "marks.csv").read_bytes() == SHEET


def test_export_warns_on_a_terminal_that_the_files_contain_personal_data(
    full_feedback_api: FakeApi, shell: Shell, tmp_path: Path
) -> None:
    shell.tty = True
    done = shell("readership", "export", FILE, "-o", tmp_path / "out", "--no-color")
    assert "personal data" in done.err
    assert done.lines[0].split() == ["FILE", "SIZE"]
