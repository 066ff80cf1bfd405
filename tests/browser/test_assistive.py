"""Reading, finding and passing a gate with the keyboard only, and what a screen reader gets of it: the accessibility
tree with roles, names and states, in the order of reading."""

import re
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from playwright.sync_api import Page, expect

from tests.browser.conftest import ShareDocument
from tests.support.browsers.browser import Visitor, wait_for_count, wait_for_page
from tests.support.documents.outlines import add_outline
from tests.support.documents.pdfs import A4, simple_pdf
from tests.support.servers.server_process import ServerProcess

TEXTS = ["The first page", "A needle in the hay", "The third page", "Another needle"]
BAR = """
- banner:
  - button "Pages and contents"
  - heading "Study.pdf" [level=1]
  - paragraph: 4 pages
  - navigation "Pages":
    - button "Previous page" [disabled]
    - text: Page
    - textbox "Page of 4": "1"
    - text: of 4
    - button "Next page"
  - group "Zoom":
    - button "Zoom out"
    - combobox "Zoom level"
    - button "Zoom in"
"""
RECORD_STATUS = """() => {
  window.heard = [];
  const status = document.querySelector("main p[role=status]");
  new MutationObserver(() => window.heard.push(status.textContent)).observe(status, { childList: true });
}"""
DOCUMENT = """
- main "Study.pdf":
  - feed:
    - article "Page 1 of 4": The first page
    - article "Page 2 of 4": A needle in the hay
"""
RESULTS = """
- search:
  - searchbox "Find in the document": needle
  - status: 1 of 2
  - button "Previous result"
  - button "Next result"
  - button "Close"
  - list "Results":
    - listitem:
      - button /Page 2 A needle in the hay/
    - listitem:
      - button /Page 4 Another needle/
"""
GATE = """
- main:
  - heading "A document was shared with you" [level=1]
  - textbox "Password"
  - textbox "Your name"
  - textbox "Work email"
  - button "Open document"
"""


@pytest.fixture(scope="module")
def study(share: ShareDocument) -> str:
    """Return the URL of four pages with a table of contents."""
    return share(add_outline(simple_pdf(texts=TEXTS, size=A4), [(0, 1, "Beginning"), (0, 3, "End")]), "Study.pdf")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the element with that accessible name has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.locator(":focus").and_(page.get_by_label(name, exact=True)).count():
            return
    raise AssertionError(f"Tab does not reach {name}")


def test_a_document_is_read_with_the_keyboard_only(desktop_visitor: Visitor, study: str) -> None:
    page = desktop_visitor.open(study)
    press(page, "Tab")
    expect(page.locator(":focus")).to_have_accessible_name("Skip to the document")
    press(page, "Enter", "ArrowRight")
    wait_for_page(page, 2)
    press(page, "End")
    wait_for_page(page, 4)
    tab_to(page, "Page of 4")
    page.keyboard.type("3")
    press(page, "Enter")
    wait_for_page(page, 3)
    tab_to(page, "Keyboard")
    press(page, "Enter")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    press(page, "Escape")
    expect(page.locator(":focus")).to_have_accessible_name("Keyboard")


def test_a_screen_reader_announces_the_page_after_a_turn_and_not_while_scrolling(
    desktop_visitor: Visitor, study: str
) -> None:
    page = desktop_visitor.open(study)
    wait_for_page(page, 1)
    page.evaluate(RECORD_STATUS)
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_role("status").filter(has_text="Page 2 of 4")).to_be_attached()
    page.get_by_role("button", name="Next page").click()
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_role("status").filter(has_text="Page 4 of 4")).to_be_attached()
    assert page.evaluate("heard") == ["Page 2 of 4", "Page 4 of 4"]


def test_a_word_is_found_with_the_keyboard_only(desktop_visitor: Visitor, study: str) -> None:
    page = desktop_visitor.open(study)
    press(page, "Control+f")
    page.keyboard.type("needle")
    wait_for_count(page, "1 of 2")
    wait_for_page(page, 2)
    expect(page.locator("body")).to_match_aria_snapshot(RESULTS)
    press(page, "Enter")
    wait_for_count(page, "2 of 2")
    wait_for_page(page, 4)
    press(page, "Escape")
    expect(page.get_by_role("search")).to_have_count(0)
    expect(page.locator("#pages")).to_be_focused()
    tab_to(page, "Find in the document")
    press(page, "Enter", "Escape")
    expect(page.locator(":focus")).to_have_accessible_name("Find in the document")


def test_a_screen_reader_gets_the_bar_and_the_text_of_the_pages(desktop_visitor: Visitor, study: str) -> None:
    page = desktop_visitor.open(study)
    expect(page.locator("body")).to_match_aria_snapshot(BAR)
    expect(page.locator("body")).to_match_aria_snapshot(DOCUMENT)


def test_a_gate_is_passed_with_the_keyboard_only(
    desktop_visitor: Visitor, server: ServerProcess, share: ShareDocument
) -> None:
    url = share(simple_pdf(pages=2), "Secret plan.pdf")
    form: list[dict[str, Any]] = [
        {"key": "who", "label": "Your name", "type": "text", "required": True},
        {"key": "mail", "label": "Work email", "type": "email", "required": True},
    ]
    answer = requests.put(
        f"{server.url}/api/v1/files/{urlsplit(url).path.strip('/')}/settings",
        headers=server.headers,
        json={"password": "open sesame", "gateFields": form},
        timeout=30,
    )
    assert answer.status_code == 200, answer.text
    page = desktop_visitor.page
    page.goto(url)
    expect(page.locator("body")).to_match_aria_snapshot(GATE)
    expect(page.get_by_label("Password")).to_be_focused()
    for words in ("wrong", "Ann Lee", "ann@example.com"):
        page.keyboard.type(words)
        press(page, "Tab")
    press(page, "Shift+Tab", "Enter")
    expect(page.get_by_label("Password")).to_be_focused()
    expect(page.get_by_label("Password")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Password")).to_have_accessible_description(re.compile("password", re.I))
    expect(page.get_by_label("Your name")).to_have_value("Ann Lee")
    page.keyboard.type("open sesame")
    press(page, "Enter")
    page.locator(".pages.is-live .page.is-ready").first.wait_for()
    desktop_visitor.complaints.clear()  # the answer to a wrong password has the status 401
