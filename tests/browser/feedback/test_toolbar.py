"""The toolbar with all tools: the title stays readable in a narrow window, and each tool can be reached."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.feedback.conftest import PHONE_OPTIONS, OpenReader
from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import is_within_window
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS
from tests.support.people.feedback_document import FeedbackDocument
from tests.support.servers.server_process import ServerProcess

IN_BAR = [
    "Pages and contents",
    "Download",
    "Confirm receipt",
    "Annotate",
    "Notes",
    "Find in the document",
    "More tools",
]
IN_MENU = ["#print", "#fullscreen", "#visit-open"]
TITLE = "() => [document.querySelector('.bar h1').clientWidth, document.querySelector('.bar h1').scrollWidth]"

ENDS_OF_TITLE = """() => {
  const title = document.querySelector(".bar h1");
  const text = document.createTreeWalker(title, NodeFilter.SHOW_TEXT).nextNode();
  const place = (at) => {
    const range = document.createRange();
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    return range.getBoundingClientRect().left;
  };
  const box = title.getBoundingClientRect();
  return [place(0), place(text.length - 5), box.left, box.right];
}"""


def list_tools(page: Page, parent: str) -> list[str]:
    """Return the names of the visible tools in ``parent``, from left to right."""
    tools = [tool for tool in page.locator(f"{parent} .tool").all() if tool.is_visible()]
    found = {(tool.bounding_box() or {})["x"]: tool.get_attribute("aria-label") for tool in tools}
    return [str(found[x]) for x in sorted(found)]


@pytest.fixture
def open_phone(open_reader: OpenReader, feedback_server: ServerProcess) -> Callable[..., Page]:
    """Return a function that opens a document with a long name and all feedback enabled on a phone."""
    document = FeedbackDocument(feedback_server, filename="Quarterly figures of the northern region.pdf")
    return lambda **options: open_reader(**PHONE_OPTIONS | options).open(document.url)


def test_on_a_phone_tools_without_room_are_in_a_menu(open_phone: Callable[..., Page]) -> None:
    page = open_phone()
    shown, whole = page.evaluate(TITLE)
    assert 80 <= shown < whole
    assert list_tools(page, ".bar :is(.bar-name, .bar-tools)") == IN_BAR
    expect(page.get_by_role("button", name="Print")).to_be_hidden()
    page.get_by_role("button", name="More tools").tap()
    for name in IN_MENU:
        tool = page.locator("#more").locator(name)
        expect(tool).to_be_visible()
        box = tool.bounding_box()
        assert box is not None
        assert (box["height"], box["x"] + box["width"] < 390) == (44, True)
    assert find_violations(page) == []
    page.locator("#more #visit-open").tap()
    expect(page.locator("#more")).to_be_hidden()
    panel = page.get_by_role("dialog", name="recorded")
    expect(panel).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="More tools")).to_be_focused()


def test_the_menu_works_with_the_keyboard(open_phone: Callable[..., Page]) -> None:
    page = open_phone()
    page.get_by_role("button", name="More tools").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#more")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator("#print")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#more")).to_be_hidden()
    expect(page.get_by_role("button", name="More tools")).to_be_focused()


def test_in_a_small_window_the_download_is_in_the_menu_and_works(open_phone: Callable[..., Page]) -> None:
    page = open_phone(viewport={"width": 320, "height": 600})
    assert is_within_window(page)
    assert page.evaluate(TITLE)[0] >= 50
    page.get_by_role("button", name="More tools").tap()
    with page.expect_download() as download:
        page.locator("#more").get_by_role("button", name="Download").tap()
    assert download.value.suggested_filename.endswith(".pdf")


def test_a_wide_window_has_all_tools_in_the_toolbar(open_phone: Callable[..., Page]) -> None:
    page = open_phone()
    more = page.get_by_role("button", name="More tools")
    for width, is_folded in ((820, True), (1440, False), (820, True)):
        page.set_viewport_size({"width": width, "height": 900})
        expect(more).to_be_visible(visible=is_folded)
        assert page.evaluate(TITLE)[0] >= 80
        if not is_folded:
            assert set(IN_BAR[:-1]) <= set(list_tools(page, ".bar :is(.bar-name, .bar-tools)"))
            assert all(page.locator(".bar-tools").locator(name).is_visible() for name in IN_MENU)


def test_tools_return_from_the_menu_to_their_places(open_reader: OpenReader, feedback_server: ServerProcess) -> None:
    off = dict.fromkeys(ALL_FEEDBACK_SETTINGS, False)
    document = FeedbackDocument(feedback_server, filename="Quarterly figures of the northern region.pdf", **off)
    page = open_reader().open(document.url)
    before = list_tools(page, ".bar-tools")
    for width in (300, 1280, 300, 1280):
        page.set_viewport_size({"width": width, "height": 720})
        expect(page.get_by_role("button", name="More tools")).to_be_visible(visible=width == 300)
    assert list_tools(page, ".bar-tools") == before


def test_a_title_that_is_read_from_right_to_left_is_cut_off_at_its_end(
    open_reader: OpenReader, feedback_server: ServerProcess
) -> None:
    document = FeedbackDocument(feedback_server, filename="التقرير السنوي عن أعمال الشركة في المنطقة الشمالية.pdf")
    page = open_reader(**PHONE_OPTIONS).open(document.url)
    first, last, left, right = page.evaluate(ENDS_OF_TITLE)
    assert left <= first <= right
    assert last < left
    assert page.evaluate(TITLE)[0] >= 80
    assert is_within_window(page)
