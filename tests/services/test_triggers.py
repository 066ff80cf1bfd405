"""The admin command "trigger": a triggered event has the same effects as a real one."""

from __future__ import annotations

from typing import Any

import pytest

from docshare.server.services.readership import viewing
from tests.support.engines.rows import count_rows
from tests.support.outside.queued_deliveries import delivery_envelopes, list_activity
from tests.support.owner.browser import get_readership, put_settings
from tests.support.people.cast import World
from tests.support.people.triggers import (
    FORM,
    TRIGGER_SETTINGS,
    assert_trigger_refused,
    event_data,
    trigger,
    upload_deck,
)

NOW = "2026-09-21T14:13:20.000Z"


@pytest.fixture
def uploaded_file(world: World) -> dict[str, Any]:
    return upload_deck(world)


def list_events(world: World, stream: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = world.pia.get(f"/api/v1/events?type={stream}").get_json()
    return rows


def get_content(world: World, made: dict[str, Any]) -> bytes:
    with world.pia.get(f"/api/v1/files/{made['uuid']}/content") as answer:
        return answer.get_data()


# --- effects of one event --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(TRIGGER_SETTINGS))
def test_a_trigger_records_one_event_and_queues_one_identical_delivery(
    world: World, uploaded_file: dict[str, Any], kind: str
) -> None:
    if TRIGGER_SETTINGS[kind]:
        put_settings(world, uploaded_file, **TRIGGER_SETTINGS[kind])
    found = trigger(world, kind, uploaded_file, consent="yes")
    (row,) = list_activity(world, "limit=100")
    assert row == {key: found[key] for key in ("id", "event", "timestamp", "data")}
    assert (row["event"], row["timestamp"]) == (kind, NOW)
    assert delivery_envelopes(world) == [{key: row[key] for key in ("event", "timestamp", "data")}]
    assert [(number,) for number in found["deliveries"]] == world.rt.db.fetch_all("SELECT id FROM deliveries")


def test_a_view_has_the_same_numbers_in_feed_readership_and_event(world: World, uploaded_file: dict[str, Any]) -> None:
    found = trigger(world, "file.viewed", uploaded_file, values={"pagesViewed": "7", "timeMs": "102345"})
    (session,) = get_readership(world, uploaded_file, "/sessions")
    assert found["data"] == event_data(uploaded_file, pagesViewed=7, timeMs=102_345, sessionId=session["sessionId"])
    assert (session["totalTimeMs"], session["pagesViewed"]) == (102_345, 7)
    (row,) = list_events(world, "view")
    assert (row["pagesViewed"], row["timeMs"], row["readAt"]) == (7, 102_345, "2026-09-21T14:10:32.655Z")
    summary = get_readership(world, uploaded_file, "")["summary"]
    assert (summary["totalViews"], summary["totalSessions"], summary["avgTimeMs"]) == (1, 1, 102_345)
    assert world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}").get_json()["viewCount"] == 1
    seen = [
        (page["pageNumber"], page["views"])
        for page in get_readership(world, uploaded_file, "/pages")["pages"]
        if page["views"]
    ]
    assert seen == [(page, 1) for page in range(1, 8)]


@pytest.mark.parametrize(
    ("values", "pages", "time_ms"),
    [
        ({}, 3, 60_000),
        ({"pagesViewed": "12"}, 12, 240_000),
        ({"timeMs": "1000"}, 1, 1_000),
        ({"timeMs": "2999"}, 2, 2_999),
        ({"pagesViewed": "1", "timeMs": "14400000"}, 1, 14_400_000),
        ({"pagesViewed": "12", "timeMs": "12000"}, 12, 12_000),
    ],
)
def test_a_view_has_exactly_the_given_pages_and_time(
    world: World, uploaded_file: dict[str, Any], values: dict[str, str], pages: int, time_ms: int
) -> None:
    found = trigger(world, "file.viewed", uploaded_file, values=values)["data"]
    assert (found["pagesViewed"], found["timeMs"]) == (pages, time_ms)


def test_a_view_through_a_variant_has_its_keys_and_is_counted_for_it(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    answer = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants", json={"label": "Acme"}).get_json()
    variant = answer.get("variant", answer)
    for name in (variant["uuid"], variant["shortId"], "label:Acme"):
        found = trigger(world, "file.viewed", uploaded_file, variant=name)["data"]
        assert (found["variantUuid"], found["variantLabel"]) == (variant["uuid"], "Acme")
    (row,) = get_readership(world, uploaded_file, "")["variants"]
    assert row["sessions"] == 3


def test_a_download_is_in_feed_readership_and_event(world: World, uploaded_file: dict[str, Any]) -> None:
    found = trigger(world, "file.downloaded", uploaded_file)
    assert found["data"] == event_data(uploaded_file)
    assert [row["readAt"] for row in list_events(world, "download")] == [NOW]
    assert get_readership(world, uploaded_file, "")["summary"]["downloads"] == 1


def test_a_gate_response_is_in_feed_contacts_and_event(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, gateFields=FORM)
    found = trigger(world, "gate.completed", uploaded_file, values={"email": "ann@acme.example", "fields.firm": "Acme"})
    responses = {"who": "ann@acme.example", "firm": "Acme"}
    assert found["data"] == event_data(uploaded_file, source="form", email="ann@acme.example", fields=responses)
    assert [row["fields"] for row in list_events(world, "gate")] == [responses]
    assert [row["fields"] for row in get_readership(world, uploaded_file, "")["contacts"]] == [responses]


@pytest.mark.parametrize("kind", ["file.viewed", "file.downloaded"])
def test_an_email_for_the_gate_also_triggers_gate_completed(
    world: World, uploaded_file: dict[str, Any], kind: str
) -> None:
    put_settings(world, uploaded_file, requireEmail=True)
    found = trigger(world, kind, uploaded_file, values={"email": "ann@acme.example"})
    assert found["event"] == kind
    rows = {row["event"]: row["data"] for row in list_activity(world, "limit=100")}
    assert rows.keys() == {kind, "gate.completed"}
    assert rows["gate.completed"]["email"] == "ann@acme.example"


def test_the_default_email_for_the_gate_has_an_allowed_domain(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, requireEmail=True, gateDomains=["acme.example"])
    assert trigger(world, "gate.completed", uploaded_file)["data"] == event_data(
        uploaded_file, source="email", email="reader@acme.example"
    )
    code, detail, hint = assert_trigger_refused(
        world, "gate.completed", uploaded_file, values={"email": "x@other.example"}
    )
    assert (code, detail) == ("forbidden", "The email address does not belong to an allowed domain.")
    assert hint == "Change --set email. Use an address at acme.example."


def test_a_note_is_stored_with_the_values_of_the_event(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, **TRIGGER_SETTINGS["note.created"])
    values = {"author": "Ann", "body": "Why <this>?", "pageNumber": "4"}
    assert trigger(world, "note.created", uploaded_file, values=values)["data"] == event_data(
        uploaded_file, author="Ann", body="Why <this>?", pageNumber=4
    )
    ((author, body, page, public),) = world.rt.db.fetch_all("SELECT author, body, page, public FROM notes")
    assert (author, body, page, public) == ("Ann", "Why <this>?", 4, 1)


def test_page_numbers_are_those_of_the_document_despite_a_page_range(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    put_settings(world, uploaded_file, **TRIGGER_SETTINGS["note.created"], pageRange={"from": 3, "to": 5})
    assert trigger(world, "note.created", uploaded_file, values={"pageNumber": "4"})["data"]["pageNumber"] == 4
    code, detail, _ = assert_trigger_refused(world, "note.created", uploaded_file, values={"pageNumber": "2"})
    assert (code, detail) == ("not_found", "Readers of this link do not see a page 2.")
    code, detail, _ = assert_trigger_refused(world, "file.viewed", uploaded_file, values={"pagesViewed": "4"})
    assert (code, "see 3 pages" in detail) == ("bad_request", True)
    assert trigger(world, "file.viewed", uploaded_file)["data"]["pagesViewed"] == 3


def test_every_receipt_is_by_a_new_reader(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, askReceipt=True)
    names = [
        trigger(world, "receipt.confirmed", uploaded_file, values={"name": "Ann"})["data"]["name"] for _ in range(3)
    ]
    assert names == ["Ann"] * 3
    assert count_rows(world, "receipts") == 3


@pytest.mark.parametrize("kind", ["mark", "annotation"])
def test_proofing_stores_the_mark_or_annotation_of_the_event(
    world: World, uploaded_file: dict[str, Any], kind: str
) -> None:
    put_settings(world, uploaded_file, **TRIGGER_SETTINGS["proofing.updated"])
    found = trigger(world, "proofing.updated", uploaded_file, values={"kind": kind, "pageNumber": "2"})["data"]
    tail = "/page-marks" if kind == "mark" else "/annotations"
    answer = world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}{tail}")
    assert answer.status_code == 200, answer.text
    assert found["viewer"] in answer.text
    assert (found["kind"], found["pageNumber"]) == (kind, 2)


def test_proofing_uses_the_enabled_kind_by_default(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, annotationsEnabled=True)
    assert trigger(world, "proofing.updated", uploaded_file)["data"]["kind"] == "annotation"
    code, _, hint = assert_trigger_refused(world, "proofing.updated", uploaded_file, values={"kind": "mark"})
    assert (code, hint) == (
        "conflict",
        f"Switch it on: docshare settings set {uploaded_file['shortId']} marksEnabled=true",
    )


def test_an_invite_view_starts_a_session_that_ends_as_a_view(world: World, uploaded_file: dict[str, Any]) -> None:
    values = {"email": "ivy@acme.example", "name": "Ivy"}
    found = trigger(world, "invite.viewed", uploaded_file, values=values)
    assert found["data"] == event_data(uploaded_file, email="ivy@acme.example", name="Ivy")
    (invite,) = world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}/invites").get_json()
    assert (invite["email"], invite["viewedAt"]) == ("ivy@acme.example", NOW)
    assert count_rows(world, "mails") == 0
    world.clock.advance(seconds=60)
    viewing.end_due_sessions(world.rt)
    assert [row["event"] for row in list_activity(world, "limit=100")] == ["file.viewed", "invite.viewed"]
    (session,) = get_readership(world, uploaded_file, "/sessions")
    assert (session["email"], session["fromInvite"]) == ("ivy@acme.example", True)


def test_every_invite_view_is_by_a_new_invitee(world: World, uploaded_file: dict[str, Any]) -> None:
    emails = [trigger(world, "invite.viewed", uploaded_file)["data"]["email"] for _ in range(2)]
    assert emails == ["invitee1@example.com", "invitee2@example.com"]
    code, detail, _ = assert_trigger_refused(
        world, "invite.viewed", uploaded_file, values={"email": " invitee1@example.com "}
    )
    assert (code, detail.partition(";")[0]) == ("conflict", "invitee1@example.com has opened the document before")


def test_the_same_trigger_has_the_same_values_twice(world: World, uploaded_file: dict[str, Any]) -> None:
    first, second = (trigger(world, "file.viewed", uploaded_file)["data"] for _ in range(2))
    assert {**first, "sessionId": ""} == {**second, "sessionId": ""}


# --- events that change the file -------------------------------------------------------------------------------------


def test_burning_deletes_the_document_after_a_confirmation(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, viewLimit=3)
    code, detail, hint = assert_trigger_refused(world, "file.burned", uploaded_file)
    assert (code, hint) == ("conflict", "Add --yes to confirm.")
    assert "deletes the document" in detail
    assert trigger(world, "file.burned", uploaded_file, consent="yes")["data"] == event_data(uploaded_file)
    assert world.http.get(f"/{uploaded_file['shortId']}").status_code == 410
    assert world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}/content").status_code == 410
    code, detail, _ = assert_trigger_refused(world, "file.burned", uploaded_file, consent="yes")
    assert (code, "burned" in detail) == ("conflict", True)


def test_replacing_stores_the_same_document_as_the_next_version(world: World, uploaded_file: dict[str, Any]) -> None:
    before = get_content(world, uploaded_file)
    assert assert_trigger_refused(world, "content.replaced", uploaded_file)[0] == "conflict"
    assert trigger(world, "content.replaced", uploaded_file, consent="yes")["data"] == event_data(
        uploaded_file, contentVersion=2
    )
    assert get_content(world, uploaded_file) == before
    assert [path.name for path in (world.rt.config.data_dir / "tmp").iterdir()] == []


def test_consuming_a_view_of_a_view_limit_requires_a_confirmation(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, viewLimit=2)
    for kind in ("file.viewed", "file.downloaded", "invite.viewed"):
        code, detail, hint = assert_trigger_refused(world, kind, uploaded_file)
        assert (code, hint) == ("conflict", "Add --yes to confirm.")
        assert "uses up one of its views" in detail
    trigger(world, "file.viewed", uploaded_file, consent="yes")
    assert world.rt.db.fetch_all("SELECT views_consumed, burned_at IS NOT NULL FROM files") == [(1, 0)]
    trigger(world, "file.downloaded", uploaded_file, consent="yes")
    assert world.rt.db.fetch_all("SELECT views_consumed, burned_at IS NOT NULL FROM files") == [(2, 1)]
    assert assert_trigger_refused(world, "file.viewed", uploaded_file, consent="yes")[0] == "gone"
