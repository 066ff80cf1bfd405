"""Watermarks on page images."""

import io
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from docshare.server.pdf.engine import PdfEngine, WatermarkText
from docshare.server.pdf.pages import PageStore
from tests.support.documents import pdfs

Put = Callable[..., Path]
FILE = "5e1f6a52-5d55-4f0f-9c8f-0d2f7f0c1a11"
MARK = WatermarkText("docs.example.com - copy 7F3A-91C2", 0.3, "normal")


def render_image(engine: PdfEngine, path: Path, page: int, mark: WatermarkText | None, width: int = 800) -> Image.Image:
    return Image.open(io.BytesIO(engine.render(path, page, width, mark)))


def compute_ink_share(image: Image.Image) -> float:
    """Return the fraction of the image that is not white, 0 to 1."""
    return sum(image.convert("L").histogram()[:251]) / (image.width * image.height)


@pytest.mark.parametrize("page", [1, 2, 3, 4, 5])
def test_a_page_of_any_shape_is_watermarked(engine: PdfEngine, write_file: Put, page: int) -> None:
    path = write_file(pdfs.mixed_sizes_pdf())
    plain, marked = render_image(engine, path, page, None), render_image(engine, path, page, MARK)
    assert plain.size == marked.size
    assert compute_ink_share(marked) > compute_ink_share(plain) + 0.005


@pytest.mark.parametrize("quarter", range(4))
def test_every_quarter_of_a_page_is_watermarked(engine: PdfEngine, write_file: Put, quarter: int) -> None:
    image = render_image(engine, write_file(pdfs.simple_pdf(texts=[" "])), 1, MARK)
    wide, tall = image.width // 2, image.height // 2
    left, top = quarter % 2 * wide, quarter // 2 * tall
    assert compute_ink_share(image.crop((left, top, left + wide, top + tall))) > 0.005


def test_density_sets_the_frequency_and_opacity_the_darkness(engine: PdfEngine, write_file: Put) -> None:
    path = write_file(pdfs.simple_pdf(texts=[" "]))
    darkest = [
        render_image(engine, path, 1, WatermarkText("Copy", opacity, "normal")).convert("L").getextrema()[0]
        for opacity in (0.05, 0.5)
    ]
    assert 230 < darkest[0] < 254
    assert 150 < darkest[1] < 210
    counts = [
        count_ink_fields(render_image(engine, path, 1, WatermarkText("I", 0.5, density)))
        for density in ("sparse", "normal", "dense")
    ]
    assert counts[0] < counts[1] < counts[2]


def count_ink_fields(image: Image.Image) -> int:
    """Divide the image into 20 x 20 fields and count those that are not blank."""
    fields = image.convert("L").resize((20, 20), Image.Resampling.BOX)
    return sum(level < 254 for level in fields.tobytes())


def test_text_under_the_watermark_is_readable(engine: PdfEngine, write_file: Put) -> None:
    image = render_image(
        engine, write_file(pdfs.simple_pdf(texts=["Page one"])), 1, WatermarkText("X" * 120, 0.5, "dense")
    )
    assert image.convert("L").getextrema()[0] < 30


@pytest.mark.parametrize("make", [pdfs.huge_page_pdf, pdfs.text_heavy_pdf])
def test_extreme_pages_are_watermarked_in_time(engine: PdfEngine, write_file: Put, make: Callable[[], bytes]) -> None:
    assert render_image(engine, write_file(make()), 1, WatermarkText("X" * 500, 0.1, "dense"), width=1600).size[1] > 100


def test_watermarked_and_plain_images_are_cached_separately(engine: PdfEngine, write_file: Put, tmp_path: Path) -> None:
    path = write_file(pdfs.simple_pdf(3))
    with closing(PageStore(engine, tmp_path / "cache")) as store:
        kept = [store.image(FILE, 1, path, 1, 800, mark) for mark in (None, MARK, replace(MARK, opacity=0.5), MARK)]
        assert kept[1] == kept[3]
        assert len({file.read_bytes() for file in kept}) == len(set(kept)) == 3
        store.files.delete_derived(FILE)
        assert not any(Path(file).exists() for file in kept)
