"""Viewer settings with behavior in a real browser: call to action, protection, analytics, and expiry."""

import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

import pypdfium2
import pytest
from playwright.sync_api import Browser, Page, Request, Route
from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

from tests.browser.conftest import ShareDocument
from tests.support.browsers.browser import Visitor, stop_clock, visitor
from tests.support.browsers.styled_document import StyledDocument, computed_style
from tests.support.documents.pdfs import A4, simple_pdf
from tests.support.servers.server_process import ServerProcess

CTA = {"label": "Book a meeting", "url": "https://acme.test/meet"}
GA = "G-ABCDEF1234"
# Replaces the real script: it reports the data it received and attempts forbidden actions.
FAKE_TAG = """
const told = Object.assign({}, ...[...window.dataLayer].filter((entry) => entry[0] !== "js").map((entry) => entry[2] ?? entry[1]));
const query = new URLSearchParams({ tid: "G-ABCDEF1234", dl: told.page_location, dt: told.page_title, dr: told.page_referrer });
fetch("https://region1.google-analytics.com/g/collect?" + query, { method: "POST", mode: "no-cors", keepalive: true });
window.tried = { policy: "made" };
try { trustedTypes.createPolicy("goog#html", {}); } catch { window.tried.policy = "refused"; }
fetch("https://evil.test/").catch(() => { window.tried.fetch = "refused"; });
"""  # noqa: E501 - a script


@pytest.fixture(scope="module")
def styled_document(server: ServerProcess, share: ShareDocument) -> StyledDocument:
    return StyledDocument(server, share(simple_pdf(pages=2, size=A4), "Secret plan.pdf"))


def open_with_looks(
    person: Visitor, sheet: StyledDocument, settings: dict[str, Any] | None = None, **blocks: Any
) -> Page:
    sheet.apply_looks(settings, **blocks)
    page = person.open(sheet.url)
    page.locator(".page[data-page='1'] .page-text").wait_for(state="attached")
    return page


def is_prevented(page: Page, selector: str, event: str) -> bool:
    """Return whether the page prevents the default action of ``event``."""
    return bool(
        page.evaluate(
            "([selector, event]) => !document.querySelector(selector)"
            ".dispatchEvent(new Event(event, { bubbles: true, cancelable: true }))",
            [selector, event],
        )
    )


def test_the_call_to_action_opens_its_url_and_sends_a_tap(browser: Browser, styled_document: StyledDocument) -> None:
    with visitor(browser) as person:
        person.context.route("https://acme.test/**", lambda route: route.fulfill(body="<title>Acme</title>"))
        page = open_with_looks(person, styled_document, cta=CTA)
        with person.context.expect_page() as new_page, page.expect_request("**/taps") as tap:
            page.get_by_role("link", name="Book a meeting").click()
        assert tap.value.method == "POST"
        assert tap.value.post_data_json == {"cta": True}
        assert urlsplit(tap.value.url).path == f"/{styled_document.name}/taps"
        new_page.value.wait_for_load_state()
        assert new_page.value.url == "https://acme.test/meet"
        assert new_page.value.evaluate("[opener, document.referrer]") == [None, ""]


def test_the_call_to_action_works_if_the_tap_request_fails(browser: Browser, styled_document: StyledDocument) -> None:
    with visitor(browser) as person:
        person.context.route("https://acme.test/**", lambda route: route.fulfill(body="<title>Acme</title>"))
        page = open_with_looks(person, styled_document, cta=CTA)
        page.route("**/taps", lambda route: route.abort())
        with person.context.expect_page() as new_page:
            page.get_by_role("link", name="Book a meeting").press("Enter")
        assert new_page.value.url == "https://acme.test/meet"


@pytest.mark.parametrize(
    "label",
    ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "{{7*7}}</a><svg onload=alert(1)>", "&lt;b&gt;'\""],
)
def test_a_hostile_label_is_displayed_as_text(
    desktop_visitor: Visitor, styled_document: StyledDocument, label: str
) -> None:
    alerts: list[str] = []
    desktop_visitor.page.on("dialog", lambda dialog: alerts.append(dialog.message))
    logo = {"assetId": styled_document.logo, "linkUrl": "https://acme.test/?a='x'&b=1;alert(1)"}
    page = open_with_looks(desktop_visitor, styled_document, cta=CTA | {"label": label}, logo=logo)
    assert page.locator(".cta").inner_text() == label
    assert page.locator(".logo-link").evaluate("link => link.hostname") == "acme.test"
    assert alerts == []


def test_without_protection_settings_nothing_is_restricted(
    desktop_visitor: Visitor, styled_document: StyledDocument
) -> None:
    page = open_with_looks(desktop_visitor, styled_document)
    assert [event for event in ("contextmenu", "copy") if is_prevented(page, ".page-text span", event)] == []
    assert computed_style(page, ".page-text span", "user-select") == "auto"
    page.evaluate("dispatchEvent(new Event('blur'))")
    assert computed_style(page, "main", "filter") == "none"
    page.emulate_media(media="print")
    assert page.locator("main").is_visible()


def test_the_context_menu_is_disabled_on_pages_only(desktop_visitor: Visitor, styled_document: StyledDocument) -> None:
    page = open_with_looks(desktop_visitor, styled_document, protect={"contextMenu": True})
    assert is_prevented(page, ".page-text span", "contextmenu")
    assert is_prevented(page, ".page-image", "contextmenu")
    assert not is_prevented(page, "#page-number", "contextmenu")
    assert not is_prevented(page, ".bar h1", "contextmenu")


def test_protected_text_cannot_be_selected_but_found_and_read_aloud(
    desktop_visitor: Visitor, styled_document: StyledDocument
) -> None:
    page = open_with_looks(desktop_visitor, styled_document, protect={"select": True})
    words = page.locator(".page[data-page='1'] .page-text span").first
    words.dblclick(force=True)
    page.keyboard.press("Control+a")
    assert "Page 1" not in page.evaluate("getSelection().toString()")
    assert is_prevented(page, ".page-text span", "copy")
    assert words.inner_text() == "Page 1 of 2"
    page.keyboard.press("f")
    page.locator("#find-words").fill("Page 2")
    page.wait_for_function("() => document.querySelector('#find-count').textContent.includes('1 of 1')")
    page.keyboard.press("Control+a")
    assert page.evaluate("getSelection().toString()") == "Page 2"


def test_a_protected_document_prints_a_notice_instead_of_its_pages(
    desktop_visitor: Visitor, styled_document: StyledDocument
) -> None:
    page = open_with_looks(desktop_visitor, styled_document, protect={"print": True})
    assert not page.locator(".print-note").is_visible()
    assert page.locator("#print").count() == 0
    page.keyboard.press("Control+p")
    with pypdfium2.PdfDocument(io.BytesIO(page.pdf())) as pdf:
        printed = " ".join(styled_document.get_textpage().get_text_range() for styled_document in pdf)
        pictures = [picture for styled_document in pdf for picture in styled_document.get_objects([FPDF_PAGEOBJ_IMAGE])]
    assert "The owner of this document asks you not to print it." in printed
    assert pictures == []
    assert not [url for url in desktop_visitor.requests if "sheets.js" in url]


def test_pages_are_blurred_while_the_window_has_no_focus(
    desktop_visitor: Visitor, styled_document: StyledDocument
) -> None:
    page = open_with_looks(desktop_visitor, styled_document, protect={"blurOnLeave": True})
    assert computed_style(page, "main", "filter") == "none"
    page.evaluate("dispatchEvent(new Event('blur'))")
    assert computed_style(page, "main", "filter") == "blur(18px)"
    assert page.locator(".away-note").is_visible()
    assert page.locator(".bar h1").is_visible()
    page.evaluate("dispatchEvent(new Event('focus'))")
    assert computed_style(page, "main", "filter") == "none"
    assert not page.locator(".away-note").is_visible()


class FakeGoogle:
    """Interceptor of requests to Google. ``requests`` are all requests to other origins."""

    def __init__(self, page: Page, own: str) -> None:
        self.requests: list[Request] = []
        self._own = own
        page.route("**/*", self._fulfill_route)

    def _fulfill_route(self, route: Route) -> None:
        if route.request.url.startswith(self._own):
            route.continue_()
            return
        self.requests.append(route.request)
        script = "googletagmanager" in route.request.url
        route.fulfill(content_type="text/javascript" if script else "text/plain", body=FAKE_TAG if script else "")


@pytest.mark.parametrize("framed", [False, True])
def test_analytics_receive_neither_the_link_nor_the_name(
    browser: Browser, styled_document: StyledDocument, framed: bool
) -> None:
    styled_document.apply_looks(ga4Id=GA)
    with visitor(browser) as person:
        google = FakeGoogle(person.page, styled_document.url.rsplit("/", 1)[0])
        with person.page.expect_request("https://region1.google-analytics.com/**"):
            page = person.open(styled_document.embed_url if framed else styled_document.url)
        page.wait_for_function("() => window.tried.fetch")
        script, collected = google.requests
        assert script.url == f"https://www.googletagmanager.com/gtag/js?id={GA}"
        query = parse_qs(urlsplit(collected.url).query, keep_blank_values=True)
        assert (query["dt"], query["dr"]) == (["Document"], [""])
        assert query["dl"] == [styled_document.url.rsplit("/", 1)[0] + "/"]
        for request in google.requests:
            sent = json.dumps([request.url, request.all_headers(), request.post_data])
            assert [word for word in (styled_document.name, "Secret", "referer") if word in sent] == []
        assert page.evaluate("window.tried") == {"policy": "refused", "fetch": "refused"}
        assert page.evaluate("document.cookie") == ""


@pytest.mark.parametrize("preference", ["globalPrivacyControl: true", "doNotTrack: '1'"])
def test_do_not_track_disables_analytics(browser: Browser, styled_document: StyledDocument, preference: str) -> None:
    styled_document.apply_looks(ga4Id=GA)
    name, value = preference.split(": ")
    with visitor(browser) as person:
        google = FakeGoogle(person.page, styled_document.url.rsplit("/", 1)[0])
        person.page.add_init_script(f"Object.defineProperty(Navigator.prototype, '{name}', {{ get: () => {value} }})")
        person.open(styled_document.url)
        person.page.wait_for_load_state("networkidle")
        assert google.requests == []
        assert person.complaints == []


def test_without_a_measurement_id_no_request_goes_to_another_origin(
    desktop_visitor: Visitor, styled_document: StyledDocument
) -> None:
    page = open_with_looks(desktop_visitor, styled_document)
    page.wait_for_load_state("networkidle")
    assert desktop_visitor.list_origins() == {styled_document.url.rsplit("/", 1)[0]}


@pytest.mark.parametrize("wrong_by", [timedelta(0), timedelta(hours=-30), timedelta(days=400)])
def test_the_expiry_is_shown_in_local_time_on_the_last_day(
    browser: Browser, styled_document: StyledDocument, wrong_by: timedelta
) -> None:
    ends = datetime.now(UTC) + timedelta(hours=5)
    styled_document.apply_looks({"deleteAt": ends.isoformat()})
    with visitor(browser, timezone_id="Asia/Tokyo", locale="de-DE") as person:
        person.page.clock.install(time=datetime.now(UTC) + wrong_by)
        page = person.open(styled_document.url)
        text = page.locator("#expiry").inner_text()
    assert text.startswith("Available until ")
    assert text.endswith(ends.astimezone(ZoneInfo("Asia/Tokyo")).strftime("%H:%M"))


def test_the_last_hour_is_counted_down_and_the_end_is_announced(
    browser: Browser, styled_document: StyledDocument
) -> None:
    styled_document.apply_looks({"deleteAt": (datetime.now(UTC) + timedelta(hours=26)).isoformat()})
    with visitor(browser) as person:
        person.page.clock.install()
        page = person.open(styled_document.url)
        stop_clock(page)
        pill = page.locator("#expiry")
        assert not pill.is_visible()
        page.clock.fast_forward("02:00:01")
        assert pill.inner_text().startswith("Available until ")
        page.clock.fast_forward("23:30:00")
        assert pill.inner_text() == "Ends in 30 minutes"
        page.clock.fast_forward("28:00")  # nearly a minute earlier, because the page has opened meanwhile
        assert pill.inner_text() == "Ends in 2 minutes"
        page.clock.fast_forward("01:00")
        assert pill.inner_text() == "Ends in 1 minute"
        page.clock.fast_forward("02:00")
        assert pill.inner_text().startswith("This link ended at ")
        assert pill.get_attribute("role") == "alert"


def test_a_hidden_expiry_is_not_shown(desktop_visitor: Visitor, styled_document: StyledDocument) -> None:
    styled_document.apply_looks({"deleteAt": (datetime.now(UTC) + timedelta(hours=1)).isoformat(), "showExpiry": False})
    try:
        page = desktop_visitor.open(styled_document.url)
        assert page.locator("#expiry").count() == 0
    finally:
        styled_document.apply_looks({"neverExpire": True, "showExpiry": True})
