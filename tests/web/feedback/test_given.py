"""Who may leave feedback on a link, and which kinds."""

from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from tests.support.engines.database import dump_database
from tests.support.engines.rows import count_rows, update_file_row
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import World
from tests.support.people.feedback_client import (
    ALL_FEEDBACK_SETTINGS,
    CTA,
    FEEDBACK_WRITES,
    RECT,
    FeedbackClient,
    count_feedback_rows,
)

pytestmark = pytest.mark.file_settings(**ALL_FEEDBACK_SETTINGS, viewerSettings=CTA)


# Enabled features

FEEDBACK_OPTIONS = [
    # settings, enabled features on Pro, Basic and Free
    ({}, "", "", ""),
    ({"commentsEnabled": True}, "notes", "", ""),
    ({"commentsAllowPublic": True}, "", "", ""),
    ({"commentsEnabled": True, "commentsAllowPublic": True}, "notes publicNotes", "", ""),
    ({"marksEnabled": True}, "marks", "", ""),
    ({"annotationsEnabled": True}, "annotations", "", ""),
    ({"askReceipt": True}, "receipt", "receipt", ""),
    (ALL_FEEDBACK_SETTINGS, "notes publicNotes marks annotations receipt", "receipt", ""),
]


@pytest.mark.parametrize(("settings", "pro", "basic", "free"), FEEDBACK_OPTIONS)
def test_the_page_lists_the_features_of_the_owners_current_plan(
    world: World, settings: dict[str, bool], pro: str, basic: str, free: str
) -> None:
    made = world.pia.upload()
    put_settings(world, made, **settings)
    for plan, expected in ((Plan.PRO, pro), (Plan.BASIC, basic), (Plan.FREE, free)):
        accounts.set_tier(world.rt, world.pia.email, plan)
        facts = FeedbackClient(world, made["shortId"]).read_page_facts()["feedback"]
        assert facts.keys() == {"notes", "publicNotes", "marks", "annotations", "receipt", "owner"}
        assert {name for name, stands in facts.items() if stands} == set(expected.split())


def test_a_document_without_an_owner_accepts_no_feedback(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    update_file_row(world, uploaded_file["uuid"], owner_id=None)
    assert not any(ann.read_page_facts()["feedback"].values())
    assert {ann.send(*write).status_code for write in FEEDBACK_WRITES if write[0] != "DELETE"} == {403}
    assert count_feedback_rows(world) == {}


@pytest.mark.parametrize("plan", [Plan.FREE, Plan.BASIC])
def test_a_feature_above_the_owners_current_plan_is_403(world: World, ann: FeedbackClient, plan: Plan) -> None:
    """The plan is checked again when a page is served."""
    ann.leave_note(), ann.annotate(), ann.mark_page(1, "pick")
    before = dump_database(world)
    accounts.set_tier(world.rt, world.pia.email, plan)
    paid = {"receipt"} if plan is Plan.BASIC else set()
    for method, path, body in FEEDBACK_WRITES:
        if method != "DELETE" and path not in paid:
            assert ann.send(method, path, body).status_code == 403
    found = ann.get_feedback()
    assert (found["notes"], found["annotations"], found["marks"]) == ([], [], {})
    accounts.set_tier(world.rt, world.pia.email, Plan.PRO)
    assert dump_database(world) == before


@pytest.mark.parametrize(("method", "path", "body"), [write for write in FEEDBACK_WRITES if write[0] != "DELETE"])
def test_a_disabled_feature_is_403_and_stores_nothing(
    world: World, method: str, path: str, body: dict[str, Any] | None
) -> None:
    made = world.pia.upload()
    answer = FeedbackClient(world, made["shortId"]).send(method, path, body)
    assert (answer.status_code, answer.mimetype) == (403, "text/plain")
    assert count_feedback_rows(world) == {}
    assert "Set-Cookie" not in answer.headers


# Permissions


def test_the_signed_in_owner_cannot_leave_feedback(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    ann.leave_note(public=True)
    owner = FeedbackClient(world, uploaded_file["shortId"], http=sign_in_browser(world, world.pia))
    assert owner.read_page_facts()["feedback"]["owner"] is True
    assert ann.read_page_facts()["feedback"]["owner"] is False
    before = dump_database(world)
    for method, path, body in FEEDBACK_WRITES:
        answer = owner.send(method, path, body)
        assert answer.status_code == 403
        assert "owner" in answer.text
        assert "Set-Cookie" not in answer.headers
    assert dump_database(world) == before


def test_another_account_is_treated_as_a_reader(world: World, uploaded_file: dict[str, Any]) -> None:
    mal = FeedbackClient(world, uploaded_file["shortId"], http=sign_in_browser(world, world.mal))
    assert mal.leave_note()["mine"] is True


@pytest.mark.parametrize(("method", "path", "body"), FEEDBACK_WRITES)
@pytest.mark.parametrize(
    "headers",
    [
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "none"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
def test_cross_site_feedback_is_rejected(
    world: World,
    ann: FeedbackClient,
    method: str,
    path: str,
    body: dict[str, Any] | None,
    headers: dict[str, str],
) -> None:
    ann.leave_note()
    before = dump_database(world)
    assert ann.send(method, path, body, **headers).status_code == 403
    assert dump_database(world) == before


@pytest.mark.parametrize("headers", [{"Sec_Fetch_Site": "same-origin"}, {"Origin": "http://127.0.0.1:8787"}, {}])
def test_same_origin_feedback_is_accepted(ann: FeedbackClient, headers: dict[str, str]) -> None:
    assert ann.send("POST", "notes", {"author": "Ann", "body": "x"}, **headers).status_code == 201


@pytest.mark.parametrize(("method", "path", "body"), FEEDBACK_WRITES)
@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"trashed_at": 1, "purge_at": 9_000_000_000_000_000}, 404),
        ({"delete_at": 1}, 410),
        ({"burned_at": 1}, 410),
        ({"password_hash": "x"}, 403),
    ],
)
def test_a_link_that_cannot_be_opened_accepts_no_feedback(
    world: World,
    uploaded_file: dict[str, Any],
    ann: FeedbackClient,
    method: str,
    path: str,
    body: dict[str, Any] | None,
    change: dict[str, Any],
    status: int,
) -> None:
    """A gated or dead link neither shows nor accepts feedback."""
    ann.leave_note()
    update_file_row(world, uploaded_file["uuid"], **change)
    before = dump_database(world)
    assert ann.send(method, path, body).status_code == status
    assert ann.send("GET", "feedback").status_code == status
    assert dump_database(world) == before


@pytest.mark.parametrize(("method", "path", "body"), [*FEEDBACK_WRITES, ("GET", "feedback", None)])
def test_an_unknown_link_and_a_slug_are_404(
    world: World, uploaded_file: dict[str, Any], method: str, path: str, body: dict[str, Any] | None
) -> None:
    update_file_row(world, uploaded_file["uuid"], slug="our-report")
    for name in ("our-report", "zzzzzzzzzzzz", "00000000-0000-4000-8000-000000000000"):
        assert FeedbackClient(world, name).send(method, path, body).status_code == 404
    assert count_feedback_rows(world) == {}


def test_a_revoked_variant_accepts_no_feedback(world: World, uploaded_file: dict[str, Any]) -> None:
    path = f"/api/v1/files/{uploaded_file['uuid']}/variants"
    variant = world.pia.post(path, json={"label": "Ada"}).get_json()
    client = FeedbackClient(world, variant["shortId"])
    client.leave_note(public=True)
    world.pia.put(f"{path}/{variant['uuid']}", json={"revoked": True})
    for method, path, body in (*FEEDBACK_WRITES, ("GET", "feedback", None)):
        assert client.send(method, path, body).status_code == 404
    assert count_rows(world, "notes") == 1


# Reader identity


def test_reading_feedback_creates_no_viewer(world: World, ann: FeedbackClient) -> None:
    answer = ann.send("GET", "feedback")
    assert answer.get_json() == {"notes": [], "marks": {}, "annotations": []}
    assert "Set-Cookie" not in answer.headers
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert count_rows(world, "viewers") == 0


def test_the_first_feedback_creates_one_viewer_with_a_cookie(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    first = ann.send("POST", "notes", {"author": "Ann", "body": "x"})
    cookie = first.headers["Set-Cookie"]
    assert cookie.startswith(f"viewer-{uploaded_file['shortId']}=")
    assert "HttpOnly" in cookie
    for method, path, body in FEEDBACK_WRITES[2:6]:
        assert "Set-Cookie" not in ann.send(method, path, body).headers
    assert count_rows(world, "viewers") == 1


@pytest.mark.parametrize(
    ("method", "path", "body"), [FEEDBACK_WRITES[0], FEEDBACK_WRITES[2], FEEDBACK_WRITES[3], FEEDBACK_WRITES[5]]
)
def test_any_kind_of_feedback_sets_the_cookie(
    world: World, ann: FeedbackClient, method: str, path: str, body: dict[str, Any] | None
) -> None:
    assert "Set-Cookie" in ann.send(method, path, body).headers
    assert count_rows(world, "viewers") == 1


def test_two_browsers_are_separate_readers(world: World, uploaded_file: dict[str, Any], ann: FeedbackClient) -> None:
    other = FeedbackClient(world, uploaded_file["shortId"])
    note = ann.leave_note("only mine")
    (
        ann.annotate(),
        ann.mark_page(1, "pick"),
        ann.send("POST", "receipt", {"name": "Ann"}),
    )
    assert other.get_feedback() == {"notes": [], "marks": {}, "annotations": []}
    assert other.send("DELETE", f"notes/{note['uuid']}").status_code == 403
    other.annotate()
    assert other.send("DELETE", f"notes/{note['uuid']}").status_code == 404
    assert count_rows(world, "notes") == 1


def test_the_cookie_of_one_link_is_not_accepted_on_another(world: World, uploaded_file: dict[str, Any]) -> None:
    """The cookie of one link is invalid on another, even of the same document."""
    path = f"/api/v1/files/{uploaded_file['uuid']}/variants"
    variant = world.pia.post(path, json={"label": "Ada"}).get_json()
    client = FeedbackClient(world, uploaded_file["shortId"])
    note = client.leave_note()
    cookie = client.http.get_cookie(f"viewer-{uploaded_file['shortId']}")
    assert cookie is not None
    stranger = FeedbackClient(world, variant["shortId"])
    stranger.http.set_cookie(f"viewer-{variant['shortId']}", cookie.value)
    assert stranger.get_feedback()["notes"] == []
    assert stranger.send("DELETE", f"notes/{note['uuid']}").status_code == 403


def test_uuid_and_short_id_identify_the_same_reader(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    ann.leave_note()
    again = FeedbackClient(world, uploaded_file["uuid"].upper(), http=ann.http)
    assert len(again.get_feedback()["notes"]) == 1


# Bodies


@pytest.mark.parametrize(("method", "path", "body"), [write for write in FEEDBACK_WRITES if write[0] != "DELETE"])
@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"", 400),
        (b"[]", 400),
        (b"null", 400),
        (b"[" * 10_000, 400),
        (b"\xff\xfe", 400),
        (b'{"body": "\\ud800", "note": "\\ud800", "name": "\\ud800"}', 400),
        (b'{"a": 1e999}', 400),
        (b'{"a": 1, "a": 2}', 400),
        (b"{}", 400),
        (b'{"pad": "' + b"x" * 16_384 + b'"}', 413),
    ],
)
def test_invalid_json_is_rejected(
    world: World, ann: FeedbackClient, method: str, path: str, body: object, raw: bytes, status: int
) -> None:
    answer = ann.send(method, path, raw, Content_Type="application/json")
    assert answer.status_code == status
    assert count_feedback_rows(world) == {}


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_that_is_not_json_is_415(world: World, ann: FeedbackClient, media_type: str) -> None:
    """A page of another site can send forms and text/plain."""
    body = b'{"author": "Ann", "body": "x"}'
    assert ann.send("POST", "notes", body, Content_Type=media_type).status_code == 415
    assert count_feedback_rows(world) == {}


def test_feedback_is_limited_to_60_writes_per_minute_and_address(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    other = FeedbackClient(world, uploaded_file["shortId"], address="198.51.100.9")
    valid_note = {"author": "Ann", "body": "x"}
    assert [ann.send("POST", "notes", valid_note).status_code for _ in range(60)] == [201] * 60
    refused = ann.send("POST", "annotations", {"page": 1, "rect": RECT, "note": "x"})
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert ann.send("GET", "feedback").status_code == 200
    assert ann.mark_page(1, "pick") == 204
    other.leave_note()
    world.clock.advance(minutes=1)
    ann.leave_note()


def test_page_marks_have_a_separate_limit_of_300_per_minute(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    assert {ann.mark_page(1 + count % 3, "pick") for count in range(300)} == {204}
    refused = ann.send("PUT", "marks/2", {"mark": "reject"})
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    ann.leave_note()
    world.clock.advance(minutes=1)
    assert ann.mark_page(2, "reject") == 204


# Changes of the document


RANGES = [
    # page range of the open page, current page range of the link
    ({"from": 2, "to": 3}, {"from": 1, "to": 2}),
    ({"from": 2, "to": 3}, {"from": 0, "to": 0}),
    ({"from": 0, "to": 0}, {"from": 2, "to": 3}),
]
