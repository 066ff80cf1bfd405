"""The arithmetic of the readership report."""

import pytest

from docshare.server.rules import readership
from docshare.server.rules.readership import FunnelStep


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        (0, 0, 0.0),
        (0, 7, 0.0),
        (7, 7, 100.0),
        (1, 3, 33.3),
        (2, 3, 66.7),
        (1, 8, 12.5),
        (1, 16, 6.3),
        (1, 1000, 0.1),
        (1, 2001, 0.0),
        (333_333, 1_000_000, 33.3),
    ],
)
def test_a_percentage_has_one_decimal_and_is_0_of_0(part: int, whole: int, expected: float) -> None:
    assert readership.percent_share(part, whole) == expected


@pytest.mark.parametrize(("total", "count", "expected"), [(0, 0, 0), (9, 0, 0), (10, 4, 3), (9, 4, 2), (10, 3, 3)])
def test_a_mean_is_rounded_half_up(total: int, count: int, expected: int) -> None:
    assert readership.rounded_mean(total, count) == expected


@pytest.mark.parametrize(
    ("now", "first", "last"),
    [
        (1_790_000_000_000, "2026-08-23", "2026-09-21"),
        (1_772_323_199_999, "2026-01-30", "2026-02-28"),  # the last millisecond of a day
        (1_772_323_200_000, "2026-01-31", "2026-03-01"),
        (1_709_164_800_000, "2024-01-31", "2024-02-29"),
    ],
)
def test_the_last_days_are_thirty_days_in_utc(now: int, first: str, last: str) -> None:
    days = readership.list_last_days(now)
    assert (len(days), days[0], days[-1], days) == (30, first, last, sorted(set(days)))


def test_the_funnel_counts_sessions_that_reached_a_page_or_a_later_one() -> None:
    assert readership.build_funnel({0: 1, 1: 2, 3: 1}, 4, 1, 4) == [
        FunnelStep(1, 3, 75.0),
        FunnelStep(2, 1, 25.0),
        FunnelStep(3, 1, 25.0),
        FunnelStep(4, 0, 0.0),
    ]


def test_the_funnel_of_a_window_counts_readers_of_later_pages() -> None:
    """A reader may have seen later pages before the window was set, or while the document was longer."""
    assert readership.build_funnel({2: 1, 3: 2, 9: 1}, 4, 3, 4) == [FunnelStep(3, 3, 75.0), FunnelStep(4, 1, 25.0)]


def test_the_funnel_of_an_unread_file_is_zero() -> None:
    assert readership.build_funnel({}, 0, 1, 2) == [FunnelStep(1, 0, 0.0), FunnelStep(2, 0, 0.0)]


@pytest.mark.parametrize(("text", "expected"), [("0 00", (0, 0)), ("6 23", (6, 23)), ("1 08", (1, 8))])
def test_an_hour_of_the_week_is_parsed(text: str, expected: tuple[int, int]) -> None:
    assert readership.parse_hour_of_week(text) == expected
