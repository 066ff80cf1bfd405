"""Readers see the record of their own visit, and can choose not to be measured."""

import json
from typing import Any

import pytest

from docshare.contract.wire import format_instant
from docshare.server.services.accounts import sign_in
from docshare.server.services.readership import viewing
from tests.support.engines.rows import count_rows
from tests.support.people import webhooks
from tests.support.people.cast import World
from tests.support.people.reader import DESKTOP, FakeReader, end_all_sessions, list_sessions, list_view_rows, view_count

GPC = {"Sec-GPC": "1"}
FORM = [{"key": "mail", "label": "Email", "type": "email", "required": True}]


def ask(world: World, reader: FakeReader, *, headers: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    """Return the answer about the visit of ``reader``."""
    answer = post(reader, {"token": reader.token, **fields}, headers)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    found: dict[str, Any] = answer.get_json()
    return found


def post(reader: FakeReader, body: object, headers: dict[str, str] | None = None) -> Any:
    return reader.http.post(
        f"{reader.facts['base']}/visit",
        data=json.dumps(body),
        headers={"Content-Type": "application/json", "User-Agent": DESKTOP} | (headers or {}),
        environ_overrides={"REMOTE_ADDR": "198.51.100.4"},
    )


def count_uncounted(world: World, link: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = world.pia.get(f"/api/v1/files/{link}/readership").get_json()["uncounted"]
    return found


def change_settings(world: World, link: str, **settings: Any) -> None:
    assert world.pia.put(f"/api/v1/files/{link}/settings", json=settings).status_code == 200


def test_a_reader_sees_what_is_recorded_of_their_visit_and_of_no_other(world: World, link: str) -> None:
    other = FakeReader(world, link, address="203.0.113.9")
    other.read_page(30, page=3)
    reader = FakeReader(world, link, address="203.0.113.7", page_headers={"Referer": "https://news.example/a?b=c"})
    began = world.clock.now
    assert ask(world, reader) == {
        "owner": False, "choice": True, "declined": False, "earlier": 0, "link": "shared",
        "keptDays": {"reports": 90, "readerKey": 30},
    }  # fmt: skip
    reader.read_page(10, page=1)
    reader.read_page(4, page=2)
    found = ask(world, reader)["recorded"]
    since = world.rt.db.fetch_all("SELECT started_at FROM view_sessions ORDER BY id")[1][0]
    assert (since, found.pop("since")[:4]) == (began, "2026")
    assert found == {
        "timeMs": 14_000, "pages": [{"page": 1, "timeMs": 10_000}, {"page": 2, "timeMs": 4_000}],
        "deviceType": "Desktop", "browser": "Chrome", "country": "DE", "source": "Direct link",
        "referrer": "news.example",
    }  # fmt: skip


def test_the_answer_does_not_reveal_the_class_the_label_or_the_hidden_pages(world: World, link: str) -> None:
    change_settings(world, link, pageRange={"from": 2, "to": 3})
    made = world.pia.post(f"/api/v1/files/{link}/variants", json={"label": "Ada Lovelace"}).get_json()
    reader = FakeReader(world, made["shortId"])
    reader.read_page(9, page=1, input=False)
    answer = post(reader, {"token": reader.token})
    found = answer.get_json()
    assert (found["link"], found["recorded"]["pages"]) == ("personal", [{"page": 1, "timeMs": 9_000}])
    assert not [word for word in ("Ada", "unconfirmed", "class") if word in answer.get_data(as_text=True)]


def test_declining_deletes_the_visit_and_keeps_a_number(world: World, link: str) -> None:
    FakeReader(world, link, address="203.0.113.9").read_page(9)
    reader = FakeReader(world, link)
    reader.read_page(10, page=2)
    assert view_count(world, link) == 2
    found = ask(world, reader, decline=True)
    assert (found["declined"], "recorded" in found) == (True, False)
    assert ask(world, reader)["declined"] is True
    assert view_count(world, link) == 1
    assert reader.read_page(20, page=3) == 204
    assert reader.send_next_beacon(part=1, seq=0, read={1: 3_000}) == 204
    (row,) = list_view_rows(world)
    assert row["timeMs"] == 9_000
    assert count_uncounted(world, link) == [{"label": "declined", "count": 1}]
    report = world.pia.get(f"/api/v1/files/{link}/readership").get_json()["summary"]
    assert (report["totalSessions"], report["uniqueVisitors"], report["activeReaders"]) == (1, 1, 0)
    assert world.pia.get(f"/api/v1/files/{link}/readership/sessions?counted=false").get_json() == []
    kept = "class, reader, started_at, time_ms, country, device, browser, referrer, email, variant_id, viewer_id"
    rows = world.rt.db.fetch_all(f"SELECT {kept} FROM view_sessions WHERE class = 'declined'")
    assert rows == [("declined", "", 0, 0, None, "", "", None, None, None, None)]
    assert world.rt.db.fetch_all("SELECT COUNT(DISTINCT session_id) FROM beacons") == [(1,)]
    assert world.rt.db.fetch_all("SELECT COUNT(*) FROM readers") == [(1,)]
    assert [event["event"] for event in world.pia.get("/api/v1/activity?since=1").get_json()] == ["file.viewed"]


def test_a_declined_visit_is_counted_once_and_its_row_is_deleted_when_its_token_expires(
    world: World, link: str
) -> None:
    reader = FakeReader(world, link)
    for _ in range(2):
        assert ask(world, reader, decline=True)["declined"] is True
    world.clock.advance(hours=7 * 24 - 1)
    viewing.delete_uncounted_sessions(world.rt)
    assert list_sessions(world) == [("declined", 0)]
    world.clock.advance(hours=1)
    viewing.delete_uncounted_sessions(world.rt)
    assert list_sessions(world) == []
    assert count_uncounted(world, link) == [{"label": "declined", "count": 1}]


def test_a_session_that_has_ended_stays_and_is_named(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    reader.read_page(9)
    end_all_sessions(world)
    found = ask(world, reader, decline=True)
    assert (found["declined"], found["earlier"]) == (True, 1)
    assert view_count(world, link) == 1
    assert reader.send_next_beacon(part=1, seq=0, read={1: 3_000}) == 204
    assert list_sessions(world) == [("human", 9_000), ("declined", 0)]


def close_visit(world: World, link: str) -> FakeReader:
    """Read two pages and close; the reader came from another page than those after it."""
    reader = FakeReader(world, link, page_headers={"Referer": "https://private.example/"})
    reader.read_page(10, page=1)
    reader.read_page(5, page=3)
    reader.leave(closing=True)
    return reader


def test_a_reload_by_somebody_else_at_the_same_address_neither_shows_nor_deletes_a_visit(
    world: World, link: str
) -> None:
    close_visit(world, link)
    other = FakeReader(world, link)
    since = world.clock.now
    world.clock.advance(seconds=2)
    other.send_next_beacon(read={2: 2_000}, reload=True)
    assert list_sessions(world) == [("human", 17_000)]
    found = ask(world, other)
    assert found["earlier"] == 1
    assert found["recorded"] == {
        "since": format_instant(since), "timeMs": 2_000, "pages": [{"page": 2, "timeMs": 2_000}],
        "deviceType": "Desktop", "browser": "Chrome", "source": "Direct link",
    }  # fmt: skip
    found = ask(world, other, decline=True)
    assert (found["declined"], found["earlier"], view_count(world, link)) == (True, 1, 1)
    assert list_sessions(world) == [("human", 15_000), ("declined", 0)]
    assert other.read_page(20, page=2) == 204
    (row,) = list_view_rows(world)
    assert (row["timeMs"], row["pagesViewed"]) == (15_000, 2)
    assert count_uncounted(world, link) == [{"label": "declined", "count": 1}]


@pytest.mark.parametrize("kept", [4, 6])
def test_a_reload_in_a_long_visit_is_shown_and_deleted_completely(
    world: World, link: str, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the first beacons of a session are kept; the times of the others are only in the sums of its pages."""
    monkeypatch.setattr("docshare.server.services.readership.view_sessions.MAX_BEACONS_KEPT", kept)
    first = FakeReader(world, link)
    for _ in range(3):
        first.read_page(5, page=1)
    first.leave(closing=True)
    reloaded = FakeReader(world, link)
    for page in (1, 2, 2, 3):
        assert reloaded.read_page(4, page=page, reload=True) == 204
    found = ask(world, reloaded)["recorded"]
    assert (found["timeMs"], [(row["page"], row["timeMs"]) for row in found["pages"]]) == (
        16_000,
        [(1, 4_000), (2, 8_000), (3, 4_000)],
    )
    ask(world, reloaded, decline=True)
    assert list_sessions(world) == [("human", 15_000), ("declined", 0)]
    (row,) = list_view_rows(world)
    assert (row["pagesViewed"], row["timeMs"]) == (1, 15_000)


def test_a_reader_who_reloads_before_the_visit_counts_can_delete_it(world: World, link: str) -> None:
    first = FakeReader(world, link)
    world.clock.advance(milliseconds=300)
    first.leave(closing=True, input=False)
    reloaded = FakeReader(world, link)
    reloaded.read_page(9, page=2, reload=True)
    assert (list_sessions(world), view_count(world, link)) == ([("human", 9_000)], 1)
    found = ask(world, reloaded, decline=True)
    assert (found["declined"], found["earlier"], view_count(world, link)) == (True, 0, 0)
    assert list_sessions(world) == [("declined", 0)]


def test_an_invitation_is_not_viewed_by_a_visit_that_is_not_measured(world: World, link: str) -> None:
    uuid = world.pia.get(f"/api/v1/files/{link}").get_json()["uuid"]
    webhooks.resolve_all_hosts(world.rt)
    webhooks.create_webhook(world.pia, events=["invite.viewed"])
    change_settings(world, link, notifyOnView=True)
    invite = world.pia.post(f"/api/v1/files/{uuid}/invites", json={"email": "ann@a.example"}).get_json()
    reader = FakeReader(world, invite["url"].rpartition("/")[2])
    reader.read_page(9)
    assert count_rows(world, "mails") == 2, "the invitation, and the notice to the owner"
    assert ask(world, reader)["recorded"]["email"] == "ann@a.example"
    assert [row["event"] for row in list_events_of_invitee(world)] == ["invite.viewed"]
    ask(world, reader, decline=True)
    (row,) = world.pia.get(f"/api/v1/files/{uuid}/invites").get_json()
    assert "viewedAt" not in row
    assert list_events_of_invitee(world) == []
    assert (count_rows(world, "deliveries"), count_rows(world, "mails")) == (0, 1)


def list_events_of_invitee(world: World) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = world.pia.get("/api/v1/activity").get_json()
    return [row for row in rows if "ann@a.example" in str(row)]


@pytest.mark.parametrize("header_on", ["beacon", "page"])
def test_global_privacy_control_declines(world: World, link: str, header_on: str) -> None:
    reader = FakeReader(world, link, page_headers=GPC)
    assert reader.facts["optedOut"] is True
    if header_on == "beacon":
        world.clock.advance(seconds=9)
        assert reader.send_beacon(reader.build_beacon(read={1: 9_000}), headers=GPC).status_code == 204
    else:
        ask(world, reader, headers=GPC, decline=True)
    assert list_sessions(world) == [("declined", 0)]
    assert (view_count(world, link), count_uncounted(world, link)) == (0, [{"label": "declined", "count": 1}])


def test_a_program_or_a_prefetch_with_the_signal_is_no_reader_who_chose(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    for headers in ({"User-Agent": "curl/8.5.0"}, {"Sec-Purpose": "prefetch"}):
        assert reader.send_beacon(reader.build_beacon(read={1: 9_000}), headers=GPC | headers).status_code == 204
    assert list_sessions(world) == []


@pytest.mark.parametrize(
    ("settings", "choice"),
    [
        ({}, True),
        ({"readerChoice": False}, False),
        ({"requireEmail": True}, False),
        ({"gateFields": FORM}, False),
        ({"requireEmail": True, "readerChoice": True}, True),
        ({"password": "secret"}, True),
    ],
)
def test_the_choice_is_offered_unless_the_link_asks_who_reads(
    world: World, link: str, settings: dict[str, Any], choice: bool
) -> None:
    change_settings(world, link, **settings)
    assert world.pia.get(f"/api/v1/files/{link}").get_json()["readerChoice"] is choice


@pytest.mark.parametrize(("set_to", "choice"), [(None, False), (True, True)])
def test_a_reader_who_passed_a_gate_has_the_choice_only_if_the_owner_allows_it(
    world: World, link: str, set_to: bool | None, choice: bool
) -> None:
    change_settings(world, link, requireEmail=True, readerChoice=set_to)
    http = world.app.test_client()
    ticket = http.get(f"/{link}").get_data(as_text=True).partition('name="ticket" value="')[2].partition('"')[0]
    entry = {"ticket": ticket, "field-email": "ann@a.example"}
    assert http.post(f"/{link}/enter", data=entry).status_code == 303
    reader = FakeReader(world, link, http=http)
    reader.read_page(9)
    found = ask(world, reader)
    assert (found["choice"], found["recorded"]["email"]) == (choice, "ann@a.example")
    assert post(reader, {"token": reader.token, "decline": True}).status_code == (200 if choice else 403)
    assert view_count(world, link) == (0 if choice else 1)


def test_without_a_choice_global_privacy_control_changes_nothing(world: World, link: str) -> None:
    change_settings(world, link, readerChoice=False)
    reader = FakeReader(world, link, page_headers=GPC)
    assert "optedOut" not in reader.facts
    world.clock.advance(seconds=9)
    reader.send_beacon(reader.build_beacon(read={1: 9_000}), headers=GPC)
    assert list_sessions(world) == [("human", 9_000)]


def test_null_returns_to_the_default_and_a_variant_overrides_the_file(world: World, link: str) -> None:
    change_settings(world, link, readerChoice=False)
    body = {"overrides": {"readerChoice": True}}
    variant = world.pia.post(f"/api/v1/files/{link}/variants", json=body).get_json()
    assert variant["overrides"] == {"readerChoice": True}
    assert ask(world, FakeReader(world, variant["shortId"]))["choice"] is True
    assert ask(world, FakeReader(world, link))["choice"] is False
    change_settings(world, link, readerChoice=None)
    assert world.pia.get(f"/api/v1/files/{link}").get_json()["readerChoice"] is True


def test_a_view_limit_counts_openings_that_are_not_measured(world: World, link: str) -> None:
    change_settings(world, link, viewLimit=1)
    http = world.app.test_client()
    page = http.get(f"/{link}").get_data(as_text=True)
    ticket = page.partition('name="ticket" value="')[2].partition('"')[0]
    assert http.post(f"/{link}/enter", data={"ticket": ticket}).status_code == 303
    reader = FakeReader(world, link, http=http)
    ask(world, reader, decline=True)
    assert world.pia.get(f"/api/v1/files/{link}").get_json()["burnedAt"]


def test_nothing_is_recorded_of_the_owner(world: World, link: str) -> None:
    http = world.app.test_client()
    url = sign_in.create_link(world.rt, world.pia.email)
    assert http.post(url.removeprefix(world.rt.config.base_url)).status_code == 303
    reader = FakeReader(world, link, http=http)
    found = ask(world, reader, decline=True)
    assert (found["owner"], found["choice"], list_sessions(world)) == (True, False, [])


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"token": "x.y"}, 403),
        ({"token": 1}, 400),
        ({"decline": "yes"}, 400),
    ],
)
def test_only_the_token_of_the_page_opens_the_record(
    world: World, link: str, change: dict[str, Any], status: int
) -> None:
    reader = FakeReader(world, link)
    assert post(reader, {"token": reader.token} | change).status_code == status
    assert post(reader, {"token": FakeReader(world, str(world.pia.upload()["shortId"])).token}).status_code == 403
    assert post(reader, {"token": reader.token}, {"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_a_revoked_link_tells_nothing_more(world: World, link: str) -> None:
    made = world.pia.post(f"/api/v1/files/{link}/variants", json={"label": "Ada"}).get_json()
    reader = FakeReader(world, made["shortId"])
    world.pia.put(f"/api/v1/files/{link}/variants/{made['uuid']}", json={"revoked": True})
    assert post(reader, {"token": reader.token}).status_code == 404


def test_a_tap_with_the_signal_is_not_counted(world: World, link: str) -> None:
    cta = {"label": "Book a call", "url": "https://example.com/call"}
    change_settings(world, link, viewerSettings={"cta": cta})
    reader = FakeReader(world, link)
    for headers in (GPC, {}):
        answer = reader.http.post(f"/{link}/taps", json={"cta": True}, headers={"User-Agent": DESKTOP} | headers)
        assert answer.status_code == 204
    assert world.pia.get(f"/api/v1/files/{link}/readership").get_json()["ctaTaps"] == 1
