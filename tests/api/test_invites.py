"""Invites: personal links by email."""

import json
import re
from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from docshare.server.services.operations import mail
from tests.api.route_table import UNKNOWN_UUID
from tests.support.engines.rows import update_file_row
from tests.support.people.cast import Person, World
from tests.support.people.reader import FakeReader, list_view_rows


def build_invites_path(made: dict[str, Any]) -> str:
    return f"/api/v1/files/{made['uuid']}/invites"


def invite(owner: Person, made: dict[str, Any], email: str = "ann@example.com", **body: Any) -> dict[str, Any]:
    answer = owner.post(build_invites_path(made), json={"email": email, **body})
    assert answer.status_code == 201, answer.text
    row: dict[str, Any] = answer.get_json()
    return row


def list_viewed_events(world: World) -> list[dict[str, Any]]:
    return [
        json.loads(row[0])
        for row in world.rt.db.fetch_all("SELECT data FROM activity_rows WHERE event='invite.viewed'")
    ]


def test_an_invite_has_a_personal_link(world: World, uploaded_file: dict[str, Any]) -> None:
    row = invite(world.pia, uploaded_file, name="  Ann Lee ")
    assert list(row) == ["uuid", "email", "name", "url", "createdAt"]
    assert (row["email"], row["name"]) == ("ann@example.com", "Ann Lee")
    assert re.fullmatch(r"http://127\.0\.0\.1:8787/[0-9A-Za-z]{12}", row["url"])
    assert uploaded_file["shortId"] not in row["url"]
    assert world.pia.get(build_invites_path(uploaded_file)).get_json() == [row]


def test_the_list_shows_invites_of_the_file_newest_first(world: World, uploaded_file: dict[str, Any]) -> None:
    invite(world.pia, world.pia.upload(), "other@example.com")
    names = ["a@example.com", "b@example.com", "c@example.com"]
    for name in names:
        invite(world.pia, uploaded_file, name)
    assert [row["email"] for row in world.pia.get(build_invites_path(uploaded_file)).get_json()] == names[::-1]


def test_a_second_invite_to_an_address_returns_the_first(world: World, uploaded_file: dict[str, Any]) -> None:
    row = invite(world.pia, uploaded_file)
    again = world.pia.post(build_invites_path(uploaded_file), json={"email": "ANN@example.com", "name": "Somebody"})
    assert (again.status_code, again.get_json()) == (200, row)
    assert len(mail.list_outbox(world.rt)) == 1


def test_the_email_has_the_link_and_omits_the_name_of_a_protected_file(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    first = invite(world.pia, uploaded_file)
    world.pia.put(f"/api/v1/files/{uploaded_file['uuid']}/settings", json={"password": "open sesame"})
    invite(world.pia, uploaded_file, "bob@example.com")
    invite(world.pia, uploaded_file, "eve@example.com", mail=False)
    second, told = mail.list_outbox(world.rt)
    assert told["subject"] == 'Pia shares "report.pdf" with you'
    assert first["url"] in str(mail.show(world.rt, str(told["uuid"]))["message"])
    shown = mail.show(world.rt, str(second["uuid"]))
    assert second["to"] == "bob@example.com"
    assert "report.pdf" not in json.dumps(shown)


def test_the_email_omits_a_hidden_sender(world: World, uploaded_file: dict[str, Any]) -> None:
    world.pia.put(f"/api/v1/files/{uploaded_file['uuid']}/settings", json={"showSender": False})
    row = invite(world.pia, uploaded_file)
    (sent,) = mail.list_outbox(world.rt)
    assert sent["subject"] == '"report.pdf" was shared with you'
    message = str(mail.show(world.rt, str(sent["uuid"]))["message"])
    assert (row["url"] in message, "Pia" in message, "pia@example.com" in message) == (True, False, False)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"email": None},
        {"email": 7},
        {"email": ["a@example.com"]},
        {"email": ""},
        {"email": "ann"},
        {"email": "ann@"},
        {"email": "@example.com"},
        {"email": "ann@example.com, bob@example.com"},
        {"email": "Ann <ann@example.com>"},
        {"email": "ann@example.com\r\nBcc: mal@example.com"},
        {"email": "ann lee@example.com"},
        {"email": "a" * 65 + "@example.com"},
        {"email": "ann@" + "a" * 64 + ".com"},
        {"email": "ann@example.com", "name": "x" * 121},
        {"email": "ann@example.com", "name": 5},
        {"email": "ann@example.com", "name": None},
        {"email": "ann@example.com", "name": "a\nb"},
        {"email": "ann@example.com", "mail": "yes"},
    ],
)
def test_a_malformed_body_is_400_and_creates_no_invite(
    world: World, uploaded_file: dict[str, Any], body: dict[str, Any]
) -> None:
    answer = world.pia.post(build_invites_path(uploaded_file), json=body)
    assert (answer.status_code, answer.get_json()["code"]) == (400, "bad_request")
    assert world.pia.get(build_invites_path(uploaded_file)).get_json() == []
    assert mail.list_outbox(world.rt) == []


def test_a_foreign_unknown_or_trashed_file_is_404(world: World, uploaded_file: dict[str, Any]) -> None:
    assert world.mal.get(build_invites_path(uploaded_file)).status_code == 404
    assert world.mal.post(build_invites_path(uploaded_file), json={"email": "a@example.com"}).status_code == 404
    assert world.pia.get(build_invites_path({"uuid": UNKNOWN_UUID})).status_code == 404
    world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}")
    assert world.pia.get(build_invites_path(uploaded_file)).status_code == 404


def test_invites_require_the_pro_plan(world: World) -> None:
    made = world.bea.upload()
    for answer in (
        world.bea.get(build_invites_path(made)),
        world.bea.post(build_invites_path(made), json={"email": "a@example.com"}),
    ):
        assert (answer.status_code, answer.get_json()["code"]) == (403, "plan_required")
        assert "requires the pro plan" in answer.get_json()["detail"]
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_the_1001st_invite_is_400(world: World, uploaded_file: dict[str, Any]) -> None:
    with world.rt.db.write():
        world.rt.db.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
            "INSERT INTO invites (uuid, short_id, file_id, email, created_at) "
            "SELECT 'u' || i, 's' || i, (SELECT id FROM files WHERE uuid = ?), i || '@example.com', 1 FROM n",
            (uploaded_file["uuid"],),
        )
    assert world.pia.post(build_invites_path(uploaded_file), json={"email": "one@more.example"}).status_code == 400
    assert world.pia.post(build_invites_path(uploaded_file), json={"email": "7@example.com"}).status_code == 200


def get_short_id(row: dict[str, Any]) -> str:
    return str(row["url"].rsplit("/", 1)[1])


def test_only_the_first_counted_view_of_an_invite_is_an_event(world: World, uploaded_file: dict[str, Any]) -> None:
    row = invite(world.pia, uploaded_file, name="Ann")
    reader = FakeReader(world, get_short_id(row))
    assert list_viewed_events(world) == []
    reader.read_page(6)
    seen_at = world.pia.get(build_invites_path(uploaded_file)).get_json()[0]["viewedAt"]
    reader.read_page(6)
    FakeReader(world, get_short_id(row), address="198.51.100.99").read_page(60)
    assert list_viewed_events(world) == [
        {"fileUuid": uploaded_file["uuid"], "fileName": "report.pdf", "email": "ann@example.com", "name": "Ann"}
    ]
    assert world.pia.get(build_invites_path(uploaded_file)).get_json()[0]["viewedAt"] == seen_at
    assert [view["fileUuid"] for view in list_view_rows(world)] == [uploaded_file["uuid"]] * 2


def test_a_scanner_does_not_mark_an_invite_as_viewed(world: World, uploaded_file: dict[str, Any]) -> None:
    row = invite(world.pia, uploaded_file)
    FakeReader(world, get_short_id(row)).read_page(20, input=False)
    world.clock.advance(minutes=10)
    assert "viewedAt" not in world.pia.get(build_invites_path(uploaded_file)).get_json()[0]


def test_a_personal_link_does_not_disclose_other_links_of_the_file(world: World, uploaded_file: dict[str, Any]) -> None:
    slug = "the-offer"
    world.pia.put(f"/api/v1/files/{uploaded_file['uuid']}/settings", json={"slug": slug})
    name = get_short_id(invite(world.pia, uploaded_file))
    answers = [
        world.http.get(f"/{name}"),
        world.http.get(f"/embed/{name}"),
        world.http.get(f"/api/files/{name}/metadata"),
        world.http.get(f"/oembed?url=http://127.0.0.1:8787/{name}"),
        world.http.get(f"/{name}/text/1.json?v=1"),
    ]
    assert [answer.status_code for answer in answers] == [200] * 5
    for answer in answers:
        told = answer.get_data(as_text=True) + str(answer.headers)
        assert not [canary for canary in (uploaded_file["uuid"], uploaded_file["shortId"], slug) if canary in told]


def test_a_personal_link_expires_with_its_file(world: World, uploaded_file: dict[str, Any]) -> None:
    name = get_short_id(invite(world.pia, uploaded_file))
    update_file_row(world, uploaded_file["uuid"], delete_at=world.clock.now - 1)
    assert world.http.get(f"/{name}").status_code == 410
    update_file_row(world, uploaded_file["uuid"], delete_at=None)
    world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}")
    assert world.http.get(f"/{name}").get_data() == world.http.get("/abcdefghijkl").get_data()
    assert world.http.get(f"/{name}").status_code == 404


@pytest.mark.parametrize("ended", ["delete_at", "burned_at"])
def test_an_invite_to_an_expired_or_burned_file_is_410(world: World, uploaded_file: dict[str, Any], ended: str) -> None:
    existing = invite(world.pia, uploaded_file, mail=False)
    update_file_row(world, uploaded_file["uuid"], **{ended: world.clock.now})
    for email in ("late@example.com", "ann@example.com"):
        answer = world.pia.post(build_invites_path(uploaded_file), json={"email": email})
        assert (answer.status_code, answer.get_json()["code"]) == (410, "gone")
    assert world.pia.get(build_invites_path(uploaded_file)).get_json() == [existing]
    assert mail.list_outbox(world.rt) == []


def test_the_api_does_not_accept_the_short_id_of_an_invite(world: World, uploaded_file: dict[str, Any]) -> None:
    name = get_short_id(invite(world.pia, uploaded_file))
    assert world.pia.get(f"/api/v1/files/{name}").status_code == 404


def test_invitees_can_read_after_a_downgrade_of_the_owner(world: World, uploaded_file: dict[str, Any]) -> None:
    name = get_short_id(invite(world.pia, uploaded_file))
    accounts.set_tier(world.rt, "pia@example.com", Plan.FREE)
    assert FakeReader(world, name).read_page(6) == 204
