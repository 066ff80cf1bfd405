"""The ``viewerSettings`` that a server has stored of a file: their keys, and how they compare."""

from collections.abc import Iterator, Mapping
from typing import Any

from docshare.cli.commands.settings.declarations import ROWS

ASSETS = ("background.assetId", "logo.assetId")  # keys of what a file shows of its own assets


def flatten_viewer(stored: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every dotted key of a ``viewerSettings`` object with its value."""
    for block, value in stored.items():
        if isinstance(value, Mapping):
            yield from ((f"{block}.{name}", inner) for name, inner in value.items())
        else:
            yield block, value


def has_non_default_value(key: str, value: Any) -> bool:
    """Whether a field of ``viewerSettings`` differs from its default."""
    row = ROWS.get(key)
    return row is None or not is_same_value(value, row.default)


def is_same_value(one: Any, other: Any) -> bool:
    """Whether two values of a field are the same; colours compare without case."""
    return bool(_fold_case(one) == _fold_case(other))


def _fold_case(value: Any) -> Any:
    return value.lower() if isinstance(value, str) and value.startswith("#") else value
