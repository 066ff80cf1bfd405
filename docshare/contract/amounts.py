"""Numbers, counts and sizes as people see them. Importing this module loads nothing else."""

_SIZE_UNITS = ((1024, "kB"), (1024**2, "MB"), (1024**3, "GB"), (1024**4, "TB"))


def round_half_up(value: float, digits: int = 0) -> float:
    """Return ``value`` rounded to ``digits`` decimals, with halves away from zero: 12.5 becomes 13, where ``round``
    returns 12. The decimal notation is rounded, not the binary value: 0.285 with two decimals becomes 0.29."""
    from decimal import ROUND_HALF_UP, Decimal  # not at the top: most commands do not round

    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def format_size(size: int) -> str:
    """Return ``108 B``, ``9.9 kB``, ``312 kB``, ``2 GB``: binary units, one decimal below ten, halves up."""
    if size < 1024:
        return f"{size} B"
    # The largest unit of which, rounded, fewer than 1024 are needed.
    bytes_, name = next((row for row in _SIZE_UNITS if 2 * size < 2047 * row[0]), _SIZE_UNITS[-1])
    tenths = divide_half_up(10 * size, bytes_)
    return f"{tenths / 10:g} {name}" if tenths < 100 else f"{divide_half_up(size, bytes_)} {name}"


def format_distinct_sizes(one: int, other: int) -> tuple[str, str]:
    """Format two different sizes so that they look different: with exact bytes if they round to the same text."""
    sizes = format_size(one), format_size(other)
    if sizes[0] != sizes[1]:
        return sizes
    return f"{sizes[0]} ({one:,} bytes)", f"{sizes[1]} ({other:,} bytes)"


def divide_half_up(number: int, by: int) -> int:
    """Return ``number`` divided by ``by``, both integers of any size, with halves up."""
    return (2 * number + by) // (2 * by)


def format_plural(number: int, noun: str, many: str = "") -> str:
    """Return ``1 view``, ``2,000 views``; ``many`` for nouns with an irregular plural and for phrases such as
    ``page has``."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"
