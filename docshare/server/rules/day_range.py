"""Ranges of whole days in UTC, for the readership of a part of the time."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from docshare.contract.wire import parse_instant

MAX_DAYS = 366
_DAY_MS = 86_400_000
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_EARLIEST = date(2000, 1, 1)  # nothing was read before, and there must be dates before the range
ALL_TIME = (0, 2**62)
"""Bounds (ms) that include every instant."""
PRESETS = {"7d": 7, "30d": 30}
"""Name of a range that ends today -> its days."""


@dataclass(frozen=True)
class DayRange:
    """The days ``first`` to ``last``, both included."""

    first: date
    last: date

    @property
    def days(self) -> int:
        """Return the number of days."""
        return (self.last - self.first).days + 1

    @property
    def bounds(self) -> tuple[int, int]:
        """Return the first millisecond of the range, and the first one after it."""
        return _first_millisecond(self.first), _first_millisecond(self.last) + _DAY_MS

    @property
    def previous(self) -> "DayRange":
        """Return the range of the same length that ends the day before."""
        return DayRange(self.first - timedelta(days=self.days), self.first - timedelta(days=1))

    def list_days(self) -> list[str]:
        """Return the days as ``YYYY-MM-DD``, ascending."""
        return [(self.first + timedelta(days=place)).isoformat() for place in range(self.days)]


def find_preset(name: str, now: int) -> DayRange | None:
    """Return the range ``name`` of ``PRESETS`` that ends on the day of ``now`` (ms); None for any other name."""
    days = PRESETS.get(name)
    return None if days is None else end_today(days, now)


def end_today(days: int, now: int) -> DayRange:
    """Return the last ``days`` days up to that of ``now`` (ms)."""
    today = datetime.fromtimestamp(now / 1000, UTC).date()
    return DayRange(today - timedelta(days=days - 1), today)


def parse_days(first: str, last: str, now: int) -> DayRange | None:
    """Return the range from ``first`` to ``last`` (``YYYY-MM-DD``), in either order; None unless both are dates.

    Days after that of ``now`` (ms) are cut off, those before the year 2000, and those before the last ``MAX_DAYS`` of
    the range.
    """
    today = datetime.fromtimestamp(now / 1000, UTC).date()
    try:
        earlier, later = sorted((date.fromisoformat(first), date.fromisoformat(last)))
    except ValueError:
        return None
    later = max(_EARLIEST, min(later, today))
    earlier = max(_EARLIEST, min(earlier, later))
    return DayRange(max(earlier, later - timedelta(days=MAX_DAYS - 1)), later)


def parse_day(text: str) -> date | None:
    """Return the day (UTC) of ``text``, ``YYYY-MM-DD`` or an RFC 3339 instant; None for anything else, and for days
    before the year 2000."""
    instant = parse_instant(text)
    try:
        day = date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        return None
    if instant is not None:
        day = datetime.fromtimestamp(instant / 1000, UTC).date()
    return day if day is not None and day >= _EARLIEST else None


def _first_millisecond(day: date) -> int:
    return (day - date(1970, 1, 1)).days * _DAY_MS
