"""``docshare readership pages`` and ``sessions``: rows, pagination, and error responses."""

from __future__ import annotations

import json

import pytest

from tests.cli.commands.fakes.readership import ANN, FILE, PATH, SESSIONS, FakeReadership, make_session, make_variant
from tests.support.outside.fake_api import FakeApi, FakeResponse, problem
from tests.support.shell import Shell

REPORT = f"{PATH}/readership"
PAGES = f"{PATH}/readership/pages"


def test_the_shell_completes_section_names() -> None:
    from docshare.cli.reference.tree import load_tree

    show = next(command for command in load_tree().walk() if command.path == ("readership", "show"))
    value = next(option.value for option in show.options if option.names[0] == "--section")
    assert value is not None
    assert {"summary", "funnel", "sessions", "contacts"} <= set(value.words)


# --- pages -----------------------------------------------------------------------------------------------------------


READ = {
    "totalPages": 2,
    "pages": [
        {"pageNumber": 1, "views": 9, "avgDurationMs": 20_000, "backTurns": 4},
        {"pageNumber": 2, "views": 3, "avgDurationMs": 5_000, "backTurns": 0},
    ],
}


def test_a_pipe_gets_one_line_per_page(api: FakeApi, shell: Shell) -> None:
    api.on("GET", PAGES, READ)
    assert shell("readership", "pages", FILE).lines == ["1\t9\t20000\t4", "2\t3\t5000\t0"]
    assert shell("readership", "pages", FILE, "--format", "csv").lines[0] == "pageNumber,views,avgDurationMs,backTurns"
    assert shell("readership", "pages", FILE, "--json").json == READ
    assert shell("readership", "pages", FILE, "--fields", "views", "--json").json == [{"views": 9}, {"views": 3}]


def test_a_terminal_shows_a_bar_for_each_page(api: FakeApi, shell: Shell) -> None:
    api.on("GET", PAGES, READ)
    shell.tty = True
    lines = shell("readership", "pages", FILE, "--no-color").lines
    assert lines[0].split() == ["PAGE", "VIEWS", "BACK", "AVERAGE"]
    assert [line.split()[:4] for line in lines[1:]] == [["1", "9", "4", "20s"], ["2", "3", "0", "5s"]]
    assert [line.count("█") for line in lines[1:]] == [30, 7]


@pytest.mark.parametrize("words", [("show", REPORT), ("pages", PAGES), ("sessions", SESSIONS)])
@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (problem(403, "forbidden"), 5, "Only the owner of a file can see its readership"),
        (problem(403, "plan_required"), 6, "do it"),
        (problem(403, "insufficient_scope"), 5, "do it"),
        (problem(404, "not_found"), 3, "do it"),
    ],
)
def test_an_error_response_is_reported_with_its_reason(
    api: FakeApi, shell: Shell, words: tuple[str, str], answer: FakeResponse, code: int, said: str
) -> None:
    api.on("GET", words[1], answer)
    done = shell("readership", words[0], FILE, "--json")
    assert (done.code, done.out) == (code, "")
    assert said in done.error["hint"]


# --- sessions --------------------------------------------------------------------------------------------------------


def test_all_sessions_are_listed_in_order(api: FakeApi, shell: Shell) -> None:
    room = FakeReadership(api)
    room.sessions = [make_session(number) for number in range(1, 251)]
    assert shell("readership", "sessions", FILE, "--json").json == room.sessions
    assert shell("readership", "sessions", FILE, "--format", "jsonl").rows == room.sessions
    assert len(shell("readership", "sessions", FILE).lines) == 250


def test_json_lines_are_printed_before_the_last_page_is_fetched(api: FakeApi, shell: Shell) -> None:
    api.on("GET", SESSIONS, [make_session(1)], problem(404, "not_found"))
    done = shell("readership", "sessions", FILE, "--format", "jsonl")
    assert (done.code, done.lines[0]) == (3, json.dumps(make_session(1), separators=(",", ":")))


def test_since_selects_sessions_after_an_id_or_from_a_time(api: FakeApi, shell: Shell) -> None:
    room = FakeReadership(api)
    room.sessions = [make_session(number) for number in (1, 2, 3)]
    after = shell("readership", "sessions", FILE, "--since", "2", "--json").json
    later = shell("readership", "sessions", FILE, "--since", room.sessions[1]["startedAt"], "--json").json
    assert ([row["id"] for row in after], [row["id"] for row in later]) == ([3], [2, 3])


def test_a_terminal_shows_the_label_of_the_variant(api: FakeApi, shell: Shell) -> None:
    room = FakeReadership(api)
    room.variants = [make_variant(ANN, "Ann")]
    room.sessions = [make_session(1, variantUuid=ANN)]
    shell.tty = True
    assert " variant Ann " in shell("readership", "sessions", FILE, "--no-color").lines[1]
    api.on("GET", f"{PATH}/variants", problem(403, "insufficient_scope"))
    assert shell("readership", "sessions", FILE).code == 0


def test_a_terminal_shows_pages_read_of_pages_shown(api: FakeApi, shell: Shell) -> None:
    """A server that does not report how many pages it shows is not an error."""
    FakeReadership(api).sessions = [make_session(1, {1: 5, 2: 5}, shownPages=3), make_session(2, {1: 5, 2: 5})]
    shell.tty = True
    head, *lines = shell("readership", "sessions", FILE, "--no-color").lines
    at = head.index("PAGES")
    assert [line[at : at + 6].strip() for line in lines] == ["2 of 3", "2"]


def test_a_file_without_sessions_is_a_success(api: FakeApi, shell: Shell) -> None:
    FakeReadership(api)
    shell.tty = True
    done = shell("readership", "sessions", FILE)
    assert (done.code, done.out) == (0, "")
    assert "no sessions" in done.err
    shell.tty = False
    assert shell("readership", "sessions", FILE, "--format", "csv").lines[0].startswith("id,sessionId,startedAt")
