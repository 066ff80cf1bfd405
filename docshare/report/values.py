"""Values from untrusted JSON: every function accepts any value and returns one that can be rendered."""

import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from docshare.contract.wire import parse_instant

Row = Mapping[str, Any]

_MAX_NUMBER = 10**15
_MAX_TEXT_CHARS = 10_000  # characters of one text


def clean_text(value: object) -> str:
    """Return a string without control characters and lone surrogates; ``""`` for anything but a string or a number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return ""
    whole = value[:_MAX_TEXT_CHARS].encode("utf-8", "replace").decode()
    return "".join(char for char in whole if char in "\n\t" or (ord(char) >= 32 and not 127 <= ord(char) < 160)).strip()


def read_number(value: object) -> int:
    """Return a count or a duration; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return max(0, min(int(value), _MAX_NUMBER))


def read_percentage(value: object) -> float:
    """Return a percentage from 0 to 100."""
    return min(read_amount(value), 100.0)


def read_amount(value: object) -> float:
    """Return a nonnegative number with its fraction; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0.0
    return max(0.0, min(float(value), float(_MAX_NUMBER)))


def read_instant(value: object) -> int | None:
    """Return an instant in milliseconds since 1970; None for anything else."""
    return parse_instant(value) if isinstance(value, str) else None


def read_object(value: object) -> Row:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def list_objects(value: object) -> list[Row]:
    """Return the objects in a list; an empty list for anything else."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def read_web_address(value: object) -> str | None:
    """Return an http or https address; None for anything else."""
    address = clean_text(value)
    try:
        return address if urlsplit(address).scheme in ("http", "https") else None
    except ValueError:
        return None
