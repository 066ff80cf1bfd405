"""Colors chosen by owners, and text colors readable on them (WCAG 2: relative luminance and contrast). Pure."""

import re
from functools import lru_cache
from typing import NamedTuple

MIN_CONTRAST = 4.5  # contrast of text with its background
_HEX_COLOR = re.compile("#[0-9A-Fa-f]{6}")
_BLEND_STEPS = 64
_LINEAR_THRESHOLD = 0.04045  # up to here sRGB is linear


class Color(NamedTuple):
    """An sRGB color; red, green and blue from 0 to 255."""

    red: int
    green: int
    blue: int

    def __str__(self) -> str:
        return f"#{self.red:02x}{self.green:02x}{self.blue:02x}"


BLACK, WHITE = Color(0, 0, 0), Color(255, 255, 255)


def parse_color(text: str) -> Color:
    """Parse ``#RRGGBB`` in either case. Raises ValueError."""
    if _HEX_COLOR.fullmatch(text) is None:
        raise ValueError("not a color")
    return Color(*bytes.fromhex(text[1:]))


def contrast_ratio(one: Color, two: Color) -> float:
    """Return the contrast ratio, from 1 for equal colors to 21 for black and white."""
    lighter, darker = sorted((_luminance(one), _luminance(two)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def text_color_on(ground: Color) -> Color:
    """Return black or white, whichever is more readable on ``ground``; one of them always is readable."""
    return max(WHITE, BLACK, key=lambda color: contrast_ratio(color, ground))


@lru_cache(maxsize=512)  # of one brand, by every page that is opened
def make_readable(color: Color, grounds: tuple[Color, ...]) -> Color:
    """Return ``color`` as a text color on all of the similar ``grounds``: unchanged if it is readable there, otherwise
    darkened or lightened just enough."""
    end = text_color_on(grounds[0])
    for step in range(_BLEND_STEPS):
        found = _blend(color, end, step / _BLEND_STEPS)
        if all(contrast_ratio(found, ground) >= MIN_CONTRAST for ground in grounds):
            return found
    return end


def _blend(one: Color, two: Color, share: float) -> Color:
    return Color(*(round(a + (b - a) * share) for a, b in zip(one, two, strict=True)))


def _luminance(color: Color) -> float:
    red, green, blue = (_linearize(part / 255) for part in color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linearize(part: float) -> float:
    return part / 12.92 if part <= _LINEAR_THRESHOLD else float(((part + 0.055) / 1.055) ** 2.4)
