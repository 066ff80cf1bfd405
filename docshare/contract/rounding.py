"""Numbers as people are told them."""

from decimal import ROUND_HALF_UP, Decimal


def half_up(value: float, digits: int = 0) -> float:
    """``value`` with so many decimals, halves upward: 12.5 is 13, where ``round`` makes 12 of it. What counts is the
    number as it is written: 0.285 with two decimals is 0.29."""
    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
