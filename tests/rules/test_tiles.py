"""The grid of tiles at a high zoom: which tiles a page has, and their pixels."""

import pytest

from docshare.server.rules.tiles import find_tile

RUNS = [[2, 612.0, 792.0], [1, 100.0, 200.0], [1, 3000.0, 1500.0]]


@pytest.mark.parametrize(
    ("page", "level", "column", "row", "whole", "left", "top", "size"),
    [
        (1, 400, 0, 0, (3264, 4224), 0, 0, (1024, 1024)),
        (2, 400, 3, 4, (3264, 4224), 3072, 4096, (192, 128)),
        (2, 800, 6, 8, (6528, 8448), 6144, 8192, (384, 256)),
        (3, 400, 0, 1, (533, 1066), 0, 1024, (533, 42)),
        (4, 400, 15, 7, (16000, 8000), 15360, 7168, (640, 832)),
        (4, 800, 31, 15, (32000, 16000), 31744, 15360, (256, 640)),
    ],
)
def test_a_tile_has_its_place_and_size(
    page: int, level: int, column: int, row: int, whole: tuple[int, int], left: int, top: int, size: tuple[int, int]
) -> None:
    tile = find_tile(RUNS, page, level, column, row)
    assert tile is not None
    assert tile.describe() == {"left": left, "top": top, "size": size, "page": whole}


@pytest.mark.parametrize(
    ("page", "level", "column", "row"),
    [
        (1, 300, 0, 0),
        (1, 1600, 0, 0),
        (1, 400, 4, 0),
        (1, 400, 0, 5),
        (1, 400, -1, 0),
        (3, 400, 1, 0),
        (4, 400, 16, 0),
        (4, 800, 32, 0),
    ],
)
def test_a_tile_outside_of_the_grid_does_not_exist(page: int, level: int, column: int, row: int) -> None:
    assert find_tile(RUNS, page, level, column, row) is None
