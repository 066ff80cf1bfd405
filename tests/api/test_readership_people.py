"""Who a session was: the address and the name it carries, and the invitation or variant it came through."""

import io
from typing import Any

import pytest

from tests.support.cast import World
from tests.support.gate_client import GateClient
from tests.support.owner import get_readership, put_settings
from tests.support.pdfs import simple_pdf
from tests.support.reader import FakeReader, end_all_sessions


@pytest.fixture
def made(world: World) -> dict[str, Any]:
    return world.pia.upload()


def pass_gate_and_read(world: World, name: str, guest: GateClient | None = None, **values: str) -> GateClient:
    """Somebody fills in the gate of ``name`` with ``values``, if it asks, reads the first page and leaves."""
    guest = guest or GateClient(world, name)
    assert guest.enters(**values)
    reader = FakeReader(world, name, http=guest.http)
    reader.reads(9)
    reader.leaves()
    return guest


def test_a_session_says_who_it_was_where_that_is_known(world: World, made: dict[str, Any]) -> None:
    """``email`` and ``name`` are those of an invitee, or what a viewer gave; variant and invitation by their UUIDs."""
    variant = world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json={"label": "Ada"}).get_json()
    body = {"email": "bob@example.com", "name": "Bob", "mail": False}
    bob = world.pia.post(f"/api/v1/files/{made['uuid']}/invites", json=body).get_json()
    for name in (variant["shortId"], bob["url"].rsplit("/", 1)[1]):
        pass_gate_and_read(world, name)
        world.clock.advance(minutes=2)
    put_settings(world, made, requireEmail=True)
    pass_gate_and_read(world, made["shortId"], email="eve@example.com")
    end_all_sessions(world)
    keys = ("email", "name", "fromInvite", "inviteUuid", "variantUuid")
    found = [tuple(row.get(key) for key in keys) for row in get_readership(world, made, "/sessions")]
    assert found == [
        (None, None, False, None, variant["uuid"]),
        ("bob@example.com", "Bob", True, bob["uuid"], None),
        ("eve@example.com", None, False, None, None),
    ]
    summary = get_readership(world, made, "")["summary"]
    assert summary["invitedNotViewed"] == 0


def test_a_later_entry_at_the_gate_does_not_rename_who_read_before(world: World, made: dict[str, Any]) -> None:
    put_settings(world, made, requireEmail=True)
    guest = pass_gate_and_read(world, made["shortId"], email="first@example.com")
    body = {"file": (io.BytesIO(simple_pdf(pages=2)), "v2.pdf")}
    assert world.pia.post(f"/api/v1/files/{made['uuid']}/content", data=body).status_code == 200
    pass_gate_and_read(world, made["shortId"], guest, email="second@example.com")
    end_all_sessions(world)
    expected = [("first@example.com", 1), ("second@example.com", 2)]
    assert [(row["email"], row["contentVersion"]) for row in get_readership(world, made, "/sessions")] == expected
    assert [row["email"] for row in get_readership(world, made, "")["sessions"]] == [
        "second@example.com",
        "first@example.com",
    ]


def test_an_invitee_keeps_their_address_whatever_they_type_at_the_gate(world: World, made: dict[str, Any]) -> None:
    field = {"key": "mail", "label": "Mail", "type": "email", "required": True}
    put_settings(world, made, gateFields=[field], notifyOnView=True)
    body = {"email": "zoe@example.com", "name": "Zoe", "mail": False}
    zoe = world.pia.post(f"/api/v1/files/{made['uuid']}/invites", json=body).get_json()
    pass_gate_and_read(world, zoe["url"].rsplit("/", 1)[1], mail="private@example.org")
    end_all_sessions(world)
    told = get_readership(world, made, "")
    keys = ("email", "name", "fromInvite", "inviteUuid")
    (row,) = told["sessions"]
    assert [row[key] for key in keys] == ["zoe@example.com", "Zoe", True, zoe["uuid"]]
    assert get_readership(world, made, f"/sessions/{row['sessionId']}")["inviteUuid"] == zoe["uuid"]
    assert [contact["fields"] for contact in told["contacts"]] == [{"mail": "private@example.org"}]
