"""Colours that people choose, and what can be read on them (WCAG 2: relative luminance and contrast). Pure."""

import re
from functools import lru_cache
from typing import NamedTuple

READABLE = 4.5  # contrast of text with what is behind it
_WRITTEN = re.compile("#[0-9A-Fa-f]{6}")
_STEPS = 64
_LINEAR = 0.04045  # up to here sRGB is a straight line


class Colour(NamedTuple):
    """Red, green and blue from 0 to 255."""

    red: int
    green: int
    blue: int

    def __str__(self) -> str:
        return f"#{self.red:02x}{self.green:02x}{self.blue:02x}"


BLACK, WHITE = Colour(0, 0, 0), Colour(255, 255, 255)


def parse(text: str) -> Colour:
    """``#RRGGBB`` in either case. Raises ValueError."""
    if _WRITTEN.fullmatch(text) is None:
        raise ValueError("not a colour")
    return Colour(*bytes.fromhex(text[1:]))


def contrast(one: Colour, two: Colour) -> float:
    """From 1 for the same to 21 for black and white."""
    lighter, darker = sorted((_luminance(one), _luminance(two)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def ink(ground: Colour) -> Colour:
    """Black or white, whichever is read better on ``ground``; one of them always is readable."""
    return max(WHITE, BLACK, key=lambda colour: contrast(colour, ground))


@lru_cache(maxsize=512)  # of one brand, by every page that is opened
def readable(colour: Colour, grounds: tuple[Colour, ...]) -> Colour:
    """``colour`` as text on all of ``grounds``, which are alike: itself where it can be read, otherwise as little
    darker or lighter as makes it so."""
    end = ink(grounds[0])
    for step in range(_STEPS):
        found = _mixed(colour, end, step / _STEPS)
        if all(contrast(found, ground) >= READABLE for ground in grounds):
            return found
    return end


def _mixed(one: Colour, two: Colour, share: float) -> Colour:
    return Colour(*(round(a + (b - a) * share) for a, b in zip(one, two, strict=True)))


def _luminance(colour: Colour) -> float:
    red, green, blue = (_linear(part / 255) for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= _LINEAR else float(((part + 0.055) / 1.055) ** 2.4)
