"""Measure how soon a phone on a slow connection shows the first page of a document of 60 pages.

``python -m tests.benchmarks.viewer [ROUNDS]``. The browser is slowed down through the DevTools protocol to the
connection and the processor that Lighthouse's mobile preset simulates: 1.6 Mbit/s, 150 ms for each response, a quarter
of the speed. Other than there, opening a connection costs nothing. Each round has an empty browser cache.
"""

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import requests
from playwright.sync_api import Browser, sync_playwright

from tests.benchmarks.comparison import SMALLEST, check_bound, read_amount
from tests.support.browser import PHONE, launch, visitor
from tests.support.pdfs import A4, Sheet, lines_content, sheets_pdf
from tests.support.server_process import ServerProcess, run_server

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


def upload(server: ServerProcess) -> str:
    """Return the share link of a document whose first page is rendered, as for every reader but the first."""
    files = {"file": ("a.pdf", sheets_pdf([Sheet(lines_content(PROSE, size=12), A4)] * PAGES))}
    created = requests.post(f"{server.url}/api/v1/files", files=files, headers=server.headers, timeout=60).json()
    requests.get(f"{server.url}/{created['shortId']}/pages/1-800.jpg?v=1", timeout=60).raise_for_status()
    return str(created["shareUrl"])


def measure_opening(browser: Browser, url: str) -> dict[str, float]:
    """Open ``url`` once; return the paint of the largest content and the blocking time of scripts in milliseconds, and
    the requests and kilobytes until the first page was there."""
    with visitor(browser, user_agent=PHONE, **SCREEN) as person:
        page = person.page
        page.set_default_timeout(60_000)
        page.add_init_script(RECORD)
        session = person.context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", SLOW_4G)
        session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
        person.open(url)
        page.locator(".page[data-page='2'].is-ready").wait_for(state="attached")
        found: dict[str, Any] = page.evaluate(READ)
        return found


def main() -> int:
    """Measure, print the results, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder, run_server(Path(folder)) as server, sync_playwright() as playwright:
        url, browser = upload(server), launch(playwright)
        rounds = [measure_opening(browser, url) for _ in range(ROUNDS)]
        browser.close()
    values = {name: median(found[name] for found in rounds) for name in rounds[0]}
    reached = [
        check_bound("largest contentful paint", values["paint"], 1_800, "ms"),
        check_bound("total blocking time", values["blocked"], 100, "ms"),
        check_bound("requests until the first page", values["requests"], 12, "requests"),
        check_bound("bytes until the first page", values["kilobytes"], 250, "kB"),
    ]
    return 0 if all(reached) else 1


if __name__ == "__main__":
    raise SystemExit(main())
