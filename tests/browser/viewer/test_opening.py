"""The share page in a real browser: opening, layout stability, and isolation from other origins."""

import http.server
import io
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from PIL import Image
from playwright.sync_api import Browser, expect

from tests.browser.conftest import ShareDocument
from tests.support.browsers.browser import (
    PHONE,
    RequestGate,
    Visitor,
    list_layout_shifts,
    record_layout_shifts,
    slow_down,
    visitor,
)
from tests.support.documents.pdfs import A4, simple_pdf


@pytest.fixture(scope="module")
def report(share: ShareDocument) -> str:
    return share(simple_pdf(pages=12, size=A4), "Annual report.pdf")


def test_a_link_opens_and_shows_its_first_page(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    assert page.title() == "Annual report.pdf"
    assert page.locator("h1").inner_text() == "Annual report.pdf"
    image = page.locator(".page[data-page='1'] .page-image")
    assert image.evaluate("image => image.complete && image.naturalWidth >= 800")


def test_no_request_goes_to_another_origin(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    page.keyboard.press("End")
    page.locator(".page[data-page='12'].is-ready").wait_for()
    parts = urlsplit(report)
    assert desktop_visitor.list_origins() == {f"{parts.scheme}://{parts.netloc}"}


def test_late_pages_cause_no_layout_shift(desktop_visitor: Visitor, report: str) -> None:
    gate = RequestGate(desktop_visitor.page, "**/*.jpg*", "**/text/*")
    record_layout_shifts(desktop_visitor.page)
    page = desktop_visitor.page
    page.goto(report, wait_until="commit")
    page.locator(".pages.is-live").wait_for()
    gate.wait()
    page.wait_for_timeout(300)
    gate.open()
    page.locator(".page[data-page='2'].is-ready").wait_for()
    page.mouse.wheel(0, 2500)
    page.locator(".page[data-page='3'].is-ready .page-text").wait_for(state="attached")
    assert list_layout_shifts(page) == []


def test_nothing_moves_while_a_slow_browser_parses_the_page(browser: Browser, report: str) -> None:
    for _ in range(5):  # a browser that paints the toolbar too early does so in about every second load
        with visitor(browser) as person:
            record_layout_shifts(person.page)
            slow_down(person.page)
            page = person.open(report)
            page.locator(".page[data-page='1'].is-ready .page-text").wait_for(state="attached")
            assert list_layout_shifts(page) == []


def test_pages_do_not_move_when_scripts_become_active(browser: Browser, report: str) -> None:
    with visitor(browser, java_script_enabled=False) as plain, visitor(browser) as scripted:
        plain.page.goto(report)
        scripted.open(report)
        before = plain.page.locator(".page[data-page='2']").bounding_box()
        after = scripted.page.locator(".page[data-page='2']").bounding_box()
    assert before is not None
    assert after is not None
    for side in ("x", "y", "width", "height"):
        assert before[side] == pytest.approx(after[side], abs=1), side


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (820, 1180), (390, 844), (320, 568)])
def test_all_controls_fit_in_narrow_windows(browser: Browser, report: str, width: int, height: int) -> None:
    with visitor(browser, viewport={"width": width, "height": height}) as person:
        page = person.open(report)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        outside = page.evaluate(
            """() => [...document.querySelectorAll(".bar :is(button, input, select, a)")].filter((control) => {
              const box = control.getBoundingClientRect();
              return box.width > 0 && (box.left < 0 || box.right > innerWidth || box.bottom > innerHeight);
            }).map((control) => control.id)"""
        )
    assert outside == []


def test_dark_mode_has_a_dark_background_and_white_pages(browser: Browser, report: str) -> None:
    with visitor(browser, color_scheme="dark") as person:
        page = person.open(report)
        expect(page.locator(".page[data-page='1'] .page-image")).to_have_css("opacity", "1")  # it fades in
        shot = Image.open(io.BytesIO(page.screenshot())).convert("L")
    assert shot.getpixel((20, 500)) < 40
    assert shot.getpixel((720, 850)) > 240


def test_reduced_motion_disables_the_loading_animation(browser: Browser, report: str) -> None:
    with visitor(browser, reduced_motion="reduce") as person:
        gate = RequestGate(person.page, "**/*.jpg*")
        person.page.goto(report, wait_until="commit")
        person.page.locator(".pages.is-live .page").first.wait_for()
        person.page.wait_for_timeout(100)
        assert person.page.evaluate("document.getAnimations().length") == 0
        gate.open()


@pytest.fixture
def framing_page_url(report: str) -> Iterator[str]:
    """Yield the address of a page of another origin that frames the share page and the embed page."""
    parts = urlsplit(report)
    embed = f"{parts.scheme}://{parts.netloc}/embed{parts.path}"
    share = f'<iframe name="share" src="{report}"></iframe>'
    html = f'{share}<iframe name="embed" src="{embed}" width="900" height="700"></iframe>'

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as host:
        thread = threading.Thread(target=host.serve_forever)
        thread.start()
        yield f"http://localhost:{host.server_port}/"
        host.shutdown()
        thread.join()


def test_only_the_embed_page_can_be_framed(browser: Browser, framing_page_url: str) -> None:
    with visitor(browser) as person:
        person.page.goto(framing_page_url)
        embedded = person.page.frame("embed")
        assert embedded is not None
        embedded.locator(".pages.is-live .page.is-ready").first.wait_for()
        assert embedded.locator(".page[data-page='1'] .page-text").inner_text().strip() == "Page 1 of 12"
        shared = person.page.frame("share")
        assert shared is not None
        assert shared.locator(".page").count() == 0
    assert any("frame-ancestors 'none'" in complaint for complaint in person.complaints)


def test_the_embed_page_links_to_the_share_page(desktop_visitor: Visitor, report: str) -> None:
    parts = urlsplit(report)
    page = desktop_visitor.open(f"{parts.scheme}://{parts.netloc}/embed{parts.path}")
    assert page.locator(".bar-tools a").get_attribute("href") == parts.path


def test_the_viewer_works_without_the_reading_module(browser: Browser, report: str) -> None:
    with visitor(browser) as person:
        person.page.route("**/reading.js", lambda route: route.abort())
        page = person.open(report)
        page.keyboard.press("ArrowRight")
        page.locator(".page[data-page='2'] .page-text").wait_for()


def test_pages_have_the_width_of_a_phone(browser: Browser, report: str) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "user_agent": PHONE, "has_touch": True, "is_mobile": True}
    with visitor(browser, **phone, device_scale_factor=2) as person:
        page = person.open(report)
        box = page.locator(".page[data-page='1']").bounding_box()
        assert box is not None
        assert box["width"] == 374
        assert "1-800.jpg" in page.locator(".page[data-page='1'] .page-image").evaluate("image => image.currentSrc")
