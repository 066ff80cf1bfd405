"""Loading of page images: concurrency, distance, long documents, and errors."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.conftest import ShareDocument
from tests.support.browsers.browser import (
    RequestGate,
    Visitor,
    hold_timers_until_first_image,
    slow_down,
    stop_clock,
    visitor,
    wait_for_page,
)
from tests.support.documents.pdfs import A4, Sheet, lines_content, sheets_pdf, simple_pdf


@pytest.fixture(scope="module")
def report(share: ShareDocument) -> str:
    return share(simple_pdf(pages=30, size=A4), "Thirty pages.pdf")


@pytest.fixture(scope="module")
def long(share: ShareDocument) -> str:
    return share(simple_pdf(pages=2000), "Two thousand pages.pdf")


def count_page_elements(page: Page) -> int:
    return page.locator(".page").count()


def list_held_pages(gate: RequestGate) -> list[Route]:
    """Return the requests for images of pages that wait."""
    return [route for route in gate.held if "/pages/" in route.request.url]


def test_at_most_four_images_load_at_once_after_the_first(browser: Browser, share: ShareDocument) -> None:
    cards = share(simple_pdf(pages=30, size=(400, 100)), "Cards.pdf")
    with visitor(browser) as person:
        gate = RequestGate(person.page, "**/*.jpg*", "**/text/*")
        person.page.clock.install()
        stop_clock(person.page)  # after 3 seconds, others are loaded before the first one is there
        person.page.goto(cards, wait_until="commit")
        person.page.locator(".pages.is-live .page").nth(8).wait_for()
        gate.wait()
        person.page.clock.run_for(2_900)
        person.page.wait_for_timeout(300)
        (first,) = gate.held
        assert "/pages/1-" in first.request.url, "the first page has the connection to itself"
        gate.held.clear()
        first.continue_()
        person.page.locator(".page[data-page='1'].is-ready").wait_for()
        person.page.clock.resume()
        while len(list_held_pages(gate)) < 4:
            person.page.wait_for_timeout(10)
        person.page.wait_for_timeout(300)
        assert len(list_held_pages(gate)) == 4
        gate.open()
        person.page.locator(".page[data-page='6'].is-ready").wait_for()


def test_others_are_loaded_if_the_first_image_takes_three_seconds(browser: Browser, report: str) -> None:
    with visitor(browser) as person:
        gate = RequestGate(person.page, "**/pages/1-*")
        person.page.clock.install()
        stop_clock(person.page)
        person.page.goto(report, wait_until="commit")
        person.page.locator(".pages.is-live").wait_for()
        gate.wait()
        person.page.clock.run_for(3_100)
        person.page.locator(".page[data-page='2'].is-ready").wait_for(state="attached")
        gate.open()


def test_a_distant_page_is_unloaded(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    page.locator(".page[data-page='2'].is-ready").wait_for()
    page.keyboard.press("End")
    page.locator(".page[data-page='30'].is-ready").wait_for()
    assert page.locator(".page[data-page='1']").count() == 0
    page.keyboard.press("Home")
    page.locator(".page[data-page='1'].is-ready").wait_for()


def test_a_document_of_2000_pages_has_few_page_elements(desktop_visitor: Visitor, long: str) -> None:
    page = desktop_visitor.open(long)
    for number in (1500, 3, 1999):
        page.locator("#page-number").fill(str(number))
        page.keyboard.press("Enter")
        wait_for_page(page, number)
        words = page.locator(f".page[data-page='{number}'] .page-text")
        words.wait_for(state="attached")
        assert words.inner_text().strip() == f"Page {number} of 2000"
        assert count_page_elements(page) < 20


def test_reloading_restores_the_position_in_a_long_document(desktop_visitor: Visitor, long: str) -> None:
    page = desktop_visitor.open(f"{long}#page=900")
    wait_for_page(page, 900)
    page.mouse.wheel(0, 300)
    page.wait_for_function("() => history.state?.place?.page === 900 && history.state.place.down > 0.2")
    top = "() => document.querySelector('.page[data-page=\"900\"]').getBoundingClientRect().top"
    before = page.evaluate(top)
    page.reload()
    wait_for_page(page, 900)
    assert page.evaluate(top) == pytest.approx(before, abs=1)


@pytest.mark.parametrize("is_slow", [False, True], ids=["fast", "slow"])
def test_fast_scrolling_does_not_load_skipped_pages(desktop_visitor: Visitor, long: str, is_slow: bool) -> None:
    page = desktop_visitor.open(long)
    page.locator(".page[data-page='2'].is-ready").wait_for()
    if is_slow:
        slow_down(page)
    before = len(desktop_visitor.requests)
    page.evaluate(
        """async () => {
          for (let step = 1; step <= 40; step += 1) {
            scrollTo(0, step * 40000);
            await new Promise((resolve) => requestAnimationFrame(resolve));
          }
        }"""
    )
    landed = int(page.locator("#page-number").input_value())
    page.locator(f".page[data-page='{landed}'].is-ready").wait_for()
    assert len([url for url in desktop_visitor.requests[before:] if "/pages/" in url]) < 12


def test_find_reaches_the_end_of_a_long_document(desktop_visitor: Visitor, long: str) -> None:
    page = desktop_visitor.open(f"{long}#page=1950")
    wait_for_page(page, 1950)
    page.keyboard.press("f")
    page.locator("#find-words").fill("page 1991 of")
    wait_for_page(page, 1991)
    page.locator(".page[data-page='1991'] .page-hits i.is-current").wait_for()


def test_pages_of_different_sizes_have_their_own_proportions(desktop_visitor: Visitor, share: ShareDocument) -> None:
    sizes = [(595.0, 842.0), (842.0, 595.0), (300.0, 300.0)]
    mixed = share(sheets_pdf([Sheet(lines_content("x", top=100), size) for size in sizes]), "Mixed.pdf")
    page = desktop_visitor.open(mixed)
    for number, (wide, tall) in enumerate(sizes, 1):
        box = page.locator(f".page[data-page='{number}']").bounding_box()
        assert box is not None
        assert box["height"] / box["width"] == pytest.approx(tall / wide, rel=0.01)


def test_a_page_that_cannot_be_rendered_shows_an_error(browser: Browser, report: str) -> None:
    with visitor(browser) as person:
        refusal = {"status": 422, "content_type": "text/plain", "body": "This page cannot be shown."}
        person.page.route("**/pages/2-*", lambda route: route.fulfill(**refusal))
        page = person.open(report)
        page.locator(".page[data-page='2']").get_by_text("This page cannot be shown.").wait_for()
        assert page.locator(".page[data-page='2'] button").count() == 0


def test_a_busy_server_is_retried(browser: Browser, report: str) -> None:
    answers: Iterator[int] = iter([503, 503])

    def busy(route: Route) -> None:
        status = next(answers, None)
        if status is None:
            route.continue_()
        else:
            route.fulfill(status=status, body="busy")

    with visitor(browser) as person:
        person.page.route("**/pages/2-*", busy)
        page = person.open(report)
        page.locator(".page[data-page='2'].is-ready img").wait_for()
        assert next(answers, None) is None


def test_an_image_that_failed_to_load_can_be_retried(browser: Browser, report: str) -> None:
    with visitor(browser) as person:
        person.page.route("**/pages/2-*", lambda route: route.abort())
        page = person.open(report)
        again = page.locator(".page[data-page='2']").get_by_role("button", name="Try again")
        again.wait_for()
        person.page.unroute("**/pages/2-*")
        again.click()
        page.locator(".page[data-page='2'] img.is-shown").wait_for()


def test_a_replaced_document_offers_a_reload(browser: Browser, report: str) -> None:
    with visitor(browser) as person:
        person.page.route("**/text/*", lambda route: route.fulfill(status=404, body="gone"))
        page = person.open(report)
        page.get_by_text("This document has changed.").wait_for()
        with page.expect_navigation():
            page.get_by_role("button", name="Reload").click()


@pytest.mark.parametrize(("status", "words"), [
    (403, "The requirements of this document have changed. Reload the page."),
    (404, "This document has changed."),
    (410, "This link has ended."),
])  # fmt: skip
def test_each_error_of_an_open_page_has_its_own_message(browser: Browser, report: str, status: int, words: str) -> None:
    with visitor(browser) as person:
        person.page.route("**/text/*", lambda route: route.fulfill(status=status, body="x"))
        page = person.open(report)
        expect(page.locator("#notice-words")).to_have_text(words)
        expect(page.locator("#notice")).to_be_visible()


def test_a_column_longer_than_the_scroll_limit_is_shifted(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    main = page.locator("link[rel=modulepreload][href$='/main.js']").get_attribute("href")
    mode = page.locator("link[rel=modulepreload][href$='/standard.js']").get_attribute("href")
    result = page.evaluate(
        """async ([main, mode]) => {
          const { Column } = (await import(mode)).viewer_modes_column;
          const { Sizes } = (await import(main)).viewer_sizes;
          const it = new Column(new Sizes([[30000, 100, 100], [20000, 100, 50]]), 100000);
          it.lay(() => 10, { above: 80, below: 60, gap: 20, gutter: 10 }, 800);
          const whole = it.whole;
          it.centre(it.top(40000));
          const there = it.place(40000);
          const shift = it.recentre(it.extent - 900, 800);
          const after = it.place(40000);
          it.centre(it.top(50000));
          return {
            whole, extent: it.extent, there: there.top, shift, moved: after.top - there.top,
            found: it.at(it.place(49990).top + 1), last: it.place(50000), end: it.endsHere,
          };
        }""",
        [main, mode],
    )
    assert result["whole"] == 80 + 30000 * 1020 + 20000 * 520 - 20 + 60
    assert result["extent"] == 100000
    assert 0 <= result["there"] < 100000
    assert result["shift"] == result["moved"] != 0
    assert result["found"] == 49990
    assert result["last"]["top"] + result["last"]["height"] + 60 == 100000
    assert result["end"] is True


# Counts the frames since the image of the first page has loaded, until that of the second page is requested.
COUNT_FRAMES = """
window.framesBeforeSecond = null;
let frames = -1;
document.addEventListener("load", (event) => {
  if (frames >= 0 || !event.target.matches?.(".page-image")) return;
  frames = 0;
  const count = () => { frames += 1; requestAnimationFrame(count); };
  requestAnimationFrame(count);
}, true);
new MutationObserver((changes) => {
  if (changes.some(({ target }) => target.closest(".page[data-page='2']"))) window.framesBeforeSecond ??= frames;
}).observe(document, { subtree: true, attributes: true, attributeFilter: ["srcset"] });
"""


def test_the_first_image_is_painted_before_others_are_requested(browser: Browser, report: str) -> None:
    """Otherwise a phone decodes and paints it while four others arrive."""
    with visitor(browser) as person:
        gate = RequestGate(person.page, "**/pages/1-*")
        hold_timers_until_first_image(person.page)
        person.page.add_init_script(COUNT_FRAMES)
        person.page.goto(report, wait_until="commit")
        person.page.locator(".pages.is-live").wait_for()
        gate.open()
        person.page.locator(".page[data-page='2'].is-ready").wait_for(state="attached")
        assert person.page.evaluate("window.framesBeforeSecond") >= 2
