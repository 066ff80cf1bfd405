"""The nine kinds of events: when each is sent, and exactly which keys it has."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from docshare.server.services.files import burn
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import count_rows, update_file_row
from tests.support.outside.queued_deliveries import (
    create_webhook_for,
    delivery_bodies,
    delivery_envelopes,
    list_activity,
)
from tests.support.owner.browser import get_readership, put_settings, sign_in_browser
from tests.support.people.cast import World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, RECT, FeedbackClient
from tests.support.people.gate_client import GateClient
from tests.support.people.known_readers import insert_invite
from tests.support.people.reader import FakeReader, end_all_sessions

pytestmark = [
    pytest.mark.file_document(name="Q3 & más.pdf"),
    pytest.mark.file_settings(**ALL_FEEDBACK_SETTINGS),
]

LABEL = "Ada & Söhne"
FORM = [
    {"key": "mail", "label": "Work mail", "type": "email", "required": True},
    {"key": "firm", "label": "Company", "type": "company", "required": False},
]
START = "2026-09-21T14:13:20.000Z"
SESSION, VIEWER = "<session>", "<viewer>"

CauseEvent = Callable[[World, dict[str, Any], str], None]


@pytest.fixture
def variant(world: World, uploaded_file: dict[str, Any]) -> dict[str, Any]:
    answer = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants", json={"label": LABEL})
    row: dict[str, Any] = answer.get_json()
    return row


def view_document(world: World, made: dict[str, Any], name: str) -> None:
    FakeReader(world, name).read_page(30, input=True)
    end_all_sessions(world)


def download_document(world: World, made: dict[str, Any], name: str) -> None:
    assert world.http.post(f"/{name}/download", buffered=True).status_code == 200


def submit_email(world: World, made: dict[str, Any], name: str) -> None:
    put_settings(world, made, requireEmail=True)
    assert GateClient(world, name).enter(email="ada@a.example")


def submit_gate_form(world: World, made: dict[str, Any], name: str) -> None:
    put_settings(world, made, gateFields=FORM)
    assert GateClient(world, name).enter(mail="ada@a.example", firm="Ünlü")


def leave_note_on_page(world: World, made: dict[str, Any], name: str) -> None:
    FeedbackClient(world, name).leave_note("A typo", page=2, public=True)


def leave_note_on_document(world: World, made: dict[str, Any], name: str) -> None:
    FeedbackClient(world, name).leave_note("Fine <b>\nby me", public=True)


def confirm_receipt(world: World, made: dict[str, Any], name: str) -> None:
    assert FeedbackClient(world, name).send("POST", "receipt", {"name": "Ann Lee"}).status_code == 201


def burn_file(world: World, made: dict[str, Any], name: str) -> None:
    put_settings(world, made, viewLimit=1)
    assert GateClient(world, name).enter()
    world.clock.advance(minutes=30)
    assert burn.destroy_due(world.rt) == 1


def replace_document(world: World, made: dict[str, Any], name: str) -> None:
    world.pia.replace(made["uuid"], simple_pdf(pages=4), "Q4.pdf")


def open_invite(world: World, made: dict[str, Any], name: str) -> None:
    body = {"email": "ivy@other.example", "name": "Ivy", "mail": False}
    link = world.pia.post(f"/api/v1/files/{made['uuid']}/invites", json=body).get_json()["url"]
    FakeReader(world, link.rpartition("/")[2]).read_page(30, input=True)


def open_nameless_invite(world: World, made: dict[str, Any], name: str) -> None:
    insert_invite(world, made["uuid"], "ivy@other.example", "Invited00001")
    FakeReader(world, "Invited00001").read_page(30, input=True)


def mark_page(world: World, made: dict[str, Any], name: str) -> None:
    assert FeedbackClient(world, name).mark_page(3, "reject") == 204


def annotate_page(world: World, made: dict[str, Any], name: str) -> None:
    FeedbackClient(world, name).annotate(page=2)


# Cause, kind, keys of the kind in order, timestamp, and whether a variant link adds the two keys of the variant.
ROWS: tuple[tuple[CauseEvent, str, list[tuple[str, Any]], str, bool], ...] = (
    (
        view_document,
        "file.viewed",
        [("pagesViewed", 1), ("timeMs", 30_000), ("sessionId", SESSION)],
        "2026-09-21T14:18:50.000Z",
        True,
    ),
    (download_document, "file.downloaded", [], START, True),
    (submit_email, "gate.completed", [("source", "email"), ("email", "ada@a.example")], START, False),
    (
        submit_gate_form,
        "gate.completed",
        [("source", "form"), ("email", "ada@a.example"), ("fields", {"mail": "ada@a.example", "firm": "Ünlü"})],
        START,
        False,
    ),
    (leave_note_on_page, "note.created", [("author", "Ann"), ("body", "A typo"), ("pageNumber", 2)], START, False),
    (leave_note_on_document, "note.created", [("author", "Ann"), ("body", "Fine <b>\nby me")], START, False),
    (confirm_receipt, "receipt.confirmed", [("name", "Ann Lee")], START, False),
    (burn_file, "file.burned", [], "2026-09-21T14:43:20.000Z", False),
    (replace_document, "content.replaced", [("contentVersion", 2)], START, False),
    (
        open_invite,
        "invite.viewed",
        [("email", "ivy@other.example"), ("name", "Ivy")],
        "2026-09-21T14:13:50.000Z",
        False,
    ),
    (
        open_nameless_invite,
        "invite.viewed",
        [("email", "ivy@other.example")],
        "2026-09-21T14:13:50.000Z",
        False,
    ),
    (mark_page, "proofing.updated", [("kind", "mark"), ("pageNumber", 3), ("viewer", VIEWER)], START, False),
    (annotate_page, "proofing.updated", [("kind", "annotation"), ("pageNumber", 2), ("viewer", VIEWER)], START, False),
)


def get_callable_name(value: object) -> str | None:
    return value.__name__ if callable(value) else None


def resolve_placeholders(world: World, made: dict[str, Any], extras: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Replace placeholders in ``extras`` with the random ids that the owner sees elsewhere."""
    known, random = {}, [value for _, value in extras if isinstance(value, str)]
    if SESSION in random:
        known[SESSION] = get_readership(world, made, "/sessions")[0]["sessionId"]
    if VIEWER in random:
        ((known[VIEWER],),) = world.rt.db.fetch_all("SELECT pseudonym FROM viewers")
        assert re.fullmatch("Reader [0-9A-F]{4}", known[VIEWER])
    return [(key, known.get(value, value) if isinstance(value, str) else value) for key, value in extras]


@pytest.mark.parametrize("through", ["canonical", "variant"])
@pytest.mark.parametrize(("cause", "kind", "extras", "timestamp", "adds_variant"), ROWS, ids=get_callable_name)
def test_each_kind_is_sent_once_with_exactly_its_keys(
    world: World,
    uploaded_file: dict[str, Any],
    variant: dict[str, Any],
    cause: CauseEvent,
    kind: str,
    extras: list[tuple[str, Any]],
    timestamp: str,
    adds_variant: bool,
    through: str,
) -> None:
    """The body is exactly the envelope; the activity feed has the same envelope with an id."""
    create_webhook_for(world, kind)
    cause(world, uploaded_file, (variant if through == "variant" else uploaded_file)["shortId"])
    data = [
        ("fileUuid", uploaded_file["uuid"]),
        ("fileName", "Q4.pdf" if kind == "content.replaced" else "Q3 & más.pdf"),
    ]
    data += resolve_placeholders(world, uploaded_file, extras)
    if through == "variant" and adds_variant:
        data += [("variantUuid", variant["uuid"]), ("variantLabel", LABEL)]
    envelope = {"event": kind, "timestamp": timestamp, "data": dict(data)}
    assert delivery_bodies(world) == [json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))]
    (row,) = list_activity(world, f"since=1&kind={kind}")
    ident = row.pop("id")
    assert ident >= 2
    assert json.dumps(row) == json.dumps(envelope)


def test_every_kind_has_a_row() -> None:
    assert {kind for _, kind, *_ in ROWS} == {
        "file.viewed", "file.downloaded", "gate.completed", "note.created", "receipt.confirmed", "file.burned",
        "content.replaced", "invite.viewed", "proofing.updated",
    }  # fmt: skip


def test_the_feed_the_session_and_the_webhook_agree_on_a_view(world: World, uploaded_file: dict[str, Any]) -> None:
    """The view is added to the feed when the session ends, together with ``file.viewed``."""
    create_webhook_for(world)
    reader = FakeReader(world, uploaded_file["shortId"])
    reader.read_page(30, input=True)
    reader.read_page(20, page=3, turns=1)
    assert (delivery_envelopes(world), list_activity(world)) == ([], [])
    end_all_sessions(world)
    (view,) = world.pia.get("/api/v1/events").get_json()
    (sent,), (row,) = delivery_envelopes(world), list_activity(world)
    (session,) = get_readership(world, uploaded_file, "/sessions")
    expected = (2, 50_000)
    assert (view["pagesViewed"], view["timeMs"]) == expected
    assert (sent["data"]["pagesViewed"], sent["data"]["timeMs"]) == expected
    assert (session["pagesViewed"], session["totalTimeMs"], session["sessionId"]) == (
        *expected,
        sent["data"]["sessionId"],
    )
    assert row == {"id": 2, **sent}
    end_all_sessions(world)
    assert len(delivery_envelopes(world)) == 1


def test_an_uncounted_session_is_not_an_event(world: World, uploaded_file: dict[str, Any]) -> None:
    create_webhook_for(world)
    FakeReader(world, uploaded_file["shortId"]).read_page(2, input=False)
    FakeReader(world, uploaded_file["shortId"]).read_page(60, input=False)
    FakeReader(world, uploaded_file["shortId"], user_agent="Slackbot-LinkExpanding 1.0").read_page(60)
    end_all_sessions(world)
    assert (delivery_envelopes(world), list_activity(world)) == ([], [])


def test_a_view_through_an_unlabeled_variant_has_only_its_uuid(world: World, uploaded_file: dict[str, Any]) -> None:
    create_webhook_for(world, "file.viewed")
    nameless = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants").get_json()
    view_document(world, uploaded_file, nameless["shortId"])
    (sent,) = delivery_envelopes(world)
    assert list(sent["data"]) == ["fileUuid", "fileName", "pagesViewed", "timeMs", "sessionId", "variantUuid"]


def test_a_view_through_a_deleted_variant_omits_the_variant(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    create_webhook_for(world, "file.viewed")
    FakeReader(world, variant["shortId"]).read_page(30, input=True)
    world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}/variants/{variant['uuid']}")
    end_all_sessions(world)
    (sent,) = delivery_envelopes(world)
    assert list(sent["data"]) == ["fileUuid", "fileName", "pagesViewed", "timeMs", "sessionId"]


@pytest.mark.parametrize("shape", ["slug", "short id", "uuid", "upper-case uuid", "variant"])
def test_an_event_has_the_uuid_of_the_file_for_every_kind_of_link(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any], shape: str
) -> None:
    """``fileUuid`` is the UUID of the file even if the reader used a short id, slug or variant."""
    update_file_row(world, uploaded_file["uuid"], slug="the-report")
    names = {
        "slug": "the-report",
        "short id": uploaded_file["shortId"],
        "uuid": uploaded_file["uuid"],
        "upper-case uuid": uploaded_file["uuid"].upper(),
        "variant": variant["uuid"],
    }
    create_webhook_for(world)
    view_document(world, uploaded_file, names[shape])
    assert [sent["data"]["fileUuid"] for sent in delivery_envelopes(world)] == [uploaded_file["uuid"]]


def test_actions_of_the_signed_in_owner_are_not_reported_except_replacements(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    """Only ``content.replaced`` is caused by owners; the other kinds are caused by readers."""
    create_webhook_for(world)
    http = sign_in_browser(world, world.pia)
    name = uploaded_file["shortId"]
    FakeReader(world, name, http=http).read_page(60, input=True)
    assert http.post(f"/{name}/download", buffered=True).status_code == 200
    owner = FeedbackClient(world, name, http=http)
    for method, path, body in (
        ("POST", "notes", {"author": "Pia", "body": "Mine", "public": True}),
        ("PUT", "marks/1", {"mark": "pick"}),
        ("POST", "annotations", {"page": 1, "rect": RECT, "note": "Mine"}),
        ("POST", "receipt", {"name": "Pia"}),
    ):
        assert owner.send(method, path, body).status_code == 403
    put_settings(world, uploaded_file, gateFields=FORM)
    http.post(f"/{name}/enter", data={"field-mail": "pia@example.com"})
    end_all_sessions(world)
    assert (delivery_envelopes(world), list_activity(world)) == ([], [])
    replace_document(world, uploaded_file, name)
    assert [sent["event"] for sent in delivery_envelopes(world)] == ["content.replaced"]


def test_a_gate_response_below_pro_is_stored_but_not_sent_after_an_upgrade(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    """An event that happens below Pro is never queued, not even after an upgrade; the gate response is stored."""
    create_webhook_for(world, "gate.completed")
    put_settings(world, uploaded_file, gateFields=FORM)
    accounts.set_tier(world.rt, world.pia.email, Plan.BASIC)
    assert GateClient(world, uploaded_file["shortId"]).enter(mail="below@a.example")
    assert (delivery_bodies(world), list_activity(world), list_activity(world, "kind=gate.completed")) == ([], [], [])
    accounts.set_tier(world.rt, world.pia.email, Plan.PRO)
    assert delivery_bodies(world) == []
    assert [row["data"]["email"] for row in list_activity(world)] == ["below@a.example"]
    assert GateClient(world, uploaded_file["shortId"]).enter(mail="again@a.example")
    assert [sent["data"]["email"] for sent in delivery_envelopes(world)] == ["again@a.example"]
    assert count_rows(world, "gate_rows") == 2


def test_proofing_is_sent_once_per_reader_and_file(world: World, uploaded_file: dict[str, Any]) -> None:
    """Only the first page mark or annotation of a reader on a file is an event."""
    create_webhook_for(world, "proofing.updated")
    other = world.pia.upload()
    put_settings(world, other, **ALL_FEEDBACK_SETTINGS)
    ann = FeedbackClient(world, uploaded_file["shortId"])
    assert [ann.mark_page(1, "pick"), ann.mark_page(2, "reject"), ann.mark_page(1, None)] == [204] * 3
    ann.annotate(page=3)
    FeedbackClient(world, uploaded_file["shortId"]).annotate(page=3)
    assert FeedbackClient(world, other["shortId"], http=ann.http).mark_page(2, "maybe") == 204
    found = [
        (sent["data"]["fileUuid"], sent["data"]["kind"], sent["data"]["pageNumber"])
        for sent in delivery_envelopes(world)
    ]
    assert found == [
        (uploaded_file["uuid"], "mark", 1),
        (uploaded_file["uuid"], "annotation", 3),
        (other["uuid"], "mark", 2),
    ]


def test_an_invite_view_is_sent_once(world: World, uploaded_file: dict[str, Any]) -> None:
    """Only the first time that the invitee opens the document is an event."""
    create_webhook_for(world, "invite.viewed")
    insert_invite(world, uploaded_file["uuid"], "ivy@other.example", "Invited00001")
    for _ in range(2):
        FakeReader(world, "Invited00001").read_page(30, input=True)
        end_all_sessions(world)
    assert len(delivery_envelopes(world)) == 1


def test_a_private_note_is_not_an_event(world: World, uploaded_file: dict[str, Any]) -> None:
    """Only public notes are events."""
    create_webhook_for(world)
    FeedbackClient(world, uploaded_file["shortId"]).leave_note("Between us", public=False)
    assert (delivery_envelopes(world), list_activity(world)) == ([], [])


def test_only_the_first_receipt_of_a_reader_is_sent(world: World, uploaded_file: dict[str, Any]) -> None:
    """A repeated confirmation by the same reader is not an event."""
    create_webhook_for(world)
    ann = FeedbackClient(world, uploaded_file["shortId"])
    assert [ann.send("POST", "receipt", {"name": name}).status_code for name in ("Ann", "Ann", "Bob")] == [
        201,
        200,
        200,
    ]
    assert [sent["data"]["name"] for sent in delivery_envelopes(world)] == ["Ann"]


def test_activity_of_a_trashed_file_is_listed_after_a_restore(world: World, uploaded_file: dict[str, Any]) -> None:
    """This includes a session that ends after its file was trashed; rows keep their ids."""
    download_document(world, uploaded_file, uploaded_file["shortId"])
    FakeReader(world, uploaded_file["shortId"]).read_page(30, input=True)
    world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}")
    end_all_sessions(world)
    assert list_activity(world) == list_activity(world, f"file={uploaded_file['shortId']}") == []
    assert world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/restore").status_code == 200
    assert [(row["id"], row["event"]) for row in list_activity(world)] == [(2, "file.downloaded"), (3, "file.viewed")]


def test_an_event_is_sent_to_webhooks_that_subscribe_to_it(world: World, uploaded_file: dict[str, Any]) -> None:
    """A webhook receives events of one file or of the whole account, but never of another account."""
    other = world.pia.upload()
    wanted = {
        create_webhook_for(world, "file.downloaded").uuid,
        create_webhook_for(world, "note.created", "file.downloaded", fileUuid=uploaded_file["uuid"]).uuid,
    }
    create_webhook_for(world, "file.viewed")
    create_webhook_for(world, "file.downloaded", fileUuid=other["uuid"])
    create_webhook_for(world, "file.downloaded", person=world.mal)
    download_document(world, uploaded_file, uploaded_file["shortId"])
    found = world.rt.db.fetch_all("SELECT w.uuid FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id")
    assert {uuid for (uuid,) in found} == wanted
    assert len(found) == 2
