"""Notes of readers when the document or the plan of its owner changes."""

from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from tests.support.engines.rows import count_rows, update_file_row
from tests.support.people.cast import World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, FeedbackClient

pytestmark = pytest.mark.file_settings(**ALL_FEEDBACK_SETTINGS)


def list_note_bodies(client: FeedbackClient) -> list[str]:
    return [note["body"] for note in client.get_feedback()["notes"]]


def test_a_downgrade_hides_notes_and_an_upgrade_shows_them_again(world: World, ann: FeedbackClient) -> None:
    ann.leave_note("kept")
    accounts.set_tier(world.rt, world.pia.email, Plan.BASIC)
    assert list_note_bodies(ann) == []
    accounts.set_tier(world.rt, world.pia.email, Plan.PRO)
    assert list_note_bodies(ann) == ["kept"]


def test_purging_a_document_deletes_all_its_feedback(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    """Feedback is deleted with its document, from the tables and from the write-ahead log."""
    secret = "canary-3f9c1e"
    ann.leave_note(secret, secret, public=True), ann.annotate(note=secret), ann.mark_page(1, "pick")
    ann.send("POST", "receipt", {"name": secret})
    assert world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}?purge=1").status_code == 200
    for table in ("viewers", "notes", "marks", "annotations", "receipts", "taps", "hotspots", "activity_rows"):
        assert count_rows(world, table) == 0
    for path in world.rt.config.data_dir.glob("docshare.db*"):
        assert secret.encode() not in path.read_bytes()


def test_trashing_hides_notes_and_restoring_shows_them_again(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    ann.leave_note("kept")
    world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}")
    assert ann.send("GET", "feedback").status_code == 404
    assert world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}/feedback").status_code == 404
    assert world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/restore").status_code == 200
    assert list_note_bodies(ann) == ["kept"]


def test_an_expired_document_keeps_its_notes_for_the_owner(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    ann.leave_note("kept")
    update_file_row(world, uploaded_file["uuid"], delete_at=1)
    assert [
        note["body"] for note in world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}/feedback").get_json()["notes"]
    ] == ["kept"]
