"""``docshare readership show --section``: selection, watch, and sections that the plan hides."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.commands.fakes.readership import FILE, PATH
from tests.cli.commands.report_samples import BASIC_REPORT, FREE_REPORT, PRO_REPORT
from tests.support.outside.fake_api import FakeApi, FakeTime
from tests.support.shell import CommandResult, Shell

REPORT = f"{PATH}/readership"


def show_report(api: FakeApi, shell: Shell, report: dict[str, Any], *options: str) -> CommandResult:
    api.on("GET", REPORT, report)
    return shell("readership", "show", FILE, *options)


# plan, section, expected note
HIDDEN = [
    (FREE_REPORT, "sessions", "sessions (requires Pro)"),
    (FREE_REPORT, "views,taps", "views (requires Basic), taps (requires Pro)"),
    (FREE_REPORT, "summary, countries", "countries (requires Basic)"),
    (BASIC_REPORT, "breakdowns,contacts", "contacts (requires Pro)"),
    (BASIC_REPORT, "funnel", ""),
    (PRO_REPORT, "sessions,effectivePages", ""),
    ({**FREE_REPORT, "tier": "gold"}, "sessions", ""),
    ({**FREE_REPORT, "sessions": []}, "sessions", ""),
]


@pytest.mark.parametrize(("report", "section", "said"), HIDDEN)
@pytest.mark.parametrize("options", [[], ["--json"], ["--format", "csv"]])
def test_a_section_that_the_plan_hides_is_reported_on_stderr(
    api: FakeApi, shell: Shell, report: dict[str, Any], section: str, said: str, options: list[str]
) -> None:
    done = show_report(api, shell, report, "--section", section, *options)
    assert done.code == 0
    assert done.err.strip().endswith(f"not included in this plan: {said}" if said else "")
    assert bool(done.err) == bool(said)


@pytest.mark.parametrize(
    ("section", "header"),
    [
        ("views", "day,count"),
        ("countries", "label,count"),
        ("contacts", "createdAt,fields"),
        ("variants", "uuid,label,sessions,avgTimeMs,revoked,redacted"),
        ("views,variants", "section,key,value"),
    ],
)
def test_a_list_that_the_plan_hides_is_an_empty_table(api: FakeApi, shell: Shell, section: str, header: str) -> None:
    assert show_report(api, shell, FREE_REPORT, "--section", section, "--format", "csv").lines == [header]


def test_the_header_does_not_depend_on_the_plan(api: FakeApi, shell: Shell) -> None:
    done = [
        show_report(api, shell, report, "--section", "views,variants", "--format", "csv")
        for report in (BASIC_REPORT, PRO_REPORT)
    ]
    assert [each.lines[0] for each in done] == ["section,key,value"] * 2


def watch_section(shell: Shell, time: FakeTime, *options: str) -> CommandResult:
    """Run a watch that is interrupted in its third wait."""

    def step(seconds: float) -> None:
        if len(time.waits) >= 3:
            raise KeyboardInterrupt

    time.on_sleep = step
    return shell("readership", "show", FILE, "--watch", "30s", *options)


@pytest.mark.parametrize(
    "given", [["--section", "summary,sessions"], ["--section", "sessions", "--section", "summary"]]
)
def test_watch_prints_the_selected_sections_and_reports_hidden_ones_once(
    api: FakeApi, shell: Shell, time: FakeTime, given: list[str]
) -> None:
    api.on("GET", REPORT, FREE_REPORT)
    done = watch_section(shell, time, "--json", *given)
    assert done.rows == [{"summary": FREE_REPORT["summary"]}] * 3
    assert done.err.count("sessions (requires Pro)") == 1


@pytest.mark.parametrize("options", [["--json"], ["--format", "plain"], ["--format", "table"]])
def test_watch_with_an_unknown_section_exits_with_2(
    api: FakeApi, shell: Shell, time: FakeTime, options: list[str]
) -> None:
    api.on("GET", REPORT, FREE_REPORT)
    assert watch_section(shell, time, "--section", "bogus", *options).code == 2
    assert time.waits == []
