"""Numbers, durations and times as words. Times are UTC; nothing here depends on the place of the reader."""

from datetime import UTC, date, datetime

from docshare.contract.rounding import half_up
from docshare.contract.wire import spoken

DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
"""By the number that the report gives them: 0 is Sunday."""

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip


def count(number: int) -> str:
    """``12,345``."""
    return f"{number:,}"


def plural(number: int, noun: str, many: str = "") -> str:
    """``1 view``, ``2,000 views``; ``many`` for nouns whose plural is not made with an s."""
    return f"{count(number)} {noun if number == 1 else many or noun + 's'}"


def percent(value: float) -> str:
    """``62.5%``; without a fraction where it is zero."""
    return f"{half_up(value, 1):.1f}".removesuffix(".0") + "%"


def duration(millis: int) -> str:
    """``0.8s``, ``42s``, ``1m 42s``, ``2h 05m``, ``3d 4h``: at most two units."""
    if 0 < millis < 1_000:
        return f"{max(millis // 100, 1) / 10}s"
    return spoken(millis // 1_000)


def moment(millis: int) -> str:
    """``3 Nov 2026, 14:02``."""
    when = _date_time(millis)
    return f"{_short(when)} {when.year}, {when:%H:%M}"


def day_of(millis: int) -> str:
    """``3 Nov 2026``."""
    when = _date_time(millis)
    return f"{_short(when)} {when.year}"


def short_day(iso: str) -> str:
    """``3 Nov`` for ``2026-11-03``; what is no date stays as it is."""
    found = _date(iso)
    return iso if found is None else _short(found)


def long_day(iso: str) -> str:
    """``Tuesday, 3 November 2026`` for ``2026-11-03``; what is no date stays as it is."""
    found = _date(iso)
    if found is None:
        return iso
    return f"{DAYS[found.isoweekday() % 7]}, {found.day} {_MONTHS[found.month - 1]} {found.year}"


def hour(number: int) -> str:
    """``14:00 to 15:00``."""
    return f"{number:02d}:00 to {(number + 1) % 24:02d}:00"


def pages(first: int, last: int) -> str:
    """``page 3`` or ``pages 3 to 9``."""
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
