"""Identity of a session: email, name, and the invite or variant that the reader used."""

from typing import Any

from tests.support.documents.pdfs import simple_pdf
from tests.support.owner.browser import get_readership, put_settings
from tests.support.people.cast import World
from tests.support.people.gate_client import GateClient
from tests.support.people.reader import FakeReader, end_all_sessions


def pass_gate_and_read(world: World, name: str, guest: GateClient | None = None, **values: str) -> GateClient:
    """Fill in the gate of ``name`` with ``values`` if there is one, read the first page and leave."""
    guest = guest or GateClient(world, name)
    assert guest.enter(**values)
    reader = FakeReader(world, name, http=guest.http)
    reader.read_page(9)
    reader.leave()
    return guest


def test_a_session_has_the_known_identity_of_its_reader(world: World, uploaded_file: dict[str, Any]) -> None:
    """``email`` and ``name`` are those of the invitee or of the gate response."""
    variant = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants", json={"label": "Ada"}).get_json()
    body = {"email": "bob@example.com", "name": "Bob", "mail": False}
    bob = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/invites", json=body).get_json()
    for name in (variant["shortId"], bob["url"].rsplit("/", 1)[1]):
        pass_gate_and_read(world, name)
        world.clock.advance(minutes=2)
    put_settings(world, uploaded_file, requireEmail=True)
    pass_gate_and_read(world, uploaded_file["shortId"], email="eve@example.com")
    end_all_sessions(world)
    keys = ("email", "name", "fromInvite", "inviteUuid", "variantUuid")
    found = [tuple(row.get(key) for key in keys) for row in get_readership(world, uploaded_file, "/sessions")]
    assert found == [
        (None, None, False, None, variant["uuid"]),
        ("bob@example.com", "Bob", True, bob["uuid"], None),
        ("eve@example.com", None, False, None, None),
    ]
    summary = get_readership(world, uploaded_file, "")["summary"]
    assert summary["invitedNotViewed"] == 0


def test_a_later_gate_response_does_not_change_earlier_sessions(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, requireEmail=True)
    guest = pass_gate_and_read(world, uploaded_file["shortId"], email="first@example.com")
    world.pia.replace(uploaded_file["uuid"], simple_pdf(pages=2), "v2.pdf")
    pass_gate_and_read(world, uploaded_file["shortId"], guest, email="second@example.com")
    end_all_sessions(world)
    expected = [("first@example.com", 1), ("second@example.com", 2)]
    assert [
        (row["email"], row["contentVersion"]) for row in get_readership(world, uploaded_file, "/sessions")
    ] == expected
    assert [row["email"] for row in get_readership(world, uploaded_file, "")["sessions"]] == [
        "second@example.com",
        "first@example.com",
    ]


def test_a_gate_response_does_not_change_the_email_of_an_invitee(world: World, uploaded_file: dict[str, Any]) -> None:
    field = {"key": "mail", "label": "Mail", "type": "email", "required": True}
    put_settings(world, uploaded_file, gateFields=[field], notifyOnView=True)
    body = {"email": "zoe@example.com", "name": "Zoe", "mail": False}
    zoe = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/invites", json=body).get_json()
    pass_gate_and_read(world, zoe["url"].rsplit("/", 1)[1], mail="private@example.org")
    end_all_sessions(world)
    told = get_readership(world, uploaded_file, "")
    keys = ("email", "name", "fromInvite", "inviteUuid")
    (row,) = told["sessions"]
    assert [row[key] for key in keys] == ["zoe@example.com", "Zoe", True, zoe["uuid"]]
    assert get_readership(world, uploaded_file, f"/sessions/{row['sessionId']}")["inviteUuid"] == zoe["uuid"]
    assert [contact["fields"] for contact in told["contacts"]] == [{"mail": "private@example.org"}]
