"""Small text charts: a sparkline, a bar, shades; in ASCII where the stream requires it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docshare.cli.terminal.capabilities import Screen

_SPARKS = "▁▂▃▄▅▆▇█"
_SPARKS_ASCII = "_.-=+*%#"
_EIGHTHS = "▏▎▍▌▋▊▉█"
_SHADES = "·░▒▓█"
_SHADES_ASCII = ".:+*#"


def draw_sparkline(values: Sequence[float], screen: "Screen") -> str:
    """Return one character per value, the highest for the largest; a value above 0 never looks like 0."""
    marks = _SPARKS if screen.unicode else _SPARKS_ASCII
    return "".join(marks[_scale(value, max(values), len(marks) - 1)] for value in values)


def draw_bar(value: float, largest: float, width: int, screen: "Screen") -> str:
    """Return a bar of up to ``width`` cells, full for ``largest``; above 0 it is never empty."""
    if value <= 0 or largest <= 0:
        return ""
    cells = min(value / largest, 1.0) * width
    if not screen.unicode:
        return "#" * max(round(cells), 1)
    eighths = max(round(cells * 8), 1)
    whole, rest = divmod(eighths, 8)
    return _EIGHTHS[-1] * whole + (_EIGHTHS[rest - 1] if rest else "")


def draw_shades(values: Sequence[float], largest: float, screen: "Screen") -> str:
    """Return one character per value, darker for larger ones; a value above 0 never looks like 0."""
    marks = _SHADES if screen.unicode else _SHADES_ASCII
    return "".join(marks[_scale(value, largest, len(marks) - 1)] for value in values)


def _scale(value: float, largest: float, steps: int) -> int:
    if value <= 0 or largest <= 0:
        return 0
    return min(max(round(value / largest * steps), 1), steps)
