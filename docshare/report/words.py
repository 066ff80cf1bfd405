"""Numbers, durations, and times as text. Times are UTC, independent of locale and time zone."""

from datetime import UTC, date, datetime

from docshare.contract.amounts import round_half_up
from docshare.contract.wire import format_duration

DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
"""Indexed like the report: 0 is Sunday."""

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip


_SOURCES = {"Variant": "Personal link", "Embed": "Embedded in a site"}


def name_source(source: str) -> str:
    """Return how a session was opened, for people: ``Personal link`` for ``Variant``."""
    return _SOURCES.get(source, source)


def format_count(number: int) -> str:
    """Return ``12,345``."""
    return f"{number:,}"


def format_percent(value: float) -> str:
    """Return ``62.5%``; without the fraction if it is zero."""
    return f"{round_half_up(value, 1):.1f}".removesuffix(".0") + "%"


def format_millis(millis: int) -> str:
    """Return a duration in at most two units: ``0.8s``, ``42s``, ``1m 42s``, ``2h 05m``, ``3d 4h``."""
    if 0 < millis < 1_000:
        return f"{max(millis // 100, 1) / 10}s"
    return format_duration(millis)


def format_date_time(millis: int) -> str:
    """Return ``3 Nov 2026, 14:02``."""
    when = _to_date_time(millis)
    return f"{_format_short_date(when)} {when.year}, {when:%H:%M}"


def format_date(millis: int) -> str:
    """Return ``3 Nov 2026``."""
    when = _to_date_time(millis)
    return f"{_format_short_date(when)} {when.year}"


def format_day(when: date) -> str:
    """Return ``3 Nov 2026``."""
    return f"{_format_short_date(when)} {when.year}"


def format_short_day(iso: str) -> str:
    """Return ``3 Nov`` for ``2026-11-03``; return anything but a date unchanged."""
    found = _parse_date(iso)
    return iso if found is None else _format_short_date(found)


def format_long_day(iso: str) -> str:
    """Return ``Tuesday, 3 November 2026`` for ``2026-11-03``; return anything but a date unchanged."""
    found = _parse_date(iso)
    if found is None:
        return iso
    return f"{DAYS[found.isoweekday() % 7]}, {found.day} {_MONTHS[found.month - 1]} {found.year}"


def format_hour(number: int) -> str:
    """Return ``14:00 to 15:00``."""
    return f"{number:02d}:00 to {(number + 1) % 24:02d}:00"


def format_pages(first: int, last: int) -> str:
    """Return ``page 3`` or ``pages 3 to 9``."""
    return f"page {format_count(first)}" if first == last else f"pages {format_count(first)} to {format_count(last)}"


def _format_short_date(when: date) -> str:
    return f"{when.day} {_MONTHS[when.month - 1][:3]}"


def _parse_date(iso: str) -> date | None:
    try:
        return date.fromisoformat(iso)
    except ValueError:
        return None


def _to_date_time(millis: int) -> datetime:
    return datetime.fromtimestamp(millis / 1_000, UTC)
