"""Measure how soon a phone on a slow connection shows the first page of a document of 60 pages, and pdf.js.

``python -m tests.benchmarks.viewer [ROUNDS]``. The browser is slowed down through the DevTools protocol to the
connection and the processor that Lighthouse's mobile preset simulates: 1.6 Mbit/s, 150 ms for each response, a quarter
of the speed. Other than there, opening a connection costs nothing. Each round has an empty browser cache.

pdf.js shows a file of 20 MB in the same rounds, in the smallest possible page. npm downloads it for that; without npm,
and at the smallest size, there is no comparison. The thread in which pdf.js parses keeps the full speed.
"""

import io
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import requests
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tests.benchmarks.comparison import SMALLEST, check_bound, compare_in_turns, read_amount
from tests.support.browsers.browser import PHONE, Visitor, launch, visitor
from tests.support.browsers.pdfjs_page import fetch_pdfjs, serve_pdfjs
from tests.support.documents.pdfs import A4, PdfWriter, Sheet, lines_content, sheets_pdf
from tests.support.servers.server_process import ServerProcess, run_server

ROUNDS = read_amount(5, 1)
PAGES = 3 if SMALLEST else 60
PROSE = "\n".join(f"{number}. Revenue rose in all regions, most of all in the south." for number in range(1, 41))
SCREEN = {"viewport": {"width": 412, "height": 823}, "device_scale_factor": 1.75, "is_mobile": True, "has_touch": True}
SLOW_4G = {"offline": False, "latency": 150, "downloadThroughput": 1_638_400 / 8, "uploadThroughput": 675_000 / 8}
SLOWDOWN = 4
RECORD = """
window.paints = [];
window.blocked = 0;
new PerformanceObserver((list) => {
  for (const { startTime } of list.getEntries()) window.paints.push(startTime);
}).observe({ type: "largest-contentful-paint", buffered: true });
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) window.blocked += duration - 50;
}).observe({ type: "longtask", buffered: true });
document.addEventListener("load", (event) => {
  if (event.target.matches?.(".page-image")) window.firstShownAt ??= performance.now();
}, true);
"""
READ = """() => {
  const begun = ["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type))
    .filter(({ startTime }) => startTime <= window.firstShownAt);
  return {
    paint: window.paints.at(-1), blocked: window.blocked, requests: begun.length,
    kilobytes: begun.reduce((sum, { transferSize }) => sum + transferSize, 0) / 1000,
  };
}"""


def make_photo_report() -> bytes:
    """Return a PDF of 60 pages and 20 MB: each has text, and a photo with as much noise as those of a camera."""
    chance = random.Random(7)
    scene = Image.frombytes("RGB", (48, 32), chance.randbytes(48 * 32 * 3)).resize(
        (1500, 1000), Image.Resampling.BICUBIC
    )
    noise = Image.frombytes("RGB", scene.size, chance.randbytes(1500 * 1000 * 3))
    photo = io.BytesIO()
    Image.blend(scene, noise, 0.07).save(photo, "JPEG", quality=89)
    writer = PdfWriter()
    root, tree = writer.reserve(), writer.reserve()
    font = writer.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    head = "/Type /XObject /Subtype /Image /Width 1500 /Height 1000 /ColorSpace /DeviceRGB /BitsPerComponent 8"
    pages = []
    for _ in range(60):
        picture = writer.stream(photo.getvalue(), f"{head} /Filter /DCTDecode")
        drawn = f"q 451 0 0 300 72 60 cm /P Do Q {lines_content(PROSE, size=8)}"
        named = f"/Font << /F1 {font} 0 R >> /XObject << /P {picture} 0 R >>"
        page = f"/Type /Page /Parent {tree} 0 R /MediaBox [0 0 {A4[0]:g} {A4[1]:g}] /Resources << {named} >>"
        pages.append(f"<< {page} /Contents {writer.stream(drawn)} 0 R >>")
    kids = [writer.add(page) for page in pages]  # together, because pdf.js reads all of them before the first page
    writer.put(tree, f"<< /Type /Pages /Count 60 /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] >>")
    writer.put(root, f"<< /Type /Catalog /Pages {tree} 0 R >>")
    return writer.finish(root)


def upload(server: ServerProcess, content: bytes) -> str:
    """Return the share link of a document whose first page is rendered, as for every reader but the first."""
    files = {"file": ("a.pdf", content)}
    created = requests.post(f"{server.url}/api/v1/files", files=files, headers=server.headers, timeout=60).json()
    requests.get(f"{server.url}/{created['shortId']}/pages/1-800.jpg?v=1", timeout=60).raise_for_status()
    return str(created["shareUrl"])


@contextmanager
def open_on_phone(browser: Browser) -> Iterator[Visitor]:
    """Yield a reader with a slow phone whose cache is empty."""
    with visitor(browser, user_agent=PHONE, **SCREEN) as person:
        person.page.set_default_timeout(60_000)
        person.page.add_init_script(RECORD)
        session = person.context.new_cdp_session(person.page)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", SLOW_4G)
        session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
        yield person


def measure_first_page(browser: Browser, url: str) -> float:
    """Return the milliseconds until ``url`` shows the first page."""
    with open_on_phone(browser) as person:
        person.page.goto(url, wait_until="commit")
        person.page.wait_for_function("() => window.firstShownAt")
        return float(person.page.evaluate("window.firstShownAt"))


def compare_with_pdfjs(browser: Browser, server: ServerProcess, folder: Path) -> bool:
    """Compare the time until the first page of the same file is shown; return whether the target is reached."""
    scripts = None if SMALLEST else fetch_pdfjs(folder)
    if scripts is None:
        print("first page, compared with pdf.js: not measured; that needs npm, a network, and the full size")
        return True
    report = make_photo_report()
    ours = upload(server, report)
    with serve_pdfjs(scripts, report) as theirs:
        return compare_in_turns(
            f"first page of {len(report) / 1e6:.0f} MB, pdf.js as the limit",
            lambda: measure_first_page(browser, ours),
            lambda: measure_first_page(browser, theirs),
            target=0.25,
            better="less",
            unit="ms",
            rounds=ROUNDS,
        ).reached


def measure_opening(browser: Browser, url: str) -> dict[str, float]:
    """Open ``url`` once; return the paint of the largest content and the blocking time of scripts in milliseconds, and
    the requests and kilobytes until the first page was there."""
    with open_on_phone(browser) as person:
        page = person.page
        person.open(url)
        page.locator(".page[data-page='2'].is-ready").wait_for(state="attached")
        found: dict[str, Any] = page.evaluate(READ)
        return found


def main() -> int:
    """Measure, print the results, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder, run_server(Path(folder)) as server, sync_playwright() as playwright:
        content = sheets_pdf([Sheet(lines_content(PROSE, size=12), A4)] * PAGES)
        url, browser = upload(server, content), launch(playwright)
        rounds = [measure_opening(browser, url) for _ in range(ROUNDS)]
        is_faster = compare_with_pdfjs(browser, server, Path(folder))
        browser.close()
    values = {name: median(found[name] for found in rounds) for name in rounds[0]}
    reached = [
        is_faster,
        check_bound("largest contentful paint", values["paint"], 1_800, "ms"),
        check_bound("total blocking time", values["blocked"], 100, "ms"),
        check_bound("requests until the first page", values["requests"], 12, "requests"),
        check_bound("bytes until the first page", values["kilobytes"], 250, "kB"),
    ]
    return 0 if all(reached) else 1


if __name__ == "__main__":
    raise SystemExit(main())
