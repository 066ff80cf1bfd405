"""The record of a reader who passes a gate, and the requirements for invitees."""

import json
from typing import Any

import pytest

from tests.support.engines.rows import count_rows
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World
from tests.support.people.gate_client import GateClient, parse_inputs
from tests.support.people.reader import FakeReader, list_view_rows
from tests.web.gates.test_gate import ALL, FORM, FORM_VALUES


def list_gate_rows(world: World) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = world.pia.get("/api/v1/gate-responses").get_json()
    return rows


def list_completed_data(world: World) -> list[dict[str, Any]]:
    """Return the data of every ``gate.completed`` event, without the keys that all events share."""
    rows = world.rt.db.fetch_all("SELECT data FROM activity_rows WHERE event = 'gate.completed' ORDER BY id")
    return [
        {key: value for key, value in json.loads(data).items() if not key.startswith("file")} for (data,) in rows
    ]  # fmt: skip


def list_viewer_emails(world: World) -> list[Any]:
    return [email for (email,) in world.rt.db.fetch_all("SELECT email FROM viewers ORDER BY id")]


def insert_named_invite(world: World, made: dict[str, Any], email: str = "ivy@other.example") -> str:
    """Create an invite and return the short id of its personal link."""
    short_id = "Invited00001"
    with world.rt.db.write():
        world.rt.db.execute(
            "INSERT INTO invites (uuid, short_id, file_id, email, name, created_at) "
            "SELECT ?, ?, id, ?, 'Ivy', 0 FROM files WHERE uuid = ?",
            (world.rt.random_uuid(), short_id, email, made["uuid"]),
        )
    return short_id


def test_a_form_is_recorded_in_the_gate_stream_and_as_an_event(world: World, uploaded_file: dict[str, Any]) -> None:
    """``email`` is the value of the field with type email, regardless of its key."""
    put_settings(world, uploaded_file, **ALL)
    assert GateClient(world, uploaded_file["shortId"]).enter("Sesam & öffne", **FORM_VALUES)
    (row,) = list_gate_rows(world)
    assert row == {
        "id": 2,
        "fileUuid": uploaded_file["uuid"],
        "fileName": "report.pdf",
        "readAt": "2026-09-21T14:13:20.000Z",
        "type": "gate",
        "fields": FORM_VALUES,
    }
    assert list_completed_data(world) == [{"source": "form", "email": "ada@a.example", "fields": FORM_VALUES}]
    assert list_viewer_emails(world) == ["ada@a.example"]


def test_a_plain_address_is_recorded_on_the_viewer_but_not_in_the_gate_stream(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    """The gate stream contains only submissions of custom forms; a plain address belongs to the viewer."""
    put_settings(world, uploaded_file, requireEmail=True)
    guest = GateClient(world, uploaded_file["shortId"])
    assert guest.enter(email=" ada@a.example ")
    assert list_gate_rows(world) == []
    assert list_completed_data(world) == [{"source": "email", "email": "ada@a.example"}]
    FakeReader(world, uploaded_file["shortId"], http=guest.http).read_page(9)
    of_session = "SELECT v.email FROM view_sessions s JOIN viewers v ON v.id = s.viewer_id"
    assert world.rt.db.fetch_all(of_session) == [("ada@a.example",)]


def test_a_password_alone_creates_no_gate_completed_event(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, password="x", viewLimit=3)
    assert GateClient(world, uploaded_file["shortId"]).enter("x")
    assert list_completed_data(world) == []
    assert list_viewer_emails(world) == [None]


def test_the_event_names_the_variant(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, requireEmail=True)
    variant = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants").get_json()
    assert GateClient(world, variant["shortId"]).enter(email="ada@a.example")
    found = world.rt.db.fetch_all("SELECT v.uuid FROM activity_rows a JOIN variants v ON v.id = a.variant_id")
    assert found == [(variant["uuid"],)]


def test_a_gate_of_a_file_without_an_owner_records_nothing(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, gateFields=FORM)
    with world.rt.db.write():
        world.rt.db.execute("UPDATE files SET owner_id = NULL")
    assert GateClient(world, uploaded_file["shortId"]).enter(**FORM_VALUES)
    assert (count_rows(world, "gate_rows"), count_rows(world, "activity_rows")) == (0, 0)


def test_gate_responses_are_recorded_below_pro(world: World, uploaded_file: dict[str, Any]) -> None:
    """Recording does not depend on the plan; only reading does."""
    put_settings(world, uploaded_file, gateFields=FORM)
    with world.rt.db.write():
        world.rt.db.execute("UPDATE accounts SET plan = 1")
    assert GateClient(world, uploaded_file["shortId"]).enter(**FORM_VALUES)
    assert count_rows(world, "gate_rows") == 1


def test_views_of_a_gated_link_are_counted(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, password="x")
    guest = GateClient(world, uploaded_file["shortId"])
    assert guest.enter("x")
    FakeReader(world, uploaded_file["shortId"], http=guest.http, query="?via=qr").read_page(9)
    assert [row["timeMs"] for row in list_view_rows(world)] == [9_000]


@pytest.mark.parametrize("settings", [{"requireEmail": True}, {"requireEmail": True, "gateDomains": ["a.example"]}])
def test_an_invitee_is_not_asked_for_their_address(
    world: World, uploaded_file: dict[str, Any], settings: dict[str, Any]
) -> None:
    put_settings(world, uploaded_file, **settings)
    assert GateClient(world, insert_named_invite(world, uploaded_file)).is_in()
    assert list_completed_data(world) == []


def test_an_invitee_must_meet_all_other_requirements(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, **ALL, gateDomains=["a.example"])
    guest = GateClient(world, insert_named_invite(world, uploaded_file))
    found = parse_inputs(guest.open_page())
    assert list(found) == ["password", "field-password", "field-mail", "field-phone", "field-firm", "ticket"]
    assert found["field-mail"]["value"] == "ivy@other.example"
    assert not guest.enter("wrong", **FORM_VALUES)
    assert guest.enter("Sesam & öffne", mail="ivy@other.example", phone="1")
    assert list_viewer_emails(world) == ["ivy@other.example"]
