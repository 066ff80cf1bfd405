"""Drawing annotations in a real browser by mouse, touch and keyboard, in every viewer mode."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.feedback.conftest import PHONE_OPTIONS, OpenReader
from tests.support.browsers.browser import current_page_number, wait_for_page
from tests.support.documents.pdfs import A4, Sheet, lines_content, sheets_pdf
from tests.support.people.feedback_document import FeedbackDocument
from tests.support.servers.server_process import ServerProcess

MODES = ["standard", "flipbook", "swipe", "magazine"]


def get_page_point(page: Page, x: float, y: float, number: int = 1) -> tuple[float, float]:
    """Return a point of a page, in CSS pixels of the window."""
    box = page.locator(f".page[data-page='{number}']").bounding_box()
    assert box is not None
    return box["x"] + x * box["width"], box["y"] + y * box["height"]


def drag(page: Page, start: tuple[float, float], end: tuple[float, float], number: int = 1) -> None:
    page.mouse.move(*get_page_point(page, *start, number))
    page.mouse.down()
    page.mouse.move(*get_page_point(page, *((a + b) / 2 for a, b in zip(start, end, strict=True)), number))
    page.mouse.move(*get_page_point(page, *end, number))
    page.mouse.up()


def draw_annotation(
    page: Page, words: str, start: tuple[float, float] = (0.2, 0.1), end: tuple[float, float] = (0.6, 0.3)
) -> None:
    """Annotate page 1 with the mouse."""
    page.get_by_role("button", name="Annotate", exact=True).click()
    drag(page, start, end)
    expect(page.get_by_label("Your annotation")).to_be_focused()
    page.get_by_label("Your annotation").fill(words)
    page.get_by_role("button", name="Save").click()
    page.locator(".annotation").filter(has_text="1").first.wait_for()
    expect(page.locator("#annotation-form")).to_be_hidden()


def list_annotations(proof: FeedbackDocument) -> list[dict[str, Any]]:
    """Return the annotations for the owner, with their pages."""
    return [
        {"page": group["page"], **row}
        for group in proof.get_feedback("annotations")["pages"]
        for row in group["annotations"]
    ]


def list_rect_values(rect: dict[str, float]) -> list[float]:
    return [rect[name] for name in ("x", "y", "width", "height")]


@pytest.mark.parametrize("mode", MODES)
def test_an_area_can_be_drawn_with_the_mouse_in_every_mode(
    feedback_server: ServerProcess, open_reader: OpenReader, mode: str
) -> None:
    proof = FeedbackDocument(feedback_server, viewerMode=mode)
    page = open_reader().open(proof.url)
    draw_annotation(
        page, "Say this once", start=(0.5, 0.3), end=(0.96, 0.1)
    )  # a click at the end point would turn the page
    (annotation,) = list_annotations(proof)
    assert (annotation["page"], annotation["note"]) == (1, "Say this once")
    assert list_rect_values(annotation["rect"]) == pytest.approx([0.5, 0.1, 0.46, 0.2], abs=0.01)
    assert current_page_number(page) == 1
    assert page.evaluate("document.body.dataset.tool") is None
    page.reload()
    page.locator(".page[data-page='1'] .annotation").wait_for()


def test_an_area_can_be_drawn_by_touch_on_a_phone(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    person = open_reader(**PHONE_OPTIONS)
    page = person.open(feedback_document.url)
    page.get_by_role("button", name="Annotate", exact=True).click()
    finger = person.context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        touches = [{"x": x, "y": y, "id": 1} for x, y in (get_page_point(page, *point) for point in points)]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    touch("touchStart", (0.1, 0.2))
    touch("touchMove", (0.4, 0.3))
    touch("touchMove", (0.8, 0.5))
    touch("touchEnd")
    page.get_by_label("Your annotation").fill("By finger")
    page.get_by_role("button", name="Save").click()  # on a busy machine, a tap could become a long press
    page.locator(".annotation").wait_for()
    assert list_rect_values(list_annotations(feedback_document)[0]["rect"]) == pytest.approx(
        [0.1, 0.2, 0.7, 0.3], abs=0.01
    )
    assert page.evaluate("scrollY") == 0


def test_a_click_creates_an_area_of_default_size(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    page = open_reader().open(feedback_document.url)
    page.keyboard.press("a")
    page.mouse.click(*get_page_point(page, 0.5, 0.3))
    page.get_by_label("Your annotation").fill("Here")
    page.get_by_role("button", name="Save").click()
    page.locator(".annotation").wait_for()
    assert list_rect_values(list_annotations(feedback_document)[0]["rect"]) == pytest.approx(
        [0.35, 0.24, 0.3, 0.12], abs=0.01
    )


def test_an_area_can_be_created_moved_and_resized_with_the_keyboard(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    page = open_reader().open(feedback_document.url)
    page.keyboard.press("ArrowRight")
    wait_for_page(page, 2)
    page.keyboard.press("a")
    page.get_by_role("button", name="Annotate page 2").focus()
    page.keyboard.press("Enter")
    area = page.locator(".page[data-page='2'] .draft")
    expect(area).to_be_focused()
    assert area.get_attribute("aria-label") == (
        "Area on page 2: 35 % from the left, 44 % from the top, 30 % wide, 12 % high"
    )
    for key in ("ArrowLeft", "ArrowLeft", "ArrowDown", "Shift+ArrowRight", "Shift+ArrowUp"):
        page.keyboard.press(key)
    assert current_page_number(page) == 2
    page.keyboard.press("Enter")
    page.keyboard.type("By keys")
    page.get_by_role("button", name="Save").focus()
    page.keyboard.press("Enter")
    page.locator(".page[data-page='2'] .annotation").wait_for()
    (annotation,) = list_annotations(feedback_document)
    assert (annotation["page"], annotation["note"]) == (2, "By keys")
    assert list_rect_values(annotation["rect"]) == pytest.approx([0.31, 0.46, 0.32, 0.1])


def test_the_keyboard_cannot_move_an_area_off_the_page(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    page = open_reader().open(feedback_document.url)
    page.keyboard.press("a")
    page.get_by_role("button", name="Annotate page 1").press("Enter")
    for _ in range(40):
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Enter")
    page.keyboard.type("At the edge")
    page.get_by_role("button", name="Save").press("Enter")
    page.locator(".annotation").wait_for()
    x, _, width, _ = list_rect_values(list_annotations(feedback_document)[0]["rect"])
    assert 0 < width < 0.02
    assert x + width == pytest.approx(1)


def test_escape_closes_the_tool_and_the_form_and_preserves_the_text(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    page = open_reader().open(feedback_document.url)
    button = page.get_by_role("button", name="Annotate", exact=True)
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    expect(button).to_have_attribute("aria-pressed", "false")
    expect(page.locator("#annotate-hint")).to_be_hidden()
    button.click()
    drag(page, (0.2, 0.1), (0.5, 0.2))
    page.keyboard.type("Half a thought")
    page.keyboard.press("Escape")
    expect(page.locator(".draft")).to_have_count(0)
    expect(page.locator("#annotation-form")).to_be_hidden()
    expect(button).to_be_focused()
    button.click()
    drag(page, (0.2, 0.1), (0.5, 0.2))
    expect(page.get_by_label("Your annotation")).to_have_value("Half a thought")
    assert list_annotations(feedback_document) == []


def test_an_area_without_text_is_not_sent(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    page = open_reader().open(feedback_document.url)
    page.keyboard.press("a")
    drag(page, (0.2, 0.1), (0.5, 0.2))
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#annotation-form [role=alert]")).to_have_text("Write something first.")


def test_own_annotations_are_numbered_and_show_their_note_on_hover_and_focus(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    page = open_reader().open(feedback_document.url)
    draw_annotation(page, "The first")
    draw_annotation(page, "The second", (0.2, 0.4), (0.6, 0.5))
    assert page.locator(".annotation-number").all_inner_texts() == ["1", "2"]
    card = page.get_by_role("dialog", name="Annotation", exact=True)
    page.mouse.move(*get_page_point(page, 0.4, 0.45))
    expect(card).to_contain_text("The second")
    page.mouse.move(5, 400)
    expect(card).to_be_hidden()
    page.get_by_role("button", name="Annotation 1 on page 1: The first").focus()
    expect(card).to_contain_text("The first")
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    other = open_reader().open(feedback_document.url)
    assert other.locator(".annotation").count() == 0


def test_an_annotation_can_be_deleted_from_its_card_and_from_the_list(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    page = open_reader().open(feedback_document.url)
    draw_annotation(page, "The first")
    draw_annotation(page, "The second", (0.2, 0.4), (0.6, 0.5))
    page.locator(".annotation").first.press("Enter")
    expect(page.locator("#annotation-delete")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".annotation")).to_have_count(1)
    assert [row["note"] for row in list_annotations(feedback_document)] == ["The second"]
    page.locator("#notes-open").click()
    page.get_by_role("button", name="Delete annotation").last.click()
    expect(page.locator(".annotation")).to_have_count(0)
    assert list_annotations(feedback_document) == []


def test_areas_stay_in_place_on_a_zoomed_page(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    page = open_reader().open(feedback_document.url)
    draw_annotation(page, "Here")
    place = """() => {
      const box = (name) => document.querySelector(name).getBoundingClientRect();
      const [area, paper] = [box(".annotation"), box(".page")];
      return [(area.x - paper.x) / paper.width, (area.y - paper.y) / paper.height, area.width / paper.width];
    }"""
    before = page.evaluate(place)
    page.locator("#zoom-level").select_option("200")
    page.wait_for_function("() => document.querySelector('.page').getBoundingClientRect().width > 1500")
    assert page.evaluate(place) == pytest.approx(before, abs=0.003)


def test_drawing_does_not_follow_links_or_select_text(feedback_server: ServerProcess, open_reader: OpenReader) -> None:
    link = "<< /Type /Annot /Subtype /Link /Border [0 0 0] /Rect [60 60 535 782] /Dest [@2 /Fit] >>"
    sheets = [Sheet(lines_content("Alpha beta gamma"), A4, annots=[link]), Sheet(lines_content("Delta"), A4)]
    proof = FeedbackDocument(feedback_server, content=sheets_pdf(sheets))
    page = open_reader().open(proof.url)
    page.locator(".page-links a").wait_for(state="attached")
    page.keyboard.press("a")
    page.mouse.click(*get_page_point(page, 0.5, 0.2))
    expect(page.get_by_label("Your annotation")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    drag(page, (0.1, 0.02), (0.9, 0.4))
    expect(page.get_by_label("Your annotation")).to_be_focused()
    assert current_page_number(page) == 1
    assert page.evaluate("document.getSelection().toString()") == ""


def test_a_second_finger_cancels_the_drawing(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    person = open_reader(**PHONE_OPTIONS)
    page = person.open(feedback_document.url)
    page.get_by_role("button", name="Annotate", exact=True).tap()
    fingers = person.context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[int, int]) -> None:
        touches = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    touch("touchStart", (100, 300))
    touch("touchMove", (150, 350))
    expect(page.locator(".draft")).to_have_count(1)
    touch("touchStart", (150, 350), (250, 400))
    expect(page.locator(".draft")).to_have_count(0)
    touch("touchEnd")
    expect(page.locator("#annotation-form")).to_be_hidden()
