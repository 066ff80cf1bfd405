"""Messages for feedback that cannot be saved, preservation of typed text, and the view of the owner."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.feedback.conftest import PHONE_OPTIONS, OpenReader
from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import RequestGate, intercept_requests, send_note, stop_clock, visitor
from tests.support.people.feedback_document import FeedbackDocument

WORDS = "A thought that took a while to write"
PLAIN = "text/plain; charset=utf-8"
# The response of the server (status, headers, body) and the message for the reader.
REJECTIONS = [
    (429, {"Retry-After": "30"}, "slow down", "Too many requests. Try again in 30 seconds."),
    (429, {"Retry-After": "1"}, "slow down", "Too many requests. Try again in a moment."),
    (500, {}, "Traceback", "The server failed. Try again later."),
    (503, {}, "busy", "The server failed. Try again later."),
    (
        403,
        {},
        "The owner of this document has not enabled this kind of feedback.",
        "The owner of this document has not enabled this kind of feedback.",
    ),
    (404, {}, "There is no such page.", "There is no such page."),
    (409, {}, "The document has changed.", "The document has changed."),
    (410, {}, "This link is no longer available.", "This link is no longer available."),
]
IDS = [f"{status}-{words.split()[-2]}" for status, _, _, words in REJECTIONS]


@pytest.fixture
def page(browser: Browser, feedback_document: FeedbackDocument) -> Any:
    """Yield a reader's page. Errors in the console are ignored, because failed requests cause them."""
    with visitor(browser) as person:
        intercept_requests(person.page)
        person.page.clock.install()
        yield person.open(feedback_document.url)


def reject_requests(page: Page, path: str, status: int, headers: dict[str, str], body: str) -> None:
    answer = {"status": status, "headers": headers, "content_type": PLAIN, "body": body}
    page.route(f"**/{path}", lambda route: route.fulfill(**answer))


@pytest.mark.parametrize(("status", "headers", "body", "expected"), REJECTIONS, ids=IDS)
def test_a_rejected_note_remains_in_the_form(
    page: Page, feedback_document: FeedbackDocument, status: int, headers: dict[str, str], body: str, expected: str
) -> None:
    reject_requests(page, "notes", status, headers, body)
    send_note(page, WORDS)
    expect(page.locator("#note-form [role=alert]")).to_have_text(f"Not saved. {expected}")
    expect(page.get_by_label("Your note")).to_have_value(WORDS)
    expect(page.locator("#note-author")).to_have_value("Ada")
    expect(page.locator(".note")).to_have_count(0)
    page.unroute("**/notes")
    page.locator("#note-form").get_by_role("button", name="Try again").click()
    expect(page.locator(".note p")).to_have_text(WORDS)
    expect(page.locator("#note-form [role=alert]")).to_be_hidden()
    assert [note["body"] for note in feedback_document.get_feedback("feedback")["notes"]] == [WORDS]


def test_an_offline_note_is_reported_and_can_be_retried(page: Page, feedback_document: FeedbackDocument) -> None:
    page.context.set_offline(True)
    send_note(page, WORDS)
    expect(page.locator("#note-form [role=alert]")).to_have_text("Not saved. You are offline.")
    page.context.set_offline(False)
    page.locator("#note-form").get_by_role("button", name="Try again").click()
    expect(page.locator(".note p")).to_have_text(WORDS)


def test_text_typed_during_a_request_is_preserved_and_a_note_is_sent_once(
    page: Page, feedback_document: FeedbackDocument
) -> None:
    gate = RequestGate(page, "**/notes")
    send_note(page, WORDS)
    expect(page.get_by_role("button", name="Saving…")).to_have_attribute("aria-disabled", "true")
    page.get_by_label("Your note").fill("The next thought")
    page.get_by_role("button", name="Saving…").press("Enter")
    gate.open()
    expect(page.locator(".note p")).to_have_text(WORDS)
    expect(page.get_by_label("Your note")).to_have_value("The next thought")
    assert len(feedback_document.get_feedback("feedback")["notes"]) == 1


def test_a_rejected_annotation_keeps_its_area_and_text(page: Page, feedback_document: FeedbackDocument) -> None:
    reject_requests(page, "annotations", 500, {}, "")
    page.keyboard.press("a")
    page.get_by_role("button", name="Annotate page 1").click()
    page.get_by_label("Your annotation").fill(WORDS)
    page.get_by_role("button", name="Save").click()
    alert = page.locator("#annotation-form [role=alert]")
    expect(alert).to_have_text("Not saved. The server failed. Try again later.")
    expect(page.locator(".draft")).to_be_visible()
    expect(page.get_by_label("Your annotation")).to_have_value(WORDS)
    page.unroute("**/annotations")
    page.locator("#annotation-form").get_by_role("button", name="Try again").click()
    expect(page.locator(".annotation")).to_have_count(1)
    expect(page.locator(".draft")).to_have_count(0)


def test_a_rejected_mark_is_undone_and_can_be_retried(page: Page, feedback_document: FeedbackDocument) -> None:
    reject_requests(page, "marks/1", 500, {}, "")
    page.keyboard.press("1")
    notice = page.locator("#feedback-notice")
    expect(notice).to_contain_text("The mark on page 1 is not saved. The server failed. Try again later.")
    expect(page.locator(".verdict[aria-pressed='true']")).to_have_count(0)
    page.unroute("**/marks/1")
    notice.get_by_role("button", name="Try again").click()
    expect(page.locator(".verdict[aria-pressed='true']")).to_have_attribute("aria-label", "Pick")
    page.wait_for_function("() => !document.querySelector('.verdicts.is-saving')")
    assert feedback_document.get_feedback("page-marks")["totals"]["pick"] == 1


def test_rate_limited_marks_are_retried_and_reported_in_one_notice(
    page: Page, feedback_document: FeedbackDocument
) -> None:
    refused = []

    def slow_down(route: Route) -> None:
        refused.append(route.request.url)
        route.fulfill(status=429, headers={"Retry-After": "9"}, content_type=PLAIN, body="slow down")

    page.route("**/marks/*", slow_down)
    page.locator("#zoom-level").select_option("50")
    groups = [page.get_by_role("group", name=f"Mark page {number}") for number in (1, 2, 3)]
    picks = [group.get_by_role("button", name="Pick") for group in groups]
    for pick in picks:
        pick.wait_for()  # with a stopped clock, no page is created
    stop_clock(page)  # the first mark would be sent again after 9 seconds
    for pick in picks:
        pick.click()
    notice = page.locator("#feedback-words")
    expect(notice).to_have_text("Too many marks at once. The rest are saved in 9 seconds; keep this page open.")
    expect(page.locator(".verdict[aria-pressed='true']")).to_have_count(3)
    page.clock.run_for(8_900)
    page.wait_for_timeout(300)
    assert len(refused) == 1
    expect(page.locator("#feedback-notice")).to_have_class(re.compile("is-shown"))
    page.unroute("**/marks/*")
    page.clock.run_for(100)
    expect(notice).to_have_text("All marks are saved")
    assert feedback_document.get_feedback("page-marks")["totals"]["pick"] == 3


def test_rejected_marks_are_reported_and_retried_together(page: Page, feedback_document: FeedbackDocument) -> None:
    reject_requests(page, "marks/*", 500, {}, "")
    for number in (1, 2):
        page.get_by_role("group", name=f"Mark page {number}").get_by_role("button", name="Pick").click()
    notice = page.locator("#feedback-notice")
    expect(notice).to_contain_text("The marks on 2 pages are not saved. The server failed. Try again later.")
    page.unroute("**/marks/*")
    notice.get_by_role("button", name="Try again").click()
    expect(page.locator(".verdict[aria-pressed='true']")).to_have_count(2)
    page.wait_for_function("() => !document.querySelector('.verdicts.is-saving')")
    assert feedback_document.get_feedback("page-marks")["totals"]["pick"] == 2


def test_clearing_a_page_without_a_mark_sends_no_request(page: Page) -> None:
    page.locator(".notes-none").wait_for(state="attached")  # until then the marks are unknown
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.keyboard.press("x")
    expect(page.locator("#feedback-status")).to_have_text("Page 1: no mark")
    assert [url for url in asked if "/marks/" in url] == []


def test_a_note_that_cannot_be_deleted_remains_with_a_message(page: Page, feedback_document: FeedbackDocument) -> None:
    send_note(page, WORDS)
    page.locator(".note").wait_for()
    reject_requests(page, "notes/*", 500, {}, "")
    page.get_by_role("button", name="Delete note").click()
    expect(page.locator("#feedback-notice")).to_contain_text("Your note could not be deleted.")
    expect(page.locator(".note:not(.is-leaving)")).to_have_count(1)
    page.unroute("**/notes/*")
    page.locator("#feedback-again").click()
    expect(page.locator(".note")).to_have_count(0)


def test_a_note_that_no_longer_exists_counts_as_deleted(page: Page, feedback_document: FeedbackDocument) -> None:
    send_note(page, WORDS)
    page.locator(".note").wait_for()
    reject_requests(page, "notes/*", 404, {}, "There is no such note of yours.")
    page.get_by_role("button", name="Delete note").click()
    expect(page.locator(".note")).to_have_count(0)


def test_a_rejected_receipt_preserves_the_name(page: Page) -> None:
    reject_requests(page, "receipt", 429, {"Retry-After": "5"}, "")
    page.get_by_role("button", name="Confirm receipt").click()
    page.locator("#receipt-name").fill("Ada")
    page.get_by_role("button", name="I have received this").click()
    expected = "Not saved. Too many requests. Try again in 5 seconds."
    expect(page.locator("#receipt [role=alert]")).to_have_text(expected)
    expect(page.locator("#receipt-name")).to_have_value("Ada")
    page.unroute("**/receipt")
    page.locator("#receipt").get_by_role("button", name="Try again").click()
    expect(page.locator("#receipt")).to_contain_text("Received by Ada on ")


def test_failed_loading_of_notes_does_not_prevent_writing_and_can_be_retried(
    browser: Browser, feedback_document: FeedbackDocument
) -> None:
    with visitor(browser) as person:
        reject_requests(person.page, "feedback", 500, {}, "")
        page = person.open(feedback_document.url)
        send_note(page, WORDS)
        expect(page.locator(".note p")).to_have_text(WORDS)
        expect(page.locator("#notes-list")).to_contain_text("Earlier notes could not be loaded.")
        page.unroute("**/feedback")
        page.locator("#notes-list").get_by_role("button", name="Try again").click()
        expect(page.locator("#notes-list")).not_to_contain_text("could not be loaded")
        expect(page.locator(".note p")).to_have_text(WORDS)


def test_leaving_the_page_with_unsent_text_asks_for_confirmation(page: Page) -> None:
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.locator("#notes-open").click()
    page.get_by_label("Your note").press_sequentially("Half a")
    page.reload()
    assert asked == ["beforeunload"]


def test_the_owner_sees_disabled_feedback_controls(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    person = open_reader()
    feedback_document.sign_in(person.page)
    page = person.open(feedback_document.url)
    page.locator("#notes-open").click()
    expect(page.locator("#notes")).to_contain_text("You are the owner. Readers can leave notes here")
    expect(page.locator("#note-form")).to_have_count(0)
    expect(page.get_by_role("button", name="Annotate", exact=True)).to_be_disabled()
    for button in page.locator(".page[data-page='1'] .verdict").all():
        expect(button).to_be_disabled()
    page.get_by_role("button", name="Confirm receipt").click()
    expect(page.locator("#receipt")).to_contain_text("Readers can confirm here that they have received the document.")
    page.keyboard.press("Escape")
    for key in ("1", "a"):
        page.keyboard.press(key)
    assert page.evaluate("document.body.dataset.tool") is None
    assert [url for url in person.requests if "/marks/" in url] == []


def test_only_the_owner_sees_the_identity_of_a_note_author(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    page = open_reader().open(feedback_document.url)
    open_notes(page)
    page.locator("#note-body").fill("Cut page 2")
    page.locator("#note-author").fill("Your boss")
    page.get_by_label("Every reader").check()
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".note")).to_contain_text("Cut page 2")
    (note,) = feedback_document.get_feedback("feedback")["notes"]
    owner = open_reader()
    feedback_document.sign_in(owner.page)
    for person, expected in ((open_reader(), 0), (owner, 1)):
        page = person.open(feedback_document.url)
        open_notes(page)
        expect(page.locator(".note")).to_contain_text("Your boss")
        expect(page.locator(".note").get_by_text(note["viewer"])).to_have_count(expected)


def test_an_owner_who_confirmed_as_a_reader_sees_the_receipt(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    person = open_reader()
    page = person.open(feedback_document.url)
    page.get_by_role("button", name="Confirm receipt").click()
    page.locator("#receipt-name").fill("Ada")
    page.get_by_role("button", name="I have received this").click()
    expect(page.locator("#receipt-words")).to_contain_text("Received by Ada")
    feedback_document.sign_in(page)
    person.open(feedback_document.url)
    page.get_by_role("button", name="Received on").click()
    expect(page.locator("#receipt-words")).to_contain_text("Received by Ada")


def open_notes(page: Page) -> None:
    page.locator("#notes-open").click()


def start_annotation(page: Page) -> None:
    page.keyboard.press("a")
    page.get_by_role("button", name="Annotate page 1").press("Enter")


def open_receipt(page: Page) -> None:
    page.locator("#receipt-open").click()


@pytest.mark.parametrize("options", [{}, PHONE_OPTIONS, {"color_scheme": "dark"}], ids=["desktop", "phone", "dark"])
@pytest.mark.parametrize("step", [open_notes, start_annotation, open_receipt])
def test_feedback_panels_have_no_accessibility_violation(
    feedback_document: FeedbackDocument, open_reader: OpenReader, options: dict[str, Any], step: Callable[[Page], None]
) -> None:
    feedback_document.add_hotspot(link="https://film.example/one", label="See the film")
    page = open_reader(**options).open(feedback_document.url)
    page.keyboard.press("1")
    step(page)
    assert find_violations(page) == []
