"""What was proofed, when the document behind the link is replaced (section Files, ``clearAnchors``)."""

import io
from typing import Any

import pytest

from tests.support.cast import World
from tests.support.leaving import EVERYTHING, Hand
from tests.support.owner import put
from tests.support.pdfs import simple_pdf


@pytest.fixture
def made(world: World) -> dict[str, Any]:
    made = world.pia.upload(simple_pdf(pages=3))
    put(world, made, **EVERYTHING)
    return made


def replace(world: World, made: dict[str, Any], pages: int, query: str = "") -> dict[str, Any]:
    data = {"file": (io.BytesIO(simple_pdf(pages=pages)), "second.pdf")}
    answer = world.pia.post(f"/api/v1/files/{made['uuid']}/content{query}", data=data)
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.get_json()
    return result


def proof(world: World, made: dict[str, Any]) -> Hand:
    """Pages 1 and 3 marked, annotated and noted on, the whole document noted on and received."""
    hand = Hand(world, made["shortId"])
    for page in (1, 3):
        hand.mark(page, "pick"), hand.annotate(page), hand.note(f"on {page}", page=page)
    hand.note("whole")
    hand.send("POST", "receipt", {"name": "Ann"})
    return hand


def anchors(world: World, table: str) -> list[tuple[int, int]]:
    return world.rt.db.rows(f"SELECT page, content_version FROM {table} ORDER BY page")


def test_a_replacement_clears_what_was_on_the_pages_that_are_gone(world: World, made: dict[str, Any]) -> None:
    """``clearAnchors`` default true; the counts are of hotspots and notes."""
    hand = proof(world, made)
    result = replace(world, made, 3)
    assert (result["anchorsCleared"], result["clearedHotspots"], result["clearedNotes"]) == (True, 0, 2)
    found = hand.found()
    assert ([note["body"] for note in found["notes"]], found["marks"], found["annotations"]) == (["whole"], {}, [])
    assert found["receipt"]["name"] == "Ann"


def test_kept_anchors_go_on_with_the_new_version_but_not_beyond_its_last_page(
    world: World, made: dict[str, Any]
) -> None:
    hand = proof(world, made)
    result = replace(world, made, 2, "?clearAnchors=false")
    assert (result["anchorsCleared"], result["clearedNotes"]) == (False, 0)
    assert anchors(world, "marks") == anchors(world, "annotations") == [(1, 2)]
    found = hand.found()
    assert found["marks"] == {"1": "pick"}
    assert [row["page"] for row in found["annotations"]] == [1]
    assert [note["body"] for note in found["notes"]] == ["on 1", "whole"]


def test_only_this_document_is_touched(world: World, made: dict[str, Any]) -> None:
    other = world.pia.upload()
    put(world, other, **EVERYTHING)
    hand = proof(world, other)
    before = hand.found()
    replace(world, made, 3)
    assert hand.found() == before
    assert anchors(world, "marks") == [(1, 1), (3, 1)]


def test_a_reader_who_proofs_the_next_version_is_told_of_no_second_time(world: World, made: dict[str, Any]) -> None:
    """Once per viewer per file."""
    hand = proof(world, made)
    replace(world, made, 3)
    assert hand.mark(1, "maybe") == 204
    found = world.rt.db.row("SELECT COUNT(*) FROM activity_rows WHERE event = 'proofing.updated'")
    assert found == (1,)
