"""Feedback on a document that was replaced or deleted while the page was open."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from tests.support.engines.database import dump_database
from tests.support.engines.rows import update_file_row
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World
from tests.support.people.feedback_client import (
    ALL_FEEDBACK_SETTINGS,
    CTA,
    FEEDBACK_WRITES,
    FeedbackClient,
    count_feedback_rows,
)

pytestmark = pytest.mark.file_settings(**ALL_FEEDBACK_SETTINGS, viewerSettings=CTA)

each_write_about_the_document = pytest.mark.parametrize(
    ("method", "path", "body"), [FEEDBACK_WRITES[0], FEEDBACK_WRITES[2], FEEDBACK_WRITES[3], FEEDBACK_WRITES[5]]
)


def assert_outdated(answer: TestResponse) -> None:
    assert (answer.status_code, answer.text) == (409, "The document has changed in the meantime; reload the page.")


@each_write_about_the_document
@pytest.mark.parametrize("change", [{"content_version": 2}, {"trashed_at": 1}])
def test_feedback_on_a_document_replaced_or_deleted_meanwhile_is_409(
    world: World,
    uploaded_file: dict[str, Any],
    ann: FeedbackClient,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    body: dict[str, Any],
    change: dict[str, int],
) -> None:
    write = world.rt.db.write

    def change_file_then_write(*protects: Any) -> Any:
        monkeypatch.setattr(world.rt.db, "write", write)
        update_file_row(world, uploaded_file["uuid"], **change)
        return write(*protects)

    monkeypatch.setattr(world.rt.db, "write", change_file_then_write)
    assert ann.send(method, path, body).status_code == 409
    assert count_feedback_rows(world) == {}


@each_write_about_the_document
def test_feedback_on_an_older_version_is_409(
    world: World,
    uploaded_file: dict[str, Any],
    ann: FeedbackClient,
    method: str,
    path: str,
    body: dict[str, Any],
) -> None:
    """The open page sends the version that it shows; the watermark does not affect the version."""
    put_settings(world, uploaded_file, watermark=True)
    seen = ann.read_page_facts()["version"]
    assert seen.startswith("1.")
    put_settings(world, uploaded_file, watermark=False)
    assert ann.send(method, path, body, If_Match=f'"{seen}"').status_code < 300
    update_file_row(world, uploaded_file["uuid"], content_version=2)
    before = dump_database(world)
    assert_outdated(ann.send(method, path, body, If_Match=f'"{seen}"'))
    assert dump_database(world) == before
    assert ann.send(method, path, body, If_Match=f'"{ann.read_page_facts()["version"]}"').status_code < 300


RANGES = [
    # page range of the open page, current page range of the link
    ({"from": 2, "to": 3}, {"from": 1, "to": 2}),
    ({"from": 2, "to": 3}, {"from": 0, "to": 0}),
    ({"from": 0, "to": 0}, {"from": 2, "to": 3}),
]


@pytest.mark.parametrize("watermark", [False, True])
@pytest.mark.parametrize(("before", "after"), RANGES)
@each_write_about_the_document
def test_feedback_on_an_older_page_range_is_409(
    world: World,
    uploaded_file: dict[str, Any],
    ann: FeedbackClient,
    method: str,
    path: str,
    body: dict[str, Any],
    before: dict[str, int],
    after: dict[str, int],
    watermark: bool,
) -> None:
    """Page 1 of the reader is now another page of the document."""
    put_settings(world, uploaded_file, pageRange=before)
    seen = ann.read_page_facts()["version"]
    put_settings(world, uploaded_file, pageRange=after, watermark=watermark)
    assert_outdated(ann.send(method, path, body, If_Match=f'"{seen}"'))
    assert count_feedback_rows(world) == {}
    put_settings(world, uploaded_file, pageRange=before)
    assert ann.send(method, path, body, If_Match=f'"{seen}"').status_code < 300
