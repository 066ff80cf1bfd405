"""The owner's report with the keyboard only, and what a screen reader gets of its pages."""

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from playwright.sync_api import Browser, Page, expect

from docshare.server.services.readership import viewing
from tests.browser.readership.test_report import COOKIE, ReportDocument, report_document
from tests.support.browsers.accessibility import (
    AccessibleNode,
    list_headings,
    list_image_names,
    list_landmarks,
    read_tree,
)
from tests.support.browsers.browser import DESKTOP, visitor
from tests.support.people.reader import FakeReader

__all__ = ["report_document"]

OPEN_DETAILS = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
LAST_SESSION = ".sessions tbody tr:first-child a"
PAGES = {"report": "", "days": "?from=2026-09-21&to=2026-09-22", "sessions": "/sessions", "session": LAST_SESSION}
DAYS_FORM = """
- region "Days":
  - list:
    - listitem:
      - link "7 days"
    - listitem:
      - link "30 days"
    - listitem:
      - link "All time"
  - form "Other days":
    - text: From
    - textbox "From"
    - text: to
    - textbox "to"
    - button "Show"
"""


@pytest.fixture
def report_page(browser: Browser, report_document: ReportDocument) -> Iterator[Page]:
    """Yield the report of a document with thirty sessions through two links, which is more than it lists at once."""
    world, made = report_document.world, report_document.made
    link = world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json={"label": "Ann"}).get_json()
    for place in range(24):
        name = link["shortId"] if place % 3 else made["shortId"]
        reader = FakeReader(world, name, address=f"198.51.100.{place + 5}", user_agent=DESKTOP)
        reader.read_page(6, input=place < 12)
        reader.leave()
    world.clock.advance(minutes=10)
    viewing.end_due_sessions(world.rt)
    with report_document.open_report(browser) as page:
        yield page


def open_page(page: Page, document: ReportDocument, place: str) -> None:
    """Open a page of ``PAGES``: by its path after that of the report, or by a link of the report."""
    if place.startswith("."):
        page.locator(place).first.click()
        page.wait_for_url("**/sessions/**")
    else:
        page.goto(document.report_url + place)


def read_unfolded(page: Page, document: ReportDocument, place: str) -> list[AccessibleNode]:
    """Open a page of ``PAGES``, unfold all of it, and return its accessibility tree."""
    open_page(page, document, place)
    page.evaluate(OPEN_DETAILS)
    return read_tree(page)


def tab_to(page: Page, name: str | re.Pattern[str], presses: int = 60) -> None:
    """Press Tab until the focused element has that accessible name."""
    for _ in range(presses):
        page.keyboard.press("Tab")
        node = page.locator(":focus")
        if node.count() and re.fullmatch(name, get_focused_name(page)):
            return
    raise AssertionError(f"Tab does not reach {name}")


def get_focused_name(page: Page) -> str:
    """Return the accessible name of the focused element."""
    session = page.context.new_cdp_session(page)
    try:
        found = session.send("Runtime.evaluate", {"expression": "document.activeElement"})["result"]["objectId"]
        nodes = session.send("Accessibility.getPartialAXTree", {"objectId": found, "fetchRelatives": False})["nodes"]
        return str(nodes[0].get("name", {}).get("value", ""))
    finally:
        session.detach()


@pytest.mark.parametrize("place", PAGES.values(), ids=PAGES)
def test_headings_are_in_order_and_landmarks_have_names_of_their_own(
    report_page: Page, report_document: ReportDocument, place: str
) -> None:
    tree = read_unfolded(report_page, report_document, place)
    levels = [level for level, _ in list_headings(tree)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert [pair for pair in pairwise(levels) if pair[1] > pair[0] + 1] == []
    landmarks = list_landmarks(tree)
    assert sorted({each for each in landmarks if landmarks.count(each) > 1}) == []
    assert [role for role, name in landmarks if not name and role not in ("banner", "contentinfo", "main")] == []
    assert [role for role, _ in landmarks if role in ("banner", "contentinfo", "main")] == [
        "banner",
        "main",
        "contentinfo",
    ]


@pytest.mark.parametrize("place", PAGES.values(), ids=PAGES)
def test_the_names_of_the_graphics_have_their_numbers(
    report_page: Page, report_document: ReportDocument, place: str
) -> None:
    names = list_image_names(read_unfolded(report_page, report_document, place))
    assert names
    assert [name for name in names if not re.search(r"\d", name)] == []


def test_every_page_has_a_title_of_its_own(report_page: Page, report_document: ReportDocument) -> None:
    titles = []
    for place in PAGES.values():
        open_page(report_page, report_document, "" if place.startswith(".") else place)
        if place.startswith("."):
            open_page(report_page, report_document, place)
        titles.append(report_page.title())
    report_page.goto(f"{report_document.url}/readership?from=2026-09-21&to=2026-09-22")
    titles.append(report_page.title())
    assert titles == [
        "Series A deck.pdf · Readership",
        "21 Sep 2026 to 22 Sep 2026 · Series A deck.pdf · Readership",
        "Sessions · Series A deck.pdf · Readership",
        "Session · Series A deck.pdf · Readership",
        "21 Sep 2026 to 22 Sep 2026 · All files · Readership",
    ]


def test_the_days_are_changed_with_the_keyboard_only(report_page: Page, report_document: ReportDocument) -> None:
    expect(report_page.locator("body")).to_match_aria_snapshot(DAYS_FORM)
    tab_to(report_page, "7 days")
    report_page.keyboard.press("Enter")
    report_page.wait_for_url("**?range=7d")
    expect(report_page.get_by_role("link", name="7 days")).to_have_attribute("aria-current", "true")
    tab_to(report_page, "From")
    report_page.keyboard.type("09212026")
    tab_to(report_page, "to")
    report_page.keyboard.type("09222026")
    tab_to(report_page, "Show", presses=5)
    report_page.keyboard.press("Enter")
    report_page.wait_for_url("**?from=2026-09-21&to=2026-09-22")
    expect(report_page.locator(".range-text")).to_contain_text("21 Sep 2026 to 22 Sep 2026")


def test_pages_sessions_and_tables_are_reached_with_the_keyboard_only(
    report_page: Page, report_document: ReportDocument
) -> None:
    tab_to(report_page, re.compile(r"Show as a table \(The last 30 days\)"))
    report_page.keyboard.press("Enter")
    expect(report_page.locator("#views tbody")).to_be_visible()
    report_page.keyboard.press("Enter")
    expect(report_page.locator("#views tbody")).to_be_hidden()
    for number in (1, 2, 3):
        tab_to(report_page, re.compile(rf"Open page {number}, average time \d+s"), presses=30 if number == 1 else 1)
        expect(report_page.locator(".leaf-link:focus")).to_be_in_viewport()
    tab_to(report_page, "All sessions")
    report_page.keyboard.press("Enter")
    report_page.wait_for_url("**/sessions")
    tab_to(report_page, re.compile("Reader .*"))
    report_page.keyboard.press("Enter")
    report_page.wait_for_url("**/sessions/*")
    tab_to(report_page, "Report")
    report_page.keyboard.press("Enter")
    report_page.wait_for_url(report_document.report_url)
    tab_to(report_page, "Manage this file")
    report_page.keyboard.press("Enter")
    report_page.wait_for_url("**/files/*")
    report_page.go_back()
    tab_to(report_page, "Files")
    report_page.keyboard.press("Enter")
    report_page.wait_for_url("**/files")


def test_the_sessions_are_downloaded_with_the_keyboard_only(report_page: Page, report_document: ReportDocument) -> None:
    report_page.goto(f"{report_document.report_url}/sessions")
    tab_to(report_page, "Download as CSV")
    with report_page.expect_download() as download:
        report_page.keyboard.press("Enter")
    assert download.value.suggested_filename == "sessions.csv"
    expect(report_page.locator(":focus")).to_have_accessible_name("Download as CSV")


def test_the_number_of_active_readers_is_announced_only_when_it_changes(
    browser: Browser, report_document: ReportDocument
) -> None:
    with visitor(browser) as person:
        page = person.page
        person.context.add_cookies([{"name": COOKIE, "value": report_document.cookie, "url": report_document.url}])
        page.clock.install()
        page.goto(report_document.report_url)
        assert [node.live for node in read_tree(page) if node.role == "status"] == ["polite"]
        page.evaluate(
            """() => {
              window.announced = [];
              const note = (records) => records.forEach((each) => window.announced.push(each.target.textContent));
              new MutationObserver(note).observe(document.querySelector('[role=status]'),
                { childList: true, characterData: true, subtree: true });
            }"""
        )
        for readers, is_new in ((0, False), (1, True), (1, False)):
            if is_new:
                FakeReader(report_document.world, report_document.made["shortId"], address="203.0.113.99").read_page(2)
            with page.expect_response("**/now"):
                page.clock.run_for(15_000)
            page.get_by_text(f"{readers} reading now").wait_for()
        assert page.evaluate("window.announced") == ["1 reading now"]
        assert person.complaints == []
