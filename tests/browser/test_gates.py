"""The gate of a link in a real browser: with the keyboard only, on a phone, and inside frames."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from playwright.sync_api import Browser, Frame, Page, expect

from tests.browser.conftest import ShareDocument
from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import Visitor, visitor
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.framing_page import find_frame, serve_framing_page
from tests.support.servers.server_process import ServerProcess

FORM = [
    {"key": "who", "label": "Your name", "type": "text", "required": True},
    {"key": "mail", "label": "Work email", "type": "email", "required": True},
    {"key": "firm", "label": "Company", "type": "company", "required": False},
]
EVERYTHING: dict[str, Any] = {"password": "open sesame", "gateFields": FORM, "viewLimit": 3}
BLOCKED = "Your browser blocks cookies inside this page, so the document cannot open here."
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


class GatedDocument:
    """A shared document with the gate of ``settings``."""

    def __init__(self, server: ServerProcess, url: str, settings: dict[str, Any]) -> None:
        self._api = f"{server.url}/api/v1/files/{urlsplit(url).path.strip('/')}"
        self._headers = server.headers
        self.url = url
        parts = urlsplit(url)
        self.embed = f"{parts.scheme}://{parts.netloc}/embed{parts.path}"
        answer = requests.put(f"{self._api}/settings", headers=self._headers, json=settings, timeout=30)
        assert answer.status_code == 200, answer.text

    def count_consumed_views(self) -> int:
        """Return how many views of the view limit are used."""
        return int(requests.get(self._api, headers=self._headers, timeout=30).json()["viewsConsumed"])


@pytest.fixture
def share_gated(server: ServerProcess, share: ShareDocument) -> Any:
    def make(**settings: Any) -> GatedDocument:
        return GatedDocument(server, share(simple_pdf(pages=3), "Secret plan.pdf"), settings)

    return make


def wait_for_first_page(page: Page | Frame) -> None:
    """Wait until the first page is loaded."""
    page.locator(".pages.is-live .page.is-ready").first.wait_for()


def wait_for_focus(page: Page, name: str) -> None:
    """Wait until the element ``name`` has the focus, which may be after the load event."""
    expect(page.locator(f"#{name}")).to_be_focused()


def assert_only_status_errors(person: Visitor, status: int) -> None:
    """Assert that the browser logged no errors except responses with ``status``."""
    assert [text for text in person.complaints if f"status of {status}" not in text] == []


def test_a_gate_with_all_requirements_can_be_passed_with_the_keyboard(browser: Browser, share_gated: Any) -> None:
    link = share_gated(**EVERYTHING)
    with visitor(browser) as person:
        page = person.page
        page.goto(link.url)
        assert "Secret plan" not in page.content()
        wait_for_focus(page, "password")
        page.keyboard.type("open says me")
        page.keyboard.press("Tab")
        page.keyboard.type("Ada")
        page.keyboard.press("Tab")
        page.keyboard.type("ada@a.example")
        page.keyboard.press("Enter")
        page.get_by_text("The password is incorrect.").wait_for()
        wait_for_focus(page, "password")
        field = page.get_by_label("Password")
        assert field.get_attribute("aria-invalid") == "true"
        assert page.locator(f"#{field.get_attribute('aria-describedby')}").inner_text() == "The password is incorrect."
        assert field.input_value() == ""
        assert page.get_by_label("Your name").input_value() == "Ada"
        assert page.get_by_label("Work email").input_value() == "ada@a.example"
        assert link.count_consumed_views() == 0
        page.keyboard.type("open sesame")
        page.keyboard.press("Enter")
        wait_for_first_page(page)
        assert page.url == link.url
        page.reload()
        wait_for_first_page(page)
        assert_only_status_errors(person, 403)
    assert link.count_consumed_views() == 1


def test_a_double_click_consumes_one_view(browser: Browser, share_gated: Any) -> None:
    link = share_gated(viewLimit=1)
    with visitor(browser) as person:
        person.page.goto(link.url)
        person.page.get_by_role("button", name="Open document").dblclick()
        wait_for_first_page(person.page)
        assert person.complaints == []
    assert link.count_consumed_views() == 1


def test_the_gate_works_without_scripts(browser: Browser, share_gated: Any) -> None:
    link = share_gated(**EVERYTHING)
    with visitor(browser, java_script_enabled=False) as person:
        page = person.page
        page.goto(link.url)
        page.get_by_label("Password").fill("open sesame")
        page.get_by_label("Your name").fill("Ada")
        page.get_by_label("Work email").fill("ada@a.example")
        page.get_by_role("button", name="Open document").click()
        page.get_by_role("img", name="Page 1", exact=True).first.wait_for()
        assert person.complaints == []


def test_the_browser_validates_required_fields(browser: Browser, share_gated: Any) -> None:
    link = share_gated(requireEmail=True)
    with visitor(browser) as person:
        page = person.page
        page.goto(link.url)
        wait_for_focus(page, "field-email")
        page.keyboard.type("ada")
        page.keyboard.press("Enter")
        assert page.locator("#field-email:invalid").count() == 1
        page.keyboard.type("@a.example")
        page.keyboard.press("Enter")
        wait_for_first_page(page)
        assert person.complaints == []


@pytest.mark.parametrize("options", [{}, PHONE, {"color_scheme": "dark"}], ids=["desktop", "phone", "dark"])
@pytest.mark.parametrize("settings", [EVERYTHING, {"requireEmail": True}, {"viewLimit": 3}], ids="-".join)
def test_a_gate_has_no_violation(
    browser: Browser, share_gated: Any, settings: dict[str, Any], options: dict[str, Any]
) -> None:
    link = share_gated(**settings)
    with visitor(browser, **options) as person:
        person.page.goto(link.url)
        assert find_violations(person.page) == []
        if "password" in settings:
            for field, value in (("Password", "x"), ("Your name", "Ada"), ("Work email", "ada@a.example")):
                person.page.get_by_label(field).fill(value)
            person.page.get_by_role("button", name="Open document").click()
            person.page.get_by_text("The password is incorrect.").wait_for()
            assert find_violations(person.page) == []
        person.page.goto(link.embed)
        assert find_violations(person.page) == []


@pytest.mark.parametrize("size", [(390, 844), (320, 568), (844, 390)], ids=str)
def test_on_a_phone_all_fields_fit_and_are_large_enough(
    browser: Browser, share_gated: Any, size: tuple[int, int]
) -> None:
    link = share_gated(**EVERYTHING)
    width, height = size
    with visitor(browser, **(PHONE | {"viewport": {"width": width, "height": height}})) as person:
        page = person.page
        page.goto(link.url)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        boxes = [row.bounding_box() for row in page.locator(".field input, .gate .button").all()]
        assert len(boxes) == 5
        for box in boxes:
            assert box is not None
            assert box["height"] >= 44
            assert box["x"] >= 16
            assert box["x"] + box["width"] <= width - 16
        sizes = page.evaluate("[...document.querySelectorAll('.field input')].map(i => getComputedStyle(i).fontSize)")
        assert set(sizes) == {"16px"}  # phones zoom in on smaller text
        page.get_by_label("Password").fill("open sesame")
        page.get_by_label("Your name").fill("Ada")
        page.get_by_label("Work email").fill("ada@a.example")
        page.get_by_role("button", name="Open document").tap()
        wait_for_first_page(page)
        assert person.complaints == []


def wait_for_cookie_trial(frame: Frame) -> None:
    """Wait until the scripts of the gate have run."""
    frame.wait_for_load_state("load")


def test_the_gate_opens_inside_a_frame_of_another_origin(browser: Browser, share_gated: Any) -> None:
    link = share_gated(password="open sesame", viewLimit=2)
    with serve_framing_page(link.embed, "127.0.0.1") as address, visitor(browser) as person:
        person.page.goto(address)
        frame = find_frame(person.page)
        wait_for_cookie_trial(frame)
        assert frame.locator("form").get_attribute("data-trial") == "viewer-script=1; Path=/; SameSite=Lax"
        expect(frame.get_by_role("alert")).to_have_count(0)
        expect(frame.get_by_role("link", name="Open in a new tab")).to_have_count(1)
        names = {row["name"] for row in person.context.cookies()}
        assert "viewer-cookies" in names
        assert "viewer-script" not in names
        frame.get_by_label("Password").fill("open sesame")
        frame.get_by_role("button", name="Open document").click()
        wait_for_first_page(frame)
        assert [text for text in person.complaints if "favicon" not in text and "404" not in text] == []
    assert link.count_consumed_views() == 1


@contextmanager
def framed_without_cookies(browser: Browser, embed: str, **options: Any) -> Iterator[tuple[Visitor, Frame]]:
    """Yield a reader, and the frame of ``embed`` in a page of another site: over plain HTTP, it has no cookies."""
    with serve_framing_page(embed, "localhost") as address, visitor(browser, **options) as person:
        person.page.goto(address)
        yield person, find_frame(person.page)


def test_a_frame_without_cookies_offers_a_new_tab_instead_of_the_form(browser: Browser, share_gated: Any) -> None:
    link = share_gated(password="open sesame", gateFields=FORM, viewLimit=1)
    with framed_without_cookies(browser, link.embed) as (person, frame):
        expect(frame.get_by_role("alert")).to_have_text(BLOCKED)
        expect(frame.get_by_label("Password")).to_be_hidden()
        expect(frame.get_by_role("button", name="Open document")).to_be_hidden()
        way_out = frame.get_by_role("link", name="Open in a new tab")
        expect(way_out).to_have_count(1)
        assert find_violations(frame) == []
        assert [text for text in person.complaints if "favicon" not in text and "404" not in text] == []
        with person.context.expect_page() as opening:
            way_out.click()
        alone = opening.value
        expect(alone.get_by_label("Password")).to_be_visible()
        assert alone.url == link.url
    assert link.count_consumed_views() == 0


def test_a_frame_without_cookies_and_scripts_consumes_no_view(browser: Browser, share_gated: Any) -> None:
    link = share_gated(viewLimit=1)
    with framed_without_cookies(browser, link.embed, java_script_enabled=False) as (person, frame):
        expect(frame.get_by_role("link", name="Open in a new tab")).to_have_count(1)
        frame.get_by_role("button", name="Open document").click()
        expect(frame.get_by_role("alert")).to_have_text(BLOCKED)
        assert link.count_consumed_views() == 0
        with person.context.expect_page() as opening:
            frame.get_by_role("link", name="Open in a new tab").click()
        alone = opening.value
        alone.get_by_role("button", name="Open document").click()
        alone.get_by_role("img", name="Page 1", exact=True).first.wait_for()
        assert alone.url == link.url
    assert link.count_consumed_views() == 1
