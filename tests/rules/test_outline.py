"""Which entries of an outline a reader sees."""

import pytest

from docshare.server.rules.outline import OutlineEntry, trim_outline
from docshare.server.rules.page_window import PageWindow

ROWS = [
    (0, 1, "Preface"),
    (0, None, "Part I"),
    (1, 2, "First"),
    (2, 3, "First, again"),
    (1, 4, "Second"),
    (0, None, "Part II"),
    (1, 5, "Third"),
    (2, 6, "Third, again"),
    (0, None, "A web address"),
    (0, None, "Empty part"),
    (1, None, "Empty chapter"),
]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (PageWindow(1, 6), ROWS[:8]),
        (PageWindow(1, 2), [(0, 1, "Preface"), (0, 2, "First")]),
        (PageWindow(2, 4), [(0, 1, "First"), (1, 2, "First, again"), (0, 3, "Second")]),
        (PageWindow(3, 6), [(0, 1, "First, again"), (0, 2, "Second"), (0, 3, "Third"), (1, 4, "Third, again")]),
        (PageWindow(6, 6), [(0, 1, "Third, again")]),
        (PageWindow(7, 8), []),
        (PageWindow(1, 0), []),
    ],
)
def test_entries_of_hidden_pages_and_the_headings_above_them_are_omitted(
    shown: PageWindow, expected: list[tuple[int, int | None, str]]
) -> None:
    found = trim_outline([OutlineEntry(*row) for row in ROWS], shown, 6)
    assert [tuple(entry) for entry in found] == expected


def test_an_entry_below_a_hidden_one_does_not_become_one_of_the_entry_before() -> None:
    entries = [OutlineEntry(0, 2, "Shown"), OutlineEntry(0, 9, "Hidden"), OutlineEntry(1, 3, "Below the hidden one")]
    assert trim_outline(entries, PageWindow(2, 3), 9) == [(0, 1, "Shown"), (0, 2, "Below the hidden one")]
