"""Marking pages as pick, maybe, or reject in a real browser, and confirming receipt."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.feedback.conftest import PHONE_OPTIONS, OpenReader
from tests.support.browsers.browser import RequestGate, stop_clock, wait_for_page
from tests.support.browsers.styled_document import StyledDocument, element_box, has_overlap
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS
from tests.support.people.feedback_document import FeedbackDocument
from tests.support.polling import wait_until
from tests.support.servers.server_process import ServerProcess

PAGE_BOTTOMS = "(pages) => pages.map((page) => page.getBoundingClientRect().bottom)"


def get_marks_by_page(proof: FeedbackDocument) -> dict[int, str]:
    """Return the marks by page as the owner sees them."""
    viewers = proof.get_feedback("page-marks")["viewers"]
    return {row["page"]: row["mark"] for viewer in viewers for row in viewer["marks"]}


def list_pressed_buttons(page: Page, number: int) -> list[str]:
    """Return the names of the pressed buttons of a page."""
    buttons = page.locator(f".page[data-page='{number}'] .verdict[aria-pressed='true']")
    return [str(button.get_attribute("aria-label")) for button in buttons.all()]


def press_page_button(page: Page, number: int, name: str) -> None:
    """Press the mark button ``name`` of a page."""
    page.get_by_role("group", name=f"Mark page {number}").get_by_role("button", name=name).click()


def test_a_mark_button_sets_and_clears_the_mark(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    page = open_reader().open(feedback_document.url)
    press_page_button(page, 1, "Pick")
    assert list_pressed_buttons(page, 1) == ["Pick"]
    wait_until(lambda: get_marks_by_page(feedback_document) == {1: "pick"})
    press_page_button(page, 1, "Reject")
    assert list_pressed_buttons(page, 1) == ["Reject"]
    wait_until(lambda: get_marks_by_page(feedback_document) == {1: "reject"})
    press_page_button(page, 1, "Reject")
    assert list_pressed_buttons(page, 1) == []
    wait_until(lambda: get_marks_by_page(feedback_document) == {})


def test_keys_mark_the_current_page(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    page = open_reader().open(feedback_document.url)
    for number, key in ((1, "1"), (2, "2"), (3, "3"), (4, "1")):
        wait_for_page(page, number)
        page.keyboard.press(key)
        page.keyboard.press("ArrowRight")
    page.keyboard.press("x")
    wait_until(lambda: get_marks_by_page(feedback_document) == {1: "pick", 2: "maybe", 3: "reject"})
    expect(page.locator("#feedback-status")).to_have_text("Page 4: no mark")


def test_the_help_lists_the_feedback_keys(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    page = open_reader().open(feedback_document.url)
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard")
    expect(keys.locator("dt").filter(has_text="Pick, maybe, reject, no mark")).to_be_visible()
    expect(keys.locator("dt").filter(has_text="Annotate")).to_be_visible()


def test_marks_are_restored_after_a_reload(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    page = open_reader().open(feedback_document.url)
    press_page_button(page, 1, "Maybe")
    wait_until(lambda: get_marks_by_page(feedback_document) == {1: "maybe"})
    page.wait_for_function(
        "() => !document.querySelector('.verdicts.is-saving')"
    )  # the browser has the response and its cookie
    page.reload()
    page.locator(".verdict[aria-pressed='true']").wait_for()
    assert list_pressed_buttons(page, 1) == ["Maybe"]
    assert open_reader().open(feedback_document.url).locator(".verdict[aria-pressed='true']").count() == 0


def test_marks_are_restored_on_a_page_that_was_unloaded(
    feedback_server: ServerProcess, open_reader: OpenReader
) -> None:
    proof = FeedbackDocument(feedback_server, pages=30)
    page = open_reader().open(proof.url)
    page.keyboard.press("1")
    page.keyboard.press("End")
    page.locator(".page[data-page='30'].is-ready").wait_for()
    assert page.locator(".page[data-page='1']").count() == 0
    page.keyboard.press("Home")
    page.locator(".page[data-page='1'] .verdict").first.wait_for()
    assert list_pressed_buttons(page, 1) == ["Pick"]


def test_after_quick_changes_the_last_mark_is_saved(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    person = open_reader()
    gate = RequestGate(person.page, "**/marks/1")
    page = person.open(feedback_document.url)
    for key in "123":
        page.keyboard.press(key)
    assert list_pressed_buttons(page, 1) == ["Reject"]
    page.wait_for_function("() => document.querySelector('.verdicts.is-saving')")
    gate.open()
    page.wait_for_function("() => !document.querySelector('.verdicts.is-saving')")
    assert get_marks_by_page(feedback_document) == {1: "reject"}
    asked = [url for url in person.requests if url.endswith("/marks/1")]
    assert len(asked) == 2  # intermediate changes are not sent


def test_the_mark_buttons_stay_visible_beside_a_tall_page(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    page = open_reader(viewport={"width": 1280, "height": 800}).open(feedback_document.url)
    paper = ".page[data-page='1']"
    for scrolled in (0, 250):
        page.mouse.wheel(0, scrolled)
        page.wait_for_function("(top) => scrollY === top", arg=scrolled)
        box = page.get_by_role("group", name="Mark page 1").bounding_box()
        assert box is not None
        assert 300 < box["y"] < 500 - box["height"] / 2
        assert not has_overlap(element_box(page, f"{paper} .verdicts"), element_box(page, paper))


def test_a_receipt_is_confirmed_once_and_shown_after_a_reload(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    page = open_reader().open(feedback_document.url)
    page.get_by_role("button", name="Confirm receipt").click()
    expect(page.locator("#receipt-name")).to_be_focused()
    page.locator("#receipt-name").fill("Ada Lovelace")
    page.keyboard.press("Enter")
    card = page.get_by_role("dialog", name="Receipt confirmed")
    expect(card).to_contain_text("Received by Ada Lovelace on ")
    expect(page.locator("#receipt-title")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#receipt-open")).to_be_focused()
    (receipt,) = feedback_document.get_feedback("feedback")["receipts"]
    assert receipt["name"] == "Ada Lovelace"
    page.reload()
    page.get_by_role("button", name="Received on ").click()
    expect(card).to_contain_text("Received by Ada Lovelace on ")
    assert card.locator("form").is_hidden()
    other = open_reader().open(feedback_document.url)
    expect(other.get_by_role("button", name="Confirm receipt")).to_be_visible()


def test_a_receipt_requires_a_name(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    page = open_reader(**PHONE_OPTIONS).open(feedback_document.url)
    page.get_by_role("button", name="Confirm receipt").tap()
    page.get_by_role("button", name="I have received this").tap()
    expect(page.locator("#receipt [role=alert]")).to_have_text("Enter your name.")
    assert feedback_document.get_feedback("feedback")["receipts"] == []


def test_on_a_phone_receipt_and_marks_work_by_touch(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    page = open_reader(**PHONE_OPTIONS).open(feedback_document.url)
    page.get_by_role("group", name="Mark page 1").get_by_role("button", name="Pick").tap()
    wait_until(lambda: get_marks_by_page(feedback_document) == {1: "pick"})
    page.get_by_role("button", name="Confirm receipt").tap()
    page.locator("#receipt-name").fill("Ada")
    page.get_by_role("button", name="I have received this").tap()
    expect(page.locator("#receipt")).to_contain_text("Received by Ada on ")
    sheet = page.locator("#receipt").bounding_box()
    assert sheet is not None
    assert (sheet["width"], round(sheet["y"] + sheet["height"])) == (390, 844)


@pytest.mark.parametrize("position", ["br", "bar"])
@pytest.mark.parametrize(
    "window", [{"viewport": {"width": 1280, "height": 800}}, PHONE_OPTIONS], ids=["desktop", "phone"]
)
def test_the_mark_buttons_do_not_overlap_elements_of_the_owner(
    feedback_document: FeedbackDocument,
    feedback_server: ServerProcess,
    open_reader: OpenReader,
    window: dict[str, Any],
    position: str,
) -> None:
    sheet = StyledDocument(feedback_server, feedback_document.url)
    cta = {"label": "Book a meeting", "url": "https://acme.example/", "position": position}
    soon = (datetime.now(UTC) + timedelta(hours=5)).isoformat()
    sheet.apply_looks(
        ALL_FEEDBACK_SETTINGS | {"deleteAt": soon}, logo={"assetId": sheet.logo, "position": "bl"}, cta=cta
    )
    page = open_reader(**window).open(feedback_document.url)
    page.locator("#expiry").wait_for()
    page.mouse.wheel(0, 250)
    page.wait_for_function("() => scrollY === 250")
    around = [element_box(page, name) for name in (".logo", ".cta", ".badge", "#expiry", ".dock")]
    bottoms: list[float] = page.locator(".page").evaluate_all(PAGE_BOTTOMS)
    cut_off = next(number for number, bottom in enumerate(bottoms, 1) if bottom > window["viewport"]["height"])
    buttons = element_box(page, f".page[data-page='{cut_off}'] .verdicts")
    assert [other for other in around if has_overlap(buttons, other)] == []
    page.locator("#annotate").click()
    hint = element_box(page, "#annotate-hint")
    assert [other for other in around if has_overlap(hint, other)] == []


@pytest.mark.parametrize("corner", ["bl", "br"])
@pytest.mark.parametrize("mode", ["swipe", "flipbook"])
def test_on_a_phone_the_mark_buttons_leave_room_for_a_button_of_the_owner(
    feedback_document: FeedbackDocument, open_reader: OpenReader, mode: str, corner: str
) -> None:
    button = {"label": "Book a meeting", "url": "https://acme.example/", "position": corner}
    feedback_document.put_settings(viewerMode=mode, viewerSettings={"cta": button})
    page = open_reader(**PHONE_OPTIONS).open(feedback_document.url)
    marks = element_box(page, ".page[data-page='1'] .verdicts")
    assert not has_overlap(marks, element_box(page, ".cta"))
    assert (marks[0] >= 0, marks[2] <= 390) == (True, True)


@pytest.mark.parametrize("window", [(1440, 900), (820, 1180), (390, 844)])
@pytest.mark.parametrize("mode", ["standard", "swipe", "flipbook"])
def test_the_mark_buttons_and_the_button_of_the_notes_are_beside_the_pages(
    feedback_document: FeedbackDocument, open_reader: OpenReader, mode: str, window: tuple[int, int]
) -> None:
    feedback_document.put_settings(viewerMode=mode)
    page = open_reader(viewport={"width": window[0], "height": window[1]}).open(feedback_document.url)
    page.get_by_role("button", name="Notes").click()
    page.locator("#note-body").fill("A typo")
    page.locator("#note-author").fill("Ada")
    page.get_by_role("button", name="Send").click()
    page.locator("#notes-close").click()
    page.get_by_role("button", name="1 note on page 1").wait_for()
    for zoom in ("fitted", "larger"):
        numbers = (1, 2) if mode == "standard" else (1,)
        papers = [element_box(page, f".page[data-page='{number}']") for number in numbers]
        for name in (".page[data-page='1'] .verdicts", ".note-sign"):
            control = element_box(page, name)
            assert [paper for paper in papers if has_overlap(control, paper)] == [], (zoom, name)
        page.keyboard.press("+")
        page.keyboard.press("+")


def test_in_a_magazine_the_mark_buttons_disappear_with_the_toolbar(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    feedback_document.put_settings(viewerMode="magazine")
    person = open_reader()
    person.page.clock.install()
    page = person.open(feedback_document.url)
    stop_clock(page)
    buttons = page.locator(".page[data-page='1'] .verdicts")
    page.mouse.move(400, 300)
    page.mouse.move(410, 310)
    expect(buttons).to_have_css("opacity", "1")
    page.clock.run_for(2_600)
    expect(buttons).to_have_css("opacity", "0")
    page.mouse.move(420, 320)
    expect(buttons).to_have_css("opacity", "1")
    page.keyboard.press("1")
    wait_until(lambda: get_marks_by_page(feedback_document) == {1: "pick"})


@pytest.mark.parametrize("mode", ["standard", "swipe", "flipbook"])
def test_on_a_phone_no_control_covers_the_page(
    feedback_document: FeedbackDocument, open_reader: OpenReader, mode: str
) -> None:
    feedback_document.put_settings(viewerMode=mode)
    page = open_reader(**PHONE_OPTIONS).open(feedback_document.url)
    page.get_by_role("button", name="Notes").tap()
    page.locator("#note-body").fill("A typo")
    page.locator("#note-author").fill("Ada")
    page.get_by_role("button", name="Send").tap()
    page.locator("#notes-close").tap()
    expect(page.get_by_role("button", name="1 note on page 1")).to_be_visible()
    papers = [element_box(page, f".page[data-page='{number}']") for number in ((1, 2) if mode == "standard" else (1,))]
    for name in (".page[data-page='1'] .verdicts", ".note-sign"):
        control = element_box(page, name)
        assert [paper for paper in papers if has_overlap(control, paper)] == [], name
