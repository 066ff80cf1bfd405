"""Feedback on a document that was replaced or deleted meanwhile."""

from typing import Any

import pytest

from tests.support.cast import World
from tests.support.database import dump_database
from tests.support.feedback_client import ALL_FEEDBACK_SETTINGS, FEEDBACK_WRITES, FeedbackClient
from tests.support.owner import put_settings
from tests.support.rows import count_rows, update_file_row

TABLES = ("viewers", "notes", "marks", "annotations", "receipts", "taps", "activity_rows")


CTA = {"cta": {"label": "Book", "url": "https://example.com"}}


@pytest.fixture
def made(world: World) -> dict[str, Any]:
    """A document of three pages on which everything may be left."""
    made = world.pia.upload()
    put_settings(world, made, **ALL_FEEDBACK_SETTINGS, viewerSettings=CTA)
    return made


@pytest.fixture
def hand(world: World, made: dict[str, Any]) -> FeedbackClient:
    return FeedbackClient(world, made["shortId"])


def count_rows_by_table(world: World) -> dict[str, int]:
    return {table: found for table in TABLES if (found := count_rows(world, table))}


@pytest.mark.parametrize(
    ("method", "path", "body"), [FEEDBACK_WRITES[0], FEEDBACK_WRITES[2], FEEDBACK_WRITES[3], FEEDBACK_WRITES[5]]
)
@pytest.mark.parametrize("change", [{"content_version": 2}, {"trashed_at": 1}])
def test_what_is_meant_for_a_document_that_has_just_gone_is_409(
    world: World,
    made: dict[str, Any],
    hand: FeedbackClient,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    body: dict[str, Any],
    change: dict[str, int],
) -> None:
    write = world.rt.db.write

    def changed_before(*protects: Any) -> Any:
        monkeypatch.setattr(world.rt.db, "write", write)
        update_file_row(world, made["uuid"], **change)
        return write(*protects)

    monkeypatch.setattr(world.rt.db, "write", changed_before)
    assert hand.send(method, path, body).status_code == 409
    assert count_rows_by_table(world) == {}


@pytest.mark.parametrize(
    ("method", "path", "body"), [FEEDBACK_WRITES[0], FEEDBACK_WRITES[2], FEEDBACK_WRITES[3], FEEDBACK_WRITES[5]]
)
def test_what_is_said_of_the_document_before_is_409(
    world: World, made: dict[str, Any], hand: FeedbackClient, method: str, path: str, body: dict[str, Any]
) -> None:
    """The page that a reader has open names what it shows; what stands over its pages does not matter."""
    put_settings(world, made, watermark=True)
    seen = hand.read_page_facts()["version"]
    assert seen.startswith("1.")
    put_settings(world, made, watermark=False)
    assert hand.send(method, path, body, If_Match=f'"{seen}"').status_code < 300
    update_file_row(world, made["uuid"], content_version=2)
    before = dump_database(world)
    refused = hand.send(method, path, body, If_Match=f'"{seen}"')
    assert (refused.status_code, refused.text) == (409, "The document has changed meanwhile; load the page again.")
    assert dump_database(world) == before
    assert hand.send(method, path, body, If_Match=f'"{hand.read_page_facts()["version"]}"').status_code < 300


RANGES = [
    # of the page that is open, of the link now
    ({"from": 2, "to": 3}, {"from": 1, "to": 2}),
    ({"from": 2, "to": 3}, {"from": 0, "to": 0}),
    ({"from": 0, "to": 0}, {"from": 2, "to": 3}),
]


@pytest.mark.parametrize("watermark", [False, True])
@pytest.mark.parametrize(("before", "after"), RANGES)
@pytest.mark.parametrize(
    ("method", "path", "body"), [FEEDBACK_WRITES[0], FEEDBACK_WRITES[2], FEEDBACK_WRITES[3], FEEDBACK_WRITES[5]]
)
def test_what_is_said_of_other_pages_than_the_link_shows_now_is_409(
    world: World,
    made: dict[str, Any],
    hand: FeedbackClient,
    method: str,
    path: str,
    body: dict[str, Any],
    before: dict[str, int],
    after: dict[str, int],
    watermark: bool,
) -> None:
    """Their page 1 is another one by now."""
    put_settings(world, made, pageRange=before)
    seen = hand.read_page_facts()["version"]
    put_settings(world, made, pageRange=after, watermark=watermark)
    refused = hand.send(method, path, body, If_Match=f'"{seen}"')
    assert (refused.status_code, refused.text) == (409, "The document has changed meanwhile; load the page again.")
    assert count_rows_by_table(world) == {}
    put_settings(world, made, pageRange=before)
    assert hand.send(method, path, body, If_Match=f'"{seen}"').status_code < 300
