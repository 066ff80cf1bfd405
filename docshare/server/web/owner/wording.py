"""File sizes, ages and times of the API as text."""

from docshare.contract.plans import DAY, GB, MB
from docshare.contract.rounding import round_half_up
from docshare.contract.wire import parse_instant
from docshare.report.words import format_date, format_date_time, format_plural

_KB = 1024
_SIZES = ((_KB, "KB"), (MB, "MB"), (GB, "GB"))
_MINUTE = 60 * 1000
_HOUR = 60 * _MINUTE
_UNITS = ((DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute"))
_DATE_AFTER = 30 * DAY  # from here on a date is clearer than a number of days


def format_size(count: int) -> str:
    """Return ``9.9 KB``, ``312 KB``, ``4.2 MB``, ``2 GB``: one decimal below ten, halves up, at least 1 KB."""
    shown, name = next(
        ((count / unit, name) for unit, name in _SIZES if round_half_up(count / unit) < _KB), (count / GB, "GB")
    )
    return f"{round_half_up(max(shown, 1.0), 1 if round_half_up(shown, 1) < 10 else 0):g} {name}"


def format_day_of(instant: str) -> str:
    """Return ``3 Nov 2026`` for an instant of the API."""
    return format_date(parse_instant(instant) or 0)


def format_moment(instant: str) -> str:
    """Return ``3 Nov 2026, 14:02`` for an instant of the API."""
    return format_date_time(parse_instant(instant) or 0)


def format_age(then: int, now: int) -> str:
    """Return how long ago ``then`` was (both ms): ``just now``, ``5 minutes ago``, ``on 3 Nov 2026``."""
    age = now - then
    if age < _MINUTE:
        return "just now"
    if age >= _DATE_AFTER:
        return f"on {format_date(then)}"
    unit, noun = next((unit, noun) for unit, noun in _UNITS if age >= unit)
    return f"{format_plural(age // unit, noun)} ago"
