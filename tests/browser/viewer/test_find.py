"""The find panel: it opens by key, lists what the server found, and marks it on the page."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route

from tests.browser.conftest import ShareDocument
from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import Visitor, visitor, wait_for_count, wait_for_page
from tests.support.browsers.paged_viewer import PublishInMode, wait_for_rest
from tests.support.documents import pdfs

PAGES = 1_000
PHONE_WINDOW: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
SHORT_PHONE_WINDOW: dict[str, Any] = {**PHONE_WINDOW, "viewport": {"width": 390, "height": 664}}
TABLET_WINDOW: dict[str, Any] = {"viewport": {"width": 820, "height": 1180}}
# The dock is at the bottom of a phone, and in the toolbar of a larger window.
IS_UNCOVERED = """page => {
  const { top, bottom, height } = page.getBoundingClientRect();
  const dock = document.querySelector(".dock").getBoundingClientRect();
  const end = dock.top > innerHeight / 2 ? dock.top : innerHeight;
  return height > innerHeight / 3 && top >= document.forms.find.getBoundingClientRect().bottom && bottom <= end;
}"""
IS_BIGGER = """number => {
  const page = document.querySelector(`.page[data-page="${number}"]`).getBoundingClientRect();
  return document.forms.find.getBoundingClientRect().height < 60 && page.height > innerHeight / 2;
}"""
COLOR, BACKGROUND = (f"node => getComputedStyle(node).{name}" for name in ("color", "backgroundColor"))


@pytest.fixture(scope="module")
def long(share: ShareDocument) -> str:
    """Return the URL of 1,000 pages; a word is on page 3 and twice on page 987."""
    texts = [f"Page {number}" for number in range(1, PAGES + 1)]
    texts[2] = "A needle early on"
    texts[986] = "The first needle here\nand another Needle there"
    return share(pdfs.simple_pdf(texts=texts), "Long.pdf")


def find_text(page: Page, words: str) -> None:
    page.keyboard.press("Control+f")
    page.locator("#find-words").fill(words)


def wait_for_current(page: Page, number: int) -> None:
    wait_for_page(page, number)
    page.locator(f".page[data-page='{number}'] .page-hits i.is-current").first.wait_for()


def list_rows(page: Page) -> list[str]:
    return [" ".join(row.split()) for row in page.locator("#find-results button").all_inner_texts()]


def test_results_of_a_long_document_are_listed_and_open_their_page(desktop_visitor: Visitor, long: str) -> None:
    page = desktop_visitor.open(long)
    find_text(page, "needle")
    wait_for_count(page, "1 of 3")
    assert list_rows(page) == [
        "Page 3 A needle early on",
        "Page 987 The first needle here and another Needle there",
        "Page 987 …first needle here and another Needle there",
    ]
    assert page.locator("#find-results mark").all_inner_texts() == ["needle", "needle", "Needle"]
    page.locator("#find-results button").nth(2).click()
    wait_for_count(page, "3 of 3")
    wait_for_current(page, 987)
    mark = page.locator(".page[data-page='987'] .page-hits i.is-current").bounding_box()
    line = page.locator(".page[data-page='987'] .page-text span").nth(1).bounding_box()
    assert mark is not None
    assert line is not None
    assert mark["y"] == pytest.approx(line["y"], abs=4)
    current = [row.get_attribute("aria-current") for row in page.locator("#find-results button").all()]
    assert current == [None, None, "true"]


def test_the_whole_document_is_searched_without_loading_its_pages(desktop_visitor: Visitor, long: str) -> None:
    page = desktop_visitor.open(f"{long}#page=500")
    wait_for_page(page, 500)
    find_text(page, "needle")
    wait_for_current(page, 987)
    wait_for_count(page, "2 of 3")
    assert len([url for url in desktop_visitor.requests if "/text/" in url]) < 40
    assert len([url for url in desktop_visitor.requests if "/search?" in url]) < 10


def test_keys_move_between_results_and_close_the_panel(desktop_visitor: Visitor, long: str) -> None:
    page = desktop_visitor.open(long)
    find_text(page, "needle")
    wait_for_count(page, "1 of 3")
    page.keyboard.press("Enter")
    wait_for_count(page, "2 of 3")
    wait_for_current(page, 987)
    page.keyboard.press("Shift+Enter")
    wait_for_count(page, "1 of 3")
    wait_for_current(page, 3)
    page.keyboard.press("Shift+Enter")
    wait_for_count(page, "3 of 3")
    wait_for_current(page, 987)
    page.locator("#find-results button").nth(1).focus()
    page.keyboard.press("Enter")
    wait_for_count(page, "2 of 3")
    page.keyboard.press("Escape")
    assert not page.locator("#find").is_visible()
    page.wait_for_function("() => document.querySelectorAll('.page-hits i').length === 0")
    page.keyboard.press("Control+f")
    assert page.locator("#find-words").input_value() == "needle"
    wait_for_count(page, "2 of 3")


def test_a_visible_result_moves_nothing(desktop_visitor: Visitor, long: str) -> None:
    page = desktop_visitor.open(f"{long}#page=987")
    find_text(page, "needle")
    wait_for_count(page, "2 of 3")
    wait_for_current(page, 987)
    page.evaluate(
        """async () => {
          const frames = [1, 2, 3, 4]; // the window arrives there two frames later
          for (const _ of frames) await new Promise(requestAnimationFrame);
          window.moves = [];
          addEventListener("scroll", () => window.moves.push(scrollY));
        }"""
    )
    page.keyboard.press("Enter")
    wait_for_count(page, "3 of 3")
    page.wait_for_timeout(300)
    assert page.evaluate("window.moves") == []


def test_a_second_ctrl_f_is_left_to_the_browser(desktop_visitor: Visitor, long: str) -> None:
    page = desktop_visitor.open(long)
    page.evaluate("""() => {
      window.prevented = [];
      addEventListener("keydown", (event) => event.key === "f" && window.prevented.push(event.defaultPrevented));
    }""")
    page.keyboard.press("Control+f")
    assert page.evaluate("document.activeElement.id") == "find-words"
    page.keyboard.press("Control+f")
    assert page.evaluate("window.prevented") == [True, False]


def test_the_panel_has_no_accessibility_violations(desktop_visitor: Visitor, long: str) -> None:
    page = desktop_visitor.open(long)
    find_text(page, "needle")
    wait_for_count(page, "1 of 3")
    wait_for_current(page, 3)
    assert find_violations(page) == []
    page.locator("#find-words").fill("Page")
    wait_for_count(page, "3 of 998")
    assert page.locator("#find-note").inner_text() == "The first 200 results are listed."
    assert page.locator("#find-results li").count() == 200
    assert find_violations(page) == []


def test_a_search_in_several_requests_is_one_list(desktop_visitor: Visitor, long: str) -> None:
    answers: Iterator[dict[str, object]] = iter([
        {"count": 1, "pages": [[3, 1]], "passages": [[3, 0, "a ", "needle", ""]], "unread": 0, "next": 65},
        {"count": 0, "pages": [], "passages": [], "unread": 2, "next": 900},
        {"count": 2, "pages": [[987, 2]], "passages": [[987, 0, "b ", "needle", ""]], "unread": 1, "next": None},
    ])  # fmt: skip
    asked: list[str] = []

    def answer(route: Route) -> None:
        if "q=needle" not in route.request.url:
            route.continue_()
            return
        asked.append(route.request.url.rpartition("from=")[2])
        route.fulfill(status=200, content_type="application/json", body=json.dumps(next(answers)))

    desktop_visitor.page.route("**/search?*", answer)
    page = desktop_visitor.open(long)
    find_text(page, "needle")
    wait_for_count(page, "1 of 3")
    assert asked == ["1", "65", "900"]
    assert list_rows(page) == ["Page 3 a needle", "Page 987 b needle"]
    note = "The first 2 results are listed. 3 pages could not be searched."
    assert page.locator("#find-note").inner_text() == note


@pytest.mark.parametrize(
    ("status", "note"),
    [(429, "Too many searches. Try again in a minute."), (400, "The search failed. Try again.")],
)
def test_a_failed_search_is_reported(desktop_visitor: Visitor, long: str, status: int, note: str) -> None:
    desktop_visitor.page.route("**/search?*", lambda route: route.fulfill(status=status, body="no"))
    page = desktop_visitor.open(long)
    find_text(page, "needle")
    page.locator("#find-note").get_by_text(note).wait_for()
    assert page.locator("#find-count").evaluate("output => output.value") == ""
    desktop_visitor.complaints.clear()  # the browser logs the status


# Counts the matches on each page as the viewer marks them, in the text that it loads.
COUNT_MARKS = """async (words) => {
  const { viewer_pagetext: texts, viewer_search: search } = await import(document.querySelector(
    'script[src*="viewer/main.js"]').src);
  const { base, version, pages } = JSON.parse(document.querySelector('#facts').textContent);
  const found = [];
  for (let page = 1; page <= pages; page += 1) {
    const text = texts.readPageText(await (await fetch(`${base}/text/${page}.json?v=${version}`)).json());
    const folded = texts.fold(words).trim().replace(/ +/g, " ");
    const hits = search.findAll(text, folded).length;
    if (hits > 0) found.push([page, hits]);
  }
  const address = new URLSearchParams({ q: words, v: version });
  const answer = await (await fetch(`${base}/search?${address}`)).json();
  return { marked: found, found: answer.pages };
}"""


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (pdfs.two_columns_pdf, ["left", "e", "line 1 "]),
        (pdfs.rotated_text_pdf, ["e", "rotated"]),
        (pdfs.ligatures_pdf, ["f", "ff", "ffi", "fi"]),
        (lambda: pdfs.simple_pdf(texts=["The manip-\nulation of words"]), ["manip- ulation", "manipulation", "manip-"]),
        (
            lambda: pdfs.simple_pdf(texts=["Caf\u00e9 au LAIT\nund  Stra\u00dfe", "CAFE"]),
            ["cafe", "lait und", "stra\u00dfe", "SS"],
        ),
        (lambda: pdfs.text_heavy_pdf(4_000), ["word0000", "1 word"]),
    ],
    ids=["columns", "rotated", "ligatures", "hyphen", "accents", "dense"],
)
def test_the_server_finds_what_the_viewer_marks(
    desktop_visitor: Visitor, share: ShareDocument, document: Callable[[], bytes], words: list[str]
) -> None:
    page = desktop_visitor.open(share(document(), "Compared.pdf"))
    found = [page.evaluate(COUNT_MARKS, each) for each in words]
    assert any(each["marked"] for each in found), "nothing was compared"
    for word, each in zip(words, found, strict=True):
        assert each["found"] == each["marked"], word


def test_matches_are_visible_in_forced_colors(browser: Browser, long: str) -> None:
    with visitor(browser, color_scheme="dark", forced_colors="active") as person:
        page = person.open(long)
        find_text(page, "needle")
        wait_for_count(page, "1 of 3")
        wait_for_current(page, 3)
        row = page.locator("#find-results button").first
        assert row.locator("mark").evaluate(COLOR) == row.evaluate(COLOR)
        mark = page.locator(".page[data-page='3'] .page-hits i.is-current")
        black = page.locator("body").evaluate(BACKGROUND)
        assert mark.evaluate(BACKGROUND) != black


@pytest.mark.parametrize("window", [PHONE_WINDOW, TABLET_WINDOW], ids=["phone", "tablet"])
def test_a_match_at_the_top_of_the_document_is_not_under_the_results(
    browser: Browser, share: ShareDocument, window: dict[str, Any]
) -> None:
    address = share(pdfs.simple_pdf(texts=["A needle at the top", "Another needle"]), "Two.pdf")
    with visitor(browser, **window) as person:
        page = person.open(address)
        find_text(page, "needle")
        wait_for_count(page, "1 of 2")
        wait_for_current(page, 1)
        mark = page.locator(".page[data-page='1'] .page-hits i.is-current")
        is_covered = "mark => mark.getBoundingClientRect().top < document.forms.find.getBoundingClientRect().bottom"
        assert mark.evaluate(is_covered) is False
        page.keyboard.press("Escape")
        page.wait_for_function("scrollY === 0")
        assert person.complaints == []


@pytest.mark.parametrize("window", [PHONE_WINDOW, SHORT_PHONE_WINDOW, TABLET_WINDOW], ids=["phone", "short", "tablet"])
@pytest.mark.parametrize("mode", ["flipbook", "swipe", "magazine"])
def test_a_page_is_between_the_results_and_the_dock(
    browser: Browser, publish: PublishInMode, mode: str, window: dict[str, Any]
) -> None:
    address = publish(pdfs.simple_pdf(texts=["A needle at the top"] * 3, size=pdfs.A4), mode)
    with visitor(browser, **window) as person:
        page = person.open(address)
        sheet = page.locator(".page[data-page='1'].is-ready")
        before = sheet.bounding_box()
        find_text(page, "needle")
        wait_for_count(page, "1 of 3")
        wait_for_current(page, 1)
        assert sheet.evaluate(IS_UNCOVERED) is True
        assert find_violations(page) == []
        page.keyboard.press("Enter")
        wait_for_count(page, "2 of 3")
        wait_for_current(page, 2)
        wait_for_rest(page)
        assert page.locator(".page[data-page='2'].is-ready").evaluate(IS_UNCOVERED) is True
        page.locator("#find-words").fill("no such words")
        wait_for_count(page, "No results")
        page.wait_for_function(IS_BIGGER, arg=2)
        page.keyboard.press("Escape")
        page.keyboard.press("Home")
        wait_for_page(page, 1)
        wait_for_rest(page)
        assert sheet.bounding_box() == before
        assert person.complaints == []


def test_a_match_on_a_zoomed_page_is_not_under_the_results(browser: Browser, publish: PublishInMode) -> None:
    address = publish(pdfs.simple_pdf(texts=["\n".join(["A needle"] * 12)], size=pdfs.A4), "swipe")
    with visitor(browser, **PHONE_WINDOW) as person:
        page = person.open(address)
        page.locator("#zoom-level").select_option("150")
        find_text(page, "needle")
        wait_for_count(page, "1 of 12")
        wait_for_current(page, 1)
        mark = page.locator(".page[data-page='1'] .page-hits i.is-current")
        is_covered = "mark => mark.getBoundingClientRect().top < document.forms.find.getBoundingClientRect().bottom"
        assert mark.evaluate(is_covered) is False
        assert person.complaints == []
