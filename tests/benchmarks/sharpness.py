"""Measure how sharp a page is at rest, compared with pdf.js, and how soon it is.

``python -m tests.benchmarks.sharpness [--pictures=FOLDER]``. The viewer and pdf.js show the same part of the same page
at the same size: fitted, and at 100, 200 and 400 %, on a desktop with one and with two pixels for each CSS pixel, and
on a phone with three. The pictures are stored in FOLDER, those of the viewer on the left. The browser is started with
that number of pixels: where the DevTools emulate it, images are aligned to CSS pixels, as on no screen.

The sharpness of a picture is the variance of its Laplacian, which grows with the steepness of edges. A second
comparison is with pdfium, which renders the images of the viewer, at the exact size: it shows how much is lost by
scaling, while that with pdf.js also shows how differently the two draw text. npm downloads pdf.js; without npm, and at
the smallest size, there is only pdfium.
"""

import io
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pypdfium2
from PIL import Image, ImageChops, ImageFilter, ImageStat
from playwright.sync_api import Browser, FloatRect, Page, Playwright, sync_playwright

from tests.benchmarks.comparison import SMALLEST, check_bound, format_verdict
from tests.benchmarks.viewer import upload
from tests.support.browsers.browser import PHONE, Visitor, launch, visitor
from tests.support.browsers.pdfjs_page import fetch_pdfjs, serve_pdfjs
from tests.support.documents.pdfs import A4
from tests.support.documents.sharp_document import make_sharp_document
from tests.support.servers.server_process import run_server

TARGET = 0.95
SOONEST = 2_000  # milliseconds
QUIET = 800  # milliseconds without a request after which a page is at rest
ZOOMS = ("auto", "100", "200", "400")
LAPLACIAN = ImageFilter.Kernel((3, 3), (0, 1, 0, 1, -4, 1, 0, 1, 0), scale=8, offset=128)
# Notes when the last image was shown: those of pages report it, tiles are appended once they are loaded.
NOTE_IMAGES = """
window.chosenAt = window.shownAt = 0;
document.addEventListener("load", (event) => {
  if (event.target.matches?.(".page-image")) window.shownAt = performance.now();
}, true);
new MutationObserver((changes) => {
  const isTile = (node) => node.matches?.(".page-tile");
  if (changes.some(({ addedNodes }) => [...addedNodes].some(isTile))) window.shownAt = performance.now();
}).observe(document, { childList: true, subtree: true });
"""
CHOOSE_ZOOM = """zoom => {
  const select = document.querySelector("#zoom-level");
  window.chosenAt = window.shownAt = performance.now();
  select.value = zoom;
  select.dispatchEvent(new Event("change", { bubbles: true }));
}"""

Reference = Callable[["Part"], Image.Image]


@dataclass(frozen=True)
class ReaderScreen:
    """A window of ``width`` x ``height`` CSS pixels on a screen with ``density`` pixels for each."""

    density: int
    width: int
    height: int
    is_phone: bool = False

    @contextmanager
    def open_window(self, playwright: Playwright) -> Iterator[Visitor]:
        """Yield a new reader."""
        browser = launch(playwright, arguments=[f"--force-device-scale-factor={self.density}"])
        options = {"user_agent": PHONE, "has_touch": True} if self.is_phone else {}
        with visitor(browser, viewport=None, no_viewport=True, **options) as person:
            size = {"width": self.width, "height": self.height, "mobile": self.is_phone}
            session = person.context.new_cdp_session(person.page)
            session.send("Emulation.setDeviceMetricsOverride", {**size, "deviceScaleFactor": 0})
            yield person
        browser.close()


SCREENS = {
    "desktop 1x": ReaderScreen(1, 1440, 900),
    "desktop 2x": ReaderScreen(2, 1440, 900),
    "phone 3x": ReaderScreen(3, 390, 844, is_phone=True),
}


@dataclass(frozen=True)
class Part:
    """A part of the first page in screen pixels, at ``scale`` of them per point, on a screen with ``density``."""

    scale: float
    left: int
    top: int
    width: int
    height: int
    density: int


def measure_sharpness(picture: Image.Image) -> float:
    """Return the variance of the Laplacian."""
    return float(ImageStat.Stat(picture.filter(LAPLACIAN)).var[0])


def measure_difference(ours: Image.Image, theirs: Image.Image) -> float:
    """Return the mean difference of the brightness, from 0 to 255, at the best of the shifts by up to one pixel."""
    wide, tall = ours.size
    inner = theirs.crop((1, 1, wide - 1, tall - 1))
    shifted = [ours.crop((x, y, x + wide - 2, y + tall - 2)) for x in range(3) for y in range(3)]
    return min(float(ImageStat.Stat(ImageChops.difference(inner, one)).mean[0]) for one in shifted)


class Counter:
    """Counts the requests of a page that have not ended."""

    def __init__(self, page: Page) -> None:
        self.open = 0
        page.on("request", lambda _: self._add(1))
        page.on("requestfinished", lambda _: self._add(-1))
        page.on("requestfailed", lambda _: self._add(-1))

    def wait_for_rest(self, page: Page) -> None:
        """Wait until no request was open, and no image shown, for some time."""
        quiet = 0
        while quiet < QUIET:
            before = page.evaluate("window.shownAt")
            page.wait_for_timeout(100)
            quiet = quiet + 100 if self.open == 0 and page.evaluate("window.shownAt") == before else 0

    def _add(self, change: int) -> None:
        self.open += change


def take_picture(page: Page, clip: FloatRect) -> Image.Image:
    """Return a part of the window in shades of gray."""
    return Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("L")


def show_ours(person: Visitor, url: str, screen: ReaderScreen, zoom: str) -> tuple[Image.Image, Part, float]:
    """Return the picture of a part of the page at rest, which part that is, and the milliseconds until it was sharp."""
    density = screen.density
    shown = min(600, screen.width - 40)
    clip: FloatRect = {"x": (screen.width - shown) / 2, "y": 200, "width": shown, "height": 400}
    person.page.add_init_script(NOTE_IMAGES)
    counter = Counter(person.page)
    page = person.open(url)
    assert page.evaluate("[devicePixelRatio, innerWidth]") == [density, screen.width]
    if zoom != "auto":
        counter.wait_for_rest(page)
        page.evaluate(CHOOSE_ZOOM, zoom)
    counter.wait_for_rest(page)
    took = page.evaluate("window.shownAt - window.chosenAt")
    place: Any = page.locator(".page[data-page='1']").bounding_box()
    scale = place["width"] * density / A4[0]
    # Browsers put an image on whole pixels of the screen.
    left, top = (round((clip[side] - place[side]) * density) for side in ("x", "y"))  # type: ignore[literal-required]
    part = Part(scale, left, top, round(clip["width"] * density), round(clip["height"] * density), density)
    return take_picture(page, clip), part, took


@contextmanager
def serve_references(browser: Browser, folder: Path, pdf: bytes) -> Iterator[dict[str, Reference]]:
    """Yield the functions that draw a reference, by the name of the program."""
    references: dict[str, Reference] = {"pdfium": lambda part: draw_with_pdfium(pdf, part)}
    scripts = None if SMALLEST else fetch_pdfjs(folder)
    if scripts is None:
        print("compared with pdf.js: not measured; that needs npm, a network, and the full size")
        yield references
        return
    with serve_pdfjs(scripts, pdf) as url:
        yield references | {"pdf.js": lambda part: draw_with_pdfjs(browser, url, part)}


def draw_with_pdfium(pdf: bytes, part: Part) -> Image.Image:
    """Return the part of the first page of ``pdf``."""
    with pypdfium2.PdfDocument(pdf) as document:
        whole = document[0].render(scale=part.scale).to_pil().convert("L")
    return whole.crop((part.left, part.top, part.left + part.width, part.top + part.height))


def draw_with_pdfjs(browser: Browser, url: str, part: Part) -> Image.Image:
    """Return the part of the first page of the document at ``url``."""
    viewport = {"width": part.width // part.density, "height": part.height // part.density}
    with visitor(browser, viewport=viewport, device_scale_factor=part.density) as person:
        place = f"left={part.left}&top={part.top}&width={part.width}&height={part.height}"
        person.page.goto(f"{url}part?scale={part.scale}&{place}")
        person.page.wait_for_function("() => window.firstShownAt")
        return take_picture(person.page, {"x": 0, "y": 0, **viewport})


def compare(name: str, ours: Image.Image, theirs: Image.Image) -> bool:
    """Print the ratio of the sharpness, and the difference; return whether the target is reached."""
    ratio = measure_sharpness(ours) / measure_sharpness(theirs)
    reached = SMALLEST or ratio >= TARGET
    difference = measure_difference(ours, theirs)
    verdict = format_verdict(reached)
    print(f"{name}: sharpness ratio {ratio:.2f} (target >= {TARGET:g}), mean difference {difference:.1f} {verdict}")
    return reached


def save_pair(folder: Path, name: str, ours: Image.Image, theirs: Image.Image) -> None:
    """Store both pictures side by side."""
    pair = Image.new("L", (ours.width * 2 + 8, ours.height))
    pair.paste(ours, (0, 0))
    pair.paste(theirs, (ours.width + 8, 0))
    pair.save(folder / f"{name.replace(' ', '-')}.png")


def main() -> int:
    """Measure, print the results, and return the exit code."""
    pictures = [Path(word.partition("=")[2]) for word in sys.argv[1:] if word.startswith("--pictures=")]
    cases = [(screen, zoom) for screen in SCREENS for zoom in ZOOMS]
    pdf = make_sharp_document()
    reached = []
    with tempfile.TemporaryDirectory() as folder, run_server(Path(folder)) as server, sync_playwright() as playwright:
        url, browser = upload(server, pdf), launch(playwright)
        with serve_references(browser, Path(folder), pdf) as references:
            for screen, zoom in cases[:1] if SMALLEST else cases:
                name = f"{screen}, {zoom}{'' if zoom == 'auto' else ' %'}"
                with SCREENS[screen].open_window(playwright) as person:
                    ours, part, took = show_ours(person, url, SCREENS[screen], zoom)
                for program, draw in references.items():
                    theirs = draw(part)
                    for place in pictures:
                        save_pair(place, f"{screen} {zoom} {program}", ours, theirs)
                    reached.append(compare(f"{name}, compared with {program}", ours, theirs))
                reached.append(check_bound(f"{name}, until it is sharp", took, SOONEST, "ms"))
        browser.close()
    return 0 if all(reached) else 1


if __name__ == "__main__":
    raise SystemExit(main())
