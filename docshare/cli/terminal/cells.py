"""Read values from rows, and format them as cells."""

from collections.abc import Mapping
from typing import Any

from docshare.cli.terminal.text import clean


def get_nested(row: Any, key: str) -> Any:
    """Return the value of a dotted key, or None."""
    for part in key.split("."):
        if isinstance(row, Mapping):
            row = row.get(part)
        elif isinstance(row, list) and part.isdecimal() and int(part) < len(row):
            row = row[int(part)]
        else:
            return None
    return row


def get_value(row: Mapping[str, Any], key: str) -> Any:
    """Return the value of ``key``, first as a literal key (``--fields`` stores it so), else as a dotted key."""
    return row[key] if key in row else get_nested(row, key)


def format_cell(value: Any, *, exact: bool = False) -> str:
    """Format a value for scripts: missing as empty, text and numbers bare, nested values as compact JSON.

    ``exact``: keep every character, for a file; otherwise characters that could steer a terminal are escaped.
    """
    show = _storable if exact else clean
    if value is None:
        return ""
    if isinstance(value, str):
        return show(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    import json  # help prints no cells and starts without it

    return show(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _storable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
