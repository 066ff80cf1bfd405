"""The ``viewerSettings`` stored on a server: their keys, and how values compare."""

from collections.abc import Iterator, Mapping
from typing import Any

from docshare.cli.commands.settings.declarations import ROWS

ASSETS = ("background.assetId", "logo.assetId")  # keys that refer to the file's own assets


def flatten_viewer(stored: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every dotted key of a ``viewerSettings`` object with its value."""
    for block, value in stored.items():
        if isinstance(value, Mapping):
            yield from ((f"{block}.{name}", inner) for name, inner in value.items())
        else:
            yield block, value


def has_non_default_value(key: str, value: Any) -> bool:
    """Return whether a field of ``viewerSettings`` differs from its default."""
    row = ROWS.get(key)
    return row is None or not is_same_value(value, row.default)


def is_same_value(one: Any, other: Any) -> bool:
    """Return whether two values of a field are equal; colors compare case-insensitively."""
    return bool(_fold_case(one) == _fold_case(other))


def _fold_case(value: Any) -> Any:
    return value.lower() if isinstance(value, str) and value.startswith("#") else value
