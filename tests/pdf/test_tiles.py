"""Tiles of pages: the same pixels as the whole page, also with a watermark."""

import io
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageStat

from docshare.server.pdf.engine import PdfEngine, WatermarkText
from docshare.server.pdf.pages import PageStore
from docshare.server.rules.tiles import ZoomTile, find_tile
from tests.support.documents import pdfs

Put = Callable[..., Path]
FILE = "5e1f6a52-5d55-4f0f-9c8f-0d2f7f0c1a11"
SIZE = (300.0, 390.0)  # 3200 pixels wide at 800 %
MARK = WatermarkText("ann@acme.test - copy 7F3A-91C2", 0.4, "normal")
DOCUMENT = pdfs.sheets_pdf([
    pdfs.Sheet("0 0 1 rg 20 20 60 40 re f " + pdfs.lines_content("Fine print\nof a page", left=30, top=300), SIZE)
])  # fmt: skip


@pytest.fixture
def store(engine: PdfEngine, tmp_path: Path) -> Iterator[PageStore]:
    with closing(PageStore(engine, tmp_path / "cache")) as pages:
        yield pages


def list_tiles() -> list[ZoomTile]:
    found = [find_tile([[1, *SIZE]], 1, "800", column, row) for column in range(4) for row in range(5)]
    return [tile for tile in found if tile is not None]


def open_image(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGB")


def assemble(render: Callable[[ZoomTile], bytes]) -> Image.Image:
    whole = Image.new("RGB", (3200, 4160))
    for tile in list_tiles():
        image = open_image(render(tile))
        assert image.size == tile.size
        whole.paste(image, (tile.offset_x, tile.offset_y))
    return whole


def difference(one: Image.Image, other: Image.Image) -> float:
    """Return the mean difference of two images per color, 0 to 255."""
    return max(ImageStat.Stat(ImageChops.difference(one, other)).mean)


def test_the_tiles_of_a_page_are_the_whole_page(engine: PdfEngine, write_file: Put) -> None:
    path = write_file(DOCUMENT)
    whole = open_image(engine.render(path, 1, 3200))
    assert whole.size == (3200, 4160)
    assert difference(whole, assemble(lambda tile: engine.render(path, 1, tile))) < 0.1


def test_a_watermark_continues_across_tiles(engine: PdfEngine, store: PageStore, write_file: Put) -> None:
    path = write_file(DOCUMENT)
    plain = open_image(engine.render(path, 1, 3200))
    marked = open_image(engine.render(path, 1, 3200, MARK))
    assert difference(plain, marked) > 1.8
    assert difference(marked, assemble(lambda tile: engine.render(path, 1, tile, MARK))) < 0.5
    assert difference(marked, assemble(lambda tile: store.stamp_image(FILE, 1, path, 1, tile, MARK))) < 0.6


def test_tiles_are_cached_by_place_width_and_watermark(store: PageStore, write_file: Put, tmp_path: Path) -> None:
    path = write_file(DOCUMENT)
    first, second = list_tiles()[:2]
    finer = find_tile([[1, *SIZE]], 1, "1122w", 0, 0)
    assert finer is not None
    images = [store.image(FILE, 1, path, 1, part, mark) for part in (first, second, finer) for mark in (None, MARK)]
    again = [store.image(FILE, 1, path, 1, part, mark) for part in (first, second, finer) for mark in (None, MARK)]
    assert [str(image) for image in again] == [str(image) for image in images]
    assert len({str(image) for image in images}) == 6
    assert store.files.read_cache_state().misses == 6
    assert len(list((tmp_path / "cache").rglob("*.jpg"))) == 6


def measure_files(root: Path, *, tiles: bool) -> int:
    """Return the bytes that tiles, or the other files, take on the disk."""
    return sum(-(-path.stat().st_size // 4096) * 4096 for path in root.rglob("*.jpg") if ("@" in path.name) is tiles)


def test_tiles_displace_no_page_images_from_a_full_cache(engine: PdfEngine, write_file: Put, tmp_path: Path) -> None:
    """A page has hundreds of tiles, and anybody with one link can request them all."""
    path, root = write_file(DOCUMENT), tmp_path / "cache"
    with closing(PageStore(engine, root)) as store:
        images = [store.image(name, 1, path, 1, 1600) for name in "abc"]
    limit = 2 * measure_files(root, tiles=False)
    for cached_by_earlier_process in (False, True):
        with closing(PageStore(engine, root, max_bytes=limit)) as store:
            for name in "abcdefghij":
                for tile in list_tiles()[:6]:
                    store.image(name, 1, path, 1, tile)
            assert all(Path(image).exists() for image in images), cached_by_earlier_process
            assert limit / 4 < measure_files(root, tiles=True) <= limit / 2
    with closing(PageStore(engine, root, max_bytes=limit)) as store:
        newest = [store.image(name, 1, path, 1, 1600) for name in "xyz"]
        assert all(Path(image).exists() for image in newest)
        assert 0 < measure_files(root, tiles=True) <= limit / 4
