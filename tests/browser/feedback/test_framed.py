"""Feedback inside a frame of another site, where the browser may block cookies."""

from playwright.sync_api import Frame, expect

from tests.browser.feedback.conftest import OpenReader
from tests.support.browsers.browser import send_note
from tests.support.outside.framing_page import find_frame, serve_framing_page
from tests.support.people.feedback_document import FeedbackDocument
from tests.support.polling import wait_until

NO_COOKIES_MESSAGE = "Your browser blocks cookies on this page, so your feedback cannot be saved. Open in a new tab"


def build_embed_url(proof: FeedbackDocument) -> str:
    return proof.url.replace(f"/{proof.name}", f"/embed/{proof.name}")


def wait_for_page_image(frame: Frame) -> None:
    frame.locator(".pages.is-live .page.is-ready:not([inert])").first.wait_for()


def pick_first_page(frame: Frame) -> None:
    frame.get_by_role("group", name="Mark page 1").get_by_role("button", name="Pick").click()


def test_a_frame_without_cookies_saves_no_feedback_and_offers_a_new_window(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    """Over plain HTTP, a cross-site frame has no cookies, so each mark would belong to another reader."""
    person = open_reader()
    with serve_framing_page(build_embed_url(feedback_document), "localhost") as address:
        person.page.goto(address)
        frame = find_frame(person.page)
        wait_for_page_image(frame)
        pick_first_page(frame)
        expect(frame.locator("#feedback-words")).to_have_text(f"The mark on page 1 is not saved. {NO_COOKIES_MESSAGE}")
        expect(frame.locator(".verdict[aria-pressed='true']")).to_have_count(0)
        send_note(frame, "A thought")
        expect(frame.locator("#note-form [role=alert]")).to_have_text(f"Not saved. {NO_COOKIES_MESSAGE}")
        expect(frame.locator(".note")).to_have_count(0)
        expect(frame.get_by_label("Your note")).to_have_value("A thought")
        assert (
            feedback_document.get_feedback("page-marks")["viewers"],
            feedback_document.get_feedback("feedback")["notes"],
        ) == ([], [])
        with person.context.expect_page() as opening:
            frame.locator("#note-form .way-out").click()
        alone = opening.value
        assert alone.url == feedback_document.url
        wait_for_page_image(alone.main_frame)
        pick_first_page(alone.main_frame)
        send_note(alone.main_frame, "A thought")
        expect(alone.locator(".note p")).to_have_text("A thought")
    assert feedback_document.get_feedback("page-marks")["totals"]["pick"] == 1
    person.complaints = [text for text in person.complaints if "status of 403" not in text and "favicon" not in text]


def test_a_frame_with_cookies_can_save_and_delete_feedback(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    person = open_reader()
    with serve_framing_page(build_embed_url(feedback_document), "127.0.0.1") as address:
        person.page.goto(address)
        frame = find_frame(person.page)
        wait_for_page_image(frame)
        pick_first_page(frame)
        send_note(frame, "A thought")
        expect(frame.locator(".note p")).to_have_text("A thought")
        frame.get_by_role("button", name="Delete note").click()
        expect(frame.locator(".note")).to_have_count(0)
        wait_until(lambda: feedback_document.get_feedback("feedback")["notes"] == [])
    assert feedback_document.get_feedback("page-marks")["totals"]["pick"] == 1
    person.complaints = [text for text in person.complaints if "404" not in text]
