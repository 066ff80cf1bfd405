"""Notes of readers when their document or its plan changes."""

from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from tests.support.cast import World
from tests.support.feedback_client import ALL_FEEDBACK_SETTINGS, FeedbackClient
from tests.support.owner import put_settings
from tests.support.rows import count_rows, update_file_row


@pytest.fixture
def made(world: World) -> dict[str, Any]:
    made = world.pia.upload()
    put_settings(world, made, **ALL_FEEDBACK_SETTINGS)
    return made


@pytest.fixture
def ann(world: World, made: dict[str, Any]) -> FeedbackClient:
    return FeedbackClient(world, made["shortId"])


def note_bodies(hand: FeedbackClient) -> list[str]:
    return [note["body"] for note in hand.get_feedback()["notes"]]


def test_a_downgrade_hides_what_was_said_and_an_upgrade_shows_it_again(world: World, ann: FeedbackClient) -> None:
    ann.leave_note("kept")
    accounts.set_tier(world.rt, world.pia.email, Plan.BASIC)
    assert note_bodies(ann) == []
    accounts.set_tier(world.rt, world.pia.email, Plan.PRO)
    assert note_bodies(ann) == ["kept"]


def test_purging_a_document_leaves_nothing_of_its_readers(
    world: World, made: dict[str, Any], ann: FeedbackClient
) -> None:
    """Feedback is deleted with its document, from the rows and from the log of the database."""
    secret = "canary-3f9c1e"
    ann.leave_note(secret, secret, public=True), ann.annotate(note=secret), ann.mark_page(1, "pick")
    ann.send("POST", "receipt", {"name": secret})
    assert world.pia.delete(f"/api/v1/files/{made['uuid']}?purge=1").status_code == 200
    for table in ("viewers", "notes", "marks", "annotations", "receipts", "taps", "hotspots", "activity_rows"):
        assert count_rows(world, table) == 0
    for path in world.rt.config.data_dir.glob("docshare.db*"):
        assert secret.encode() not in path.read_bytes()


def test_trash_hides_and_restore_brings_back(world: World, made: dict[str, Any], ann: FeedbackClient) -> None:
    ann.leave_note("kept")
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    assert ann.send("GET", "feedback").status_code == 404
    assert world.pia.get(f"/api/v1/files/{made['uuid']}/feedback").status_code == 404
    assert world.pia.post(f"/api/v1/files/{made['uuid']}/restore").status_code == 200
    assert note_bodies(ann) == ["kept"]


def test_an_expired_document_keeps_its_notes_for_the_owner(
    world: World, made: dict[str, Any], ann: FeedbackClient
) -> None:
    ann.leave_note("kept")
    update_file_row(world, made["uuid"], delete_at=1)
    assert [note["body"] for note in world.pia.get(f"/api/v1/files/{made['uuid']}/feedback").get_json()["notes"]] == [
        "kept"
    ]
