"""Text in tiles: sharper than in images of a whole page where it is gray, otherwise the same."""

import io
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pypdfium2.raw as pdfium
import pytest
from PIL import Image, ImageChops, ImageFilter, ImageStat

from docshare.server.pdf.engine import PdfEngine, WatermarkText
from docshare.server.pdf.worker import render
from docshare.server.pdf.worker.documents import OpenPdfDocument
from docshare.server.rules.tiles import ZoomTile, find_tile
from tests.support.documents import pdfs

Put = Callable[..., Path]
SIZE = (300.0, 390.0)
WIDTH = 900
FINE_PRINT = pdfs.lines_content("\n".join(["Fine print of a page, which is long"] * 20), size=6, left=30, top=300)
BLUE_SQUARE = "0 0 1 rg 20 320 60 60 re f "
TEXT = (90, 260, 600, 800)  # pixels of the fine print
LAPLACIAN = ImageFilter.Kernel((3, 3), (0, 1, 0, 1, -4, 1, 0, 1, 0), scale=8, offset=128)


def get_tile() -> ZoomTile:
    """Return the only tile of the page."""
    tile = find_tile([[1, *SIZE]], 1, f"{WIDTH}w", 0, 0)
    assert tile is not None
    return tile


def render_both(engine: PdfEngine, path: Path) -> tuple[Image.Image, Image.Image]:
    """Return the image of the whole page and the tile, which have the same size."""
    whole, tile = (Image.open(io.BytesIO(engine.render(path, 1, part))) for part in (WIDTH, get_tile()))
    assert whole.size == tile.size
    return whole, tile


def sharpness(image: Image.Image) -> float:
    """Return the variance of the Laplacian, which grows with the steepness of edges."""
    return float(ImageStat.Stat(image.convert("L").filter(LAPLACIAN)).var[0])


def test_gray_text_is_sharper_and_in_the_same_place(engine: PdfEngine, write_file: Put) -> None:
    whole, tile = render_both(engine, write_file(pdfs.sheets_pdf([pdfs.Sheet(FINE_PRINT, SIZE)])))
    assert tile.mode == "L", "without color, the image has no bytes for it"
    assert sharpness(tile.crop(TEXT)) > 1.15 * sharpness(whole.crop(TEXT))
    # The same coverage of each area: neither bolder nor moved.
    coarse = [image.convert("L").reduce(12) for image in (whole, tile)]
    assert ImageStat.Stat(ImageChops.difference(*coarse)).extrema[0][1] < 12


def test_colors_are_the_same(engine: PdfEngine, write_file: Put) -> None:
    page = f"{BLUE_SQUARE} 0.7 0.1 0.1 rg {FINE_PRINT}"
    whole, tile = render_both(engine, write_file(pdfs.sheets_pdf([pdfs.Sheet(page, SIZE)])))
    assert tile.mode == "RGB"
    assert max(ImageStat.Stat(ImageChops.difference(whole, tile)).mean) < 0.1


def test_gray_text_is_sharp_beside_colors(engine: PdfEngine, write_file: Put) -> None:
    whole, tile = render_both(
        engine, write_file(pdfs.sheets_pdf([pdfs.Sheet(f"{BLUE_SQUARE} 0 g {FINE_PRINT}", SIZE)]))
    )
    assert tile.mode == "RGB"
    square = (70, 40, 230, 200)
    assert max(ImageStat.Stat(ImageChops.difference(whole.crop(square), tile.crop(square))).mean) < 1
    assert sharpness(tile.crop(TEXT)) > 1.15 * sharpness(whole.crop(TEXT))


def test_a_watermark_is_drawn_on_a_gray_tile(engine: PdfEngine, write_file: Put) -> None:
    path = write_file(pdfs.sheets_pdf([pdfs.Sheet(FINE_PRINT, SIZE)]))
    mark = WatermarkText("ann@acme.test - copy 7F3A-91C2", 0.4, "normal")
    plain, marked = (Image.open(io.BytesIO(engine.render(path, 1, get_tile(), each))) for each in (None, mark))
    assert ImageStat.Stat(ImageChops.difference(plain.convert("L"), marked.convert("L"))).mean[0] > 1


@pytest.mark.parametrize(("limit", "drawings"), [(60.0, 2), (0.0, 1)])
def test_a_page_that_takes_long_is_drawn_once(
    write_file: Put, monkeypatch: pytest.MonkeyPatch, limit: float, drawings: int
) -> None:
    count = 0
    draw = pdfium.FPDF_RenderPageBitmap

    def count_drawing(*arguments: object) -> None:
        nonlocal count
        count += 1
        draw(*arguments)

    monkeypatch.setattr(render, "_COSTLY_S", limit)
    monkeypatch.setattr(pdfium, "FPDF_RenderPageBitmap", count_drawing)
    path = write_file(pdfs.sheets_pdf([pdfs.Sheet(FINE_PRINT, SIZE)]))
    with closing(OpenPdfDocument(path.open("rb"))) as document:
        assert Image.open(io.BytesIO(render.render_tile(document, 1, get_tile().describe()))).size[0] == WIDTH
    assert count == drawings
