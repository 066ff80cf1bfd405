"""Ages and times of the API as text."""

from docshare.contract.amounts import format_plural
from docshare.contract.plans import DAY
from docshare.contract.wire import parse_instant
from docshare.report.words import format_date, format_date_time

_MINUTE = 60 * 1000
_HOUR = 60 * _MINUTE
_UNITS = ((DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute"))
_DATE_AFTER = 30 * DAY  # from here on a date is clearer than a number of days


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
