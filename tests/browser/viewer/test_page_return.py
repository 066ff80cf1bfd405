"""Going back to a share page that the browser has in its back/forward cache (bfcache) or in its HTTP cache."""

from collections.abc import Iterator

import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import ShareDocument
from tests.support.browsers.browser import CHROMIUM, SWITCHES, Visitor, visitor, wait_for_measurement
from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.server_process import ServerProcess

NOTE_RETURN = "addEventListener('pageshow', ({ persisted }) => { if (persisted) window.wasKept = true; });"
READ_TOKEN = "JSON.parse(document.querySelector('#facts').textContent).token"


@pytest.fixture
def keeping_visitor(browser: Browser) -> Iterator[Visitor]:
    """Yield a reader whose browser has the bfcache enabled, which Playwright disables by default."""
    chromium = browser.browser_type.launch(
        executable_path=CHROMIUM, args=SWITCHES, ignore_default_args=["--disable-back-forward-cache"]
    )
    with visitor(chromium) as person:
        person.page.add_init_script(NOTE_RETURN)
        yield person
    chromium.close()


def open_and_leave(person: Visitor, server: ServerProcess, link: str) -> None:
    page = person.open(link)
    wait_for_measurement(page)
    page.mouse.move(300, 300)
    page.mouse.move(320, 340)
    page.wait_for_timeout(2_500)
    page.goto(f"{server.url}/")
    person.requests.clear()


def go_back(page: Page) -> None:
    page.evaluate("setTimeout(() => history.back())")  # a page that was kept has no event that Playwright waits for


def test_a_page_that_was_kept_is_measured_again(
    keeping_visitor: Visitor, server: ServerProcess, share: ShareDocument
) -> None:
    link = share(simple_pdf(), "kept.pdf")
    open_and_leave(keeping_visitor, server, link)
    page = keeping_visitor.page
    with page.expect_request(f"{link}/visit"), page.expect_request(f"{link}/beacon"):
        go_back(page)
    assert page.evaluate("window.wasKept") is True
    assert link not in keeping_visitor.requests
    assert keeping_visitor.complaints == []


def test_a_page_that_was_kept_shows_that_its_link_has_ended(
    keeping_visitor: Visitor, server: ServerProcess, share: ShareDocument
) -> None:
    link = share(simple_pdf(), "ended.pdf")
    open_and_leave(keeping_visitor, server, link)
    address = f"{server.url}/api/v1/files/{link.rpartition('/')[2]}"
    requests.delete(address, headers=server.headers, timeout=30).raise_for_status()
    page = keeping_visitor.page
    go_back(page)
    expect(page.locator("#pages")).to_have_count(0)
    assert link in keeping_visitor.requests


def test_a_page_from_the_cache_of_the_browser_is_loaded_again(
    desktop_visitor: Visitor, server: ServerProcess, share: ShareDocument
) -> None:
    page = desktop_visitor.open(share(simple_pdf(), "cached.pdf"))
    token = page.evaluate(READ_TOKEN)
    page.goto(f"{server.url}/")
    go_back(page)
    page.wait_for_function(f"token => document.querySelector('#facts') && {READ_TOKEN} !== token", arg=token)
