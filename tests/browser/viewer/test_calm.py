"""Share pages without animations for readers who prefer reduced motion."""

import pytest
from playwright.sync_api import Browser

from tests.support.browsers.browser import send_note, visitor, wait_for_page
from tests.support.people.feedback_document import FeedbackDocument
from tests.support.servers.server_process import ServerProcess

# Records every animation and transition with a duration since the load, and its element.
RECORD_MOTION = """
window.moved = [];
const note = ({ target }) => {
  for (const one of target.getAnimations({ subtree: true })) {
    const { duration, iterations } = one.effect.getComputedTiming();
    if (duration * iterations > 1) window.moved.push(`${target.localName}.${target.className} ${duration} ms`);
  }
};
for (const kind of ["animationstart", "transitionrun"]) document.addEventListener(kind, note, true);
"""


@pytest.fixture(scope="module", params=["standard", "flipbook", "swipe", "magazine"])
def full_document_url(request: pytest.FixtureRequest, server: ServerProcess) -> str:
    """Return a document with all feedback enabled, in each mode."""
    return FeedbackDocument(server, viewerMode=request.param).url


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_nothing_is_animated_with_reduced_motion(browser: Browser, full_document_url: str, motion: str) -> None:
    with visitor(browser, reduced_motion=motion) as person:
        person.page.add_init_script(RECORD_MOTION)
        page = person.open(full_document_url)
        page.keyboard.press("ArrowRight")
        wait_for_page(page, 2)
        page.keyboard.press("1")
        send_note(page, "A word")
        page.locator(".note").wait_for()
        page.locator("#notes-close").click()
        page.keyboard.press("f")
        page.locator("#find-words").fill("Page 1")
        page.keyboard.press("Escape")
        moved = page.evaluate("window.moved")
        if motion == "reduce":
            assert moved == []
        else:
            assert moved, "the recorder detects animations"
        assert person.complaints == []


# Presses an arrow key as soon as the scripts are active.
PRESS_AT_ONCE = """
let pressed = false;
const press = () => {
  if (pressed || !document.querySelector(".pages.is-live .page")) return;
  pressed = true;
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true }));
};
new MutationObserver(press).observe(document, { subtree: true, attributes: true, childList: true });
"""


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_keys_turn_pages_as_soon_as_the_scripts_are_active(
    browser: Browser, server: ServerProcess, motion: str
) -> None:
    url = FeedbackDocument(server, viewerMode="standard").url
    with visitor(browser, reduced_motion=motion) as person:
        person.page.add_init_script(PRESS_AT_ONCE)
        wait_for_page(person.open(url), 2)
