"""``docshare events list``: selection, order and format of the rows."""

from __future__ import annotations

import csv
import io

import pytest

from tests.support.outside.fake_api import UUID, FakeApi, FakeTime, problem, row
from tests.support.shell import CommandResult, Shell

FILE = {"uuid": UUID.format(1), "shortId": "aB3dE5fG7hJ9", "slug": "deck", "originalName": "deck.pdf"}
KEYS = ["type", "id", "readAt", "fileUuid", "fileName", "country", "pagesViewed", "timeMs", "fields"]


def get_row_ids(done: CommandResult) -> list[int]:
    assert done.code == 0, done.err
    return [each["id"] for each in done.json]


def test_the_newest_fifty_views_are_listed_newest_first(api: FakeApi, shell: Shell) -> None:
    api.add("view", *range(2, 62))
    done = shell("events", "list", "--json")
    assert get_row_ids(done) == list(range(61, 11, -1))
    assert "showing 50 rows; use -n or --all for more" in done.err


def test_no_note_is_printed_if_all_rows_are_listed(api: FakeApi, shell: Shell) -> None:
    api.add("view", *range(2, 52))
    done = shell("events", "list", "--json")
    assert len(get_row_ids(done)) == 50
    assert done.err == ""


def test_an_empty_feed_is_a_success(shell: Shell) -> None:
    done = shell("events", "list", "--json")
    assert (done.code, done.out) == (0, "[]\n")


@pytest.mark.parametrize(("options", "expected"), [
    (("-n", "3"), [251, 250, 249]),
    (("-n", "3", "--oldest-first"), [249, 250, 251]),
    (("-n", "120"), list(range(251, 131, -1))),
    (("--all",), list(range(251, 1, -1))),
    (("--all", "--oldest-first"), list(range(2, 252))),
    (("--since", "247"), [248, 249, 250, 251]),
    (("--since", "247", "-n", "2"), [248, 249]),
    (("--since", "1", "--all"), list(range(2, 252))),
    (("--since", "0", "-n", "2"), [2, 3]),
    (("--since", "251"), []),
])  # fmt: skip
def test_list_options_select_and_order_the_rows(
    api: FakeApi, shell: Shell, options: tuple[str, ...], expected: list[int]
) -> None:
    api.add("view", *range(2, 252))
    assert get_row_ids(shell("events", "list", *options, "--json")) == expected


@pytest.mark.parametrize(("since", "expected"), [
    ("10s", [100, 99, 98, 97, 96, 95, 94, 93, 92, 91, 90]),
    ("2026-09-21T14:14:58.500Z", [100, 99]),
    ("2026-09-21T16:14:58+02:00", [100, 99, 98]),
    ("1d", list(range(100, 1, -1))),
])  # fmt: skip
def test_since_is_compared_with_the_time_of_the_row(
    api: FakeApi, shell: Shell, time: FakeTime, since: str, expected: list[int]
) -> None:
    api.add("view", *range(2, 101))
    time.wall += 100
    assert get_row_ids(shell("events", "list", "--since", since, "--all", "--json")) == expected


def test_since_finds_a_long_view_whose_row_was_added_late(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    api.add("view", *range(2, 50))
    api.rows["view"] += [row("view", number, at=number) for number in range(50, 300) if number != 60]
    api.rows["view"] += [row("view", 60, at=5000)]
    time.wall += 5100
    assert get_row_ids(shell("events", "list", "--since", "5m", "--json")) == [60]


def test_recent_rows_need_only_one_request(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    day = 24 * 3600
    api.rows["view"] = [row("view", number, at=number * day) for number in range(2, 300)]
    time.wall += 299 * day
    assert get_row_ids(shell("events", "list", "--since", "2d", "--json")) == [299, 298, 297]
    assert len(api.list_requests("GET", "/events")) == 1


def test_several_streams_are_merged_by_time(api: FakeApi, shell: Shell) -> None:
    api.add("view", 2, 4)
    api.rows["download"] = [row("download", 2, at=3), row("download", 3, at=5)]
    api.rows["gate"] = [row("gate", 2, at=1)]
    done = shell("events", "list", "--type", "all", "--json")
    assert [(each["type"], each["id"]) for each in done.json] == [
        ("download", 3), ("view", 4), ("download", 2), ("view", 2), ("gate", 2),
    ]  # fmt: skip
    for chosen in (["--type", "gate,download"], ["--type", "download", "--type", "gate"]):
        done = shell("events", "list", *chosen, "--json")
        assert [(each["type"], each["id"]) for each in done.json] == [("download", 3), ("download", 2), ("gate", 2)]


def test_all_streams_without_pro_are_listed_without_gate_and_with_a_note(api: FakeApi, shell: Shell) -> None:
    api.is_gate_allowed = False
    api.add("view", 2)
    done = shell("events", "list", "--type", "all", "--json")
    assert get_row_ids(done) == [2]
    assert done.err.count("skipping the gate stream") == 1


@pytest.mark.parametrize("options", [("--type", "gate"), ("--type", "view,gate"), ("--type", "all", "--require-all")])
def test_an_explicit_stream_above_the_plan_exits_with_6(api: FakeApi, shell: Shell, options: tuple[str, ...]) -> None:
    api.is_gate_allowed = False
    done = shell("events", "list", *options, "--json")
    assert (done.code, done.out) == (6, "")
    assert done.error["code"] == "plan_required"
    assert done.error["status"] == 403
    assert done.error["detail"] == "This feature requires the pro plan or higher"


def test_an_unknown_file_exits_with_3(api: FakeApi, shell: Shell) -> None:
    done = shell("events", "list", "--file", "zzzzzzzzzzz9", "--json")
    assert (done.code, done.error["status"]) == (3, 404)


def test_only_the_rows_of_that_file_are_listed(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "/files/aB3dE5fG7hJ9", FILE)
    api.add("view", 2, 3)
    api.rows["view"] += [row("view", 4, fileUuid=UUID.format(2))]
    assert get_row_ids(shell("events", "list", "--file", "aB3dE5fG7hJ9", "--json")) == [3, 2]
    assert api.list_requests("GET", "/events")[0].query["file"] == UUID.format(1)


def test_a_credential_without_files_read_uses_the_given_uuid_unchecked(api: FakeApi, shell: Shell) -> None:
    api.on("GET", f"/files/{UUID.format(1)}", problem(403, "insufficient_scope", "needs files:read"))
    api.add("view", 2)
    done = shell("events", "list", "--file", UUID.format(1), "--json")
    assert get_row_ids(done) == [2]
    assert "needs files:read" in done.err


@pytest.mark.parametrize("options", [
    ("--type", "views"), ("--type", ""), ("--type", "all,view"), ("--since", "yesterday"), ("--since", "-5"),
    ("--since", "5", "--type", "all"), ("-n", "0"), ("--since", "2026-13-40"), ("--file", "what is this"),
])  # fmt: skip
def test_invalid_options_exit_with_2_before_any_request(api: FakeApi, shell: Shell, options: tuple[str, ...]) -> None:
    done = shell("events", "list", *options)
    assert (done.code, done.out) == (2, "")
    assert api.requests == []


def test_a_pipe_gets_tab_separated_values_in_a_fixed_order(api: FakeApi, shell: Shell) -> None:
    api.rows["gate"] = [row("gate", 2, fileName="a\tb\x1b[31m.pdf", future="x")]
    assert shell("events", "list", "--type", "gate").lines == [
        f'gate\t2\t2026-09-21T14:13:22.000Z\t{UUID.format(1)}\ta\\tb\\x1b[31m.pdf\t\t\t\t{{"email":"ann@example.com"}}'
    ]


def test_csv_has_a_header_and_escapes_formulas(api: FakeApi, shell: Shell) -> None:
    api.rows["view"] = [row("view", 2, fileName="=1+1")]
    table = list(csv.reader(io.StringIO(shell("events", "list", "--format", "csv").out)))
    assert table[0] == KEYS
    assert table[1][4] == "'=1+1"


def test_a_terminal_gets_a_table(api: FakeApi, shell: Shell) -> None:
    api.add("view", 2)
    shell.tty = True
    done = shell("events", "list", "--no-color")
    head, line = done.lines
    assert head.split() == ["WHEN", "TYPE", "FILE", "COUNTRY", "PAGES", "TIME", "ID"]
    assert line.split()[2:] == ["view", "deck.pdf", "DE", "3", "1m", "42s", "2"]


def test_json_preserves_unknown_keys_and_their_order(api: FakeApi, shell: Shell) -> None:
    api.rows["view"] = [row("view", 2, zebra=1, apple={"b": 2})]
    assert list(shell("events", "list", "--json").json[0]) == [*api.rows["view"][0]]


@pytest.mark.parametrize(
    ("answer", "code"),
    [(problem(401, "unauthorized"), 4), (problem(403, "insufficient_scope"), 5), (problem(500, "internal"), 11),
     (problem(429, "rate_limited", Retry_After="500"), 10)],
)  # fmt: skip
def test_a_failure_prints_nothing_on_stdout_and_has_its_exit_code(
    api: FakeApi, shell: Shell, answer: object, code: int
) -> None:
    api.before_page = lambda: answer  # type: ignore[assignment,return-value]
    done = shell("events", "list", "--json")
    assert (done.code, done.out) == (code, "")
    assert done.error["exit"] == code
