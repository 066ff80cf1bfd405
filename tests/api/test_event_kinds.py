"""The nine kinds of events: when each is told, and with exactly which keys (section Webhook event kinds)."""

import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from docshare.server.services.files import burn
from tests.support.acquainted import invited
from tests.support.cast import World
from tests.support.guest import Guest
from tests.support.leaving import EVERYTHING, RECT, Hand
from tests.support.owner import asked, put, signed_in
from tests.support.pdfs import simple_pdf
from tests.support.reader import Reader, everybody_leaves
from tests.support.rows import change_file, count
from tests.support.told import activity, bodies, hooked, told

LABEL = "Ada & Söhne"
FORM = [
    {"key": "mail", "label": "Work mail", "type": "email", "required": True},
    {"key": "firm", "label": "Company", "type": "company", "required": False},
]
START = "2026-09-21T14:13:20.000Z"
SESSION, VIEWER = "<session>", "<viewer>"

Scene = Callable[[World, dict[str, Any], str], None]


@pytest.fixture
def made(world: World) -> dict[str, Any]:
    """Pia's file, on which readers may leave everything."""
    made = world.pia.upload(name="Q3 & más.pdf")
    put(world, made, **EVERYTHING)
    return made


@pytest.fixture
def variant(world: World, made: dict[str, Any]) -> dict[str, Any]:
    answer = world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json={"label": LABEL})
    row: dict[str, Any] = answer.get_json()
    return row


def views(world: World, made: dict[str, Any], name: str) -> None:
    Reader(world, name).reads(30, input=True)
    everybody_leaves(world)


def downloads(world: World, made: dict[str, Any], name: str) -> None:
    assert world.http.post(f"/{name}/download", buffered=True).status_code == 200


def gives_an_address(world: World, made: dict[str, Any], name: str) -> None:
    put(world, made, requireEmail=True)
    assert Guest(world, name).enters(email="ada@a.example")


def fills_in_the_form(world: World, made: dict[str, Any], name: str) -> None:
    put(world, made, gateFields=FORM)
    assert Guest(world, name).enters(mail="ada@a.example", firm="Ünlü")


def notes_the_page(world: World, made: dict[str, Any], name: str) -> None:
    Hand(world, name).note("A typo", page=2, public=True)


def notes_the_document(world: World, made: dict[str, Any], name: str) -> None:
    Hand(world, name).note("Fine <b>\nby me", public=True)


def confirms(world: World, made: dict[str, Any], name: str) -> None:
    assert Hand(world, name).send("POST", "receipt", {"name": "Ann Lee"}).status_code == 201


def burns(world: World, made: dict[str, Any], name: str) -> None:
    put(world, made, viewLimit=1)
    assert Guest(world, name).enters()
    world.clock.advance(minutes=30)
    assert burn.burn_due(world.rt) == 1


def is_replaced(world: World, made: dict[str, Any], name: str) -> None:
    body = {"file": (io.BytesIO(simple_pdf(pages=4)), "Q4.pdf")}
    assert world.pia.post(f"/api/v1/files/{made['uuid']}/content", data=body).status_code == 200


def follows_an_invitation(world: World, made: dict[str, Any], name: str) -> None:
    body = {"email": "ivy@other.example", "name": "Ivy", "mail": False}
    link = world.pia.post(f"/api/v1/files/{made['uuid']}/invites", json=body).get_json()["url"]
    Reader(world, link.rpartition("/")[2]).reads(30, input=True)


def follows_a_nameless_invitation(world: World, made: dict[str, Any], name: str) -> None:
    invited(world, made["uuid"], "ivy@other.example", "Invited00001")
    Reader(world, "Invited00001").reads(30, input=True)


def marks(world: World, made: dict[str, Any], name: str) -> None:
    assert Hand(world, name).mark(3, "reject") == 204


def annotates(world: World, made: dict[str, Any], name: str) -> None:
    Hand(world, name).annotate(page=2)


# Typed from the table of the specification: what happens, its kind, its own keys in their order, when it is told as
# happened, and whether a variant's link adds the two keys of the variant.
ROWS: tuple[tuple[Scene, str, list[tuple[str, Any]], str, bool], ...] = (
    (
        views,
        "file.viewed",
        [("pagesViewed", 1), ("timeMs", 30_000), ("sessionId", SESSION)],
        "2026-09-21T14:18:50.000Z",
        True,
    ),
    (downloads, "file.downloaded", [], START, True),
    (gives_an_address, "gate.completed", [("source", "email"), ("email", "ada@a.example")], START, False),
    (
        fills_in_the_form,
        "gate.completed",
        [("source", "form"), ("email", "ada@a.example"), ("fields", {"mail": "ada@a.example", "firm": "Ünlü"})],
        START,
        False,
    ),
    (notes_the_page, "note.created", [("author", "Ann"), ("body", "A typo"), ("pageNumber", 2)], START, False),
    (notes_the_document, "note.created", [("author", "Ann"), ("body", "Fine <b>\nby me")], START, False),
    (confirms, "receipt.confirmed", [("name", "Ann Lee")], START, False),
    (burns, "file.burned", [], "2026-09-21T14:43:20.000Z", False),
    (is_replaced, "content.replaced", [("contentVersion", 2)], START, False),
    (
        follows_an_invitation,
        "invite.viewed",
        [("email", "ivy@other.example"), ("name", "Ivy")],
        "2026-09-21T14:13:50.000Z",
        False,
    ),
    (
        follows_a_nameless_invitation,
        "invite.viewed",
        [("email", "ivy@other.example")],
        "2026-09-21T14:13:50.000Z",
        False,
    ),
    (marks, "proofing.updated", [("kind", "mark"), ("pageNumber", 3), ("viewer", VIEWER)], START, False),
    (annotates, "proofing.updated", [("kind", "annotation"), ("pageNumber", 2), ("viewer", VIEWER)], START, False),
)


def name_of(value: object) -> str | None:
    return value.__name__ if callable(value) else None


def filled_in(world: World, made: dict[str, Any], extras: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """``extras`` with the names that are random, as the owner finds them elsewhere."""
    known, random = {}, [value for _, value in extras if isinstance(value, str)]
    if SESSION in random:
        known[SESSION] = asked(world, made, "/sessions")[0]["sessionId"]
    if VIEWER in random:
        ((known[VIEWER],),) = world.rt.db.rows("SELECT pseudonym FROM viewers")
        assert re.fullmatch("Reader [0-9A-F]{4}", known[VIEWER])
    return [(key, known.get(value, value) if isinstance(value, str) else value) for key, value in extras]


@pytest.mark.parametrize("through", ["canonical", "variant"])
@pytest.mark.parametrize(("happens", "kind", "extras", "timestamp", "tells_variant"), ROWS, ids=name_of)
def test_a_kind_is_told_once_with_exactly_its_keys(
    world: World,
    made: dict[str, Any],
    variant: dict[str, Any],
    happens: Scene,
    kind: str,
    extras: list[tuple[str, Any]],
    timestamp: str,
    tells_variant: bool,
    through: str,
) -> None:
    """The body is the envelope, byte for byte, and the activity feed has the same under an id."""
    hooked(world, kind)
    happens(world, made, (variant if through == "variant" else made)["shortId"])
    data = [("fileUuid", made["uuid"]), ("fileName", "Q4.pdf" if kind == "content.replaced" else "Q3 & más.pdf")]
    data += filled_in(world, made, extras)
    if through == "variant" and tells_variant:
        data += [("variantUuid", variant["uuid"]), ("variantLabel", LABEL)]
    envelope = {"event": kind, "timestamp": timestamp, "data": dict(data)}
    assert bodies(world) == [json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))]
    (row,) = activity(world, f"since=1&kind={kind}")
    ident = row.pop("id")
    assert ident >= 2
    assert json.dumps(row) == json.dumps(envelope)


def test_every_kind_of_the_specification_has_its_row() -> None:
    assert {kind for _, kind, *_ in ROWS} == {
        "file.viewed", "file.downloaded", "gate.completed", "note.created", "receipt.confirmed", "file.burned",
        "content.replaced", "invite.viewed", "proofing.updated",
    }  # fmt: skip


def test_a_view_of_the_feed_the_record_and_the_webhook_agree(world: World, made: dict[str, Any]) -> None:
    """A view row enters the feed when the session ends, together with ``file.viewed``."""
    hooked(world)
    reader = Reader(world, made["shortId"])
    reader.reads(30, input=True)
    reader.reads(20, page=3, turns=1)
    assert (told(world), activity(world)) == ([], [])
    everybody_leaves(world)
    (view,) = world.pia.get("/api/v1/events").get_json()
    (sent,), (row,) = told(world), activity(world)
    (session,) = asked(world, made, "/sessions")
    expected = (2, 50_000)
    assert (view["pagesViewed"], view["timeMs"]) == expected
    assert (sent["data"]["pagesViewed"], sent["data"]["timeMs"]) == expected
    assert (session["pagesViewed"], session["totalTimeMs"], session["sessionId"]) == (
        *expected,
        sent["data"]["sessionId"],
    )
    assert row == {"id": 2, **sent}
    everybody_leaves(world)
    assert len(told(world)) == 1


def test_a_session_that_was_not_counted_is_no_event(world: World, made: dict[str, Any]) -> None:
    hooked(world)
    Reader(world, made["shortId"]).reads(2, input=False)
    Reader(world, made["shortId"]).reads(60, input=False)
    Reader(world, made["shortId"], user_agent="Slackbot-LinkExpanding 1.0").reads(60)
    everybody_leaves(world)
    assert (told(world), activity(world)) == ([], [])


def test_a_variant_without_a_label_is_told_by_its_uuid_alone(world: World, made: dict[str, Any]) -> None:
    hooked(world, "file.viewed")
    nameless = world.pia.post(f"/api/v1/files/{made['uuid']}/variants").get_json()
    views(world, made, nameless["shortId"])
    (sent,) = told(world)
    assert list(sent["data"]) == ["fileUuid", "fileName", "pagesViewed", "timeMs", "sessionId", "variantUuid"]


def test_a_view_through_a_variant_that_was_deleted_meanwhile_is_told_without_it(
    world: World, made: dict[str, Any], variant: dict[str, Any]
) -> None:
    hooked(world, "file.viewed")
    Reader(world, variant["shortId"]).reads(30, input=True)
    world.pia.delete(f"/api/v1/files/{made['uuid']}/variants/{variant['uuid']}")
    everybody_leaves(world)
    (sent,) = told(world)
    assert list(sent["data"]) == ["fileUuid", "fileName", "pagesViewed", "timeMs", "sessionId"]


@pytest.mark.parametrize("shape", ["slug", "short id", "uuid", "upper-case uuid", "variant"])
def test_the_file_is_told_by_its_own_uuid_however_it_was_reached(
    world: World, made: dict[str, Any], variant: dict[str, Any], shape: str
) -> None:
    """``fileUuid`` is the canonical UUID even when reached by short id, slug or variant."""
    change_file(world, made["uuid"], slug="the-report")
    names = {
        "slug": "the-report",
        "short id": made["shortId"],
        "uuid": made["uuid"],
        "upper-case uuid": made["uuid"].upper(),
        "variant": variant["uuid"],
    }
    hooked(world)
    views(world, made, names[shape])
    assert [sent["data"]["fileUuid"] for sent in told(world)] == [made["uuid"]]


def test_the_owner_is_told_nothing_of_what_they_do_but_a_replacement(world: World, made: dict[str, Any]) -> None:
    """Owner actions never fire visitor-triggered kinds; ``content.replaced`` is an owner action and does fire."""
    hooked(world)
    http = signed_in(world, world.pia)
    name = made["shortId"]
    Reader(world, name, http=http).reads(60, input=True)
    assert http.post(f"/{name}/download", buffered=True).status_code == 200
    owner = Hand(world, name, http=http)
    for method, path, body in (
        ("POST", "notes", {"author": "Pia", "body": "Mine", "public": True}),
        ("PUT", "marks/1", {"mark": "pick"}),
        ("POST", "annotations", {"page": 1, "rect": RECT, "note": "Mine"}),
        ("POST", "receipt", {"name": "Pia"}),
    ):
        assert owner.send(method, path, body).status_code == 403
    put(world, made, gateFields=FORM)
    http.post(f"/{name}/enter", data={"field-mail": "pia@example.com"})
    everybody_leaves(world)
    assert (told(world), activity(world)) == ([], [])
    is_replaced(world, made, name)
    assert [sent["event"] for sent in told(world)] == ["content.replaced"]


def test_a_gate_below_pro_is_never_queued_and_goes_on_with_the_plan(world: World, made: dict[str, Any]) -> None:
    """Easy to get wrong 67: not Pro at event time is never queued, also not after an upgrade; the capture is kept."""
    hooked(world, "gate.completed")
    put(world, made, gateFields=FORM)
    accounts.set_tier(world.rt, world.pia.email, Plan.BASIC)
    assert Guest(world, made["shortId"]).enters(mail="below@a.example")
    assert (bodies(world), activity(world), activity(world, "kind=gate.completed")) == ([], [], [])
    accounts.set_tier(world.rt, world.pia.email, Plan.PRO)
    assert bodies(world) == []
    assert [row["data"]["email"] for row in activity(world)] == ["below@a.example"]
    assert Guest(world, made["shortId"]).enters(mail="again@a.example")
    assert [sent["data"]["email"] for sent in told(world)] == ["again@a.example"]
    assert count(world, "gate_rows") == 2


def test_proofing_is_told_once_for_each_reader_and_file(world: World, made: dict[str, Any]) -> None:
    """A viewer's first page mark or annotation on a document (once per viewer per file)."""
    hooked(world, "proofing.updated")
    other = world.pia.upload()
    put(world, other, **EVERYTHING)
    ann = Hand(world, made["shortId"])
    assert [ann.mark(1, "pick"), ann.mark(2, "reject"), ann.mark(1, None)] == [204] * 3
    ann.annotate(page=3)
    Hand(world, made["shortId"]).annotate(page=3)
    assert Hand(world, other["shortId"], http=ann.http).mark(2, "maybe") == 204
    found = [(sent["data"]["fileUuid"], sent["data"]["kind"], sent["data"]["pageNumber"]) for sent in told(world)]
    assert found == [(made["uuid"], "mark", 1), (made["uuid"], "annotation", 3), (other["uuid"], "mark", 2)]


def test_an_invitation_is_told_once(world: World, made: dict[str, Any]) -> None:
    """An e-mail invitee opens the document for the first time."""
    hooked(world, "invite.viewed")
    invited(world, made["uuid"], "ivy@other.example", "Invited00001")
    for _ in range(2):
        Reader(world, "Invited00001").reads(30, input=True)
        everybody_leaves(world)
    assert len(told(world)) == 1


def test_a_note_for_the_owner_alone_is_no_event(world: World, made: dict[str, Any]) -> None:
    """A viewer leaves a public note."""
    hooked(world)
    Hand(world, made["shortId"]).note("Between us", public=False)
    assert (told(world), activity(world)) == ([], [])


def test_a_receipt_is_told_when_it_is_fresh(world: World, made: dict[str, Any]) -> None:
    """A fresh mark-as-received."""
    hooked(world)
    ann = Hand(world, made["shortId"])
    assert [ann.send("POST", "receipt", {"name": name}).status_code for name in ("Ann", "Ann", "Bob")] == [
        201,
        200,
        200,
    ]
    assert [sent["data"]["name"] for sent in told(world)] == ["Ann"]


def test_what_happened_to_a_file_in_the_trash_is_told_when_it_comes_back(world: World, made: dict[str, Any]) -> None:
    """A session that ends after its file was trashed: its row is hidden like the others, and keeps its id."""
    downloads(world, made, made["shortId"])
    Reader(world, made["shortId"]).reads(30, input=True)
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    everybody_leaves(world)
    assert activity(world) == activity(world, f"file={made['shortId']}") == []
    assert world.pia.post(f"/api/v1/files/{made['uuid']}/restore").status_code == 200
    assert [(row["id"], row["event"]) for row in activity(world)] == [(2, "file.downloaded"), (3, "file.viewed")]


def test_an_event_goes_to_the_webhooks_that_ask_for_it(world: World, made: dict[str, Any]) -> None:
    """Webhooks may be scoped to one file; unscoped ones receive all account events, and nobody another account's."""
    other = world.pia.upload()
    wanted = {
        hooked(world, "file.downloaded").uuid,
        hooked(world, "note.created", "file.downloaded", fileUuid=made["uuid"]).uuid,
    }
    hooked(world, "file.viewed")
    hooked(world, "file.downloaded", fileUuid=other["uuid"])
    hooked(world, "file.downloaded", person=world.mal)
    downloads(world, made, made["shortId"])
    found = world.rt.db.rows("SELECT w.uuid FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id")
    assert {uuid for (uuid,) in found} == wanted
    assert len(found) == 2
