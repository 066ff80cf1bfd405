"""The grids of tiles: which tiles a page has, and their pixels."""

import pytest

from docshare.server.rules.tiles import find_tile

RUNS = [[2, 612.0, 792.0], [1, 100.0, 200.0], [1, 3000.0, 1500.0]]


@pytest.mark.parametrize(
    ("page", "grid", "column", "row", "whole", "left", "top", "size"),
    [
        (1, "400", 0, 0, (3264, 4224), 0, 0, (1024, 1024)),
        (2, "400", 3, 4, (3264, 4224), 3072, 4096, (192, 128)),
        (2, "800", 6, 8, (6528, 8448), 6144, 8192, (384, 256)),
        (3, "400", 0, 0, (533, 1066), 0, 0, (533, 1066)),
        (4, "400", 15, 7, (16000, 8000), 15360, 7168, (640, 832)),
        (4, "800", 31, 15, (32000, 16000), 31744, 15360, (256, 640)),
        (1, "1122w", 0, 0, (1122, 1452), 0, 0, (1122, 1452)),
        (1, "2048w", 0, 1, (2048, 2650), 0, 2048, (2048, 602)),
        (1, "2049w", 2, 2, (2049, 2652), 2048, 2048, (1, 604)),
        (1, "9792w", 9, 12, (9792, 12672), 9216, 12288, (576, 384)),
        (4, "48000w", 46, 23, (48000, 24000), 47104, 23552, (896, 448)),
    ],
)
def test_a_tile_has_its_place_and_size(
    page: int, grid: str, column: int, row: int, whole: tuple[int, int], left: int, top: int, size: tuple[int, int]
) -> None:
    tile = find_tile(RUNS, page, grid, column, row)
    assert tile is not None
    assert tile.describe() == {"left": left, "top": top, "size": size, "page": whole}


@pytest.mark.parametrize(
    ("page", "grid", "column", "row"),
    [
        (1, "300", 0, 0),
        (1, "1600", 0, 0),
        (1, "400", 4, 0),
        (1, "400", 0, 5),
        (1, "400", -1, 0),
        (3, "400", 1, 0),
        (4, "400", 16, 0),
        (4, "800", 32, 0),
        (1, "9793w", 0, 0),
        (4, "48001w", 0, 0),
        (1, "1122w", 1, 0),
    ],
)
def test_a_tile_outside_of_the_grid_does_not_exist(page: int, grid: str, column: int, row: int) -> None:
    assert find_tile(RUNS, page, grid, column, row) is None


@pytest.mark.parametrize(
    "grid", ["", "w", "0w", "0400", "-400", "+400", "4e2", " 400", "400 ", "400%", "1122W", "1122ww", "١٢٣w", "999999w"]
)
def test_an_unknown_grid_has_no_tiles(grid: str) -> None:
    assert find_tile(RUNS, 1, grid, 0, 0) is None


def test_the_tiles_of_a_width_are_those_of_the_level_with_that_width() -> None:
    assert find_tile(RUNS, 1, "3264w", 1, 2) == find_tile(RUNS, 1, "400", 1, 2)
