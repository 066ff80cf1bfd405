"""The first marks of a new reader who is faster than the responses of the server."""

from playwright.sync_api import expect

from tests.browser.feedback.conftest import OpenReader
from tests.support.browsers.browser import RequestGate, wait_for_page
from tests.support.documents.pdfs import simple_pdf
from tests.support.people.feedback_document import FeedbackDocument


def test_two_concurrent_first_marks_belong_to_one_reader(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    person = open_reader()
    gate = RequestGate(person.page, "**/marks/*")
    page = person.open(feedback_document.url)
    page.keyboard.press("1")
    page.keyboard.press("ArrowRight")
    wait_for_page(page, 2)
    page.keyboard.press("2")
    expect(page.locator("#feedback-status")).to_have_text("Page 2: maybe")
    gate.wait()
    assert len(gate.held) == 1
    with page.expect_response("**/marks/2"):
        gate.open()
    marks = [{"page": 1, "mark": "pick"}, {"page": 2, "mark": "maybe"}]
    assert [viewer["marks"] for viewer in feedback_document.get_feedback("page-marks")["viewers"]] == [marks]


def test_a_mark_on_a_replaced_document_is_not_saved(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    visitor = open_reader()
    page = visitor.open(feedback_document.url)
    feedback_document.replace(simple_pdf(pages=3))
    page.keyboard.press("1")
    expect(page.locator("#feedback-words")).to_have_text(
        "The mark on page 1 is not saved. The document has changed in the meantime; reload the page."
    )
    assert feedback_document.get_feedback("page-marks")["viewers"] == []
    # Apart from the mark, the page may still request resources of the old version.
    assert all("409" in complaint or "404" in complaint for complaint in visitor.complaints)
    visitor.complaints.clear()
