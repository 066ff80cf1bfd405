"""The pages that readers see: clamped to the document."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docshare.server.rules.page_window import PageWindow, resolve_window


def make_range(first: int, last: int) -> dict[str, int]:
    return {"from": first, "to": last}


@pytest.mark.parametrize(
    ("total", "page_range", "first", "last"),
    [
        (10, None, 1, 10),
        (10, make_range(2, 5), 2, 5),
        (10, make_range(10, 10), 10, 10),
        (10, make_range(0, 0), 1, 10),
        (10, make_range(8, 12), 8, 10),
        (10, make_range(12, 20), 1, 0),
        (10, make_range(11, 11), 1, 0),
        (1, make_range(2, 5), 1, 0),
        (1, None, 1, 1),
    ],
)
def test_the_window_is_the_range_clamped_to_the_document(total: int, page_range: Any, first: int, last: int) -> None:
    assert resolve_window(total, page_range) == PageWindow(first, last)


@given(total=st.integers(1, 60), first=st.integers(1, 80), more=st.integers(0, 80))
def test_the_window_contains_exactly_the_pages_of_the_range(total: int, first: int, more: int) -> None:
    window = resolve_window(total, make_range(first, first + more))
    assert [window.to_document_page(page) for page in range(1, window.size + 1)] == [
        page for page in range(first, first + more + 1) if page <= total
    ]


def test_page_numbers_start_at_one() -> None:
    window = PageWindow(4, 6)
    assert [window.to_document_page(page) for page in (1, 2, 3)] == [4, 5, 6]
    assert [window.to_reader_page(page) for page in range(1, 9)] == [None, None, None, 1, 2, 3, None, None]
    assert (window.size, window.pages_before) == (3, 3)


@pytest.mark.parametrize("page", [-3, 0, 4, 5, 100])
def test_a_page_outside_of_the_window_raises(page: int) -> None:
    with pytest.raises(ValueError, match="window"):
        PageWindow(4, 6).to_document_page(page)


@pytest.mark.parametrize(
    ("window", "runs"),
    [
        (PageWindow(1, 6), [[2, 600.0, 800.0], [1, 300.0, 300.0], [3, 600.0, 800.0]]),
        (PageWindow(2, 4), [[1, 600.0, 800.0], [1, 300.0, 300.0], [1, 600.0, 800.0]]),
        (PageWindow(3, 3), [[1, 300.0, 300.0]]),
        (PageWindow(5, 6), [[2, 600.0, 800.0]]),
    ],
)
def test_page_sizes_are_trimmed_to_the_window(window: PageWindow, runs: list[list[float]]) -> None:
    assert window.trim_runs([[2, 600.0, 800.0], [1, 300.0, 300.0], [3, 600.0, 800.0]]) == runs


@pytest.mark.parametrize(
    ("window", "is_complete"), [(PageWindow(1, 6), True), (PageWindow(1, 5), False), (PageWindow(2, 6), False)]
)
def test_only_the_window_of_every_page_covers_all(window: PageWindow, is_complete: bool) -> None:
    assert window.covers_all(6) is is_complete
