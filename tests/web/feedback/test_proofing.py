"""Page marks and annotations of readers."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from docshare.server.rules.feedback import FEEDBACK_QUOTAS, FeedbackQuota
from tests.support.engines.rows import count_rows
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, RECT, FeedbackClient, list_activity
from tests.support.people.known_readers import insert_invite

pytestmark = pytest.mark.file_settings(**ALL_FEEDBACK_SETTINGS)


def list_stored_marks(world: World) -> list[tuple[int, str, int]]:
    return world.rt.db.fetch_all("SELECT page, mark, content_version FROM marks ORDER BY page")


# Marks


def test_a_page_mark_can_be_set_changed_and_cleared(world: World, ann: FeedbackClient) -> None:
    answers = [ann.mark_page(2, "pick"), ann.mark_page(3, "maybe"), ann.mark_page(2, "reject")]
    assert answers == [204] * 3
    assert ann.get_feedback()["marks"] == {"2": "reject", "3": "maybe"}
    assert ann.mark_page(2, None) == 204
    assert ann.mark_page(2, None) == 204
    assert ann.get_feedback()["marks"] == {"3": "maybe"}
    assert list_stored_marks(world) == [(3, "maybe", 1)]


def test_clearing_a_mark_without_a_viewer_is_rejected_and_creates_none(world: World, ann: FeedbackClient) -> None:
    answer = ann.send("PUT", "marks/1", {"mark": None})
    assert answer.status_code == 403
    assert "Set-Cookie" not in answer.headers
    assert count_rows(world, "viewers") == 0


@pytest.mark.parametrize("body", [{}, {"mark": ""}, {"mark": "PICK"}, {"mark": "accept"}, {"mark": True}, {"mark": []}])
def test_an_unknown_mark_is_rejected(world: World, ann: FeedbackClient, body: dict[str, Any]) -> None:
    assert ann.send("PUT", "marks/1", body).status_code == 400
    assert count_rows(world, "marks") == 0


@pytest.mark.parametrize("page", ["0", "4", "01", "-1", "1.0", "x", "１", "9999999"])
def test_a_mark_on_a_nonexistent_page_is_404(world: World, ann: FeedbackClient, page: str) -> None:
    assert ann.send("PUT", f"marks/{page}", {"mark": "pick"}).status_code == 404
    assert count_rows(world, "marks") == count_rows(world, "viewers") == 0


def test_marks_are_stored_by_document_page_and_returned_by_reader_page(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    ann.mark_page(1, "pick")
    put_settings(world, uploaded_file, pageRange={"from": 2, "to": 3})
    assert ann.mark_page(1, "reject") == 204
    assert ann.mark_page(3, "pick") == 404
    assert list_stored_marks(world) == [(1, "pick", 1), (2, "reject", 1)]
    assert ann.get_feedback()["marks"] == {"1": "reject"}


def test_marks_per_document_are_limited_but_remain_changeable(
    world: World, ann: FeedbackClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FEEDBACK_QUOTAS, "marks", FeedbackQuota(2, 100))
    assert [ann.mark_page(page, "pick") for page in (1, 2, 3)] == [204, 204, 409]
    assert ann.mark_page(1, "maybe") == 204


# Annotations


def test_a_created_annotation_is_returned_with_all_its_fields(world: World, ann: FeedbackClient) -> None:
    made = ann.annotate(2, "Move\nthis")
    expected = {
        "uuid": made["uuid"],
        "page": 2,
        "rect": {"x": 0.1, "y": 0.2, "width": 0.3, "height": 0.4},
        "note": "Move\nthis",
        "createdAt": "2026-09-21T14:13:20.000Z",
    }
    assert made == expected
    assert ann.get_feedback()["annotations"] == [expected]
    assert FeedbackClient(world, ann.name).get_feedback()["annotations"] == []


RECTS = [
    # rect, status
    ({"x": 0, "y": 0, "width": 1, "height": 1}, 201),
    ({"x": 0.9, "y": 0.9, "width": 0.1, "height": 0.1}, 201),
    ({"x": 0.7, "y": 0.1, "width": 0.3, "height": 0.0031}, 201),
    ({"x": 0, "y": 0, "width": 1.5, "height": 1}, 400),
    ({"x": 0.9, "y": 0, "width": 0.2, "height": 0.2}, 400),
    ({"x": 0, "y": 0.999, "width": 0.5, "height": 0.01}, 400),
    ({"x": -0.1, "y": 0, "width": 0.5, "height": 0.5}, 400),
    ({"x": 0, "y": 0, "width": 0.003, "height": 0.5}, 400),
    ({"x": 0, "y": 0, "width": 0.5, "height": 0}, 400),
    ({"x": 0, "y": 0, "width": 0.5}, 400),
    ({"x": "0", "y": 0, "width": 0.5, "height": 0.5}, 400),
    ({"x": True, "y": 0, "width": 0.5, "height": 0.5}, 400),
    ({"x": 10**17, "y": 0, "width": 0.5, "height": 0.5}, 400),
    ([0, 0, 1, 1], 400),
    (None, 400),
]


@pytest.mark.parametrize(("rect", "status"), RECTS, ids=str)
def test_a_rectangle_must_be_inside_its_page(world: World, ann: FeedbackClient, rect: Any, status: int) -> None:
    answer = ann.send("POST", "annotations", {"page": 1, "rect": rect, "note": "x"})
    assert answer.status_code == status
    assert count_rows(world, "annotations") == (status == 201)
    if status == 400:
        assert "rect" in answer.text


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"page": 0}, 404),
        ({"page": 4}, 404),
        ({"page": 2**62}, 404),
        ({"page": None}, 400),
        ({"page": "1"}, 400),
        ({"page": 1.0}, 400),
        ({"note": ""}, 400),
        ({"note": "x" * 2_001}, 400),
        ({"note": None}, 400),
        ({"note": "x" * 2_000}, 201),
    ],
    ids=str,
)
def test_page_and_note_of_an_annotation_are_validated(
    world: World, ann: FeedbackClient, change: dict[str, Any], status: int
) -> None:
    body = {"page": 1, "rect": RECT, "note": "x"} | change
    assert ann.send("POST", "annotations", body).status_code == status
    assert count_rows(world, "annotations") == (status == 201)


def test_annotations_on_hidden_pages_are_omitted_and_others_are_renumbered(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    for page in (1, 2, 3):
        ann.annotate(page, f"page {page}")
    put_settings(world, uploaded_file, pageRange={"from": 2, "to": 3})
    assert [(row["page"], row["note"]) for row in ann.get_feedback()["annotations"]] == [(1, "page 2"), (2, "page 3")]
    assert ann.annotate(2)["page"] == 2
    assert world.rt.db.fetch_all("SELECT page FROM annotations ORDER BY id") == [(1,), (2,), (3,), (3,)]


def test_readers_can_delete_only_their_own_annotations(world: World, ann: FeedbackClient) -> None:
    bob = FeedbackClient(world, ann.name)
    made = ann.annotate()
    bob.annotate()
    assert bob.send("DELETE", f"annotations/{made['uuid']}").status_code == 404
    assert ann.send("DELETE", f"annotations/{made['uuid']}").status_code == 204
    for uuid in (made["uuid"], "nonsense"):
        assert ann.send("DELETE", f"annotations/{uuid}").status_code == 404
    assert count_rows(world, "annotations") == 1


def test_annotations_per_reader_and_per_document_are_limited(
    world: World, ann: FeedbackClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert FEEDBACK_QUOTAS["annotations"] == FeedbackQuota(500, 5_000)
    monkeypatch.setitem(FEEDBACK_QUOTAS, "annotations", FeedbackQuota(2, 3))
    bob = FeedbackClient(world, ann.name)
    ann.annotate(), ann.annotate(), bob.annotate()
    for client in (ann, bob):
        assert client.send("POST", "annotations", {"page": 1, "rect": RECT, "note": "x"}).status_code == 409
    assert count_rows(world, "annotations") == 3


# Events


def get_only_pseudonym(world: World) -> str:
    ((found,),) = world.rt.db.fetch_all("SELECT pseudonym FROM viewers")
    assert found.startswith("Reader ")
    return str(found)


@pytest.mark.parametrize("first", ["mark", "annotation"])
def test_proofing_updated_is_recorded_once_per_viewer_without_the_verdict(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient, first: str
) -> None:
    """``viewer`` is the pseudonym of the reader."""
    put_settings(world, uploaded_file, pageRange={"from": 2, "to": 3})
    steps = [lambda: ann.mark_page(2, "reject"), lambda: ann.annotate(2)]
    for step in steps if first == "mark" else reversed(steps):
        step()
    ann.mark_page(2, None), ann.mark_page(1, "pick"), ann.annotate(1)
    data = {"fileUuid": uploaded_file["uuid"], "fileName": "report.pdf", "kind": first, "pageNumber": 3}
    assert list_activity(world) == [("proofing.updated", data | {"viewer": get_only_pseudonym(world)})]


def test_proofing_updated_names_an_invitee_by_their_address(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    """``viewer`` equals ``identity`` in the page marks."""
    insert_invite(world, uploaded_file["uuid"], "zoe@example.com", "Zz3dE5fG7hJ9")
    ann.mark_page(1, "pick"), FeedbackClient(world, "Zz3dE5fG7hJ9").mark_page(1, "maybe")
    viewer_names = [data["viewer"] for _, data in list_activity(world)]
    marks = world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}/page-marks").get_json()
    assert viewer_names[1] == "zoe@example.com"
    assert viewer_names == [viewer["identity"] for viewer in marks["viewers"]]


@pytest.mark.parametrize(("method", "path", "body"), [
    ("PUT", "marks/1", {"mark": None}),
    ("PUT", "marks/9", {"mark": "pick"}),
    ("POST", "annotations", {"page": 1, "rect": {}, "note": "x"}),
    ("POST", "notes", {"author": "Ann", "body": "x"}),
])  # fmt: skip
def test_without_a_mark_or_annotation_no_event_is_recorded(
    world: World, ann: FeedbackClient, method: str, path: str, body: dict[str, Any]
) -> None:
    ann.send(method, path, body)
    assert list_activity(world) == []


def test_a_reader_with_many_windows_creates_one_event(world: World, ann: FeedbackClient) -> None:
    """Concurrent requests result in one event per viewer and file, and in one receipt."""
    ann.leave_note()
    cookie = ann.http.get_cookie(f"viewer-{ann.name}")
    assert cookie is not None
    windows = [FeedbackClient(world, ann.name) for _ in range(8)]
    for window in windows:
        window.http.set_cookie(f"viewer-{ann.name}", cookie.value)
    with ThreadPoolExecutor(8) as pool:
        marked = list(pool.map(lambda window: window.mark_page(1, "pick"), windows))
        received = list(pool.map(lambda window: window.send("POST", "receipt", {"name": "X"}).status_code, windows))
    assert marked == [204] * 8
    assert sorted(received) == [200] * 7 + [201]
    assert sorted(event for event, _ in list_activity(world)) == ["proofing.updated", "receipt.confirmed"]
    assert count_rows(world, "viewers") == count_rows(world, "marks") == count_rows(world, "receipts") == 1
