"""Values out of JSON that anybody may have written: every function takes anything and returns what can be drawn."""

import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from docshare.contract.wire import parse_instant

Row = Mapping[str, Any]

_LARGEST = 10**15
_LONGEST = 10_000  # characters of one text


def text(value: object) -> str:
    """A string for people, without what no page may hold: control characters and lone surrogates; ``""`` for anything
    else than a string or a number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return ""
    whole = value[:_LONGEST].encode("utf-8", "replace").decode()
    return "".join(char for char in whole if char in "\n\t" or (ord(char) >= 32 and not 127 <= ord(char) < 160)).strip()


def number(value: object) -> int:
    """A count or a duration: 0 for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return max(0, min(int(value), _LARGEST))


def share(value: object) -> float:
    """A percentage: 0 to 100."""
    return min(amount(value), 100.0)


def amount(value: object) -> float:
    """A number that is not negative, with its fraction."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0.0
    return max(0.0, min(float(value), float(_LARGEST)))


def moment(value: object) -> int | None:
    """An instant in milliseconds since 1970, None for what is none."""
    return parse_instant(value) if isinstance(value, str) else None


def block(value: object) -> Row:
    """An object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def rows(value: object) -> list[Row]:
    """The objects of a list; nothing else of it."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def web_address(value: object) -> str | None:
    """An http or https address; None for what a page must not lead to."""
    address = text(value)
    try:
        return address if urlsplit(address).scheme in ("http", "https") else None
    except ValueError:
        return None
