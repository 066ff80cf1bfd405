"""Cut pages at a high zoom into tiles, of which readers load only those that they see."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from docshare.contract.viewer import TILES

_PIXELS_PER_POINT = 96 / 72  # at 100 %
TILE_MARK = "@"
"""The start of the names of tiles, which no other names contain."""
_GRID = re.compile(r"([1-9][0-9]{0,4})(w?)", re.ASCII)


@dataclass(frozen=True)
class ZoomTile:
    """One tile: ``column`` and ``row``, both from 0, in a grid of squares of ``side`` pixels over a page of
    ``page_wide`` x ``page_tall`` pixels."""

    side: int
    column: int
    row: int
    page_wide: int
    page_tall: int

    @property
    def name(self) -> str:
        """The name of the tile among those of its page at this width."""
        return f"{TILE_MARK}{self.side}-{self.column}-{self.row}"

    @property
    def offset_x(self) -> int:
        """The pixels of the page to the left of the tile."""
        return self.column * self.side

    @property
    def offset_y(self) -> int:
        """The pixels of the page above the tile."""
        return self.row * self.side

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels; the last tiles of a page are smaller than the others."""
        return min(self.side, self.page_wide - self.offset_x), min(self.side, self.page_tall - self.offset_y)

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


def find_tile(runs: Sequence[Sequence[float]], page: int, grid: str, column: int, row: int) -> ZoomTile | None:
    """Return a tile of ``page``, or None if the page has no such tile or the document has no such page.

    ``runs`` are the page sizes of the document: runs of [pages, width, height] in points. ``grid`` is one of the
    levels, such as "400", or the width of the page in pixels, such as "1122w". tiles.js computes the same.
    """
    size = _find_size(runs, page)
    if size is None:
        return None
    page_wide = _find_page_width(*size, grid)
    if page_wide is None:
        return None
    side = TILES.large if page_wide <= TILES.large else TILES.side
    tile = ZoomTile(side, column, row, page_wide, _round(page_wide * size[1] / size[0]))
    return tile if column >= 0 <= row and min(tile.size) > 0 else None


def _find_page_width(width: float, height: float, grid: str) -> int | None:
    """Return the width in pixels of a page of ``width`` x ``height`` points in ``grid``; None for an unknown grid."""
    found = _GRID.fullmatch(grid)
    if found is None:
        return None
    number, is_width = int(found[1]), bool(found[2])
    if is_width:
        return number if number <= _measure_width(width, height, TILES.levels[-1]) else None
    return _measure_width(width, height, number) if number in TILES.levels else None


def _measure_width(width: float, height: float, level: int) -> int:
    longest = TILES.longest * level / TILES.levels[0]
    return _round(width * min(level / 100 * _PIXELS_PER_POINT, longest / max(width, height)))


def _find_size(runs: Sequence[Sequence[float]], page: int) -> tuple[float, float] | None:
    for count, width, height in runs:
        if page <= count:
            return width, height
        page -= int(count)
    return None  # the document was replaced or deleted since the page was requested


def _round(length: float) -> int:
    """Round as JavaScript does: halves up."""
    return max(1, int(length + 0.5))
