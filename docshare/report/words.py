"""Numbers, durations, and times as text. Times are UTC, independent of locale and time zone."""

from datetime import UTC, date, datetime

from docshare.contract.rounding import half_up
from docshare.contract.wire import spoken

DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
"""Indexed like the report: 0 is Sunday."""

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip


def count(number: int) -> str:
    """Return ``12,345``."""
    return f"{number:,}"


def plural(number: int, noun: str, many: str = "") -> str:
    """Return ``1 view``, ``2,000 views``; ``many`` for nouns with an irregular plural."""
    return f"{count(number)} {noun if number == 1 else many or noun + 's'}"


def percent(value: float) -> str:
    """Return ``62.5%``; without the fraction if it is zero."""
    return f"{half_up(value, 1):.1f}".removesuffix(".0") + "%"


def duration(millis: int) -> str:
    """Return a duration in at most two units: ``0.8s``, ``42s``, ``1m 42s``, ``2h 05m``, ``3d 4h``."""
    if 0 < millis < 1_000:
        return f"{max(millis // 100, 1) / 10}s"
    return spoken(millis // 1_000)


def moment(millis: int) -> str:
    """Return ``3 Nov 2026, 14:02``."""
    when = _date_time(millis)
    return f"{_short(when)} {when.year}, {when:%H:%M}"


def day_of(millis: int) -> str:
    """Return ``3 Nov 2026``."""
    when = _date_time(millis)
    return f"{_short(when)} {when.year}"


def short_day(iso: str) -> str:
    """Return ``3 Nov`` for ``2026-11-03``; return anything but a date unchanged."""
    found = _date(iso)
    return iso if found is None else _short(found)


def long_day(iso: str) -> str:
    """Return ``Tuesday, 3 November 2026`` for ``2026-11-03``; return anything but a date unchanged."""
    found = _date(iso)
    if found is None:
        return iso
    return f"{DAYS[found.isoweekday() % 7]}, {found.day} {_MONTHS[found.month - 1]} {found.year}"


def hour(number: int) -> str:
    """Return ``14:00 to 15:00``."""
    return f"{number:02d}:00 to {(number + 1) % 24:02d}:00"


def pages(first: int, last: int) -> str:
    """Return ``page 3`` or ``pages 3 to 9``."""
    return f"page {count(first)}" if first == last else f"pages {count(first)} to {count(last)}"


def _short(when: date) -> str:
    return f"{when.day} {_MONTHS[when.month - 1][:3]}"


def _date(iso: str) -> date | None:
    try:
        return date.fromisoformat(iso)
    except ValueError:
        return None


def _date_time(millis: int) -> datetime:
    return datetime.fromtimestamp(millis / 1_000, UTC)
