"""Leaving something inside a frame of another site, where the browser may keep no cookies."""

from playwright.sync_api import Frame, expect

from tests.browser.feedback.conftest import Reader
from tests.support.framing import framed, framing
from tests.support.proof import Proof
from tests.support.waiting import eventually

SAID = "Your browser keeps no cookies here, so nobody could tell what is yours. Open in a window of its own"


def embed(proof: Proof) -> str:
    return proof.url.replace(f"/{proof.name}", f"/embed/{proof.name}")


def reads(frame: Frame) -> None:
    frame.locator(".pages.is-live .page.is-ready:not([inert])").first.wait_for()


def pick(frame: Frame) -> None:
    frame.get_by_role("group", name="Mark page 1").get_by_role("button", name="Pick").click()


def write(frame: Frame) -> None:
    frame.locator("#notes-open").click()
    frame.get_by_label("Your note").fill("A thought")
    frame.locator("#note-author").fill("Ada")
    frame.get_by_role("button", name="Send").click()


def test_where_a_frame_keeps_no_cookies_nothing_is_kept_and_a_window_of_its_own_is_offered(
    proof: Proof, reader: Reader
) -> None:
    """Over plain HTTP a frame of another site keeps none; each mark would be of another reader."""
    person = reader()
    with framing(embed(proof), "localhost") as address:
        person.page.goto(address)
        frame = framed(person.page)
        reads(frame)
        pick(frame)
        expect(frame.locator("#feedback-words")).to_have_text(f"The mark on page 1 is not saved. {SAID}")
        expect(frame.locator(".verdict[aria-pressed='true']")).to_have_count(0)
        write(frame)
        expect(frame.locator("#note-form [role=alert]")).to_have_text(f"Not saved. {SAID}")
        expect(frame.locator(".note")).to_have_count(0)
        expect(frame.get_by_label("Your note")).to_have_value("A thought")
        assert (proof.told("page-marks")["viewers"], proof.told("feedback")["notes"]) == ([], [])
        with person.context.expect_page() as opening:
            frame.locator("#note-form .way-out").click()
        alone = opening.value
        assert alone.url == proof.url
        reads(alone.main_frame)
        pick(alone.main_frame)
        write(alone.main_frame)
        expect(alone.locator(".note p")).to_have_text("A thought")
    assert proof.told("page-marks")["totals"]["pick"] == 1
    person.complaints = [text for text in person.complaints if "status of 403" not in text and "favicon" not in text]


def test_in_a_frame_that_keeps_cookies_everything_can_be_left_and_taken_back(proof: Proof, reader: Reader) -> None:
    person = reader()
    with framing(embed(proof), "127.0.0.1") as address:
        person.page.goto(address)
        frame = framed(person.page)
        reads(frame)
        pick(frame)
        write(frame)
        expect(frame.locator(".note p")).to_have_text("A thought")
        frame.get_by_role("button", name="Delete note").click()
        expect(frame.locator(".note")).to_have_count(0)
        eventually(lambda: proof.told("feedback")["notes"] == [])
    assert proof.told("page-marks")["totals"]["pick"] == 1
    person.complaints = [text for text in person.complaints if "404" not in text]
