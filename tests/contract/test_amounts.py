"""Numbers, counts and sizes as people see them."""

from __future__ import annotations

import pytest

from docshare.contract.amounts import format_distinct_sizes, format_plural, format_size, round_half_up


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (12.5, 0, 13), (13.5, 0, 14), (0.5, 0, 1), (12.499, 0, 12), (62.25, 1, 62.3), (0.285, 2, 0.29),
        (1.005, 2, 1.01), (9.95, 1, 10), (0, 1, 0), (100.0, 1, 100), (2**53, 0, 2**53),
    ],
)  # fmt: skip
def test_half_is_rounded_up_by_decimal_representation(value: float, digits: int, expected: float) -> None:
    assert round_half_up(value, digits) == expected


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"), (1_023, "1023 B"), (1_024, "1 kB"), (1_074, "1 kB"), (1_076, "1.1 kB"), (10_188, "9.9 kB"),
        (10_189, "10 kB"), (10_752, "11 kB"), (1_048_063, "1023 kB"), (1_048_064, "1 MB"), (4_404_019, "4.2 MB"),
        (25 * 2**20, "25 MB"), (2 * 2**30, "2 GB"), (2**40, "1 TB"), (5_000 * 2**40, "5000 TB"),
    ],
)  # fmt: skip
def test_a_size_has_one_decimal_below_ten_units(size: int, text: str) -> None:
    assert format_size(size) == text


def test_two_sizes_that_round_to_the_same_text_are_given_in_bytes() -> None:
    assert format_distinct_sizes(2 * 2**20, 2**20) == ("2 MB", "1 MB")
    assert format_distinct_sizes(2**20 + 1, 2**20) == ("1 MB (1,048,577 bytes)", "1 MB (1,048,576 bytes)")


@pytest.mark.parametrize(
    ("number", "noun", "many", "text"),
    [(1, "file", "", "1 file"), (0, "file", "", "0 files"), (2_000, "file", "", "2,000 files"),
     (1, "delivery", "deliveries", "1 delivery"), (2, "page has", "pages have", "2 pages have")],
)  # fmt: skip
def test_a_noun_follows_its_number(number: int, noun: str, many: str, text: str) -> None:
    assert format_plural(number, noun, many) == text
