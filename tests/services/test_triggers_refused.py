"""Rejections of the admin command "trigger": nothing happens, and the hint says what to do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.owner.browser import put_settings
from tests.support.people.cast import Person, World
from tests.support.people.triggers import (
    FORM,
    TRIGGER_SETTINGS,
    assert_trigger_refused,
    count_traces,
    post_trigger,
    trigger,
    upload_deck,
)


@pytest.fixture
def uploaded_file(world: World) -> dict[str, Any]:
    return upload_deck(world)


@pytest.mark.parametrize(
    ("kind", "settings", "setting"),
    [
        ("file.downloaded", {"allowDownload": False}, "allowDownload=true"),
        ("note.created", {}, "commentsEnabled=true commentsAllowPublic=true"),
        ("note.created", {"commentsEnabled": True}, "commentsAllowPublic=true"),
        ("receipt.confirmed", {}, "askReceipt=true"),
        ("proofing.updated", {}, "marksEnabled=true"),
        ("gate.completed", {}, "requireEmail=true"),
        ("file.burned", {}, "viewLimit=1"),
    ],
)
def test_an_event_that_settings_disable_is_rejected_with_the_setting_to_enable(
    world: World, uploaded_file: dict[str, Any], kind: str, settings: dict[str, Any], setting: str
) -> None:
    if settings:
        put_settings(world, uploaded_file, **settings)
    code, _, hint = assert_trigger_refused(world, kind, uploaded_file, consent="yes")
    assert (code, hint.partition(": ")[2]) == (
        "conflict",
        f"docshare settings set {uploaded_file['shortId']} {setting}",
    )


@pytest.mark.parametrize(
    ("settings", "kind", "names"),
    [
        ({"password": "Sesam"}, "file.viewed", "password"),
        ({"password": "Sesam", "requireEmail": True}, "gate.completed", "password"),
        ({"password": "Sesam", "requireEmail": True}, "file.viewed", "password gateFields requireEmail"),
    ],
)
def test_an_event_on_a_password_protected_link_is_rejected(
    world: World, uploaded_file: dict[str, Any], settings: dict[str, Any], kind: str, names: str
) -> None:
    put_settings(world, uploaded_file, **settings)
    code, _, hint = assert_trigger_refused(world, kind, uploaded_file, consent="yes")
    assert (code, hint) == ("conflict", f"Clear it: docshare settings clear {uploaded_file['shortId']} {names}")


@pytest.mark.parametrize("kind", ["file.viewed", "file.downloaded", "invite.viewed"])
def test_an_event_on_a_gated_link_requires_an_email_or_clearing_the_gate(
    world: World, uploaded_file: dict[str, Any], kind: str
) -> None:
    put_settings(world, uploaded_file, gateFields=FORM)
    code, detail, hint = assert_trigger_refused(world, kind, uploaded_file, consent="yes")
    assert (code, detail) == ("conflict", "The link requires a form of its readers.")
    assert "--set email=" in hint
    assert hint.endswith("password gateFields requireEmail")


def test_an_email_is_rejected_if_the_link_has_no_gate(world: World, uploaded_file: dict[str, Any]) -> None:
    code, detail, _ = assert_trigger_refused(world, "file.viewed", uploaded_file, values={"email": "ann@acme.example"})
    assert (code, detail) == ("conflict", "The link does not ask readers for an email address or a form.")


def test_an_invite_view_does_not_require_an_email_for_the_gate(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, requireEmail=True)
    assert trigger(world, "invite.viewed", uploaded_file)["data"]["email"] == "invitee1@example.com"


def test_a_download_through_a_variant_without_downloads_is_rejected(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    body = {"label": "Acme", "overrides": {"allowDownload": False}}
    answer = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants", json=body).get_json()
    uuid = answer.get("variant", answer)["uuid"]
    code, _, hint = assert_trigger_refused(world, "file.downloaded", uploaded_file, variant=uuid)
    assert (code, hint) == ("conflict", f"Switch it on: docshare variants update {uuid} --download")


@pytest.mark.parametrize("kind", ["file.burned", "content.replaced", "invite.viewed"])
def test_an_event_of_the_file_rejects_a_variant(world: World, uploaded_file: dict[str, Any], kind: str) -> None:
    world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants", json={"label": "Acme"})
    assert assert_trigger_refused(world, kind, uploaded_file, variant="label:Acme", consent="yes")[0] == "bad_request"


def test_an_event_above_the_plan_is_rejected_with_the_required_plan(world: World) -> None:
    made = world.bea.upload()
    for kind in ("note.created", "proofing.updated", "invite.viewed", "content.replaced"):
        code, detail, _ = assert_trigger_refused(world, kind, made, consent="yes")
        assert (code, "requires the pro plan" in detail) == ("plan_required", True), kind
    assert trigger(world, "file.viewed", made)["deliveries"] == []


@pytest.mark.parametrize(
    ("kind", "values", "detail", "hint"),
    [
        ("file.seen", {}, "There is no event kind 'file.seen'.", "Kinds: file.viewed, file.downloaded, gate.completed"),
        ("webhook.test", {}, "There is no event kind 'webhook.test'.", "Kinds: "),
        (
            "file.viewed",
            {"pages": "3"},
            "'pages' cannot be set for file.viewed.",
            "Keys: pagesViewed, timeMs, email, fields.NAME.",
        ),
        (
            "file.viewed",
            {"sessionId": "x"},
            "'sessionId' cannot be set",
            "Keys: pagesViewed, timeMs, email, fields.NAME.",
        ),
        (
            "file.viewed",
            {"timeMs.x": "1"},
            "'timeMs.x' cannot be set",
            "Keys: pagesViewed, timeMs, email, fields.NAME.",
        ),
        ("file.viewed", {"timeMs": "long"}, "timeMs: 'long' is not a whole number from 1000 to 14400000.", "Keys: "),
        ("file.viewed", {"timeMs": "999"}, "timeMs: '999' is not a whole number", "Keys: "),
        ("file.viewed", {"pagesViewed": "13"}, "Readers of this link see 12 pages, so 13 cannot be viewed.", ""),
        ("file.viewed", {"pagesViewed": "5", "timeMs": "4999"}, "5 pages take at least 5000 ms", "Set a larger"),
        ("content.replaced", {"x": "1"}, "'x' cannot be set for content.replaced.", "Nothing can be set"),
        ("gate.completed", {"fields": "x"}, "'fields' cannot be set", "Keys: email, fields.NAME."),
        ("gate.completed", {"fields.": "x"}, "'fields.' cannot be set", "Keys: email, fields.NAME."),
        ("gate.completed", {"fields.other": "x"}, "The form of the link has no field other.", "fields.firm"),
        ("proofing.updated", {"kind": "note"}, "kind: 'note' is not mark or annotation.", "Keys: kind, pageNumber."),
        ("receipt.confirmed", {"name": " "}, "name must be a string of 1 to 120 characters.", ""),
        ("note.created", {"body": ""}, "body must be a string of 1 to 2000 characters.", ""),
        ("invite.viewed", {"email": "nobody"}, "email must be", ""),
    ],
)
def test_an_unknown_key_or_value_is_rejected_with_the_valid_ones(
    world: World, uploaded_file: dict[str, Any], kind: str, values: dict[str, str], detail: str, hint: str
) -> None:
    put_settings(world, uploaded_file, **TRIGGER_SETTINGS.get(kind, {}))
    code, found_detail, found_hint = assert_trigger_refused(world, kind, uploaded_file, values=values)
    assert (code, found_detail[: len(detail)], hint in found_hint) == ("bad_request", detail, True), (
        found_detail,
        found_hint,
    )


def test_an_unknown_or_trashed_file_is_not_found(world: World, uploaded_file: dict[str, Any]) -> None:
    assert post_trigger(world, "file.viewed", "nowhere12345").get_json()["code"] == "not_found"
    assert assert_trigger_refused(world, "file.viewed", uploaded_file, variant="label:Acme")[0] == "not_found"
    short_id = world.pia.post(
        f"/api/v1/files/{uploaded_file['uuid']}/invites", json={"email": "a@b.example"}
    ).get_json()
    assert post_trigger(world, "file.viewed", short_id["url"][-12:]).get_json()["code"] == "not_found"
    world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}")
    assert post_trigger(world, "file.viewed", uploaded_file["shortId"]).get_json()["code"] == "not_found"


def test_an_event_on_an_expired_link_is_rejected(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, deleteAt="2026-09-21T15:00:00Z")
    world.clock.advance(hours=1)
    for kind in ("file.viewed", "file.downloaded", "invite.viewed", "file.burned"):
        assert assert_trigger_refused(world, kind, uploaded_file, consent="yes")[0] in ("gone", "conflict"), kind


@pytest.mark.parametrize("kind", list(TRIGGER_SETTINGS))
def test_a_dry_run_returns_the_values_and_changes_nothing(
    world: World, uploaded_file: dict[str, Any], kind: str
) -> None:
    if TRIGGER_SETTINGS[kind]:
        put_settings(world, uploaded_file, **TRIGGER_SETTINGS[kind])
    before = count_traces(world)
    found = trigger(world, kind, uploaded_file, rehearse="yes", consent="yes")
    assert count_traces(world) == before
    assert found["event"] == kind
    assert found["link"] == f"http://127.0.0.1:8787/{uploaded_file['shortId']}"
    real = trigger(world, kind, uploaded_file, consent="yes")["data"]
    planned = found["values"] if kind != "gate.completed" else {"fields": found["values"]}
    assert {key: real[key] for key in planned} == planned


def test_a_trigger_requires_the_instance_key(world: World, uploaded_file: dict[str, Any]) -> None:
    body = {"command": "trigger", "args": {"kind": "file.viewed", "file": uploaded_file["shortId"]}}
    person: Person = world.pia
    assert person.post("/_admin", json=body).status_code == 404
    assert json.loads(world.pia.get("/api/v1/activity").text) == []
