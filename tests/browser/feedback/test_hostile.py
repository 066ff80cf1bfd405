"""Texts that could be executed as scripts are displayed as text everywhere."""

import json
from typing import Any

from playwright.sync_api import Page, Route, expect

from tests.browser.feedback.conftest import OpenReader
from tests.support.browsers.browser import Visitor, send_note
from tests.support.outside.payloads import XSS
from tests.support.people.feedback_document import FeedbackDocument

LONGEST_NAME = 80
UNSENDABLE = "\ud800\x00"  # a lone surrogate cannot be encoded as UTF-8, and the server rejects NUL
PAYLOADS = [text for text in XSS if not set(text) & set(UNSENDABLE)]
EXPIRES_AT = "2026-11-21T12:00:00.000Z"
TRAP = "window.pwned = () => { window.hit = true; };"

POST_FEEDBACK = """async ([url, body]) => {
  const headers = { "Content-Type": "application/json" };
  return (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).status;
}"""


def shorten_to_name(text: str) -> str:
    """Return the text as a name: on one line, with the maximum length of names."""
    return " ".join(text.split())[:LONGEST_NAME].strip()


def set_trap(person: Visitor) -> None:
    """Record calls of ``pwned()``, and treat dialogs as errors."""
    person.page.add_init_script(TRAP)
    person.page.on("dialog", lambda dialog: (person.complaints.append(dialog.message), dialog.dismiss()))


def is_unharmed(page: Page) -> bool:
    """Return whether no script was injected, also after hovering over and focusing all elements of the page."""
    page.evaluate(
        """() => document.querySelectorAll("*").forEach((element) => {
          for (const type of ["mouseover", "pointerenter", "focus", "toggle"]) element.dispatchEvent(new Event(type));
        })"""
    )
    page.wait_for_timeout(200)
    return bool(page.evaluate("window.hit === undefined"))


def test_there_are_at_least_sixty_payloads() -> None:
    assert len(PAYLOADS) >= 60


def test_the_trap_detects_executed_scripts(open_reader: OpenReader, feedback_document: FeedbackDocument) -> None:
    person = open_reader()
    set_trap(person)
    page = person.open(feedback_document.url)
    page.evaluate("pwned()")
    assert not is_unharmed(page)


def test_notes_of_others_are_displayed_as_text(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    for start in range(0, len(PAYLOADS), 25):  # the limit is 60 writes per minute and address
        page = open_reader().open(feedback_document.url)
        for text in PAYLOADS[start : start + 25]:
            note = {"author": shorten_to_name(text), "body": text, "public": True, "page": 1}
            assert page.evaluate(POST_FEEDBACK, [f"/{feedback_document.name}/notes", note]) == 201, text
    person = open_reader()
    set_trap(person)
    page = person.open(feedback_document.url)
    page.locator("#notes-open").click()
    expect(page.locator(".note")).to_have_count(len(PAYLOADS))
    assert page.locator(".note p").all_text_contents() == PAYLOADS
    assert page.locator(".note-author").all_text_contents() == [shorten_to_name(text) for text in PAYLOADS]
    assert page.locator(".notes-list :is(script, img, iframe, a, svg:not(.icon), input, style)").count() == 0
    assert is_unharmed(page)


def test_own_annotations_and_names_are_displayed_as_text(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    """Annotations, receipt and remembered name are tested with a response that a server would not send."""
    everything = " ".join(PAYLOADS)
    rect = {"x": 0.1, "y": 0.1, "width": 0.2, "height": 0.1}
    annotations = [
        {"uuid": str(number), "page": 1, "rect": rect, "note": text, "createdAt": EXPIRES_AT}
        for number, text in enumerate(PAYLOADS)
    ]
    left = {
        "name": everything,
        "notes": [],
        "marks": {},
        "annotations": annotations,
        "receipt": {"name": everything, "confirmedAt": EXPIRES_AT},
    }
    person = open_reader()
    set_trap(person)
    person.page.route("**/feedback", lambda route: route.fulfill(json=left))
    page = person.open(feedback_document.url)
    expect(page.locator(".annotation")).to_have_count(len(PAYLOADS))
    page.locator("#notes-open").click()
    assert page.locator(".note p").all_text_contents() == PAYLOADS
    page.locator(".annotation").last.focus()
    assert page.locator("#annotation-words").text_content() == PAYLOADS[-1]
    page.locator("#receipt-open").click()
    assert page.locator("#receipt-words bdi").text_content() == everything
    assert is_unharmed(page)


def test_labels_and_urls_of_hotspots_are_harmless(feedback_document: FeedbackDocument, open_reader: OpenReader) -> None:
    feedback_document.add_hotspot(link="https://film.example/", label="See the film")

    def poison(route: Route) -> None:
        page = route.fetch()
        before, rest = page.text().split('id="facts">', 1)
        island, after = rest.split("</script>", 1)
        facts: dict[str, Any] = json.loads(island)
        (spot,) = facts["hotspots"]
        facts["hotspots"] = [{**spot, "label": text, "url": spot["url"] + text} for text in PAYLOADS]
        facts["hotspots"] += [{**spot, "label": text, "url": text} for text in PAYLOADS]
        facts["hotspots"] += [{**spot, "label": text, "url": None, "audio": "/none"} for text in PAYLOADS]
        safe = json.dumps(facts).replace("<", "\\u003c")
        route.fulfill(response=page, body=f'{before}id="facts">{safe}</script>{after}')

    person = open_reader()
    set_trap(person)
    person.page.route(feedback_document.url, poison)
    page = person.open(feedback_document.url)
    links = page.locator("a.hotspot")
    assert [link.get_attribute("aria-label") for link in links.all()] == PAYLOADS
    assert all(str(link.get_attribute("href")).startswith("https://film.example/") for link in links.all())
    sounds = [str(sound.get_attribute("aria-label")) for sound in page.locator("button.hotspot").all()]
    assert sounds == [f"Play {text}" for text in PAYLOADS]
    assert is_unharmed(page)


def test_an_error_message_with_markup_is_displayed_as_text(
    feedback_document: FeedbackDocument, open_reader: OpenReader
) -> None:
    person = open_reader()
    set_trap(person)
    refusal = {"status": 400, "content_type": "text/plain", "body": PAYLOADS[7]}
    person.page.route("**/notes", lambda route: route.fulfill(**refusal))
    page = person.open(feedback_document.url)
    send_note(page, "A word")
    expect(page.locator("#note-form [role=alert]")).to_have_text(f"Not saved. {PAYLOADS[7]}")
    assert is_unharmed(page)
    person.complaints = [words for words in person.complaints if "status of 400" not in words]
