"""Parsers of the values of ``docshare trigger --set key=value``.

A parser takes the text and returns the value, or raises a ValueError whose message completes "is not ...".
"""

import re
from collections.abc import Callable
from typing import Any

from docshare.contract.fields import is_uuid
from docshare.contract.wire import parse_instant

ValueParser = Callable[[str], Any]

_WHOLE = re.compile("0|[1-9][0-9]{0,14}", re.ASCII)


def parse_text(value: str) -> str:
    """Return ``value`` unchanged."""
    return value


def whole_number_parser(low: int, high: int | None = None) -> ValueParser:
    """Return a parser of whole numbers from ``low`` to ``high`` (inclusive; None: no upper bound)."""
    bounds = f" from {low}" + ("" if high is None else f" to {high}")

    def read(value: str) -> int:
        if _WHOLE.fullmatch(value) is None or int(value) < low or (high is not None and int(value) > high):
            raise ValueError(f"a whole number{bounds}")
        return int(value)

    return read


def word_parser(*words: str) -> ValueParser:
    """Return a parser that accepts one of ``words``."""

    def read(value: str) -> str:
        if value not in words:
            raise ValueError(" or ".join(words))
        return value

    return read


def parse_uuid(value: str) -> str:
    """Return a UUID in lower case."""
    if not is_uuid(value):
        raise ValueError("a UUID")
    return value.lower()


def parse_time_text(value: str) -> str:
    """Return an RFC 3339 time unchanged."""
    if parse_instant(value) is None:
        raise ValueError("a time such as 2026-11-21T09:00:00.000Z")
    return value
