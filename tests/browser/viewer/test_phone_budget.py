"""How much a phone loads until the first page is visible. Bytes and requests are counted, not timed."""

import pytest
from playwright.sync_api import Browser

from docshare.contract.viewer import VIEWER_MODES
from tests.support.browsers.browser import PHONE, hold_timers_until_first_image, visitor
from tests.support.browsers.paged_viewer import PublishInMode
from tests.support.documents.pdfs import A4, Sheet, lines_content, sheets_pdf

MOST_REQUESTS = 12
MOST_BYTES = 250_000
SCREEN = {"viewport": {"width": 412, "height": 823}, "device_scale_factor": 1.75, "is_mobile": True, "has_touch": True}
PROSE = "\n".join(f"{number}. Revenue rose in all regions, most of all in the south." for number in range(1, 41))
# Listeners of the document see the event before those of the viewer, which then loads more.
NOTE_FIRST_IMAGE = """
document.addEventListener("load", (event) => {
  if (event.target.matches?.(".page-image")) window.firstShownAt ??= performance.now();
}, true);
"""
LIST_BEGUN = """() => ["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type))
  .filter(({ startTime }) => startTime <= window.firstShownAt)
  .map(({ name, transferSize }) => [name.split("/").at(-1), transferSize])"""


@pytest.mark.parametrize("mode", VIEWER_MODES)
def test_the_first_page_needs_few_requests_and_bytes(browser: Browser, publish: PublishInMode, mode: str) -> None:
    report = publish(sheets_pdf([Sheet(lines_content(PROSE, size=12), A4)] * 60), mode)
    with visitor(browser, user_agent=PHONE, **SCREEN) as person:
        person.page.add_init_script(NOTE_FIRST_IMAGE)
        hold_timers_until_first_image(person.page)
        page = person.open(report)
        page.locator(".page[data-page='2'].is-ready").wait_for(state="attached")
        begun = dict(page.evaluate(LIST_BEGUN))
        assert {report.rpartition("/")[2], "share-page.css", "main.js", f"{mode}.js", "1-800.jpg?v=1"} <= set(begun)
        assert not [name for name in begun if name.startswith("2-800.jpg") or ".json" in name or "-1600.jpg" in name]
        assert not {"tiles.js", "0-0.jpg?v=1"} & set(begun)
        assert len(begun) <= MOST_REQUESTS
        assert sum(begun.values()) <= MOST_BYTES, begun
        assert person.complaints == []
