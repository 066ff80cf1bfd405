"""Rounding of numbers that people see."""

from decimal import ROUND_HALF_UP, Decimal


def round_half_up(value: float, digits: int = 0) -> float:
    """Return ``value`` rounded to ``digits`` decimals, with halves away from zero: 12.5 becomes 13, where ``round``
    returns 12. The decimal notation is rounded, not the binary value: 0.285 with two decimals becomes 0.29."""
    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
