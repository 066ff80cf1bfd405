"""``--since`` and ``--until`` of ``docshare readership show`` and ``report``: the sessions of some days."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands.fakes.readership import FILE, PATH
from tests.cli.commands.report_samples import BASIC_REPORT
from tests.support.browsers.markup import parse_html
from tests.support.outside.fake_api import FakeApi
from tests.support.people import reports
from tests.support.shell import CommandResult, Shell


def show_report(api: FakeApi, shell: Shell, *options: str) -> CommandResult:
    api.on("GET", f"{PATH}/readership", BASIC_REPORT)
    return shell("readership", "show", FILE, *options)


@pytest.mark.parametrize("since", ["2d", "2026-09-19", "2026-09-19T00:00:00Z"])
def test_since_selects_the_later_days(api: FakeApi, shell: Shell, since: str) -> None:
    done = show_report(api, shell, "--since", since, "--section", "views")
    assert [line.split("\t")[1] for line in done.lines] == ["2026-09-19", "2026-09-20"]


@pytest.mark.parametrize("since", ["800000d", "99999999999999999999h"])
def test_a_duration_before_all_dates_is_the_earliest_day(api: FakeApi, shell: Shell, since: str) -> None:
    """The server then rejects the range, as it does one of 400 days."""
    assert show_report(api, shell, "--since", since).code == 0
    assert api.requests[-1].query == {"from": "1970-01-01"}


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (["2026-09-20", "2026-09-21"], "the last 2 days"),
        (["2026-01-01", "2026-01-02", "2026-01-03"], "2026-01-01 to 2026-01-03"),
        (["2026-09-21"], "2026-09-21"),
    ],
)
def test_the_views_name_their_days(api: FakeApi, shell: Shell, days: list[str], text: str) -> None:
    shell.tty = True
    report = {**BASIC_REPORT, "viewsOverTime": [{"day": day, "count": 1} for day in days]}
    api.on("GET", f"{PATH}/readership", report)
    options = ("--since", days[0], "--until", days[-1], "--section", "views", "--no-color")
    assert f"views  {text}" in shell("readership", "show", FILE, *options).lines


@pytest.mark.parametrize(
    ("options", "query"),
    [
        ((), {}),
        (("--since", "2026-09-19"), {"from": "2026-09-19"}),
        (("--since", "2026-09-12T23:59:00Z", "--until", "2026-09-19"), {"from": "2026-09-12", "to": "2026-09-19"}),
    ],
)
def test_the_server_counts_the_sessions_of_the_days(
    api: FakeApi, shell: Shell, options: tuple[str, ...], query: dict[str, str]
) -> None:
    assert show_report(api, shell, *options).code == 0
    (heard,) = [heard for heard in api.requests if heard.path.endswith("/readership")]
    assert heard.query == query


@pytest.mark.parametrize("command", ["show", "report"])
def test_until_requires_since(api: FakeApi, shell: Shell, command: str) -> None:
    done = shell("readership", command, FILE, "--until", "2026-09-19")
    assert (done.code, api.requests) == (2, [])
    assert "--until requires --since" in done.err


@pytest.mark.parametrize("since", ["5123", "yesterday"])
def test_since_must_be_a_time(api: FakeApi, shell: Shell, since: str) -> None:
    for command in ("show", "report"):
        assert shell("readership", command, FILE, "--since", since).code == 2
    assert api.requests == []


@pytest.mark.parametrize(
    ("options", "query", "text"),
    [
        ((), {}, None),
        (("--since", "6d"), {"from": "2026-09-15"}, "15 Sep 2026 to 21 Sep 2026 (UTC). 87 readers."),
        (("--since", "7d"), {"from": "2026-09-14"}, "14 Sep 2026 to 21 Sep 2026 (UTC). 87 readers."),
        (
            ("--since", "2026-09-12", "--until", "2026-09-12"),
            {"from": "2026-09-12", "to": "2026-09-12"},
            "12 Sep 2026 (UTC). 87 readers.",
        ),
        (
            ("--since", "2026-09-12", "--until", "2030-01-01"),
            {"from": "2026-09-12", "to": "2030-01-01"},
            "12 Sep 2026 to 21 Sep 2026 (UTC). 87 readers.",
        ),
    ],
)
def test_the_file_has_the_report_and_the_pages_of_the_days(
    api: FakeApi, shell: Shell, tmp_path: Path, options: tuple[str, ...], query: dict[str, str], text: str | None
) -> None:
    api.on("GET", f"{PATH}/readership", reports.basic_report())
    api.on("GET", f"{PATH}/readership/pages", reports.pages_report())
    written = tmp_path / "report.html"
    done = shell("readership", "report", FILE, *options, "--no-thumbnails", "-o", str(written))
    assert done.code == 0, done.err
    assert [request.query for request in api.requests] == [query, query]
    page = parse_html(written.read_text(encoding="utf-8"))
    assert [notice.words for notice in page.find_all("p", class_="notice")] == ([text] if text else [])


def test_a_file_without_readers_on_the_days_is_not_an_unread_file(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    nobody = dict.fromkeys(reports.free_report()["summary"], 0)
    api.on("GET", f"{PATH}/readership", reports.free_report(summary=nobody))
    api.on("GET", f"{PATH}/qr-code", b"")
    written = tmp_path / "report.html"
    done = shell("readership", "report", FILE, "--since", "1d", "--no-thumbnails", "-o", str(written))
    assert done.code == 0, done.err
    page = parse_html(written.read_text(encoding="utf-8"))
    assert page.find_one("p", class_="notice").words == "20 Sep 2026 to 21 Sep 2026 (UTC). 0 readers."
    assert page.find_all("div", class_="tile")
