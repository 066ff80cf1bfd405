"""Page images."""

import io
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image

from docshare.server.http.parking import ParkableRequest
from docshare.server.pdf.engine import PdfEngine, UnrenderableError
from docshare.server.pdf.pages import PageStore
from tests.support.documents import pdfs
from tests.support.polling import wait_until

Put = Callable[..., Path]
FILE = "5e1f6a52-5d55-4f0f-9c8f-0d2f7f0c1a11"
BLACK, WHITE, BLUE = (0, 0, 0), (255, 255, 255), (0, 0, 255)


def render_image(engine: PdfEngine, path: Path, page: int = 1, width: int = 800) -> Image.Image:
    image = Image.open(io.BytesIO(engine.render(path, page, width)))
    assert (image.format, image.mode) == ("JPEG", "RGB")
    return image


def is_near(image: Image.Image, at: tuple[int, int], color: tuple[int, int, int]) -> bool:
    found = image.getpixel(at)
    assert isinstance(found, tuple)
    return all(abs(int(one) - two) < 12 for one, two in zip(found, color, strict=True))


@pytest.mark.parametrize("width", [800, 1600])
def test_an_image_has_the_requested_width_and_the_aspect_ratio_of_the_page(
    engine: PdfEngine, write_file: Put, width: int
) -> None:
    path = write_file(pdfs.mixed_sizes_pdf())
    assert render_image(engine, path, 1, width).size == (width, round(width * 792 / 612))
    assert render_image(engine, path, 2, width).size == (width, round(width * 595 / 842))
    assert render_image(engine, path, 4, width).size == (width, round(width * 612 / 792))


def test_colors_and_positions_are_correct(engine: PdfEngine, write_file: Put) -> None:
    image = render_image(engine, write_file(pdfs.sheets_pdf([pdfs.Sheet("0 0 1 rg 0 396 306 396 re f")])))
    assert is_near(image, (200, 200), BLUE)
    assert is_near(image, (600, 200), WHITE)
    assert is_near(image, (200, 900), WHITE)


def test_values_of_form_fields_are_rendered(engine: PdfEngine, write_file: Put) -> None:
    image = render_image(engine, write_file(pdfs.filled_form_pdf()))
    scale = 800 / 612
    assert is_near(image, (round(200 * scale), round((792 - 620) * scale)), BLACK)


def test_a_huge_page_is_rendered_within_the_pixel_limits(engine: PdfEngine, write_file: Put) -> None:
    image = render_image(engine, write_file(pdfs.huge_page_pdf()), width=1600)
    assert image.height <= 16_384
    assert image.width * image.height <= 16_000_000


def test_a_tall_page_stays_below_sixteen_megapixels(engine: PdfEngine, write_file: Put) -> None:
    image = render_image(engine, write_file(pdfs.sheets_pdf([pdfs.Sheet(size=(1000, 9000))])), width=1600)
    assert 15_900_000 < image.width * image.height <= 16_010_000
    assert image.height / image.width == pytest.approx(9, rel=0.01)


def test_the_last_of_two_thousand_pages_is_rendered(engine: PdfEngine, write_file: Put) -> None:
    assert render_image(engine, write_file(pdfs.many_pages_pdf(2000)), page=2000).width == 800


@pytest.mark.parametrize("page", [0, 4, -1, 10**9])
def test_a_missing_page_is_unrenderable(engine: PdfEngine, write_file: Put, page: int) -> None:
    with pytest.raises(UnrenderableError):
        engine.render(write_file(pdfs.simple_pdf(3)), page, 800)


def test_a_missing_file_is_not_permanently_unrenderable(engine: PdfEngine, tmp_path: Path) -> None:
    with pytest.raises(UnrenderableError) as caught:
        engine.render(tmp_path / "gone.pdf", 1, 800)
    assert not caught.value.is_permanent


def test_a_locked_document_is_unrenderable(engine: PdfEngine, write_file: Put) -> None:
    with pytest.raises(UnrenderableError):
        engine.render(write_file(pdfs.encrypted_pdf(user="secret")), 1, 800)


@pytest.fixture
def waits() -> list[str]:
    """Return the waits that requests have reported."""
    return []


@pytest.fixture
def request_(waits: list[str]) -> ParkableRequest:
    return ParkableRequest(lambda: None, lambda: waits.append("wait"))


def test_a_request_reports_that_it_waits_for_an_image_but_an_upload_does_not(
    engine: PdfEngine, write_file: Put, request_: ParkableRequest, waits: list[str]
) -> None:
    path = write_file(pdfs.simple_pdf(1))
    with request_.run():
        engine.inspect(path)
        assert waits == []
        engine.render(path, 1, 800)
        assert waits == ["wait"]


def test_a_request_reports_that_it_waits_for_the_image_of_another(
    engine: PdfEngine,
    write_file: Put,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request_: ParkableRequest,
    waits: list[str],
) -> None:
    path, has_started = write_file(pdfs.simple_pdf(1)), threading.Event()

    def render(*arguments: object) -> bytes:
        has_started.set()
        wait_until(lambda: waits == ["wait"])
        return b"image"

    monkeypatch.setattr(engine, "render", render)
    with closing(PageStore(engine, tmp_path / "cache")) as pages, ThreadPoolExecutor() as pool:
        first = pool.submit(pages.image, FILE, 1, path, 1, 800)
        assert has_started.wait(10)
        with request_.run():
            assert pages.image(FILE, 1, path, 1, 800).read_bytes() == first.result().read_bytes() == b"image"
