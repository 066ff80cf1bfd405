"""Toolbar, address and measured time agree on the page that a reader looks at."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Request, expect

from docshare.contract.viewer import VIEWER_MODES
from tests.browser.conftest import ShareDocument
from tests.support.browsers.browser import Visitor
from tests.support.browsers.paged_viewer import PublishInMode, visible_pages, wait_for_rest
from tests.support.documents.pdfs import A4, Sheet, lines_content, sheets_pdf, simple_pdf

STRIP = (842.0, 200.0)


def expect_pages(page: Page, shown: str) -> None:
    expect(page.locator("#page-number")).to_have_value(shown)


def is_claim_of(*pages: int) -> Callable[[Request], bool]:
    """Return a check for a report of time on exactly these ``pages``."""

    def check(request: Request) -> bool:
        if not request.url.endswith("/beacon"):
            return False
        claims = {each["page"] for each in json.loads(request.post_data or "{}")["pages"] if each["ms"] >= 150}
        return claims == set(pages)

    return check


@pytest.fixture(scope="module")
def uneven(share: ShareDocument) -> str:
    """Return the URL of a strip between two portrait pages."""
    sizes = [A4, STRIP, A4]
    return share(sheets_pdf([Sheet(lines_content("Words", top=100), size) for size in sizes]), "Uneven.pdf")


def test_a_small_page_counts_once_more_of_it_is_visible_than_of_the_page_around_it(
    desktop_visitor: Visitor, uneven: str
) -> None:
    """It is read although the next page takes more of the window."""
    page = desktop_visitor.open(uneven)
    expect_pages(page, "1")
    bottom = page.locator(".page[data-page='2']").evaluate("one => one.getBoundingClientRect().bottom + scrollY")
    with page.expect_request(is_claim_of(2)):
        page.mouse.move(300, 300)
        page.evaluate("y => scrollTo(0, y - innerHeight)", bottom)
        taller = page.locator(".page[data-page='1']").evaluate("one => one.getBoundingClientRect().bottom - 56")
        assert taller > page.locator(".page[data-page='2']").evaluate("one => one.clientHeight")
        expect_pages(page, "2")
        page.wait_for_url(f"{uneven}#page=2")
        page.mouse.move(310, 320)


def test_pages_that_are_equally_visible_are_all_shown_and_counted(
    desktop_visitor: Visitor, share: ShareDocument
) -> None:
    cards = share(simple_pdf(12, size=(300.0, 200.0)), "Cards.pdf")
    page = desktop_visitor.open(cards)
    with page.expect_request(is_claim_of(*range(1, 6))):
        page.locator("#zoom-level").select_option("50")
        expect_pages(page, "1-5")
        page.mouse.move(310, 320)
    page.get_by_role("button", name="Next page").click()
    expect_pages(page, "2-6")
    page.wait_for_url(f"{cards}#page=2")
    page.keyboard.press("End")
    expect_pages(page, "8-12")
    expect(page.get_by_role("button", name="Next page")).to_be_disabled()
    page.wait_for_url(f"{cards}#page=8")


@pytest.mark.parametrize("mode", ["flipbook", "magazine"])
def test_the_address_of_a_spread_is_that_of_its_first_page(
    desktop_visitor: Visitor, publish: PublishInMode, mode: str
) -> None:
    url = publish(simple_pdf(6, size=A4), mode)
    page = desktop_visitor.open(f"{url}#page=3")
    expect_pages(page, "2-3")
    page.wait_for_url(f"{url}#page=2")
    entries = page.evaluate("history.length")
    page.keyboard.press("ArrowRight")
    expect_pages(page, "4-5")
    page.wait_for_url(f"{url}#page=4")
    assert page.evaluate("history.length") == entries


def test_a_page_of_a_spread_that_fills_the_window_is_shown_alone(
    desktop_visitor: Visitor, publish: PublishInMode
) -> None:
    url = publish(simple_pdf(6, size=A4), "flipbook")
    page = desktop_visitor.open(f"{url}#page=2")
    expect_pages(page, "2-3")
    page.locator("#zoom-level").select_option("400")
    page.evaluate("scrollTo(0, 200)")
    expect_pages(page, "2")
    page.evaluate("scrollTo(document.documentElement.scrollWidth, 200)")
    expect_pages(page, "3")
    page.wait_for_url(f"{url}#page=3")
    page.get_by_role("button", name="Next page").click()
    expect_pages(page, "4")


@pytest.mark.parametrize("mode", VIEWER_MODES)
def test_toolbar_address_and_time_agree_after_each_move(
    desktop_visitor: Visitor, publish: PublishInMode, mode: str
) -> None:
    spreads = mode in ("flipbook", "magazine")
    url = publish(simple_pdf(7, size=A4), mode)
    page = desktop_visitor.open(f"{url}#page=7")

    def expect_agreement(*pages: int) -> None:
        with page.expect_request(is_claim_of(*pages)):
            expect_pages(page, "-".join(str(number) for number in pages))
            page.wait_for_url(f"{url}#page={pages[0]}")
            page.mouse.move(310, 320)
            page.mouse.move(320, 330)

    expect_agreement(*((6, 7) if spreads else (7,)))
    page.evaluate("location.hash = '#page=4'")
    expect_agreement(*((4, 5) if spreads else (4,)))
    page.get_by_role("button", name="Next page").click()
    expect_agreement(*((6, 7) if spreads else (5,)))
    page.keyboard.press("Home")
    expect_agreement(1)


@pytest.mark.parametrize("mode", ["flipbook", "magazine"])
@pytest.mark.parametrize("total", [1, 6, 7])
def test_no_turn_ends_at_an_empty_spread(
    desktop_visitor: Visitor, publish: PublishInMode, mode: str, total: int
) -> None:
    page = desktop_visitor.open(publish(simple_pdf(total, size=A4), mode))
    forward = page.get_by_role("button", name="Next page")
    seen = visible_pages(page)
    while forward.is_enabled():
        forward.click()
        wait_for_rest(page)
        assert visible_pages(page)[:1] == [seen[-1] + 1]
        seen += visible_pages(page)
    assert seen == list(range(1, total + 1))
    page.keyboard.press("PageDown")
    wait_for_rest(page)
    assert visible_pages(page)[-1] == total
    expect(page.locator("#page-number")).to_have_value(str(total) if total != 7 else "6-7")
