"""The arithmetic of the readership report."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from docshare.contract.amounts import divide_half_up
from docshare.contract.limits import REPORT_DAYS


@dataclass(frozen=True)
class FunnelStep:
    """A step of the read-through funnel: ``reached`` sessions got to ``page`` or beyond, ``share`` of all, 0 to 100."""

    page: int
    reached: int
    share: float


def percent_share(part: int, whole: int) -> float:
    """Return ``part`` of ``whole`` as a percentage with one decimal, halves up; 0 if ``whole`` is 0."""
    return (part * 2_000 + whole) // (whole * 2) / 10 if whole else 0.0


def rounded_mean(total: int, count: int) -> int:
    """Return ``total`` divided by ``count``, halves up; 0 if ``count`` is 0."""
    return divide_half_up(total, count) if count else 0


def list_last_days(now: int) -> list[str]:
    """Return the last 30 days in UTC up to that of ``now`` (ms), as ``YYYY-MM-DD``, ascending."""
    today = datetime.fromtimestamp(now / 1000, UTC).date()
    return [(today - timedelta(days=back)).isoformat() for back in reversed(range(REPORT_DAYS))]


def build_funnel(furthest: Mapping[int, int], sessions: int, first: int, last: int) -> list[FunnelStep]:
    """Return how many sessions reached each of the pages ``first`` to ``last``.

    Parameters: ``furthest`` number of sessions by furthest page; ``sessions`` total number. A session that got beyond
    ``last``, when the document was longer, reached every page here.
    """
    reached = sum(count for page, count in furthest.items() if page > last)
    steps = []
    for page in range(last, first - 1, -1):
        reached += furthest.get(page, 0)
        steps.append(FunnelStep(page, reached, percent_share(reached, sessions)))
    return steps[::-1]


def parse_hour_of_week(text: str) -> tuple[int, int]:
    """Parse day of the week (0 = Sunday) and hour from the output of SQLite's ``strftime('%w %H')``."""
    return int(text[0]), int(text[2:])
