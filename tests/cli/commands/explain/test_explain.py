"""``docshare explain``: the timeline of a session, and why less reading time was accepted than was reported."""

from __future__ import annotations

import json
from typing import Any

import pytest

from docshare.contract.wire import format_instant
from tests.cli.commands.fakes.readership import FILE, FILE_UUID, SESSIONS
from tests.support.outside.fake_api import BASE, UUID, FakeApi, FakeResponse, FakeTime, problem
from tests.support.shell import CommandResult, Shell

ID = UUID.format(1001)
ONE = f"{SESSIONS}/{ID}"


def format_moment(seconds: float) -> str:
    return format_instant(int((BASE + seconds) * 1000))


def make_beacon(
    seq: int, arrived: float, claimed: dict[int, int], accepted: dict[int, int], *, visible_ms: int, **more: Any
) -> dict[str, Any]:
    """Return a report: arrival in seconds after the start, times in ms by page."""
    return {
        "seq": seq,
        "receivedAt": format_moment(arrived),
        "part": 0,
        "ageMs": int(arrived * 1000),
        "visible": True,
        "visibleMs": visible_ms,
        "input": False,
        "turns": 0,
        "backTurns": 0,
        "pages": [{"page": page, "ms": ms, "views": 1, "back": 0} for page, ms in claimed.items()],
        "accepted": [{"page": page, "ms": ms, "views": 1, "back": 0} for page, ms in accepted.items()],
        **more,
    }


SESSION: dict[str, Any] = {
    "id": 1,
    "sessionId": ID,
    "startedAt": format_moment(0),
    "totalTimeMs": 15_000,
    "class": "human",
    "reason": "a pointer, key, touch, or wheel event",
    "countedAt": format_moment(5),
    "endedAt": format_moment(80),
    "pages": [{"page": 1, "timeMs": 11_000, "views": 1, "backTurns": 0}, {"page": 2, "timeMs": 4_000, "views": 2}],
    "beacons": [
        make_beacon(0, 5, {1: 5000}, {1: 5000}, visible_ms=5000, input=True),
        make_beacon(1, 10, {1: 2000, 2: 1_000_000}, {1: 6000, 2: 4000}, visible_ms=1_002_000),
        make_beacon(2, 20, {}, {}, visible_ms=0, visible=False),
    ],
}


def run_explain(api: FakeApi, shell: Shell, session: dict[str, Any], *options: str) -> CommandResult:
    api.on("GET", ONE, session)
    return shell("explain", ID, "--file", FILE, *options)


def read_explanation(api: FakeApi, shell: Shell, session: dict[str, Any]) -> list[str]:
    """Return the lines that a terminal shows."""
    shell.tty = True
    done = run_explain(api, shell, session, "--no-color")
    assert done.code == 0, done.err
    return done.lines


def test_the_timeline_is_printed_first(api: FakeApi, shell: Shell) -> None:
    lines = read_explanation(api, shell, SESSION)
    assert [line for line in lines[: lines.index("")] if "started" not in line[:7]] == [
        "human: a reader, counted",
        "reason: a pointer, key, touch, or wheel event",
        "counted 5.0s later",
        "ended 1m 20.0s after the start: a minute after the page was hidden",
        "15.0s of reading accepted, of 16m 47.0s claimed in 3 reports",
        "1 of them claimed more than was possible, as shown below",
    ]


def test_every_report_is_listed_with_its_outcome(api: FakeApi, shell: Shell) -> None:
    lines = read_explanation(api, shell, SESSION)
    table = lines[lines.index("reports") + 1 : lines.index("reports") + 5]
    assert [line.split()[:2] for line in table] == [["#", "AFTER"], ["0", "+5.0s"], ["1", "+10.0s"], ["2", "+20.0s"]]
    assert table[2].endswith("16m 42.0s  10.0s     less time had passed")
    assert lines[lines.index("pages") + 1 :][1].split() == ["1", "11.0s", "1", "0"]


def test_times_below_a_second_still_add_up(api: FakeApi, shell: Shell) -> None:
    reports = [make_beacon(seq, seq + 1, {1: 700}, {1: 700}, visible_ms=700) for seq in range(2)]
    pages = [{"page": 1, "timeMs": 59_960, "views": 1}]
    lines = read_explanation(api, shell, {**SESSION, "totalTimeMs": 1_400, "beacons": reports, "pages": pages})
    assert "1.4s of reading accepted, of 1.4s claimed in 2 reports" in lines
    assert [line.split()[-2:] for line in lines[lines.index("reports") + 2 :][:2]] == [["0.7s", "0.7s"]] * 2
    assert lines[-1].split() == ["1", "1m", "00.0s", "1"]


@pytest.mark.parametrize(
    ("klass", "words"),
    [
        ("human", "a reader, counted"),
        ("tool", "a program that identifies itself, not counted"),
        ("preview", "a link preview that identifies itself, not counted"),
        ("prefetch", "prefetched without interaction, not counted"),
        ("unconfirmed", "opened without any interaction, not counted"),
        ("burst", "one of too many short sessions, not counted"),
        ("scanner", "ran the page and left immediately, not counted"),
        ("oracle", "a class unknown to this version"),
    ],
)
def test_each_class_has_a_description(api: FakeApi, shell: Shell, klass: str, words: str) -> None:
    assert read_explanation(api, shell, {**SESSION, "class": klass})[0] == f"{klass}: {words}"


def test_every_class_of_the_server_has_a_description() -> None:
    from docshare.cli.commands.explain import story
    from docshare.server.rules import reading

    assert {*reading.FINAL_CLASSES, "human", "unconfirmed", "burst", "prefetch", "scanner"} == set(story._CLASSES)


# the beacons, and the reason for each reduction
REDUCTIONS: list[tuple[list[dict[str, Any]], list[str]]] = [
    ([make_beacon(0, 5, {1: 5000}, {1: 5000}, visible_ms=5000)], [""]),
    (
        [make_beacon(0, 5, {1: 10**9}, {1: 5000}, visible_ms=10**9)],
        ["less time had passed"],
    ),
    ([make_beacon(0, 9, {1: 5000}, {1: 2000}, visible_ms=2000)], ["the page was visible for less time"]),
    ([make_beacon(0, 9, {1: 2000, 99: 3000}, {1: 2000}, visible_ms=5000)], ["not in the document: 99"]),
    ([make_beacon(0, 9, {1: 2000}, {}, visible_ms=5000)], ["not in the document: 1"]),
    (
        # Out of order: the second one arrives first and uses up all the elapsed time.
        [
            make_beacon(0, 10, {1: 5000}, {}, visible_ms=5000),
            make_beacon(1, 9, {2: 9000}, {2: 9000}, visible_ms=9000),
        ],
        ["", "less time had passed"],
    ),
]


@pytest.mark.parametrize(("beacons", "reasons"), REDUCTIONS)
def test_every_reduction_has_its_reason(
    api: FakeApi, shell: Shell, beacons: list[dict[str, Any]], reasons: list[str]
) -> None:
    done = run_explain(api, shell, {**SESSION, "beacons": beacons})
    assert [line.split("\t")[9] for line in done.lines] == reasons


def test_an_active_session_and_one_without_reports_are_described(api: FakeApi, shell: Shell) -> None:
    going = {key: value for key, value in SESSION.items() if key != "endedAt"}
    assert "is still active" in read_explanation(api, shell, going)
    old = read_explanation(api, shell, {**SESSION, "beacons": []})
    assert "15.0s of reading; its reports have been deleted" in old
    assert "reports" not in old


def test_a_session_without_an_end_ends_after_five_minutes_of_inactivity(api: FakeApi, shell: Shell) -> None:
    lines = read_explanation(api, shell, {**SESSION, "beacons": SESSION["beacons"][:2]})
    assert "ended 1m 20.0s after the start: five minutes after the last activity" in lines


def test_json_is_the_response_of_the_server(api: FakeApi, shell: Shell) -> None:
    assert run_explain(api, shell, SESSION, "--json").json == SESSION
    assert run_explain(api, shell, SESSION, "--query", "beacons[1].visibleMs").json == 1_002_000


def test_a_pipe_gets_a_line_for_each_report(api: FakeApi, shell: Shell) -> None:
    done = run_explain(api, shell, SESSION)
    assert done.lines[0] == f"0\t{format_moment(5)}\ttrue\t5000\ttrue\t0\t0\t5000\t5000\t"
    assert run_explain(api, shell, SESSION, "--format", "csv").lines[0].startswith("seq,receivedAt,visible,")


@pytest.mark.parametrize("session", [{}, {"beacons": [1, {}], "pages": "x", "startedAt": 5}, {"class": "\x1b[31m"}])
@pytest.mark.parametrize("options", [["--format", "table"], ["--format", "plain"], ["--json"]])
def test_a_malformed_session_is_still_explained(
    api: FakeApi, shell: Shell, session: dict[str, Any], options: list[str]
) -> None:
    done = run_explain(api, shell, session, *options)
    assert done.code == 0, done.err
    assert "\x1b" not in done.out


# --- finding the session ---------------------------------------------------------------------------------------------


def create_files(api: FakeApi, count: int, holder: int | None) -> None:
    """Add ``count`` files to the account, newest first; file number ``holder`` contains the session."""
    api.files = [{"uuid": UUID.format(number), "shortId": FILE} for number in range(count)]
    if holder is not None:
        api.on("GET", f"/files/{UUID.format(holder)}/readership/sessions/{ID}", SESSION)


def list_searched_files(api: FakeApi) -> list[str]:
    return [heard.path.split("/")[2] for heard in api.requests if "/sessions/" in heard.path]


def test_the_newest_files_are_searched_first_if_no_file_is_given(api: FakeApi, shell: Shell) -> None:
    create_files(api, 6, holder=2)
    done = shell("explain", ID, "--json")
    assert (done.code, done.json) == (0, SESSION)
    assert list_searched_files(api) == [UUID.format(number) for number in (0, 1, 2)]
    assert "searching 6 files" in done.err


def test_searching_few_files_prints_no_note(api: FakeApi, shell: Shell) -> None:
    create_files(api, 3, holder=2)
    assert shell("explain", ID, "--json").err == ""


def test_an_unknown_session_exits_with_3(api: FakeApi, shell: Shell) -> None:
    create_files(api, 2, holder=None)
    done = shell("explain", ID)
    assert (done.code, done.out) == (3, "")
    assert "in your files" in done.err


def test_the_search_is_limited_to_200_files_and_reports_it(api: FakeApi, shell: Shell) -> None:
    create_files(api, 230, holder=220)
    done = shell("explain", ID)
    assert (done.code, len(list_searched_files(api))) == (3, 200)
    assert "in the newest 200 files" in done.err


def test_the_search_stays_below_the_rate_limit(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    create_files(api, 3, holder=2)
    tight = FakeResponse(api.files, 200, {"RateLimit": "limit=120, remaining=5, reset=60"})
    api.on("GET", "/files", tight)
    assert shell("explain", ID).code == 0
    assert sum(time.waits) > 5


@pytest.mark.parametrize(("answer", "code"), [(problem(403, "plan_required"), 6), (problem(403, "forbidden"), 5)])
def test_an_error_response_ends_the_search(api: FakeApi, shell: Shell, answer: FakeResponse, code: int) -> None:
    create_files(api, 9, holder=None)
    api.on("GET", f"/files/{UUID.format(0)}/readership/sessions/{ID}", answer)
    done = shell("explain", ID, "--json")
    assert (done.code, done.out, len(list_searched_files(api))) == (code, "", 1)


@pytest.mark.parametrize("word", ["7", "..", FILE, f"{ID}x"])
def test_an_invalid_session_id_exits_with_2_and_sends_nothing(api: FakeApi, shell: Shell, word: str) -> None:
    done = shell("explain", word, "--json")
    assert (done.code, json.loads(done.err)["error"]["exit"], api.requests) == (2, 2, [])


def test_a_session_id_may_be_uppercase(api: FakeApi, shell: Shell) -> None:
    capital = "ABCDEF00-0000-4000-8000-000000000001"
    api.on("GET", f"{SESSIONS}/{capital.lower()}", SESSION)
    assert shell("explain", capital, "--file", FILE).code == 0
    assert FILE_UUID not in api.requests[0].path
