"""The options ``--since`` and ``--until``: the days of the sessions in a report."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import typer

from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.times import parse_since
from docshare.contract.wire import format_instant, parse_instant

Row = Mapping[str, Any]

SinceOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only sessions since this day: 7d ago, or a date.")
]
UntilOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only sessions up to the day of a date; needs --since.")
]

_DAY_LENGTH = len("2026-11-20")


class ReportDays(NamedTuple):
    """The first and the last day (UTC) of the sessions to show, such as ``2026-11-20``; None without limit."""

    first: str | None
    last: str | None

    def limit_views(self, report: Row) -> Row:
        """Return ``report`` with the days since ``first``: a server of an earlier version returns all."""
        first, days = self.first, report.get("viewsOverTime")
        if first is None or not isinstance(days, list):
            return report
        kept = [day for day in days if isinstance(day, Mapping) and str(day.get("day", "")) >= first]
        return {**report, "viewsOverTime": kept}


def parse_days(ctx: Context, since: str | None, until: str | None) -> ReportDays:
    """Return the days of the options. Raises Stop (2) unless both are times, and for ``until`` alone."""
    if until is not None and since is None:
        raise Stop(ExitCode.USAGE, "--until requires --since")
    return ReportDays(_parse_day(ctx, "--since", since), _parse_day(ctx, "--until", until))


def _parse_day(ctx: Context, option: str, text: str | None) -> str | None:
    """Return the day of a time in the format of the report, or None without it. Raises Stop (2) for anything else."""
    if text is None:
        return None
    if len(text) == _DAY_LENGTH and parse_instant(f"{text}T00:00:00Z") is not None:
        return text  # days are counted in UTC
    at = parse_since(text, ctx.now(), option).at
    if at is None:
        raise Stop(ExitCode.USAGE, f"{option}: {text!r} is not a time", hint="Use 7d or a date such as 2026-11-20.")
    return format_day(max(at, 0))  # a duration can be longer than there are dates


def format_day(at: int) -> str:
    """Return the day (UTC) of a time in milliseconds."""
    return format_instant(at)[:_DAY_LENGTH]
