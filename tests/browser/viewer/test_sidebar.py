"""The sidebar: small pictures of the pages, and the table of contents."""

import pytest
import requests
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import ShareDocument
from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import PHONE, RequestGate, Visitor, visitor, wait_for_page
from tests.support.browsers.paged_viewer import PAGED_MODES, PublishInMode, page_box
from tests.support.documents.outlines import add_outline
from tests.support.documents.pdfs import A4, many_pages_pdf, simple_pdf
from tests.support.servers.server_process import ServerProcess

HANDHELD = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "user_agent": PHONE}
ROWS = [
    (0, 1, "Preface"),
    (0, 4, "Part I"),
    (1, 5, "Methods and materials that take more than one line in the sidebar"),
    (2, 6, "Sampling"),
    (1, 20, "\u0627\u0644\u0646\u062a\u0627\u0626\u062c"),
    (0, None, "Part II"),
    (1, 40, "Discussion"),
]


@pytest.fixture(scope="module")
def study(share: ShareDocument) -> str:
    """Return the URL of sixty pages with a table of contents."""
    return share(add_outline(simple_pdf(60, size=A4), ROWS), "Study.pdf")


def open_sidebar(page: Page) -> Locator:
    page.get_by_role("button", name="Pages and contents").click()
    sidebar = page.get_by_role("complementary", name="Pages and contents")
    sidebar.wait_for()
    return sidebar


def open_contents(page: Page) -> Locator:
    sidebar = open_sidebar(page)
    sidebar.get_by_role("tab", name="Contents").click()
    return sidebar.get_by_role("tabpanel", name="Contents")


def list_pictures(person: Visitor) -> list[str]:
    return [
        url.partition("/pages/")[2].partition("?")[0]
        for url in person.requests
        if "-160.jpg" in url or "-240.jpg" in url
    ]


def test_pictures_are_loaded_in_the_size_shown_and_only_those_in_view(desktop_visitor: Visitor, study: str) -> None:
    page = desktop_visitor.open(study)
    assert not [url for url in desktop_visitor.requests if "sidebar/" in url or "outline.json" in url]
    sidebar = open_sidebar(page)
    sidebar.locator(".thumbnail-image.is-shown").nth(5).wait_for()
    pictures = list_pictures(desktop_visitor)
    assert 6 <= len(pictures) <= 16
    assert set(pictures) <= {f"{number}-160.jpg" for number in range(1, 17)}
    first = sidebar.get_by_role("button", name="Page 1", exact=True)
    expect(first).to_have_attribute("aria-current", "page")
    shown, natural = first.locator("img.is-shown").evaluate(
        "one => [one.getBoundingClientRect().width, one.naturalWidth]"
    )
    assert shown <= natural <= 2 * shown
    sidebar.get_by_role("button", name="Page 5", exact=True).click()
    wait_for_page(page, 5)
    expect(sidebar.locator("[aria-current]")).to_have_accessible_name("Page 5")


def test_a_dense_screen_gets_sharper_pictures(browser: Browser, study: str) -> None:
    with visitor(browser, device_scale_factor=2) as person:
        open_sidebar(person.open(study)).locator(".thumbnail-image.is-shown").first.wait_for()
        assert {name.partition("-")[2] for name in list_pictures(person)} == {"240.jpg"}


def test_the_pictures_follow_the_reader(desktop_visitor: Visitor, study: str) -> None:
    page = desktop_visitor.open(study)
    sidebar = open_sidebar(page)
    page.locator("#page-number").fill("50")
    page.keyboard.press("Enter")
    current = sidebar.locator("[aria-current]")
    expect(current).to_have_accessible_name("Page 50")
    expect(current).to_be_in_viewport(ratio=0.9)
    current.locator(".is-shown").wait_for()


def test_the_keyboard_opens_moves_chooses_and_closes(desktop_visitor: Visitor, study: str) -> None:
    page = desktop_visitor.open(study)
    page.keyboard.press("t")
    focused = page.locator(":focus")
    expect(focused).to_have_accessible_name("Page 1")
    for key, name in (
        ("ArrowRight", "Page 2"), ("ArrowDown", "Page 4"), ("ArrowUp", "Page 2"), ("ArrowLeft", "Page 1"),
        ("End", "Page 60"), ("PageUp", "Page 54"), ("Home", "Page 1"), ("End", "Page 60"),
    ):  # fmt: skip
        page.keyboard.press(key)
        if key.startswith("Page"):
            expect(focused).not_to_have_accessible_name("Page 60")
        else:
            expect(focused).to_have_accessible_name(name)
    expect(page.locator("#page-number")).to_have_value("1")
    page.keyboard.press("Enter")
    wait_for_page(page, 60)
    page.keyboard.press("Escape")
    expect(page.locator("#sidebar")).to_be_hidden()
    expect(focused).to_have_accessible_name("Pages and contents")
    expect(focused).to_have_attribute("aria-expanded", "false")


def test_a_late_table_of_contents_does_not_move_the_pictures(desktop_visitor: Visitor, study: str) -> None:
    gate = RequestGate(desktop_visitor.page, "**/outline.json*")
    page = desktop_visitor.open(study)
    page.keyboard.press("t")
    expect(page.locator(":focus")).to_have_accessible_name("Page 1")
    page.keyboard.press("End")
    expect(page.locator(":focus")).to_have_accessible_name("Page 60")
    gate.wait()
    gate.open()
    expect(page.get_by_role("tab", name="Contents")).to_be_visible()
    expect(page.locator(":focus")).to_have_accessible_name("Page 60")
    expect(page.locator(":focus")).to_be_in_viewport(ratio=0.9)


def test_a_document_of_2000_pages_has_few_elements(desktop_visitor: Visitor, share: ShareDocument) -> None:
    page = desktop_visitor.open(share(many_pages_pdf(2000), "Long.pdf"))
    sidebar = open_sidebar(page)
    sidebar.locator(".thumbnail-image.is-shown").first.wait_for()
    assert sidebar.get_by_role("listitem").count() < 40
    page.keyboard.press("End")
    expect(page.locator(":focus")).to_have_accessible_name("Page 2000")
    last = sidebar.get_by_role("listitem").last
    expect(last).to_have_attribute("aria-posinset", "2000")
    last.locator(".is-shown").wait_for()
    assert sidebar.get_by_role("listitem").count() < 40


@pytest.mark.parametrize("mode", PAGED_MODES)
def test_a_picture_opens_its_page_in_each_mode(desktop_visitor: Visitor, publish: PublishInMode, mode: str) -> None:
    page = desktop_visitor.open(publish(simple_pdf(9, size=A4), mode))
    sidebar = open_sidebar(page)
    sidebar.get_by_role("button", name="Page 6", exact=True).click()
    wait_for_page(page, 6)
    page.keyboard.press("Home")
    expect(page.locator(":focus")).to_have_accessible_name("Page 1")
    wait_for_page(page, 6)


def test_keys_that_scroll_the_contents_turn_no_page(desktop_visitor: Visitor, publish: PublishInMode) -> None:
    page = desktop_visitor.open(publish(add_outline(simple_pdf(60, size=A4), ROWS), "swipe"))
    open_contents(page)
    page.get_by_role("link", name="Preface").focus()
    for key in ("PageDown", "Space", "ArrowDown"):
        page.keyboard.press(key)
    expect(page.locator("#page-number")).to_have_value("1")
    page.get_by_role("button", name="Next page").click()
    wait_for_page(page, 2)


def test_pages_move_aside_and_the_window_does_not_scroll_sideways(desktop_visitor: Visitor, study: str) -> None:
    page = desktop_visitor.open(study)
    sidebar = open_sidebar(page)
    box, aside = page_box(page, 1), sidebar.bounding_box()
    assert aside is not None
    assert aside["x"] + aside["width"] < box["x"]
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    sidebar.get_by_role("button", name="Close").click()
    box = page_box(page, 1)
    window = page.evaluate("document.documentElement.clientWidth")
    assert abs(box["x"] - (window - box["x"] - box["width"])) <= 1


def test_contents_are_nested_links_that_open_their_pages_and_back_returns(desktop_visitor: Visitor, study: str) -> None:
    page = desktop_visitor.open(study)
    contents = open_contents(page)
    assert [row.inner_text().split("\n")[0] for row in contents.locator(".outline-words").all()] == [
        title for _, _, title in ROWS
    ]
    assert contents.locator("ul ul ul a").count() == 1
    assert contents.get_by_role("link", name="Part II").count() == 0
    contents.get_by_role("link", name="Sampling").click()
    wait_for_page(page, 6)
    expect(contents.locator("[aria-current]")).to_have_text("Sampling, page 6")
    page.wait_for_url(f"{study}#page=6")
    page.go_back()
    wait_for_page(page, 1)
    expect(contents.locator("[aria-current]")).to_have_text("Preface, page 1")


def test_the_current_section_is_marked_on_the_closest_entry_in_view(desktop_visitor: Visitor, study: str) -> None:
    page = desktop_visitor.open(f"{study}#page=10")
    contents = open_contents(page)
    current = contents.locator("[aria-current]")
    expect(current).to_have_text("Sampling, page 6")
    toggle = contents.get_by_role("button", name="Sections of Part I", exact=True)
    expect(toggle).to_have_attribute("aria-expanded", "true")
    toggle.click()
    expect(toggle).to_have_attribute("aria-expanded", "false")
    expect(contents.get_by_role("link", name="Sampling")).to_be_hidden()
    expect(current).to_have_text("Part I, page 4")
    toggle.click()
    expect(current).to_have_text("Sampling, page 6")


def test_the_arrow_keys_move_in_the_contents_and_turn_no_page(desktop_visitor: Visitor, study: str) -> None:
    page = desktop_visitor.open(study)
    open_contents(page)
    page.get_by_role("link", name="Preface").focus()
    focused = page.locator(":focus")
    for key, name in (
        ("ArrowDown", "Part I , page 4"), ("ArrowDown", ROWS[2][2] + " , page 5"), ("ArrowRight", "Sampling , page 6"),
        ("ArrowLeft", ROWS[2][2] + " , page 5"), ("ArrowLeft", ROWS[2][2] + " , page 5"),
        ("ArrowDown", ROWS[4][2] + " , page 20"), ("ArrowDown", "Sections of Part II"),
        ("ArrowDown", "Discussion , page 40"), ("ArrowUp", "Sections of Part II"), ("Home", "Preface , page 1"),
        ("End", "Discussion , page 40"),
    ):  # fmt: skip
        page.keyboard.press(key)
        expect(focused).to_have_accessible_name(name)
    wait_for_page(page, 1)
    page.keyboard.press("Enter")
    wait_for_page(page, 40)


def test_a_long_table_of_contents_begins_with_its_highest_level(desktop_visitor: Visitor, share: ShareDocument) -> None:
    rows = [(level, 1 + at, f"Entry {at}.{level}") for at in range(40) for level in (0, 1)]
    page = desktop_visitor.open(share(add_outline(simple_pdf(40, size=A4), rows), "Manual.pdf"))
    contents = open_contents(page)
    expect(contents.get_by_role("link")).to_have_count(40)
    contents.get_by_role("button", name="Sections of Entry 1.0", exact=True).click()
    expect(contents.get_by_role("link")).to_have_count(41)


def test_without_a_table_of_contents_there_are_only_pages(desktop_visitor: Visitor, share: ShareDocument) -> None:
    page = desktop_visitor.open(share(simple_pdf(3, size=A4), "Plain.pdf"))
    with page.expect_response("**/outline.json*"):
        sidebar = open_sidebar(page)
    sidebar.locator(".thumbnail-image.is-shown").first.wait_for()
    expect(sidebar.get_by_role("heading", name="Pages")).to_be_visible()
    expect(sidebar.get_by_role("tab")).to_have_count(0)
    assert find_violations(page) == []


def test_the_sidebar_contains_only_the_page_range(
    desktop_visitor: Visitor, share: ShareDocument, server: ServerProcess
) -> None:
    url = share(add_outline(simple_pdf(60, size=A4), ROWS), "Part.pdf")
    body = {"pageRange": {"from": 5, "to": 12}}
    path = f"{server.url}/api/v1/files/{url.rpartition('/')[2]}/settings"
    assert requests.put(path, headers=server.headers, json=body, timeout=30).status_code == 200
    page = desktop_visitor.open(url)
    contents = open_contents(page)
    assert [link.inner_text().split("\n")[0] for link in contents.get_by_role("link").all()] == [ROWS[2][2], "Sampling"]
    assert contents.get_by_role("link").last.get_attribute("href") == "#page=2"
    page.get_by_role("tab", name="Pages").click()
    expect(page.locator("#sidebar").get_by_role("listitem")).to_have_count(8)


def test_the_arrow_keys_move_between_the_tabs(desktop_visitor: Visitor, study: str) -> None:
    page = desktop_visitor.open(study)
    open_contents(page)
    page.get_by_role("tab", name="Contents").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(":focus")).to_have_text("Pages")
    expect(page.locator(":focus")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("tabpanel", name="Pages")).to_be_visible()
    wait_for_page(page, 1)


def test_on_a_phone_it_is_a_sheet_that_closes_after_a_choice(browser: Browser, study: str) -> None:
    with visitor(browser, **HANDHELD) as person:
        page = person.open(study)
        sidebar = open_sidebar(page)
        box = sidebar.bounding_box()
        assert box is not None
        assert (box["x"], box["width"], box["y"] + box["height"]) == (0, 390, 844)
        sidebar.get_by_role("button", name="Page 4", exact=True).tap()
        wait_for_page(page, 4)
        expect(sidebar).to_be_hidden()
        contents = open_contents(page)
        contents.get_by_role("link", name="Discussion").tap()
        wait_for_page(page, 40)
        expect(contents).to_be_hidden()
        assert person.complaints == []


@pytest.mark.parametrize(
    "options",
    [{}, {"color_scheme": "dark"}, {"forced_colors": "active"}, HANDHELD],
    ids=["light", "dark", "forced-colors", "phone"],
)
def test_both_parts_have_no_violation(browser: Browser, study: str, options: dict[str, object]) -> None:
    with visitor(browser, **options) as person:
        page = person.open(study)
        sidebar = open_sidebar(page)
        sidebar.locator(".thumbnail-image.is-shown").nth(3).wait_for()
        assert find_violations(page) == []
        sidebar.get_by_role("tab", name="Contents").click()
        assert find_violations(page) == []
        assert person.complaints == []
