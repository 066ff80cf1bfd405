"""The buttons of pages that are turned: beside the pages in a low window, and above the bar of the owner."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.feedback.conftest import PHONE_OPTIONS, OpenReader
from tests.browser.feedback.test_verdicts import get_marks_by_page
from tests.support.browsers.browser import is_within_window
from tests.support.browsers.styled_document import StyledDocument, element_box, has_overlap
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS
from tests.support.people.feedback_document import FeedbackDocument
from tests.support.polling import wait_until
from tests.support.servers.server_process import ServerProcess

PHONE_ON_ITS_SIDE: dict[str, Any] = PHONE_OPTIONS | {"viewport": {"width": 844, "height": 390}}
DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
DESKTOP_AT_200_PERCENT: dict[str, Any] = {"viewport": {"width": 720, "height": 450}}


def page_box(page: Page, number: int) -> tuple[float, ...]:
    page.locator(f".page[data-page='{number}'].is-ready:not(.is-aside)").wait_for()
    return tuple(element_box(page, f".page[data-page='{number}']"))


@pytest.mark.parametrize("window", [PHONE_ON_ITS_SIDE, DESKTOP_AT_200_PERCENT], ids=["phone", "desktop"])
@pytest.mark.parametrize(("mode", "spread"), [("swipe", [1]), ("swipe", [2]), ("flipbook", [1]), ("flipbook", [2, 3])])
def test_in_a_low_window_the_buttons_are_beside_pages_that_keep_their_size(
    feedback_document: FeedbackDocument, open_reader: OpenReader, mode: str, spread: list[int], window: dict[str, Any]
) -> None:
    link = f"{feedback_document.url}#page={spread[0]}"
    feedback_document.put_settings(viewerMode=mode, marksEnabled=False, commentsEnabled=False)
    page = open_reader(**window).open(link)
    plain = [page_box(page, number) for number in spread]
    feedback_document.put_settings(viewerMode=mode, marksEnabled=True)
    page = open_reader(**window).open(link)
    papers = [page_box(page, number) for number in spread]
    assert papers == plain
    assert is_within_window(page)
    for number in spread:
        buttons = element_box(page, f".page[data-page='{number}'] .verdicts")
        left, top, right, bottom = buttons
        assert (left >= 0, top >= 0) == (True, True)
        assert (right <= window["viewport"]["width"], bottom <= window["viewport"]["height"]) == (True, True)
        assert not any(has_overlap(buttons, paper) for paper in papers)
        page.get_by_role("group", name=f"Mark page {number}").get_by_role("button", name="Maybe").click()
    wait_until(lambda: get_marks_by_page(feedback_document) == dict.fromkeys(spread, "maybe"))


@pytest.mark.parametrize("window", [DESKTOP, PHONE_OPTIONS], ids=["desktop", "phone"])
@pytest.mark.parametrize("mode", ["swipe", "flipbook"])
def test_the_buttons_below_a_page_are_above_the_bar_of_the_owner(
    feedback_document: FeedbackDocument,
    feedback_server: ServerProcess,
    open_reader: OpenReader,
    mode: str,
    window: dict[str, Any],
) -> None:
    cta = {"label": "Book a meeting", "url": "https://acme.example/", "position": "bar"}
    sheet = StyledDocument(feedback_server, feedback_document.url)
    sheet.apply_looks(ALL_FEEDBACK_SETTINGS | {"viewerMode": mode}, cta=cta)
    page = open_reader(**window).open(feedback_document.url)
    paper = page_box(page, 1)
    buttons = element_box(page, ".page[data-page='1'] .verdicts")
    assert not has_overlap(buttons, paper)
    for name in (".cta", ".dock") if window is PHONE_OPTIONS else (".cta",):
        assert not has_overlap(buttons, element_box(page, name)), name
