"""Rounding half up on the decimal representation."""

from __future__ import annotations

import pytest

from docshare.contract.rounding import round_half_up


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (12.5, 0, 13), (13.5, 0, 14), (0.5, 0, 1), (12.499, 0, 12), (62.25, 1, 62.3), (0.285, 2, 0.29),
        (1.005, 2, 1.01), (9.95, 1, 10), (0, 1, 0), (100.0, 1, 100), (2**53, 0, 2**53),
    ],
)  # fmt: skip
def test_half_is_rounded_up_by_decimal_representation(value: float, digits: int, expected: float) -> None:
    assert round_half_up(value, digits) == expected
