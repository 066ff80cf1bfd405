"""The panel in which readers see what is recorded of their visit."""

from typing import Any

import pytest
import requests
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import ShareDocument
from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import PHONE, Visitor, visitor, wait_for_measurement
from tests.support.documents.pdfs import simple_pdf
from tests.support.polling import wait_until
from tests.support.servers.server_process import ServerProcess

HANDHELD = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "user_agent": PHONE}


@pytest.fixture
def link(share: ShareDocument) -> str:
    """Return the URL of a new document of three pages."""
    return share(simple_pdf(pages=3), "visit.pdf")


def get_file(server: ServerProcess, link: str, path: str = "") -> Any:
    address = f"{server.url}/api/v1/files/{link.rpartition('/')[2]}{path}"
    return requests.get(address, headers=server.headers, timeout=30).json()


def open_panel(page: Page) -> Locator:
    page.locator("#visit-open").click()
    return page.get_by_role("dialog", name="is recorded of this visit")


def read_until_counted(page: Page, server: ServerProcess, link: str) -> None:
    wait_for_measurement(page)
    page.mouse.move(300, 300)
    page.mouse.move(310, 320)
    wait_until(lambda: get_file(server, link)["viewCount"] == 1)


def test_a_reader_sees_the_record_and_declines(server: ServerProcess, link: str, desktop_visitor: Visitor) -> None:
    page = desktop_visitor.open(link)
    assert not [url for url in desktop_visitor.requests if "visit." in url]
    read_until_counted(page, server, link)
    panel = open_panel(page)
    expect(panel.locator("dt")).to_have_text(
        ["Since", "Time read", "Pages", "Device", "Country", "Opened by", "Came from", "Reader"]
    )
    expect(panel.locator("dd").nth(3)).to_have_text("Desktop, Chrome")
    assert find_violations(page) == []
    panel.get_by_role("button", name="Do not measure this visit").click()
    expect(panel).to_contain_text("This visit is not measured.")
    assert get_file(server, link)["viewCount"] == 0
    assert get_file(server, link, "/readership")["uncounted"] == [{"label": "declined", "count": 1}]
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    desktop_visitor.requests.clear()
    page.keyboard.press("ArrowRight")
    page.mouse.move(400, 400)
    page.wait_for_timeout(3_500)  # a page that measures reports after a second
    assert not [url for url in desktop_visitor.requests if "/beacon" in url]
    expect(open_panel(page)).to_contain_text("This visit is not measured.")
    assert page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 0]


def test_a_browser_with_global_privacy_control_is_not_measured(
    browser: Browser, server: ServerProcess, link: str
) -> None:
    with visitor(browser, extra_http_headers={"Sec-GPC": "1"}, **HANDHELD) as person:
        page = person.open(link)
        wait_until(lambda: get_file(server, link, "/readership")["uncounted"] == [{"label": "declined", "count": 1}])
        page.wait_for_timeout(2_500)
        assert not [url for url in person.requests if "/beacon" in url]
        panel = open_panel(page)
        expect(panel).to_contain_text("This visit is not measured.")
        assert person.complaints == []


def test_the_owner_can_leave_readers_no_choice(server: ServerProcess, link: str, desktop_visitor: Visitor) -> None:
    address = f"{server.url}/api/v1/files/{link.rpartition('/')[2]}/settings"
    answer = requests.put(address, json={"readerChoice": False}, headers=server.headers, timeout=30)
    assert answer.status_code == 200
    page = desktop_visitor.open(link)
    read_until_counted(page, server, link)
    panel = open_panel(page)
    expect(panel).to_contain_text("The owner measures all visits of this link.")
    expect(panel.get_by_role("button", name="Do not measure this visit")).to_have_count(0)
