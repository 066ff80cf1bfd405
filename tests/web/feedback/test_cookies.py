"""Feedback requires a cookie: responses to browsers that block cookies or have deleted them."""

from typing import Any

import pytest

from tests.support.engines.rows import count_rows
from tests.support.people.cast import World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, CTA, FEEDBACK_WRITES, FeedbackClient

pytestmark = pytest.mark.file_settings(**ALL_FEEDBACK_SETTINGS, viewerSettings=CTA)


TABLES = ("viewers", "notes", "marks", "annotations", "receipts", "activity_rows")


@pytest.mark.parametrize(("method", "path", "body"), FEEDBACK_WRITES[:-1])
def test_feedback_from_a_browser_without_cookies_is_rejected_with_a_reason(
    world: World, uploaded_file: dict[str, Any], method: str, path: str, body: dict[str, Any] | None
) -> None:
    """Without a cookie, each item would belong to another reader, and none could be deleted."""
    client = FeedbackClient(world, uploaded_file["shortId"], cookies=False)
    client.read_page_facts()
    answer = client.send(method, path, body)
    message = "Your browser blocks cookies on this page, so your feedback cannot be saved."
    assert (answer.status_code, answer.mimetype, answer.text) == (403, "text/plain", message)
    assert [table for table in TABLES if count_rows(world, table)] == []
    assert client.send(*FEEDBACK_WRITES[-1]).status_code == 204  # taps are anonymous


@pytest.mark.parametrize("prefix", ["", "/embed"])
def test_the_page_sets_a_test_cookie_if_feedback_is_enabled(
    world: World, uploaded_file: dict[str, Any], prefix: str
) -> None:
    http = world.app.test_client()
    page = http.get(f"{prefix}/{uploaded_file['shortId']}")
    assert page.headers["Set-Cookie"] == "viewer-cookies=1; HttpOnly; Path=/; SameSite=Lax"
    assert "Set-Cookie" not in http.get(f"{prefix}/{uploaded_file['shortId']}").headers
    body = {"author": "Ann", "body": "x"}
    assert http.post(f"/{uploaded_file['shortId']}/notes", json=body).status_code == 201


def test_a_page_without_feedback_sets_no_cookie(world: World) -> None:
    made = world.pia.upload()
    assert "Set-Cookie" not in world.app.test_client().get(f"/{made['shortId']}").headers


def test_feedback_cannot_be_deleted_without_the_cookie_and_remains_stored(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    client = FeedbackClient(world, uploaded_file["shortId"])
    note, area = client.leave_note(), client.annotate()
    client.mark_page(1, "pick")
    client.http.delete_cookie(f"viewer-{uploaded_file['shortId']}")
    message = "This browser does not have the token of this feedback, so you cannot delete it here."
    for method, path, body in (
        ("DELETE", f"notes/{note['uuid']}", None),
        ("DELETE", f"annotations/{area['uuid']}", None),
        ("PUT", "marks/1", {"mark": None}),
    ):
        answer = client.send(method, path, body)
        assert (answer.status_code, answer.text) == (403, message)
    assert (count_rows(world, "notes"), count_rows(world, "annotations"), count_rows(world, "marks")) == (1, 1, 1)
