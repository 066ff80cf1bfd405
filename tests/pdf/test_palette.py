"""The dominant colors of the images on the first page, found by a real worker process."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from docshare.server.pdf import engine as engine_module
from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.engine import PdfEngine
from tests.support.documents.hostile_pdfs import nested_states
from tests.support.documents.pdfs import simple_pdf
from tests.support.documents.picture_pdfs import BLUE, GREEN, RED, WHITE, Color, make_stripes, picture_pdf

Put = Callable[..., Path]
NAMES = {RED: "#c81e28", BLUE: "#143cdc", GREEN: "#0aa03c", WHITE: "#ffffff"}


pytestmark = pytest.mark.usefixtures("quick_jobs")  # a palette starts no second worker


@pytest.fixture
def patient_palettes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let palettes take as long as a busy machine needs."""
    monkeypatch.setattr(engine_module, "PALETTE_BUDGET_S", 30.0)


def used_s(engine: PdfEngine, owner: str) -> float:
    """Return the processor seconds of all jobs of an owner; of a document without one, its path."""
    return engine.pool._schedule.budget.used_s(owner, time.monotonic())


def inspect_palette(engine: PdfEngine, path: Path) -> list[str] | None:
    """Inspect the document and return its palette, like an import does."""
    engine.inspect(path)
    return engine.palette(path)


@pytest.mark.usefixtures("patient_palettes")
@pytest.mark.parametrize(
    "shares", [((RED, 70), (BLUE, 30)), ((RED, 30), (BLUE, 70)), ((RED, 20), (BLUE, 30), (GREEN, 40), (WHITE, 10))]
)
def test_colors_are_sorted_by_their_share_of_the_image(
    engine: PdfEngine, write_file: Put, shares: tuple[tuple[Color, int], ...]
) -> None:
    """The most dominant color comes first."""
    expected = [NAMES[color] for color, _ in sorted(shares, key=lambda share: -share[1])]
    assert inspect_palette(engine, write_file(picture_pdf([make_stripes(*shares)], [300]))) == expected


@pytest.mark.usefixtures("patient_palettes")
def test_a_palette_has_at_most_six_colors(engine: PdfEngine, write_file: Put) -> None:
    many = [((red, green, blue), 10) for red in (0, 120, 250) for green in (0, 120, 250) for blue in (0, 250)]
    found = inspect_palette(engine, write_file(picture_pdf([make_stripes(*many)], [300])))
    assert found is not None
    assert len(found) == 6


@pytest.mark.usefixtures("patient_palettes")
def test_images_are_weighted_by_their_area_on_the_page(engine: PdfEngine, write_file: Put) -> None:
    page = picture_pdf(
        [make_stripes((RED, 400), height=400), make_stripes((BLUE, 5), (GREEN, 3), height=4)], [150, 300]
    )
    assert inspect_palette(engine, write_file(page)) == ["#143cdc", "#0aa03c", "#c81e28"]


@pytest.mark.usefixtures("patient_palettes")
def test_a_masked_color_is_not_in_the_palette(engine: PdfEngine, write_file: Put) -> None:
    """A color key mask hides the red half of the image."""
    masked = picture_pdf([make_stripes((RED, 60), (BLUE, 40))], [300], entries="/Mask [200 200 30 30 40 40]")
    assert inspect_palette(engine, write_file(masked)) == ["#143cdc"]


@pytest.mark.usefixtures("patient_palettes")
@pytest.mark.parametrize(
    "document",
    [simple_pdf(pages=2), picture_pdf([make_stripes((RED, 60))], [300], on_page=2), picture_pdf([], [])],
    ids=["text", "second page", "drawing"],
)
def test_a_first_page_without_images_has_no_palette(engine: PdfEngine, write_file: Put, document: bytes) -> None:
    """Documents with only vector graphics have no palette."""
    assert inspect_palette(engine, write_file(document)) is None


@pytest.mark.usefixtures("patient_palettes")
@pytest.mark.parametrize(
    ("image", "side"),
    [
        (make_stripes((RED, 60)), 0),
        ((20_000, 20_000, b"\x00"), 300),
        ((4_294_967_295, 1, b""), 300),
        ((0, 10, b""), 300),
    ],
    ids=["no area", "pixel flood", "overflow", "no width"],
)
def test_an_unreadable_image_has_no_palette(
    engine: PdfEngine, write_file: Put, image: tuple[int, int, bytes], side: float
) -> None:
    path = write_file(picture_pdf([image], [side]))
    assert engine.inspect(path).total_pages == 2
    assert engine.palette(path) is None
    assert used_s(engine, str(path)) < 3


@pytest.mark.usefixtures("patient_palettes")
def test_finding_the_palette_does_not_change_the_page(engine: PdfEngine, write_file: Put) -> None:
    """The palette scales the images down, which must not change the page."""
    path = write_file(picture_pdf([make_stripes((RED, 60), (BLUE, 40))], [300]))
    before = engine.render(path, 1, 400)
    assert inspect_palette(engine, path) is not None
    assert engine.render(path, 1, 400) == before


def test_a_palette_over_its_time_budget_is_omitted(
    engine: PdfEngine, write_file: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_file(picture_pdf([make_stripes((RED, 60))], [300]))
    engine.inspect(path)
    monkeypatch.setattr(engine_module, "PALETTE_BUDGET_S", 0.000_1)
    assert engine.palette(path) is None
    monkeypatch.setattr(engine_module, "PALETTE_BUDGET_S", 30.0)
    engine.inspect(path)
    assert engine.palette(path) == ["#c81e28"]


def test_the_palette_of_a_stalling_first_page_stops_in_time(engine: PdfEngine, write_file: Put) -> None:
    """A palette takes at most two seconds, although a job can take ten."""
    engine.inspect(write_file(simple_pdf(), "first.pdf"), Tenant("account 1", "first"))
    stalling = write_file(nested_states(), "stalling.pdf")
    assert engine.palette(stalling, Tenant("account 1", "stalling")) is None
    assert 0.4 < used_s(engine, "account 1") < 4
    assert engine.inspect(write_file(simple_pdf(3), "next.pdf")).total_pages == 3


def test_a_closed_engine_returns_no_palette(write_file: Put) -> None:
    closed_engine = PdfEngine(workers=1)
    path = write_file(picture_pdf([make_stripes((RED, 60))], [300]))
    closed_engine.inspect(path)
    closed_engine.close()
    assert closed_engine.palette(path) is None
