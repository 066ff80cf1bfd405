"""Cut pages at a high zoom into tiles, of which readers load only those that they see."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from docshare.contract.viewer import TILES

_PIXELS_PER_POINT = 96 / 72  # at 100 %
TILE_MARK = "@"
"""The start of the names of tiles, which no other names contain."""


@dataclass(frozen=True)
class ZoomTile:
    """One tile: ``column`` and ``row``, both from 0, in the grid of a page at ``level`` percent, which is ``page_wide``
    x ``page_tall`` pixels large at that level."""

    level: int
    column: int
    row: int
    page_wide: int
    page_tall: int

    @property
    def name(self) -> str:
        """The name of the tile among those of its page and level."""
        return f"{TILE_MARK}{self.column}-{self.row}"

    @property
    def offset_x(self) -> int:
        """The pixels of the page to the left of the tile."""
        return self.column * TILES.side

    @property
    def offset_y(self) -> int:
        """The pixels of the page above the tile."""
        return self.row * TILES.side

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels; the last tiles of a page are smaller than the others."""
        return min(TILES.side, self.page_wide - self.offset_x), min(TILES.side, self.page_tall - self.offset_y)

    def describe(self) -> dict[str, Any]:
        """Return what a worker has to know to render the tile."""
        return {
            "left": self.offset_x,
            "top": self.offset_y,
            "size": self.size,
            "page": (self.page_wide, self.page_tall),
        }


ImagePart = int | ZoomTile
"""An image of a page: the whole page at a width in pixels, or one tile."""


def find_tile(runs: Sequence[Sequence[float]], page: int, level: int, column: int, row: int) -> ZoomTile | None:
    """Return a tile of ``page``, or None if the page has no such tile.

    ``runs`` are the page sizes of the document: runs of [pages, width, height] in points. tiles.js computes the same.
    """
    if level not in TILES.levels:
        return None
    width, height = _find_size(runs, page)
    longest = TILES.longest * level / TILES.levels[0]
    scale = min(level / 100 * _PIXELS_PER_POINT, longest / max(width, height))
    page_wide = _round(width * scale)
    tile = ZoomTile(level, column, row, page_wide, _round(page_wide * height / width))
    return tile if column >= 0 <= row and min(tile.size) > 0 else None


def _find_size(runs: Sequence[Sequence[float]], page: int) -> tuple[float, float]:
    for count, width, height in runs:
        if page <= count:
            return width, height
        page -= int(count)
    raise ValueError("no page of the document")


def _round(length: float) -> int:
    """Round as JavaScript does: halves up."""
    return max(1, int(length + 0.5))
