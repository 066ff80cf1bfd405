"""Feedback of readers when the document is replaced."""

import io
from typing import Any

import pytest

from docshare.server.services.files import hotspots
from tests.support.documents.pdfs import simple_pdf
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, FeedbackClient

pytestmark = pytest.mark.file_settings(**ALL_FEEDBACK_SETTINGS)


def replace_content(world: World, made: dict[str, Any], pages: int, query: str = "") -> dict[str, Any]:
    data = {"file": (io.BytesIO(simple_pdf(pages=pages)), "second.pdf")}
    answer = world.pia.post(f"/api/v1/files/{made['uuid']}/content{query}", data=data)
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.get_json()
    return result


def leave_feedback(world: World, made: dict[str, Any]) -> FeedbackClient:
    """Leave marks, annotations and notes on pages 1 and 3, and a note and a receipt on the document."""
    hand = FeedbackClient(world, made["shortId"])
    for page in (1, 3):
        hand.mark_page(page, "pick"), hand.annotate(page), hand.leave_note(f"on {page}", page=page)
    hand.leave_note("whole")
    hand.send("POST", "receipt", {"name": "Ann"})
    return hand


def list_anchors(world: World, table: str) -> list[tuple[int, int]]:
    return world.rt.db.fetch_all(f"SELECT page, content_version FROM {table} ORDER BY page")


def test_a_replacement_clears_feedback_on_pages(world: World, uploaded_file: dict[str, Any]) -> None:
    """The receipt is cleared, too, because it belongs to the old document."""
    hand = leave_feedback(world, uploaded_file)
    result = replace_content(world, uploaded_file, 3)
    assert (result["anchorsCleared"], result["clearedHotspots"], result["clearedNotes"]) == (True, 0, 2)
    assert (result["clearedMarks"], result["clearedAnnotations"]) == (2, 2)
    found = hand.get_feedback()
    assert ([note["body"] for note in found["notes"]], found["marks"], found["annotations"]) == (["whole"], {}, [])
    assert ("receipt" in found, found["name"]) == (False, "Ann")


def list_visible_anchors(world: World, made: dict[str, Any], hand: FeedbackClient) -> list[list[Any]]:
    """List the pages with hotspots, notes, marks, and annotations, as a reader and as the owner."""
    path = f"/api/v1/files/{made['uuid']}"
    marks, annotations, feedback, report = (
        world.pia.get(f"{path}/{tail}").get_json() for tail in ("page-marks", "annotations", "feedback", "readership")
    )
    found = hand.get_feedback()
    csv = world.pia.get(f"{path}/annotations?format=csv").text.splitlines()
    assert len(csv) - 1 == len(annotations["pages"])
    return [
        [spot["page"] for spot in hand.read_page_facts()["hotspots"]],
        [note.get("page") for note in found["notes"]],
        [int(page) for page in found["marks"]],
        [row["page"] for row in found["annotations"]],
        [spot["page"] for spot in report["hotspotTaps"]],
        [note.get("pageNumber") for note in feedback["notes"]],
        [row["page"] for row in marks["pages"]],
        [row["page"] for row in annotations["pages"]],
    ]


def test_kept_anchors_beyond_the_last_page_are_hidden_until_the_page_exists(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    hand = leave_feedback(world, uploaded_file)
    for page in ("1", "3"):
        hotspots.add(world.rt, uploaded_file["uuid"], {"page": page, "rect": "0,0,1,1", "link": "https://example.com"})
    before = list_visible_anchors(world, uploaded_file, hand)
    assert before == [[1, 3], [1, 3, None], [1, 3], [1, 3]] * 2
    result = replace_content(world, uploaded_file, 2, "?clearAnchors=false")
    cleared = ("anchorsCleared", "clearedHotspots", "clearedNotes", "clearedMarks", "clearedAnnotations")
    assert [result[key] for key in cleared] == [False, 0, 0, 0, 0]
    assert list_visible_anchors(world, uploaded_file, hand) == [[1], [1, None], [1], [1]] * 2
    replace_content(world, uploaded_file, 3, "?clearAnchors=false")
    assert list_visible_anchors(world, uploaded_file, hand) == before
    assert list_anchors(world, "marks") == list_anchors(world, "annotations") == [(1, 3), (3, 3)]


def test_a_replacement_clears_hidden_anchors_by_default(world: World, uploaded_file: dict[str, Any]) -> None:
    leave_feedback(world, uploaded_file)
    replace_content(world, uploaded_file, 2, "?clearAnchors=false")
    result = replace_content(world, uploaded_file, 3)
    assert [result[key] for key in ("clearedNotes", "clearedMarks", "clearedAnnotations")] == [2, 2, 2]
    assert list_anchors(world, "marks") == list_anchors(world, "annotations") == []


def test_a_replacement_does_not_clear_feedback_on_other_files(world: World, uploaded_file: dict[str, Any]) -> None:
    other = world.pia.upload()
    put_settings(world, other, **ALL_FEEDBACK_SETTINGS)
    hand = leave_feedback(world, other)
    before = hand.get_feedback()
    replace_content(world, uploaded_file, 3)
    assert hand.get_feedback() == before
    assert list_anchors(world, "marks") == [(1, 1), (3, 1)]


def test_feedback_on_a_new_version_does_not_send_proofing_updated_again(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    """The event is sent once per reader and file."""
    hand = leave_feedback(world, uploaded_file)
    replace_content(world, uploaded_file, 3)
    assert hand.mark_page(1, "maybe") == 204
    found = world.rt.db.fetch_one("SELECT COUNT(*) FROM activity_rows WHERE event = 'proofing.updated'")
    assert found == (1,)
