"""The notes panel in a real browser: writing, visibility, pages, deletion and navigation."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.feedback.conftest import PHONE_OPTIONS, OpenReader
from tests.support.browsers.browser import reload_viewer, send_note, wait_for_page
from tests.support.people.feedback_document import FeedbackDocument

NOTES = """
- complementary "Notes":
  - heading "Notes" [level=2]
  - button "Close"
  - paragraph: No notes yet
  - form "New note":
    - textbox "Your note"
    - group "About"
"""


def write_note(
    page: Page, words: str, author: str | None = "Ada", *, whole: bool = False, public: bool = False
) -> None:
    """Leave a note, from a closed panel or an open one."""
    if page.locator("#notes").is_hidden():
        page.locator("#notes-open").click()
    page.get_by_label("Your note").fill(words)
    if author:
        page.locator("#note-author").fill(author)
    if whole:
        page.get_by_label("The whole document").check()
    if public:
        page.get_by_label("Every reader").check()
    page.get_by_role("button", name="Send").click()
    page.locator(".note").filter(has_text=words).wait_for()


def test_a_note_belongs_to_the_current_page_and_is_visible_to_the_owner_only(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    page = open_reader().open(feedback_document.url)
    page.keyboard.press("ArrowRight")
    wait_for_page(page, 2)
    write_note(page, "Is this figure right?")
    (note,) = feedback_document.get_feedback("feedback")["notes"]
    stored = {name: note[name] for name in ("author", "body", "pageNumber", "public")}
    assert stored == {"author": "Ada", "body": "Is this figure right?", "pageNumber": 2, "public": False}
    expect(page.locator(".notes-group h3")).to_have_text("Page 2")
    expect(page.locator(".note small")).to_have_text("Only the owner sees this")
    other = open_reader().open(feedback_document.url)
    other.locator("#notes-open").click()
    expect(other.locator("#notes-list")).to_have_text("No notes yet")


def test_a_public_note_on_the_whole_document_is_visible_to_others(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    write_note(open_reader().open(feedback_document.url), "First line\nsecond line", whole=True, public=True)
    (note,) = feedback_document.get_feedback("feedback")["notes"]
    assert (note["public"], "pageNumber" in note) == (True, False)
    other = open_reader().open(feedback_document.url)
    expect(other.get_by_role("button", name="Notes, 1")).to_be_visible()
    other.locator("#notes-open").click()
    expect(other.locator(".notes-group h3")).to_have_text("The whole document")
    assert other.locator(".note p").inner_text() == "First line\nsecond line"
    expect(other.locator(".note-author")).to_have_text("Ada")
    expect(other.get_by_role("button", name="Delete note")).to_have_count(0)


def test_without_public_notes_the_visibility_cannot_be_chosen(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    feedback_document.put_settings(commentsAllowPublic=False)
    page = open_reader().open(feedback_document.url)
    page.locator("#notes-open").click()
    expect(page.get_by_label("Every reader")).to_have_count(0)
    expect(page.locator("#note-form")).to_contain_text("Only the owner sees this.")
    write_note(page, "For you")
    assert feedback_document.get_feedback("feedback")["notes"][0]["public"] is False


def test_the_author_name_is_asked_for_once(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    page = open_reader().open(feedback_document.url)
    write_note(page, "One")
    write_note(page, "Two", author=None)
    reload_viewer(page)
    page.locator("#notes-open").click()
    expect(page.locator("#note-author")).to_have_value("Ada")
    expect(page.locator("#receipt-name")).to_have_value("Ada")


def test_own_notes_can_be_deleted_after_a_reload(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    page = open_reader().open(feedback_document.url)
    write_note(page, "Never mind", public=True)
    reload_viewer(page)
    page.locator("#notes-open").click()
    page.get_by_role("button", name="Delete note").click()
    expect(page.locator("#notes-list")).to_have_text("No notes yet")
    expect(page.locator("#notes-title")).to_be_focused()
    assert feedback_document.get_feedback("feedback")["notes"] == []


def test_pages_with_notes_have_a_button_that_opens_them(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    page = open_reader().open(feedback_document.url)
    write_note(page, "One")
    write_note(page, "Two")
    page.locator("#notes-close").click()
    expect(page.locator(".page[data-page='2'] .note-sign")).to_have_count(0)
    sign = page.locator(".page[data-page='1']").get_by_role("button", name="2 notes on page 1")
    sign.click()
    expect(page.locator("#notes")).to_be_visible()
    expect(page.locator("[data-about='1'] .note")).to_have_count(2)


def test_a_note_keeps_the_page_on_which_it_was_started(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    page = open_reader().open(feedback_document.url)
    page.locator("#notes-open").click()
    page.get_by_label("Your note").fill("About the first page")
    page.locator("#page-next").click()
    wait_for_page(page, 2)
    expect(page.locator("#note-page")).to_have_text("Page 1")
    write_note(page, "About the first page")
    expect(page.locator("#note-page")).to_have_text("Page 2")
    assert feedback_document.get_feedback("feedback")["notes"][0]["pageNumber"] == 1


def test_a_note_can_be_moved_to_the_current_page(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    page = open_reader().open(feedback_document.url)
    page.locator("#notes-open").click()
    page.get_by_label("Your note").fill("About the second, after all")
    page.locator("#page-next").click()
    wait_for_page(page, 2)
    page.locator("[name=about]").first.click()
    write_note(page, "About the second, after all")
    assert feedback_document.get_feedback("feedback")["notes"][0]["pageNumber"] == 2


def test_headings_in_the_list_link_to_their_pages(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    page = open_reader().open(feedback_document.url)
    write_note(page, "Here")
    page.locator("#page-next").click()
    wait_for_page(page, 2)
    page.locator(".notes-group").get_by_role("button", name="Page 1").click()
    wait_for_page(page, 1)
    expect(page.locator("#notes")).to_be_visible()


@pytest.mark.parametrize(
    ("words", "author", "message"),
    [
        ("  ", "Ada", "Write something first."),
        ("A word", " ", "Enter your name, so that the owner knows who wrote it."),
    ],
)
def test_a_note_requires_text_and_an_author(
    feedback_document: FeedbackDocument, open_reader: OpenReader, words: str, author: str, message: str
) -> None:
    page = open_reader().open(feedback_document.url)
    send_note(page, words, author)
    expect(page.locator("#note-form [role=alert]")).to_have_text(message)
    assert feedback_document.get_feedback("feedback")["notes"] == []


def test_the_panel_works_by_keyboard_and_restores_the_focus(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    page = open_reader().open(feedback_document.url)
    page.locator("#notes-open").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#notes-title")).to_be_focused()
    expect(page.locator("#notes-open")).to_have_attribute("aria-expanded", "true")
    page.get_by_label("Your note").focus()
    page.keyboard.type("f123x?")  # shortcut keys must be typed as text
    expect(page.get_by_label("Your note")).to_have_value("f123x?")
    page.keyboard.press("Escape")
    expect(page.locator("#notes")).to_be_hidden()
    expect(page.locator("#notes-open")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Your note")).to_have_value("f123x?")


def test_pages_move_aside_for_the_panel_and_back(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    page = open_reader(viewport={"width": 1440, "height": 900}).open(feedback_document.url)
    place = "() => document.querySelector('.page').getBoundingClientRect()"
    before = page.evaluate(place)
    page.locator("#notes-open").click()
    panel = page.locator("#notes").evaluate("panel => panel.offsetLeft")
    page.wait_for_function(f"panel => ({place})().right < panel", arg=panel)
    after = page.evaluate(place)
    assert after["left"] >= 0
    assert after["width"] == before["width"]
    page.locator("#zoom-level").select_option(
        "200"
    )  # the page is wider than the window; all of it must remain reachable by scrolling
    page.wait_for_function(f"() => ({place})().width > 1500 && ({place})().left + scrollX >= 0")
    page.locator("#zoom-level").select_option("auto")
    page.locator("#notes-close").click()
    page.wait_for_function(f"left => ({place})().left === left", arg=before["left"])


def test_on_a_phone_the_panel_is_a_sheet_that_closes_when_a_page_is_opened(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    page = open_reader(**PHONE_OPTIONS).open(feedback_document.url)
    write_note(page, "From the train")
    sheet = page.locator("#notes").bounding_box()
    assert sheet is not None
    assert (sheet["x"], sheet["width"], sheet["y"] + sheet["height"]) == (0, 390, 844)
    size = page.get_by_label("Your note").evaluate("field => parseFloat(getComputedStyle(field).fontSize)")
    assert size >= 16  # phones zoom in on smaller text
    page.locator(".notes-group").get_by_role("button", name="Page 1").click()
    expect(page.locator("#notes")).to_be_hidden()


def test_without_feedback_settings_the_page_has_no_feedback_controls(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    feedback_document.put_settings(
        commentsEnabled=False, commentsAllowPublic=False, marksEnabled=False, annotationsEnabled=False, askReceipt=False
    )
    person = open_reader()
    page = person.open(feedback_document.url)
    for place in (".feedback-tool", ".feedback-part", ".page-feedback"):
        assert page.locator(place).count() == 0
    assert [url for url in person.requests if re.search(r"/feedback", url)] == []


def test_feedback_is_not_printed(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    page = open_reader().open(feedback_document.url)
    write_note(page, "Not on paper")
    page.emulate_media(media="print")
    for place in ("#notes", ".page-feedback"):
        expect(page.locator(place).first).to_be_hidden()


def test_a_note_is_written_with_the_keyboard_only_and_announced(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    page = open_reader().open(feedback_document.url)
    page.locator("#notes-open").focus()
    page.keyboard.press("Enter")
    expect(page.locator("body")).to_match_aria_snapshot(NOTES)
    for _ in range(20):
        if page.get_by_label("Your note").evaluate("one => one === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.type("By keys only")
    page.locator("#note-author").focus()
    page.keyboard.type("Ada")
    page.get_by_role("button", name="Send").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#feedback-status")).to_have_text(re.compile("Note"))
    expect(page.get_by_role("complementary", name="Notes").get_by_text("By keys only")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(":focus")).to_have_accessible_name(re.compile("Notes"))
