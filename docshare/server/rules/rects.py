"""Rectangles on a page: fractions of its width and height, origin top left. Pure."""

import json
import re
from typing import Any, NamedTuple

from docshare.contract.fields import field_problem

_MIN_SIDE = 0.003  # of the page; a smaller rectangle can be neither tapped nor seen
_DIGITS = 6
_TOLERANCE = 10**-_DIGITS  # by how much the sum of two rounded fractions may exceed the edge
_RULE = f"x, y, width, and height inside the page, as fractions from 0 to 1, width and height above {_MIN_SIDE}"
_FOUR_NUMBERS = re.compile(r"\s*,\s*".join([r"([0-9]*\.?[0-9]+)"] * 4), re.ASCII)


class Rect(NamedTuple):
    """A rectangle on a page, in fractions of its width and height."""

    x: float
    y: float
    width: float
    height: float

    @property
    def to_json(self) -> str:
        """Return the text stored in a row; ``parse_stored_rect`` is the inverse."""
        return json.dumps(self._asdict(), separators=(",", ":"))


def parse_stored_rect(text: str) -> Rect:
    """Parse the rectangle stored in a row."""
    return Rect(**json.loads(text))


def parse_rect(name: str, value: object) -> Rect:
    """Parse ``value``, an object ``{x, y, width, height}``. Raises ``bad_request`` naming the field ``name``."""
    if not isinstance(value, dict):
        raise field_problem(name, _RULE)
    sides = [value.get(side) for side in Rect._fields]
    if not all(_is_fraction(side) for side in sides):
        raise field_problem(name, _RULE)
    return _clip_rect(name, *(round(float(side), _DIGITS) for side in sides if side is not None))


def parse_rect_text(name: str, text: str) -> Rect:
    """Parse ``text`` of the form ``X,Y,W,H``. Raises ``bad_request`` naming the field ``name``."""
    match = _FOUR_NUMBERS.fullmatch(text.strip())
    if match is None:
        raise field_problem(name, f"X,Y,W,H: {_RULE}")
    return parse_rect(name, dict(zip(Rect._fields, map(float, match.groups()), strict=True)))


def _is_fraction(value: Any) -> bool:
    # Compared before any conversion: comparing works for integers of any length, and rejects NaN.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _clip_rect(name: str, x: float, y: float, width: float, height: float) -> Rect:
    if min(width, height) <= _MIN_SIDE or max(x + width, y + height) > 1 + _TOLERANCE:
        raise field_problem(name, _RULE)
    return Rect(x, y, round(min(width, 1 - x), _DIGITS), round(min(height, 1 - y), _DIGITS))
