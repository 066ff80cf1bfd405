"""``docshare readership show``: the report on a terminal, in a pipe and as JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from tests.cli.commands.fakes.readership import ANN, FILE, PATH
from tests.cli.commands.report_samples import BASIC_REPORT, FREE_REPORT, PRO_REPORT
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, FakeTime, problem
from tests.support.shell import CommandResult, Shell

REPORT = f"{PATH}/readership"


def show_report(api: FakeApi, shell: Shell, report: dict[str, Any], *options: str) -> CommandResult:
    api.on("GET", REPORT, report)
    return shell("readership", "show", FILE, *options)


def show_on_terminal(api: FakeApi, shell: Shell, report: dict[str, Any], *options: str) -> CommandResult:
    """Return what a terminal shows, without colors."""
    shell.tty = True
    return show_report(api, shell, report, "--no-color", *options)


def get_section_lines(done: CommandResult, title: str) -> list[str]:
    """Return the lines of a section below its title."""
    lines = enumerate(done.lines)
    start = next(at for at, line in lines if line.split("  ")[0] == title and not done.lines[at - 1])
    rest = done.lines[start + 1 :]
    return rest[: rest.index("")] if "" in rest else rest


# --- output on a terminal --------------------------------------------------------------------------------------------


def test_the_summary_is_printed_in_two_columns(api: FakeApi, shell: Shell) -> None:
    done = show_on_terminal(api, shell, PRO_REPORT)
    assert done.lines[0] == "deck.pdf · plan pro"
    assert done.lines[2:16] == [
        "views                1234567",
        "sessions             10",
        "visitors             8",
        "countries            2",
        "average time         1m 02s",
        "downloads            3",
        "median time          51s",
        "page turns           40",
        "completion rate      66.7 %",
        "page turns back      12 %",
        "active readers       1",
        "new sessions         8",
        "returning sessions   2",
        "invited, not viewed  0",
    ]


def test_views_are_drawn_as_a_sparkline_by_day(api: FakeApi, shell: Shell) -> None:
    done = show_on_terminal(api, shell, BASIC_REPORT, "--section", "views")
    assert get_section_lines(done, "views")[0] == "▃▆█▁" * 5 + "  30, most on 2026-09-03: 3"


def test_bars_are_proportional_and_at_most_ten(api: FakeApi, shell: Shell) -> None:
    done = show_on_terminal(api, shell, BASIC_REPORT)
    assert get_section_lines(done, "browsers") == ["Firefox  7  " + "█" * 40, "Chrome   2  " + "█" * 11 + "▍"]
    referrers = get_section_lines(done, "referrers")
    assert [line.split()[1] for line in referrers[:10]] == [str(count) for count in range(29, 19, -1)]
    assert referrers[10:] == ["…and 12 more"]
    assert "sources" not in [line.split("  ")[0] for line in done.lines]


def test_the_funnel_shows_percentages(api: FakeApi, shell: Shell) -> None:
    assert (
        get_section_lines(show_on_terminal(api, shell, BASIC_REPORT), "funnel")[0]
        == "page 1   19     95 %  " + "█" * 40
    )


def test_the_funnel_always_includes_the_last_page(api: FakeApi, shell: Shell) -> None:
    lines = get_section_lines(show_on_terminal(api, shell, BASIC_REPORT), "funnel")
    assert [line.split("  ")[0] for line in lines] == [
        *(f"page {page}" for page in range(1, 10)), "…and 4 more", "page 14",
    ]  # fmt: skip
    ten = get_section_lines(
        show_on_terminal(api, shell, {**BASIC_REPORT, "funnel": BASIC_REPORT["funnel"][:10]}), "funnel"
    )
    assert [line.split("  ")[0] for line in ten] == [f"page {page}" for page in range(1, 11)]


def test_busy_hours_have_dark_shades(api: FakeApi, shell: Shell) -> None:
    times = get_section_lines(show_on_terminal(api, shell, BASIC_REPORT), "times")
    assert [line[:3] for line in times[1:]] == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    assert times[1] == "Mon  " + "·" * 9 + "░" + "·" * 14
    assert times[7] == "Sun  " + "·" * 23 + "█"


def test_sessions_name_their_recipients(api: FakeApi, shell: Shell) -> None:
    shell.env["COLUMNS"] = "140"
    lines = get_section_lines(show_on_terminal(api, shell, PRO_REPORT), "sessions")
    assert [line.split("  ")[1].strip() for line in lines[1:]] == ["bob@example.com", "variant Ann"]
    assert lines[1].endswith(UUID.format(1))


def test_invited_readers_are_marked_and_unknown_readers_have_a_dash(api: FakeApi, shell: Shell) -> None:
    shell.env["COLUMNS"] = "140"
    one = {key: value for key, value in PRO_REPORT["sessions"][0].items() if key != "email"}
    known = [{"email": "zoe@example.com", "fromInvite": True}, {"name": "Zoe", "fromInvite": False}, {}]
    lines = get_section_lines(
        show_on_terminal(api, shell, {**PRO_REPORT, "sessions": [{**one, **each} for each in known]}), "sessions"
    )
    assert [line.split("  ")[1].strip() for line in lines[1:]] == ["zoe@example.com invited", "Zoe", "-"]


def test_sessions_beyond_ten_are_counted_with_the_command_that_lists_them(api: FakeApi, shell: Shell) -> None:
    many = [{**PRO_REPORT["sessions"][0], "sessionId": UUID.format(number)} for number in range(30)]
    assert get_section_lines(show_on_terminal(api, shell, {**PRO_REPORT, "sessions": many}), "sessions")[-1] == (
        f"…and 20 more: docshare readership sessions {FILE}"
    )


def test_sessions_that_the_report_omits_are_counted_too(api: FakeApi, shell: Shell) -> None:
    many = [{**PRO_REPORT["sessions"][0], "sessionId": UUID.format(number)} for number in range(50)]
    report = {**PRO_REPORT, "sessions": many, "summary": {**PRO_REPORT["summary"], "totalSessions": 1_053}}
    done = show_on_terminal(api, shell, report, "--section", "sessions")
    assert done.lines[-1] == f"…and 1043 more: docshare readership sessions {FILE}"


def test_contacts_taps_and_variants_are_printed_as_tables(api: FakeApi, shell: Shell) -> None:
    done = show_on_terminal(api, shell, PRO_REPORT)
    assert get_section_lines(done, "contacts")[0].split() == ["WHEN", "EMAIL", "COMPANY"]
    assert "eve@example.com  =ACME" in get_section_lines(done, "contacts")[1]
    assert get_section_lines(done, "hotspots")[1].split() == ["Prices", "2", "4", UUID.format(9)]
    assert "button  3 taps" in done.lines
    assert get_section_lines(done, "variants")[1].split()[:3] == ["Ann", "4", "31s"]


@pytest.mark.parametrize(
    ("looks", "taps", "words"),
    [
        ({}, 0, None),
        ({"cta": {"label": "Book", "url": "https://x.example/"}}, 0, "button  0 taps"),
        ({}, 1, "button  1 tap"),
    ],
)
def test_button_taps_are_omitted_if_the_file_has_no_button(
    api: FakeApi, shell: Shell, looks: Any, taps: int, words: str | None
) -> None:
    done = show_on_terminal(
        api, shell, {**PRO_REPORT, "file": {"originalName": "deck.pdf", "viewerSettings": looks}, "ctaTaps": taps}
    )
    assert next((line for line in done.lines if line.startswith("button")), None) == words


@pytest.mark.parametrize(
    ("file", "shown", "words"),
    [
        ({"pageRange": {"from": 3, "to": 9}}, 7, "deck.pdf · plan pro · pages 3-9 shown (7)"),
        ({"pageRange": {"from": 3, "to": 99}}, 2, "deck.pdf · plan pro · pages 3-4 shown (2)"),
        ({}, 7, "deck.pdf · plan pro · 7 pages shown"),
    ],
)
def test_an_active_page_range_is_printed(api: FakeApi, shell: Shell, file: Any, shown: int, words: str) -> None:
    done = show_on_terminal(
        api, shell, {**PRO_REPORT, "file": {"originalName": "deck.pdf", **file}, "effectivePages": shown}
    )
    assert done.lines[0] == words


def test_the_last_line_names_the_sections_that_the_plan_hides(api: FakeApi, shell: Shell) -> None:
    free, basic, pro = (
        show_on_terminal(api, shell, report).lines[-1] for report in (FREE_REPORT, BASIC_REPORT, PRO_REPORT)
    )
    assert free.startswith("views, funnel, breakdowns, times, median time, page turns, ")
    assert "require Basic; sessions, contacts, taps, variants, active readers, " in free
    assert basic.startswith("sessions, contacts, taps, variants, ")
    assert basic.endswith("require Pro")
    assert "require" not in pro


# Reports that no server of this version sends, but another one might.
MALFORMED_REPORTS: list[dict[str, Any]] = [
    {},
    {"tier": "gold", "summary": {}},
    {"tier": None, "summary": None, "file": None},
    {"summary": {"totalViews": "many", "mood": {"happy": [1, 2]}}},
    {"viewsOverTime": [], "funnel": [], "peakTimes": [], "sessions": [], "variants": [], "contacts": []},
    {"viewsOverTime": [{}], "funnel": [{}], "browsers": [{}], "peakTimes": [{}], "sessions": [{}], "contacts": [{}]},
    {"viewsOverTime": {}, "funnel": 7, "browsers": ["x"], "peakTimes": "x", "sessions": {"a": 1}, "ctaTaps": "x"},
    {"browsers": [{"label": None, "count": -5}, {"label": ["x"], "count": True}]},
    {"funnel": [{"page": {"a": 1}, "reached": 10**400, "pct": 1e308}]},
    {"moods": {"happy": 3, "sad": {"very": [1, {"x": None}]}}, "empty": [], "none": None},
]


@pytest.mark.parametrize("report", MALFORMED_REPORTS)
@pytest.mark.parametrize("options", [["--format", "table"], ["--format", "plain"], ["--format", "csv"], ["--json"]])
def test_a_malformed_report_is_still_printed(
    api: FakeApi, shell: Shell, report: dict[str, Any], options: list[str]
) -> None:
    done = show_report(api, shell, report, *options)
    assert (done.code, done.err) == (0, "")
    if options == ["--json"]:
        assert done.json == report


def test_an_unknown_section_is_printed_as_names_and_values(api: FakeApi, shell: Shell) -> None:
    done = show_on_terminal(api, shell, {**FREE_REPORT, "moods": {"happy": 3, "sad": {"very": 1}}})
    assert get_section_lines(done, "moods") == ["happy     3", "sad.very  1"]


def test_text_of_readers_is_escaped_on_a_terminal(api: FakeApi, shell: Shell) -> None:
    evil = "\x1b[31m[/]\u202e\x07"
    report = {
        **PRO_REPORT,
        "tier": evil,
        "file": {"originalName": evil},
        "summary": {evil: evil},
        "referrers": [{"label": evil, "count": 1}],
        "viewsOverTime": [{"day": evil, "count": 1}],
        "funnel": [{"page": evil, "reached": 1, "pct": 1}],
        "sessions": [{"sessionId": evil, "startedAt": evil, "email": evil, "country": evil}],
        "contacts": [{"fields": {evil: evil}, "createdAt": evil}],
        "variants": [{"uuid": evil, "label": evil}],
        evil: {evil: evil},
    }
    for done in (show_on_terminal(api, shell, report), show_report(api, shell, report, "--format", "plain")):
        assert done.code == 0
        assert "\\x1b[31m[/]" in done.out
        assert not any(char in done.out for char in "\x1b\x07\u202e")


def test_the_report_fits_a_narrow_terminal_and_one_without_unicode(api: FakeApi, shell: Shell) -> None:
    from docshare.cli.terminal.capabilities import Screen
    from docshare.cli.terminal.charts import draw_bar, draw_shades, draw_sparkline

    shell.env["COLUMNS"] = "30"
    assert max(map(len, get_section_lines(show_on_terminal(api, shell, BASIC_REPORT), "browsers"))) <= 30
    plain = Screen(tty=True, color=False, unicode=False, width=80)
    drawn = draw_bar(3, 4, 8, plain) + draw_sparkline([0, 1, 8], plain) + draw_shades([0, 1, 8], 8, plain)
    assert drawn.isascii()
    assert drawn == "######" + "_.#" + ".:#"


@pytest.mark.parametrize(("value", "drawn"), [(0, ""), (1, "▏"), (400, "████"), (500, "████"), (250, "██▌"), (-1, "")])
def test_a_bar_of_a_positive_value_is_visible_and_never_too_long(value: float, drawn: str) -> None:
    from docshare.cli.terminal.capabilities import Screen
    from docshare.cli.terminal.charts import draw_bar

    assert draw_bar(value, 400, 4, Screen(tty=True, color=False, unicode=True, width=80)) == drawn


# --- output for scripts ----------------------------------------------------------------------------------------------


def test_a_pipe_gets_section_key_and_value(api: FakeApi, shell: Shell) -> None:
    done = show_report(api, shell, PRO_REPORT)
    assert done.lines[:3] == ["tier\t\tpro", "summary\ttotalViews\t1234567", "summary\ttotalSessions\t10"]
    for line in (
        "viewsOverTime\t2026-09-03\t3",
        "funnel\t2.reached\t18",
        "browsers\tFirefox\t7",
        "peakTimes\t0.23\t12",
        f"sessions\t{UUID.format(1)}.email\tbob@example.com",
        f"variants\t{ANN}.avgTimeMs\t31000",
        "contacts\t0.fields.company\t=ACME",
        "ctaTaps\t\t3",
    ):
        assert line in done.lines


def test_json_is_the_response_of_the_server(api: FakeApi, shell: Shell) -> None:
    assert (
        show_report(api, shell, PRO_REPORT, "--json").out
        == json.dumps(PRO_REPORT, ensure_ascii=False, separators=(",", ":")) + "\n"
    )


def test_sections_can_be_selected_by_name_or_key(api: FakeApi, shell: Shell) -> None:
    assert list(show_report(api, shell, PRO_REPORT, "--section", "taps,summary", "--json").json) == [
        "summary", "hotspotTaps", "ctaTaps",
    ]  # fmt: skip
    assert list(show_report(api, shell, PRO_REPORT, "--section", "countries", "--json").json) == ["countries"]
    assert list(show_report(api, shell, {**PRO_REPORT, "moods": 1}, "--section", "moods", "--json").json) == ["moods"]
    assert show_report(api, shell, FREE_REPORT, "--section", "sessions", "--json").json == {}
    done = show_report(api, shell, PRO_REPORT, "--section", "sesions")
    assert (done.code, done.out) == (2, "")


def test_a_single_list_section_is_a_table_in_csv(api: FakeApi, shell: Shell) -> None:
    rows = list(
        csv.DictReader(io.StringIO(show_report(api, shell, PRO_REPORT, "--section", "sessions", "--format", "csv").out))
    )
    assert [(row["sessionId"], row["email"], row["variantUuid"], row["totalTimeMs"]) for row in rows] == [
        (UUID.format(1), "bob@example.com", "", "61000"), (UUID.format(2), "", ANN, "4000"),
    ]  # fmt: skip
    assert (
        show_report(api, shell, {**PRO_REPORT, "countries": []}, "--section", "countries", "--format", "csv").out
        == "label,count\n"
    )
    assert (
        show_report(api, shell, PRO_REPORT, "--section", "summary", "--format", "csv").lines[0] == "section,key,value"
    )


def test_formulas_of_readers_are_escaped_in_csv(api: FakeApi, shell: Shell) -> None:
    done = show_report(api, shell, PRO_REPORT, "--format", "csv")
    assert "contacts,0.fields.company,'=ACME" in done.lines


def test_fields_queries_and_templates_apply_to_the_report(api: FakeApi, shell: Shell) -> None:
    assert show_report(api, shell, PRO_REPORT, "--fields", "summary.totalViews", "--json").json == {
        "summary.totalViews": 1_234_567
    }
    assert show_report(api, shell, PRO_REPORT, "--query", "sessions[0].email").json == "bob@example.com"
    assert show_report(api, shell, PRO_REPORT, "--template", "{summary.downloads} downloads").out == "3 downloads\n"


# --- watch -----------------------------------------------------------------------------------------------------------


def watch_report(api: FakeApi, shell: Shell, time: FakeTime, rounds: int, *options: str) -> CommandResult:
    """Run a watch that is interrupted in its last wait."""

    def step(seconds: float) -> None:
        if len(time.waits) >= rounds:
            raise KeyboardInterrupt

    time.on_sleep = step
    return shell("readership", "show", FILE, "--watch", "30s", *options)


def test_watch_prints_every_report_until_ctrl_c(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    api.on("GET", REPORT, FREE_REPORT, {**FREE_REPORT, "summary": {"totalViews": 2}})
    done = watch_report(api, shell, time, 3, "--json")
    assert (done.code, [row["summary"]["totalViews"] for row in done.rows]) == (130, [1_234_567, 2, 2])
    assert all(27 <= pause <= 33 for pause in time.waits)


def test_watch_clears_the_terminal_before_each_report(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    shell.tty = True
    api.on("GET", REPORT, FREE_REPORT)
    assert watch_report(api, shell, time, 2).out.count("\x1b[H\x1b[2J") == 2
    shell.env["TERM"] = "dumb"
    time.waits.clear()
    assert "\x1b" not in watch_report(api, shell, time, 2, "--no-color").out


def test_watch_retries_temporary_failures_and_stops_at_permanent_errors(
    api: FakeApi, shell: Shell, time: FakeTime
) -> None:
    api.on(
        "GET",
        REPORT,
        FREE_REPORT,
        FakeResponse(connection_action="drop"),
        problem(503, "unavailable"),
        FREE_REPORT,
        problem(404, "not_found"),
    )
    done = watch_report(api, shell, time, 99, "--json")
    assert (done.code, len(done.rows)) == (3, 2)
    assert "the server is responding again" in done.err
