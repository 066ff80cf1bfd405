"""The share page without scripts."""

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import ShareDocument
from tests.support.browsers.browser import visitor
from tests.support.documents.pdfs import simple_pdf


@pytest.fixture(scope="module")
def long(share: ShareDocument) -> str:
    return share(simple_pdf(pages=240), "Minutes.pdf")


def test_the_first_ten_pages_are_images(browser: Browser, long: str) -> None:
    with visitor(browser, java_script_enabled=False) as person:
        person.page.goto(long)
        images = person.page.locator(".page:visible img")
        assert images.count() == 10
        assert images.first.evaluate("image => image.complete && image.naturalWidth > 0")
        assert person.page.locator(".dock, .bar-tools").evaluate_all("all => all.every(one => one.offsetWidth === 0)")


def test_links_navigate_through_the_document_and_its_text(browser: Browser, long: str) -> None:
    with visitor(browser, java_script_enabled=False) as person:
        page = person.page
        place = page.locator(".plain-nav span")  # texts in a noscript element are invisible to get_by_text
        page.goto(long)
        page.get_by_role("link", name="Next").click()
        page.wait_for_url("**?page=11")
        assert place.inner_text() == "Pages 11 to 20 of 240"
        words = page.locator(".plain-words").nth(1)
        words.locator("summary").click()
        assert words.locator("p").inner_text() == "Page 12 of 240"
        page.get_by_role("link", name="Previous").click()
        page.wait_for_url("**?page=1")
        assert place.inner_text() == "Pages 1 to 10 of 240"
