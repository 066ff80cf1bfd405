"""``docshare readership show --since --until``: the report of the sessions of some days."""

from __future__ import annotations

import pytest

from tests.cli.commands.fake_readership import FILE, PATH
from tests.cli.commands.report_samples import BASIC_REPORT
from tests.support.fake_api import FakeApi
from tests.support.shell import CommandResult, Shell


def show_report(api: FakeApi, shell: Shell, *options: str) -> CommandResult:
    api.on("GET", f"{PATH}/readership", BASIC_REPORT)
    return shell("readership", "show", FILE, *options)


@pytest.mark.parametrize("since", ["2d", "2026-09-19", "2026-09-19T00:00:00Z"])
def test_since_selects_the_later_days(api: FakeApi, shell: Shell, since: str) -> None:
    done = show_report(api, shell, "--since", since, "--section", "views")
    assert [line.split("\t")[1] for line in done.lines] == ["2026-09-19", "2026-09-20"]


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


def test_until_requires_since(api: FakeApi, shell: Shell) -> None:
    done = show_report(api, shell, "--until", "2026-09-19")
    assert (done.code, api.requests) == (2, [])
    assert "--until requires --since" in done.err


@pytest.mark.parametrize("since", ["5123", "yesterday"])
def test_since_must_be_a_time(api: FakeApi, shell: Shell, since: str) -> None:
    assert show_report(api, shell, "--since", since).code == 2
    assert api.requests == []
