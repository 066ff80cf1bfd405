"""The range of days that a report covers, and the comparison with the range before."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from urllib.parse import urlencode

from docshare.contract.amounts import format_plural
from docshare.report import words
from docshare.report.values import Row, read_number, read_object

_CHOICES = (("7d", "7 days"), ("30d", "30 days"))


@dataclass(frozen=True)
class ReportPeriod:
    """The days ``first`` to ``last`` (UTC). ``previous``: summary of the range before, None if it cannot be compared;
    ``preset``: name of the range in the query of the page, "" for one that the owner entered; ``limit``: the number of
    sessions to which the report was limited, None if it contains all."""

    first: date
    last: date
    previous: Row | None
    preset: str = ""
    limit: int | None = None

    @property
    def query(self) -> str:
        """Return the query that selects this range."""
        days = {"from": self.first.isoformat(), "to": self.last.isoformat()}
        return urlencode({"range": self.preset} if self.preset else days)

    @property
    def days(self) -> int:
        """Return the number of days."""
        return (self.last - self.first).days + 1

    @property
    def text(self) -> str:
        """Return ``15 Sep 2026 to 21 Sep 2026``."""
        return _format_days(self.first, self.last)


@dataclass(frozen=True)
class RangeChoice:
    """A link to the report of a range."""

    name: str
    href: str
    is_current: bool


def list_choices(address: str, period: ReportPeriod | None) -> list[RangeChoice]:
    """Return the ranges that the page at ``address`` offers, besides the one that the owner enters."""
    preset = period.preset if period else "all"
    return [
        *(RangeChoice(name, f"{address}?range={key}", preset == key) for key, name in _CHOICES),
        RangeChoice("All time", address, preset == "all"),
    ]


def describe_period(report: Row, period: ReportPeriod) -> str:
    """Return ``12 readers, 4 more than in the 7 days before (8 Sep 2026 to 14 Sep 2026).``"""
    readers = read_number(read_object(report.get("summary")).get("uniqueVisitors"))
    text = format_plural(readers, "reader")
    if period.limit is not None:
        most = format_plural(period.limit, "session")
        return f"{text} in the newest {most} of this range, which may have more."
    if period.previous is None:
        return f"{text}."
    change = describe_change(readers, read_number(period.previous.get("uniqueVisitors")))
    last = period.first - timedelta(days=1)
    before = _format_days(period.first - timedelta(days=period.days), last)
    length = "on the day before" if period.days == 1 else f"in the {period.days} days before"
    return (
        f"{text}, {change} than {length} ({before})." if change != _SAME else f"{text}, as many as {length} ({before})."
    )


_SAME = "as before"


def describe_change(now: int, before: int, format_amount: Callable[[int], str] = words.format_count) -> str:
    """Return ``4 more``, ``3 fewer`` or ``as before``."""
    if now == before:
        return _SAME
    return f"{format_amount(now - before)} more" if now > before else f"{format_amount(before - now)} fewer"


def describe_time_change(now: int, before: int) -> str:
    """Return ``12s longer``, ``12s shorter`` or ``as before``; both times in milliseconds."""
    if now // 1_000 == before // 1_000:
        return _SAME
    return f"{words.format_millis(abs(now - before))} {'longer' if now > before else 'shorter'}"


def describe_share_change(now: float, before: float) -> str:
    """Return ``3.5 points more``, ``1 point less`` or ``as before``; both shares in percent."""
    points = round(abs(now - before), 1)
    if not points:
        return _SAME
    amount = f"{points:.1f}".removesuffix(".0")
    return f"{amount} {'point' if amount == '1' else 'points'} {'more' if now > before else 'less'}"


def _format_days(first: date, last: date) -> str:
    if first == last:
        return words.format_day(first)
    return f"{words.format_day(first)} to {words.format_day(last)}"
