"""Convert PDF coordinates to fractions of the displayed page. Runs only inside the worker."""

import math
from dataclasses import dataclass

import pypdfium2

PdfRect = tuple[float, float, float, float]


@dataclass(frozen=True)
class PageView:
    """How a page is displayed: its visible box in PDF coordinates (origin bottom left) and its rotation ``turn``
    (degrees clockwise: 0, 90, 180 or 270)."""

    left: float
    bottom: float
    right: float
    top: float
    turn: int

    @classmethod
    def from_page(cls, page: pypdfium2.PdfPage) -> "PageView":
        """Return the view of ``page``."""
        left, bottom, right, top = page.get_bbox()
        return cls(left, bottom, right, top, page.get_rotation())

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in points after rotation."""
        flat = (self.right - self.left, self.top - self.bottom)
        return flat if self.turn in (0, 180) else (flat[1], flat[0])

    def to_shown(self, left: float, bottom: float, right: float, top: float) -> PdfRect:
        """Convert a rectangle to (x0, y0, x1, y1) in points on the displayed page, origin top left."""
        match self.turn:
            case 90:
                return (bottom - self.bottom, left - self.left, top - self.bottom, right - self.left)
            case 180:
                return (self.right - right, bottom - self.bottom, self.right - left, top - self.bottom)
            case 270:
                return (self.top - top, self.right - right, self.top - bottom, self.right - left)
            case _:
                return (left - self.left, self.top - top, right - self.left, self.top - bottom)

    def to_fractions(self, rect: PdfRect) -> tuple[float, float, float, float] | None:
        """Convert a rectangle on the displayed page to (x, y, w, h) as fractions of the page, clipped to the page.
        Return None if it is empty."""
        width, height = self.size
        if not all(map(math.isfinite, rect)):
            return None
        x0, x1 = _clamp(rect[0] / width), _clamp(rect[2] / width)
        y0, y1 = _clamp(rect[1] / height), _clamp(rect[3] / height)
        if x1 <= x0 or y1 <= y0:
            return None
        return (round(x0, 5), round(y0, 5), round(x1 - x0, 5), round(y1 - y0, 5))


def _clamp(value: float) -> float:
    return min(1.0, max(0.0, value))
