"""Facts about files as people say them."""

from docshare.contract.plans import DAY, GB, MB
from docshare.report.words import day_of, plural

_MINUTE = 60 * 1000
_HOUR = 60 * _MINUTE
_UNITS = ((DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute"))
_NAMED_FROM = 30 * DAY  # from here on a date says more than a number of days


def size(count: int) -> str:
    """``312 KB``, ``4.2 MB``, ``2 GB``; never more than there is, and at least 1 KB."""
    if count < MB:
        return f"{max(1, count // 1024)} KB"
    unit, name = (GB, "GB") if count >= GB else (MB, "MB")
    return f"{count * 10 // unit / 10:.1f}".removesuffix(".0") + f" {name}"


def ago(then: int, now: int) -> str:
    """How long ago ``then`` was (both ms): ``just now``, ``5 minutes ago``, ``on 3 Nov 2026``."""
    age = now - then
    if age < _MINUTE:
        return "just now"
    if age >= _NAMED_FROM:
        return f"on {day_of(then)}"
    unit, noun = next((unit, noun) for unit, noun in _UNITS if age >= unit)
    return f"{plural(age // unit, noun)} ago"
