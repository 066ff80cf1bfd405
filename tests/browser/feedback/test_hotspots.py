"""Hotspots in a real browser: links that open in a new tab, and audio that plays one at a time."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.feedback.conftest import PHONE_OPTIONS, OpenReader
from tests.support.browsers.browser import intercept_requests, visitor
from tests.support.browsers.styled_document import element_box, has_overlap
from tests.support.people.feedback_document import FeedbackDocument
from tests.support.polling import wait_until
from tests.support.servers.server_process import ServerProcess

NO_FEEDBACK = {"commentsEnabled": False, "marksEnabled": False, "annotationsEnabled": False, "askReceipt": False}
HOTSPOT_BOXES = """() => [...document.querySelectorAll(".hotspot")].map((spot) => {
  const [box, paper] = [spot, spot.closest(".page")].map((element) => element.getBoundingClientRect());
  const shares = [(box.x - paper.x) / paper.width, (box.y - paper.y) / paper.height];
  return [...shares, box.width / paper.width, box.height / paper.height];
})"""

TEXT_SHARES = """() => {
  const text = document.querySelector(".page[data-page='1'] .page-text span");
  const [box, paper] = [text, text.closest(".page")].map((element) => element.getBoundingClientRect());
  const shares = [(box.x - paper.x) / paper.width, (box.y - paper.y) / paper.height];
  return [...shares, box.width / paper.width, box.height / paper.height];
}"""


def fulfill_with_film(route: Route) -> None:
    route.fulfill(status=200, content_type="text/html", body="<!doctype html><title>Film</title>")


@pytest.mark.parametrize("mode", ["standard", "flipbook", "swipe", "magazine"])
def test_a_hotspot_link_opens_in_a_new_tab_in_every_mode(
    feedback_server: ServerProcess, open_reader: OpenReader, mode: str
) -> None:
    proof = FeedbackDocument(feedback_server, viewerMode=mode, **NO_FEEDBACK, commentsAllowPublic=False)
    spot = proof.add_hotspot(1, "0.5,0.4,0.3,0.1", link="https://film.example/one", label="See the film")
    person = open_reader()
    person.context.route("https://film.example/**", fulfill_with_film)
    page = person.open(proof.url)
    link = page.get_by_role("link", name="See the film")
    assert link.get_attribute("rel") == "noopener noreferrer nofollow"
    assert page.evaluate(HOTSPOT_BOXES)[0] == pytest.approx([0.5, 0.4, 0.3, 0.1], abs=0.003)
    with person.context.expect_page() as opened:
        link.click()
    expect(opened.value).to_have_url("https://film.example/one")
    assert opened.value.evaluate("[opener, document.referrer]") == [None, ""]
    wait_until(lambda: proof.taps_by_hotspot() == {spot: 1})


@pytest.mark.parametrize("options", [{}, PHONE_OPTIONS], ids=["desktop", "phone"])
@pytest.mark.parametrize("kind", ["link", "audio"])
def test_the_dot_of_a_hotspot_covers_no_text(
    feedback_document: FeedbackDocument, open_reader: OpenReader, kind: str, options: dict[str, Any]
) -> None:
    boxes = open_reader().open(feedback_document.url)
    boxes.locator(".page[data-page='1'] .page-text span").first.wait_for(state="attached")
    x, y, width, height = boxes.evaluate(TEXT_SHARES)
    what = {"link": "https://film.example"} if kind == "link" else {"audio": feedback_document.upload_sound()}
    for rect in ((x, y, width, height), (x - 0.02, y - 0.01, width + 0.02, height + 0.02), (0.01, 0.3, 0.9, 0.2)):
        feedback_document.add_hotspot(1, ",".join(f"{share:.4f}" for share in rect), label="See more", **what)
    page = open_reader(**options).open(feedback_document.url)
    page.wait_for_function("() => document.querySelectorAll('.hotspot[data-spot]').length === 3")
    for _ in ("fitted", "larger"):
        text = element_box(page, ".page[data-page='1'] .page-text span")
        dots = [element_box(page, f".hotspot-dot >> nth={number}") for number in range(3)]
        assert [dot for dot in dots if has_overlap(text, dot)] == []
        assert page.locator(".hotspot >> nth=2").get_attribute("data-spot") == "inside"
        page.keyboard.press("+")


def test_a_hotspot_link_can_be_opened_with_the_keyboard(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    feedback_document.add_hotspot(link="https://film.example/one", label="See the film")
    person = open_reader()
    person.context.route("https://film.example/**", fulfill_with_film)
    page = person.open(feedback_document.url)
    page.get_by_role("link", name="See the film").focus()
    with person.context.expect_page() as opened:
        page.keyboard.press("Enter")
    expect(opened.value).to_have_title("Film")


def test_a_failed_tap_request_does_not_affect_the_reader(browser: Browser, feedback_document: FeedbackDocument) -> None:
    spot = feedback_document.add_hotspot(link="https://film.example/one", label="See the film")
    with visitor(browser) as person:
        person.context.route("https://film.example/**", fulfill_with_film)
        page = person.open(feedback_document.url)
        page.route("**/taps", lambda route: route.abort())
        with person.context.expect_page() as opened:
            page.get_by_role("link", name="See the film").click()
        expect(opened.value).to_have_title("Film")
        assert [words for words in person.complaints if "ERR_FAILED" not in words] == []
    assert feedback_document.taps_by_hotspot() == {spot: 0}


def list_playing(page: Page) -> list[str]:
    return [str(button.get_attribute("aria-label")) for button in page.locator(".hotspot.is-playing").all()]


def test_audio_plays_and_pauses_and_only_one_at_a_time(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    sound, song = feedback_document.upload_sound(), feedback_document.upload_sound()
    first = feedback_document.add_hotspot(1, "0.1,0.1,0.1,0.05", audio=sound, label="the greeting")
    second = feedback_document.add_hotspot(1, "0.5,0.1,0.1,0.05", audio=song, label="the song")
    page = open_reader().open(feedback_document.url)
    page.get_by_role("button", name="Play the greeting").click()
    expect(page.get_by_role("button", name="Pause the greeting")).to_be_visible()
    page.get_by_role("button", name="Play the song").press("Enter")
    expect(page.get_by_role("button", name="Pause the song")).to_be_visible()
    assert list_playing(page) == ["Pause the song"]
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Play the song")).to_be_visible()
    assert list_playing(page) == []
    wait_until(lambda: feedback_document.taps_by_hotspot() == {first: 1, second: 1})


def test_audio_stops_when_its_page_is_unloaded(feedback_server: ServerProcess, open_reader: OpenReader) -> None:
    proof = FeedbackDocument(feedback_server, pages=30)
    proof.add_hotspot(1, "0.1,0.1,0.1,0.05", audio=proof.upload_sound(), label="the greeting")
    page = open_reader(**PHONE_OPTIONS).open(proof.url)
    page.get_by_role("button", name="Play the greeting").tap()
    expect(page.get_by_role("button", name="Pause the greeting")).to_be_visible()
    page.evaluate("document.activeElement.blur()")
    page.locator("#page-number").fill("30")
    page.keyboard.press("Enter")
    page.locator(".page[data-page='30'].is-ready").wait_for()
    page.locator("#page-number").fill("1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Play the greeting")).to_be_visible()


def test_audio_that_cannot_be_played_shows_an_error_and_can_be_retried(
    browser: Browser, feedback_document: FeedbackDocument
) -> None:
    feedback_document.add_hotspot(1, "0.1,0.1,0.1,0.05", audio=feedback_document.upload_sound(), label="the greeting")
    with visitor(browser) as person:
        intercept_requests(person.page)
        page = person.open(feedback_document.url)
        page.route("**/assets/*", lambda route: route.fulfill(status=500))
        page.get_by_role("button", name="Play the greeting").click()
        broken = page.get_by_role("button", name="the greeting could not be played. Try again")
        expect(broken).to_be_visible()
        page.unroute("**/assets/*")
        broken.click()
        expect(page.get_by_role("button", name="Pause the greeting")).to_be_visible()


def test_taps_by_the_owner_are_not_sent(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    feedback_document.add_hotspot(link="https://film.example/one", label="See the film")
    person = open_reader()
    person.context.route("https://film.example/**", fulfill_with_film)
    feedback_document.sign_in(person.page)
    page = person.open(feedback_document.url)
    with person.context.expect_page():
        page.get_by_role("link", name="See the film").click()
    assert [url for url in person.requests if url.endswith("/taps")] == []
