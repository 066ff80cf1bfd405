"""Compute the positions of watermark lines on a page, for images and for PDFs. Runs only inside the worker."""

import math
from dataclasses import dataclass

SLANT_DEGREES = 40  # counterclockwise on the displayed page
_LINES_BY_DENSITY = {"sparse": 3, "normal": 5, "dense": 8}  # over the shorter side
_CHARACTER_WIDTH = 0.56  # average, in multiples of the font size
_MAX_TEXT_CHARS = 120
_MAX_LINES = 60


@dataclass(frozen=True)
class MarkLayout:
    """``text`` as drawn (possibly truncated), its font ``size``, the ``length`` of a line, and the ``middles`` of the
    lines relative to the center of the page, y upward. Lengths are in the units of the page."""

    text: str
    size: float
    length: float
    middles: list[tuple[float, float]]


def lay_out_mark(wide: float, tall: float, text: str, density: str, angle: float) -> MarkLayout:
    """Return lines of ``text`` that fill a page of ``wide`` x ``tall``, at ``angle`` degrees counterclockwise."""
    text = text[:_MAX_TEXT_CHARS]
    short, reach = min(wide, tall), math.hypot(wide, tall)
    step = max(short / _LINES_BY_DENSITY[density], reach / _MAX_LINES)
    size = max(short / 200, min(step * 0.3, 0.7 * short / (len(text) * _CHARACTER_WIDTH)))
    length = len(text) * size * _CHARACTER_WIDTH
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    middles = []
    for across in _spread_steps(reach, step):
        for along in _spread_steps(reach, max(length + 2 * size, reach / _MAX_LINES)):
            x, y = along * cos - across * sin, along * sin + across * cos
            if abs(x) < (wide + length) / 2 and abs(y) < (tall + length) / 2:
                middles.append((x, y))
    return MarkLayout(text, size, length, middles)


def _spread_steps(reach: float, step: float) -> list[float]:
    """Return positions from about -``reach``/2 to ``reach``/2, ``step`` apart, including 0."""
    most = math.floor(reach / 2 / step) + 1
    return [step * number for number in range(-most, most + 1)]
