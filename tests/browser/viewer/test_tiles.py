"""Pages are as sharp as if they were rendered at their size, from tiles of what is visible."""

import io
import re
from contextlib import closing
from typing import Any

import pypdfium2
import pytest
from PIL import Image, ImageFilter, ImageStat
from playwright.sync_api import Browser, Page

from tests.browser.conftest import ShareDocument
from tests.support.browsers.browser import (
    ENGINE,
    SWITCHES,
    RequestGate,
    Visitor,
    intercept_requests,
    list_layout_shifts,
    record_layout_shifts,
    visitor,
    wait_for_requests,
)
from tests.support.browsers.paged_viewer import PublishInMode
from tests.support.documents.pdfs import A4, Sheet, lines_content, sheets_pdf

PROSE = "\n".join(
    f"{number}. " + "Revenue rose in all regions, most of all in the south. " * 4 for number in range(1, 99)
)
DOCUMENT = sheets_pdf([Sheet(lines_content(PROSE, size=5, left=40, top=800), A4)] * 5)
LAPLACIAN = ImageFilter.Kernel((3, 3), (0, 1, 0, 1, -4, 1, 0, 1, 0), scale=8, offset=128)
IN_WINDOW = """() => [...document.querySelectorAll(".page-tile")].map((tile) => tile.getBoundingClientRect())
  .filter(({ left, right, top, bottom }) => right > 0 && bottom > 0 && left < innerWidth && top < innerHeight).length"""

# 1 if each of some points of the first page in the window is on a tile. The tiles do not receive pointer events.
COVERED = """() => {
  const tiles = [...document.querySelectorAll(".page-tile")].map((tile) => tile.getBoundingClientRect());
  const page = document.querySelector(".page[data-page='1']").getBoundingClientRect();
  const [left, right] = [Math.max(page.left, 0) + 2, Math.min(page.right, innerWidth) - 2];
  const [top, bottom] = [Math.max(page.top, 0) + 2, Math.min(page.bottom, innerHeight) - 2];
  const parts = [0, 0.25, 0.5, 0.75, 1];
  const points = parts.flatMap((x) => parts.map((y) => [left + x * (right - left), top + y * (bottom - top)]));
  const isOnTile = ([x, y]) => tiles.some((box) => box.left <= x && x <= box.right && box.top <= y && y <= box.bottom);
  return points.filter(isOnTile).length / points.length;
}"""
FEWEST_PIXELS = """() => Math.min(...[...document.querySelectorAll(".page-tile")]
  .map((tile) => tile.naturalWidth / tile.getBoundingClientRect().width / devicePixelRatio))"""
PIXEL_PLACES = """() => [...document.querySelectorAll(".page-tile")].map((tile) => tile.getBoundingClientRect())
  .map(({ left, top, width, height }) => [left, top, width, height].map((each) => each * devicePixelRatio))"""


@pytest.fixture(scope="module")
def report(share: ShareDocument) -> str:
    return share(DOCUMENT, "Fine print.pdf")


def list_tiles(person: Visitor, grid: str = "") -> list[tuple[int, str, int, int]]:
    """Return page, grid, column and row of each tile that was requested, or of those in ``grid``."""
    found = (re.search(r"/tiles/(\d+)/(\d+w?)/(\d+)-(\d+)\.jpg", url) for url in person.requests)
    tiles = [(int(match[1]), match[2], int(match[3]), int(match[4])) for match in found if match]
    return [tile for tile in tiles if grid in ("", tile[1])]


def list_grids(person: Visitor) -> set[str]:
    """Return the grids of the tiles that were requested."""
    return {grid for _, grid, _, _ in list_tiles(person)}


def zoom_to(page: Page, percent: int, tiles: int) -> None:
    """Choose a zoom level and wait until ``tiles`` tiles are in the window."""
    page.locator("#zoom-level").select_option(str(percent))
    page.wait_for_function(f"tiles => ({IN_WINDOW})() === tiles", arg=tiles)


def screenshot(page: Page, clip: dict[str, int]) -> Image.Image:
    return Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("L")  # type: ignore[arg-type]


def sharpness(image: Image.Image) -> float:
    """Return the variance of the Laplacian, which grows with the steepness of edges."""
    return float(ImageStat.Stat(image.filter(LAPLACIAN)).var[0])


def render_reference(scale: float, box: tuple[int, ...]) -> Image.Image:
    """Return a part of the first page, rendered by pdfium at ``scale`` pixels per point."""
    with pypdfium2.PdfDocument(DOCUMENT) as pdf:
        return pdf[0].render(scale=scale).to_pil().convert("L").crop(box)


@pytest.mark.parametrize(("percent", "density", "tiles"), [(400, 1, 4), (400, 2, 9), (200, 2, 6)])
def test_a_zoomed_page_is_as_sharp_as_one_rendered_at_that_size(
    browser: Browser, report: str, percent: int, density: int, tiles: int
) -> None:
    with visitor(browser, device_scale_factor=density) as person:
        page = person.open(report)
        page.locator("#zoom-level").select_option(str(percent))
        page.wait_for_function("() => window.scrollY === 0 || window.scrollTo(0, 0)")
        page.evaluate("window.scrollTo(0, 300)")
        place: dict[str, Any] = page.locator(".page[data-page='1']").bounding_box() or {}
        grid = f"{place['width'] * density:.0f}w"
        page.wait_for_function(
            "([grid, tiles]) => document.querySelectorAll(`.page-tile[src*='/${grid}/']`).length >= tiles",
            arg=[grid, tiles],
        )
        page.wait_for_timeout(500)
        clip = {"x": 300, "y": 100, "width": 800, "height": 600}
        seen = screenshot(page, clip)
        place = page.locator(".page[data-page='1']").bounding_box() or {}
        left, top = (round((clip[side] - place[side]) * density) for side in ("x", "y"))
        expected = render_reference(percent / 75 * density, (left, top, left + seen.width, top + seen.height))
        assert sharpness(seen) > 0.95 * sharpness(expected)
        assert {grid} <= list_grids(person) <= {grid, f"{960 * density}w"}, "the page was fitted before"
        assert person.complaints == []


def test_only_the_tiles_in_the_window_are_loaded(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    page.locator(".page[data-page='2'].is-ready").wait_for(state="attached")
    page.evaluate("window.scrollTo(0, 0)")
    zoom_to(page, 400, tiles=6)
    # The page has 4 columns and 5 rows; the window shows the middle of the top.
    found = list_tiles(desktop_visitor, "3173w")
    assert sorted(found) == [(1, "3173w", column, row) for column in (0, 1, 2) for row in (0, 1)]
    assert {column for _, _, column, _ in found[:2]} == {1}, "the middle is loaded first"
    page.evaluate("window.scrollBy(1200, 0)")
    page.wait_for_function("() => document.querySelector('.page-tile[src*=\"/3173w/3-0.jpg\"]') !== null")
    assert sorted(list_tiles(desktop_visitor, "3173w")[6:]) == [(1, "3173w", 3, 0), (1, "3173w", 3, 1)]
    page.locator("#zoom-level").select_option("auto")
    page.wait_for_function("() => document.querySelector(`.page-tile[src*='/3173w/']`) === null")


def test_a_page_is_blurred_before_it_is_sharp_and_does_not_move(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.page
    record_layout_shifts(page)
    gate = RequestGate(page, "**/tiles/**")
    desktop_visitor.open(report)
    page.locator("#zoom-level").select_option("400")
    clip = {"x": 300, "y": 100, "width": 800, "height": 600}
    page.wait_for_function("() => document.querySelector('.page-tiles')")
    page.wait_for_timeout(300)
    blurred, zoomed = screenshot(page, clip), list_layout_shifts(page)
    assert page.locator(".page[data-page='1'] .page-image").is_visible()
    assert page.locator(".page-tile").count() == 0
    gate.open()
    page.wait_for_function(f"() => ({IN_WINDOW})() >= 6")
    page.wait_for_timeout(300)
    sharp = screenshot(page, clip)
    assert sharpness(sharp) > 1.2 * sharpness(blurred)
    assert list_layout_shifts(page) == zoomed


def test_tiles_that_leave_the_window_are_canceled(desktop_visitor: Visitor, report: str) -> None:
    intercept_requests(desktop_visitor.page)
    canceled: list[str] = []
    desktop_visitor.page.on("requestfailed", lambda request: canceled.append(request.url))
    page = desktop_visitor.open(report)
    page.locator(".page[data-page='2'].is-ready").wait_for(state="attached")
    page.locator(".page-tile[src*='/960w/']").first.wait_for(state="attached")
    gate = RequestGate(page, "**/tiles/1/3173w/**")
    page.locator("#zoom-level").select_option("400")
    gate.wait(3)
    held = list_tiles(desktop_visitor, "3173w")
    assert len(held) == 3
    page.evaluate("window.scrollBy(0, 2500)")
    wait_for_requests(page, canceled, 3)
    gate.open()
    page.wait_for_function(f"() => ({IN_WINDOW})() >= 6")
    assert not set(held) & set(list_tiles(desktop_visitor, "3173w")[len(held) :])
    shown = page.evaluate("[...document.querySelectorAll('.page-tile')].map(({ src }) => src)")
    assert not [url for url in shown if any(f"/{tile[0]}/3173w/{tile[2]}-{tile[3]}.jpg" in url for tile in held)]


@pytest.mark.parametrize("mode", ["flipbook", "swipe", "magazine"])
def test_pages_that_are_turned_have_tiles_too(desktop_visitor: Visitor, publish: PublishInMode, mode: str) -> None:
    page = desktop_visitor.open(publish(DOCUMENT, mode))
    page.locator("#zoom-level").select_option("400")
    page.wait_for_function(f"() => ({IN_WINDOW})() >= 6")
    page.locator("#zoom-level").blur()
    page.keyboard.press("End")
    page.locator(".page[data-page='5'] .page-tile[src*='/3173w/']").first.wait_for(state="attached")


def test_a_fitted_page_on_a_dense_screen_is_blurred_before_it_is_sharp(browser: Browser, report: str) -> None:
    """The page is 960 CSS pixels wide, 1920 of the screen: more than its largest image has."""
    with visitor(browser, device_scale_factor=2) as person:
        record_layout_shifts(person.page)
        gate = RequestGate(person.page, "**/tiles/**")
        page = person.open(report)
        page.wait_for_function("() => document.querySelector('.page-tiles')")
        page.wait_for_function("() => getComputedStyle(document.querySelector('.page-image')).opacity === '1'")
        clip = {"x": 300, "y": 100, "width": 800, "height": 600}
        blurred, shifts = screenshot(page, clip), list_layout_shifts(page)
        gate.open()
        page.wait_for_function(f"() => ({COVERED})() === 1")
        assert sharpness(screenshot(page, clip)) > 1.2 * sharpness(blurred)
        assert list_layout_shifts(page) == shifts
        assert page.evaluate(FEWEST_PIXELS) == pytest.approx(1, abs=0.0005)
        assert list_grids(person) == {"1920w"}
        assert len(list_tiles(person)) <= 2
        assert person.complaints == []


@pytest.mark.parametrize("is_saving", [False, True])
def test_a_fitted_page_has_tiles_of_its_size_unless_the_reader_saves_data(
    desktop_visitor: Visitor, report: str, is_saving: bool
) -> None:
    saving = f"Object.defineProperty(navigator.connection, 'saveData', {{ value: {str(is_saving).lower()} }});"
    desktop_visitor.page.add_init_script(saving)
    page = desktop_visitor.open(report)
    page.locator(".page[data-page='2'].is-ready").wait_for(state="attached")
    if is_saving:
        page.wait_for_timeout(500)
        assert list_tiles(desktop_visitor) == []
    else:
        page.wait_for_function(f"() => ({COVERED})() === 1")
        assert list_tiles(desktop_visitor) == [(1, "960w", 0, 0)]
        assert page.evaluate(FEWEST_PIXELS) == pytest.approx(1, abs=0.0005)


@pytest.mark.parametrize(
    ("percent", "density", "grid"), [(100, 1, "793w"), (200, 1, "1587w"), (100, 2, "1586w"), (400, 3, "9519w")]
)
def test_a_chosen_percentage_is_shown_pixel_for_pixel(
    browser: Browser, report: str, percent: int, density: int, grid: str
) -> None:
    with visitor(browser, device_scale_factor=density, viewport={"width": 700, "height": 500}) as person:
        page = person.open(report)
        page.locator("#zoom-level").select_option(str(percent))
        page.locator(f".page-tile[src*='/{grid}/']").first.wait_for(state="attached")
        page.wait_for_function("grid => !document.querySelector(`.page-tile:not([src*='/${grid}/'])`)", arg=grid)
        page.wait_for_function(f"() => ({COVERED})() === 1")
        assert page.evaluate(FEWEST_PIXELS) == pytest.approx(1, abs=0.0005)


def test_tiles_are_on_whole_pixels_of_the_screen(browser: Browser, report: str) -> None:
    """With 1.75 pixels for each CSS pixel, the page itself is not. The DevTools would emulate that differently."""
    switches = [*SWITCHES, "--force-device-scale-factor=1.75"]
    with (
        closing(browser.browser_type.launch(executable_path=ENGINE, args=switches)) as dense,
        visitor(dense, viewport=None, no_viewport=True) as person,
    ):
        page = person.open(report)
        page.locator("#zoom-level").select_option("300")
        page.locator(".page-tile[src*='/4165w/']").first.wait_for(state="attached")
        page.wait_for_function("() => !document.querySelector(`.page-tile:not([src*='/4165w/'])`)")
        page.wait_for_function(f"() => ({COVERED})() === 1")
        places = page.evaluate(PIXEL_PLACES)
        assert len(places) >= 4
        assert all(abs(place - round(place)) < 0.02 for tile in places for place in tile), places


def test_a_page_of_an_unusual_size_has_tiles_of_a_level(browser: Browser, report: str) -> None:
    """The server would have to render them for each reader."""
    with visitor(browser, device_scale_factor=2) as person:
        page = person.open(report)
        page.locator(".page-tile[src*='/1920w/']").first.wait_for(state="attached")
        page.mouse.move(700, 400)
        page.keyboard.down("Control")
        page.mouse.wheel(0, -30)
        page.keyboard.up("Control")
        page.locator(".page-tile[src*='/400/']").first.wait_for(state="attached")
        page.wait_for_function("() => !document.querySelector(`.page-tile:not([src*='/400/'])`)")
        assert list_grids(person) <= {"1920w", "400"}
        assert page.evaluate(FEWEST_PIXELS) > 1


@pytest.mark.parametrize("density", [2, 3])
def test_a_fitted_page_has_a_pixel_for_each_pixel_of_a_phone(browser: Browser, report: str, density: int) -> None:
    """The natural width of an image with several widths is that of its layout, so its address is read."""
    screen = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
    with visitor(browser, device_scale_factor=density, **screen) as person:
        page = person.open(report)
        page.locator(".page[data-page='1'].is-ready").wait_for()
        chosen, width = page.locator(".page[data-page='1'] .page-image").evaluate(
            "image => [image.currentSrc, image.clientWidth]"
        )
        match = re.search(r"/1-(\d+)\.jpg", chosen)
        assert match is not None
        assert int(match[1]) >= width * density > 700
        page.locator(".page-tile").first.wait_for(state="attached")
        assert list_grids(person) == {f"{width * density}w"}
        assert page.evaluate(FEWEST_PIXELS) == pytest.approx(1, abs=0.0005)
