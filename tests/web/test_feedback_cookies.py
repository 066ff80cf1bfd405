"""Leaving something takes a cookie: what readers hear whose browser keeps none, or has lost it."""

from typing import Any

import pytest

from tests.support.cast import World
from tests.support.feedback_client import ALL_FEEDBACK_SETTINGS, FEEDBACK_WRITES, FeedbackClient
from tests.support.owner import put_settings
from tests.support.rows import count_rows

TABLES = ("viewers", "notes", "marks", "annotations", "receipts", "activity_rows")


@pytest.fixture
def uploaded_file(world: World) -> dict[str, Any]:
    """A document on which everything may be left."""
    made = world.pia.upload()
    put_settings(
        world, made, **ALL_FEEDBACK_SETTINGS, viewerSettings={"cta": {"label": "Book", "url": "https://example.com"}}
    )
    return made


@pytest.mark.parametrize(("method", "path", "body"), FEEDBACK_WRITES[:-1])
def test_a_browser_that_keeps_no_cookies_leaves_nothing_and_is_told_so(
    world: World, uploaded_file: dict[str, Any], method: str, path: str, body: dict[str, Any] | None
) -> None:
    """Each thing it left would be of somebody else, and nothing could be taken back."""
    hand = FeedbackClient(world, uploaded_file["shortId"], cookies=False)
    hand.read_page_facts()
    answer = hand.send(method, path, body)
    said = "Your browser blocks cookies on this page, so your feedback cannot be saved."
    assert (answer.status_code, answer.mimetype, answer.text) == (403, "text/plain", said)
    assert [table for table in TABLES if count_rows(world, table)] == []
    assert hand.send(*FEEDBACK_WRITES[-1]).status_code == 204  # a tap is nobody's


@pytest.mark.parametrize("prefix", ["", "/embed"])
def test_the_page_itself_finds_out_whether_cookies_are_kept(
    world: World, uploaded_file: dict[str, Any], prefix: str
) -> None:
    http = world.app.test_client()
    page = http.get(f"{prefix}/{uploaded_file['shortId']}")
    assert page.headers["Set-Cookie"] == "viewer-cookies=1; HttpOnly; Path=/; SameSite=Lax"
    assert "Set-Cookie" not in http.get(f"{prefix}/{uploaded_file['shortId']}").headers
    body = {"author": "Ann", "body": "x"}
    assert http.post(f"/{uploaded_file['shortId']}/notes", json=body).status_code == 201


def test_where_nothing_can_be_left_reading_sets_no_cookie(world: World) -> None:
    made = world.pia.upload()
    assert "Set-Cookie" not in world.app.test_client().get(f"/{made['shortId']}").headers


def test_what_a_browser_has_lost_hold_of_cannot_be_taken_back_and_does_not_look_gone(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    hand = FeedbackClient(world, uploaded_file["shortId"])
    note, area = hand.leave_note(), hand.annotate()
    hand.mark_page(1, "pick")
    hand.http.delete_cookie(f"viewer-{uploaded_file['shortId']}")
    said = "This browser no longer has proof that this is yours, so you cannot delete it here."
    for method, path, body in (
        ("DELETE", f"notes/{note['uuid']}", None),
        ("DELETE", f"annotations/{area['uuid']}", None),
        ("PUT", "marks/1", {"mark": None}),
    ):
        answer = hand.send(method, path, body)
        assert (answer.status_code, answer.text) == (403, said)
    assert (count_rows(world, "notes"), count_rows(world, "annotations"), count_rows(world, "marks")) == (1, 1, 1)
