"""The report page and the standalone report file in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from playwright.sync_api import Browser, Page, expect

from docshare.report import ReportInput
from docshare.report.standalone import render_standalone
from docshare.server.services.readership import viewing
from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import PHONE, SCREENSHOT_DIR, is_within_window, save_screenshot, visitor
from tests.support.documents.pdfs import A4, simple_pdf
from tests.support.outside.payloads import XSS
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people import reports
from tests.support.people.cast import World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, RECT, FeedbackClient
from tests.support.people.reader import FakeReader, read_as_six_people
from tests.support.servers.in_process_server import serve_world

COOKIE = "docshare_session"
HANDHELD = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "user_agent": PHONE}
TABLET = {"viewport": {"width": 820, "height": 1180}}
DARK = {"color_scheme": "dark"}
NAMES = ["desktop", "tablet", "phone", "dark"]
WINDOWS = list(zip([{}, TABLET, HANDHELD, DARK], NAMES, strict=True))
TRAP = "window.pwned = () => { document.documentElement.dataset.pwned = 'yes'; }"


@dataclass
class ReportDocument:
    """A document of Pia on a server, and her session cookie."""

    world: World
    url: str
    made: dict[str, Any]
    cookie: str

    @property
    def report_url(self) -> str:
        return f"{self.url}/readership/{self.made['uuid']}"

    @contextmanager
    def open_report(self, browser: Browser, **options: Any) -> Iterator[Page]:
        """Yield the report in the owner's browser; the test fails if the browser reports an error."""
        with visitor(browser, **options) as person:
            person.context.add_cookies([{"name": COOKIE, "value": self.cookie, "url": self.url}])
            person.page.add_init_script(TRAP)
            person.page.goto(self.report_url)
            yield person.page
            assert person.complaints == []
            assert person.list_origins() == {self.url}


@pytest.fixture
def report_document(world: World) -> Iterator[ReportDocument]:
    """Yield a document of twelve pages with several readers and the feedback of one."""
    made = world.pia.upload(simple_pdf(pages=12, size=A4), name="Series A deck.pdf")
    put_settings(world, made, **ALL_FEEDBACK_SETTINGS)
    read_as_six_people(world, made["shortId"])
    ann = FeedbackClient(world, made["shortId"])
    ann.leave_note("Where are the churn figures?", author="Ann Lee", page=4)
    ann.mark_page(2, "pick")
    ann.annotate(3, "This number is from last year.")
    cookie = sign_in_browser(world, world.pia).get_cookie(COOKIE)
    assert cookie is not None
    with serve_world(world) as url:
        yield ReportDocument(world, url, made, cookie.value)


def wait_for_images(page: Page) -> None:
    """Wait until every image is loaded, including those below the window."""
    page.evaluate("document.querySelectorAll('img').forEach((image) => { image.loading = 'eager'; })")
    page.evaluate("Promise.all([...document.images].map((image) => image.decode()))")


@pytest.mark.parametrize(("size", "name"), WINDOWS, ids=NAMES)
def test_the_page_fits_and_has_no_violation(
    browser: Browser, report_document: ReportDocument, size: dict[str, Any], name: str
) -> None:
    with report_document.open_report(browser, **size) as page:
        wait_for_images(page)
        save_screenshot(page, f"page-{name}")
        assert page.locator(".leaf img").count() == 12
        assert is_within_window(page)
        assert find_violations(page) == []


@pytest.mark.parametrize(("size", "name"), WINDOWS, ids=NAMES)
def test_the_standalone_file_fits_and_has_no_violation(
    browser: Browser, tmp_path: Path, size: dict[str, Any], name: str
) -> None:
    target = tmp_path / "report.html"
    target.write_text(render_standalone(reports.full_material(), "https://docs.example.com"), encoding="utf-8")
    with visitor(browser, **size) as person:
        person.page.goto(target.as_uri())
        save_screenshot(person.page, f"file-{name}")
        assert is_within_window(person.page)
        assert find_violations(person.page) == []
        assert person.complaints == []
        assert person.list_origins() == {"file://"}


@pytest.mark.parametrize("tier", ["free", "basic", "nobody yet"])
def test_reports_of_other_plans_and_without_readers_have_no_violation(
    browser: Browser, tmp_path: Path, tier: str
) -> None:
    report = reports.free_report() if tier == "free" else reports.basic_report()
    if tier == "nobody yet":
        report["summary"] = dict.fromkeys(report["summary"], 0)
    target = tmp_path / "report.html"
    target.write_text(
        render_standalone(ReportInput(report, reports.MADE_AT, code=reports.DOT), "https://docs.example.com")
    )
    with visitor(browser) as person:
        person.page.goto(target.as_uri())
        save_screenshot(person.page, f"file-{tier.replace(' ', '-')}")
        assert find_violations(person.page) == []


def test_the_page_is_complete_without_scripts(browser: Browser, report_document: ReportDocument) -> None:
    with report_document.open_report(browser, java_script_enabled=False) as page:
        assert page.locator("figure svg.plot").count() == 3
        assert page.locator("#print").is_hidden()
        page.locator("#views summary").click()
        assert page.locator("#views tbody tr").count() == 30


def test_the_number_of_active_readers_is_updated(browser: Browser, report_document: ReportDocument) -> None:
    with visitor(browser) as person:
        person.context.add_cookies([{"name": COOKIE, "value": report_document.cookie, "url": report_document.url}])
        person.page.clock.install()
        person.page.goto(report_document.report_url)
        assert person.page.locator("#now-words").inner_text() == "0 reading now"
        FakeReader(report_document.world, report_document.made["shortId"], address="203.0.113.99").read_page(2)
        for words in ("1 reading now", "0 reading now"):
            with person.page.expect_response("**/now"):
                person.page.clock.run_for(15_000)
            person.page.get_by_text(words).wait_for()
            report_document.world.clock.advance(minutes=2)
        assert person.complaints == []


def test_a_tooltip_follows_the_pointer_and_replaces_that_of_the_browser(
    browser: Browser, report_document: ReportDocument
) -> None:
    with report_document.open_report(browser) as page:
        page.locator("#funnel .tipped").nth(2).hover()
        assert page.locator(".tip").inner_text() == "Page 3: 5 sessions, 83.3%"
        assert page.locator("#funnel .tipped title").count() == 0
        page.locator("h1").hover()
        assert page.locator(".tip").is_hidden()


def test_the_hours_of_the_heat_map_differ_in_forced_colors(browser: Browser, report_document: ReportDocument) -> None:
    with report_document.open_report(browser, forced_colors="active") as page:
        empty, full = (page.locator(f".heat-map .heat-{level}").first for level in (0, 5))
        fill = "node => getComputedStyle(node).fill"
        assert empty.evaluate(fill) != full.evaluate(fill)
        assert page.locator(".heat-word.on-5").first.evaluate(fill) != full.evaluate(fill)


def test_times_are_local_and_the_page_names_their_zone(browser: Browser, report_document: ReportDocument) -> None:
    with report_document.open_report(browser, timezone_id="Asia/Tokyo") as page:
        time = page.locator(".sessions time").first
        assert time.get_attribute("datetime") == "2026-09-23T01:17:46.000Z"
        assert time.text_content() == "23 Sep 2026, 10:17"
        assert time.get_attribute("title") == "23 Sep 2026, 01:17 UTC"
        assert page.locator("#zone").inner_text() == "Times are in Asia/Tokyo; days and hours in charts are UTC."


@pytest.mark.parametrize(("size", "name"), WINDOWS, ids=NAMES)
def test_a_session_opens_page_by_page_and_leads_back(
    browser: Browser, report_document: ReportDocument, size: dict[str, Any], name: str
) -> None:
    with report_document.open_report(browser, **size) as page:
        page.locator(".sessions a").first.click()
        expect(page.locator(".strip .tipped")).to_have_count(12)
        save_screenshot(page, f"session-{name}")
        assert is_within_window(page)
        assert find_violations(page) == []
        page.get_by_role("link", name="Report").click()
        expect(page).to_have_url(report_document.report_url)


def test_the_sessions_that_were_not_counted_are_visible_on_a_phone(
    browser: Browser, report_document: ReportDocument
) -> None:
    silent = FakeReader(report_document.world, report_document.made["shortId"], address="198.51.100.9")
    silent.read_page(7, input=False)
    silent.leave()
    report_document.world.clock.advance(minutes=6)
    viewing.end_due_sessions(report_document.world.rt)
    with report_document.open_report(browser, **HANDHELD) as page:
        section = page.get_by_role("region", name="Not counted").first
        save_screenshot(page, "uncounted-phone")
        assert section.get_by_role("link", name="opened, but not touched").is_visible()
        assert is_within_window(page)
        assert find_violations(page) == []


def test_a_session_opens_without_scripts(browser: Browser, report_document: ReportDocument) -> None:
    with report_document.open_report(browser, java_script_enabled=False) as page:
        page.locator(".sessions a").first.click()
        expect(page.locator(".session-pages tbody tr")).to_have_count(12)
        assert page.locator("#zone").inner_text() == "All times are UTC."


def test_the_first_tab_stop_skips_to_the_report(browser: Browser, report_document: ReportDocument) -> None:
    with report_document.open_report(browser) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "report"


def test_the_report_prints_dark_on_white_without_interactive_elements(
    browser: Browser, report_document: ReportDocument, tmp_path: Path
) -> None:
    target = tmp_path / "report.pdf"
    with report_document.open_report(browser, **DARK) as page:
        wait_for_images(page)
        page.pdf(path=str(Path(SCREENSHOT_DIR) / "page.pdf" if SCREENSHOT_DIR else target), format="A4")
        page.pdf(path=str(target), format="A4")
    printed = pypdfium2.PdfDocument(target)
    try:
        words = "\n".join(sheet.get_textpage().get_text_range() for sheet in printed)
        corner = printed[0].render(scale=1).to_pil().convert("RGB").getpixel((4, 4))
    finally:
        printed.close()
    assert corner == (255, 255, 255)
    assert "Series A deck.pdf" in words
    assert "Show as a table" not in words
    assert "reading now" not in words


def test_hostile_text_of_readers_is_escaped_on_the_page(browser: Browser, report_document: ReportDocument) -> None:
    world, made = report_document.world, report_document.made
    sent = [text for text in XSS if text.isprintable()]
    assert len(sent) >= 60
    for place, text in enumerate(sent):
        client = FeedbackClient(world, made["shortId"], address=f"203.0.113.{100 + place}")
        client.leave_note(text, author=text[:80], page=1)
        client.annotate(2, text, rect=RECT)
        label = {"label": text}
        assert world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json=label).status_code == 201
    with report_document.open_report(browser) as page:
        wait_for_images(page)
        shown_notes = page.locator(".notes .note-body").all_inner_texts()
        assert [text for text in sent if text not in shown_notes] == []
        page.evaluate("document.querySelectorAll('*').forEach((node) => node.dispatchEvent(new Event('mouseover')))")
        assert page.evaluate("document.documentElement.dataset.pwned") is None


def test_hostile_text_of_a_server_is_escaped_in_the_file(browser: Browser, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    material = reports.full_material()
    with visitor(browser) as person:
        person.page.add_init_script(TRAP)
        for text in XSS:
            parts = {
                name: reports.poison_texts(getattr(material, name), text)
                for name in ("report", "marks", "annotations", "feedback")
            }
            target.write_text(render_standalone(replace(material, **parts), text), encoding="utf-8", errors="replace")
            person.page.goto(target.as_uri())
            assert person.page.evaluate("document.documentElement.dataset.pwned") is None, text
            assert person.page.url == target.as_uri()
        assert person.complaints == []
        assert person.list_origins() == {"file://"}
