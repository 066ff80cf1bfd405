"""If a reader takes back a visit, the other visits of that reader and the emails to the owner stay right."""

from typing import Any

from docshare.contract.wire import format_instant
from docshare.server.services.readership import viewing
from tests.support.engines.rows import count_rows
from tests.support.people import webhooks
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader, end_all_sessions
from tests.web.counting.test_visits import ask, change_settings


def get_summary(world: World, link: str) -> dict[str, Any]:
    found: dict[str, Any] = world.pia.get(f"/api/v1/files/{link}/readership").get_json()["summary"]
    return found


def list_view_mails(world: World) -> list[str]:
    found = world.rt.db.fetch_all("SELECT body FROM mails WHERE notice IS NOT NULL ORDER BY id")
    return [body for (body,) in found]


def test_an_invitation_stays_viewed_by_another_counted_visit(world: World, link: str) -> None:
    webhooks.resolve_all_hosts(world.rt)
    webhooks.create_webhook(world.pia, events=["invite.viewed"])
    invite = world.pia.post(f"/api/v1/files/{link}/invites", json={"email": "ann@a.example"}).get_json()
    own = invite["url"].rpartition("/")[2]
    first, second = FakeReader(world, own), FakeReader(world, own)
    first.read_page(9)
    second.read_page(9)
    counted_at = world.rt.db.fetch_all("SELECT counted_at FROM view_sessions ORDER BY id DESC LIMIT 1")[0][0]
    ask(world, first, decline=True)
    (row,) = world.pia.get(f"/api/v1/files/{link}/invites").get_json()
    assert row["viewedAt"] == format_instant(counted_at)
    assert get_summary(world, link)["invitedNotViewed"] == 0
    events = world.pia.get("/api/v1/activity?kind=invite.viewed").get_json()
    assert [event["timestamp"] for event in events] == [format_instant(counted_at)]
    assert count_rows(world, "deliveries") == 1
    ask(world, second, decline=True)
    (row,) = world.pia.get(f"/api/v1/files/{link}/invites").get_json()
    assert ("viewedAt" in row, count_rows(world, "deliveries")) == (False, 0)


def test_the_first_visit_that_is_left_is_that_of_a_new_reader(world: World, link: str) -> None:
    first, second, third = (FakeReader(world, link) for _ in range(3))
    for reader in (first, second):
        reader.read_page(9)
    ask(world, first, decline=True)
    third.read_page(9)
    end_all_sessions(world)
    found = get_summary(world, link)
    assert (found["uniqueVisitors"], found["newSessions"], found["returningSessions"]) == (1, 1, 1)


def test_a_first_visit_that_has_ended_becomes_that_of_a_new_reader(world: World, link: str) -> None:
    first, second = FakeReader(world, link), FakeReader(world, link)
    for reader in (first, second):
        reader.read_page(9)
    second.leave(closing=True)
    first.read_page(30)
    viewing.end_due_sessions(world.rt)
    assert get_summary(world, link)["returningSessions"] == 1
    ask(world, first, decline=True)
    found = get_summary(world, link)
    assert (found["totalSessions"], found["newSessions"], found["returningSessions"]) == (1, 1, 0)
    rows = world.pia.get(f"/api/v1/files/{link}/readership/sessions").get_json()
    assert [row["returning"] for row in rows] == [False]


def test_an_email_that_was_not_sent_does_not_silence_the_next_reader(world: World, link: str) -> None:
    change_settings(world, link, notifyOnView=True)
    first = FakeReader(world, link)
    first.read_page(9)
    assert len(list_view_mails(world)) == 1
    ask(world, first, decline=True)
    assert list_view_mails(world) == []
    FakeReader(world, link, address="203.0.113.8").read_page(9)
    (body,) = list_view_mails(world)
    assert "since the last email" not in body


def test_an_email_counts_the_readers_since_one_that_was_taken_back(world: World, link: str) -> None:
    change_settings(world, link, notifyOnView=True)
    first = FakeReader(world, link)
    first.read_page(9)
    with world.rt.db.write():
        world.rt.db.execute("UPDATE mails SET attempts = 1, sent_at = 1, next_at = NULL WHERE notice IS NOT NULL", ())
    ask(world, first, decline=True)
    FakeReader(world, link, address="203.0.113.8").read_page(9)
    assert list_view_mails(world) == [], "one email an hour"
    world.clock.advance(hours=1)
    FakeReader(world, link, address="203.0.113.9").read_page(9)
    (body,) = list_view_mails(world)
    assert " 2 readers since the last email about it." in body


def test_a_session_ends_as_it_would_have_without_the_reload_that_is_taken_back(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    reader.read_page(10)
    reader.read_page(5, page=3, turns=1)
    reader.leave(closing=True)
    closed_at = world.clock.now
    reloaded = FakeReader(world, link)
    reloaded.read_page(4, page=2, reload=True, turns=4, backTurns=2)
    ask(world, reloaded, decline=True)
    end_all_sessions(world)
    (row,) = world.pia.get(f"/api/v1/files/{link}/readership/sessions").get_json()
    found = world.pia.get(f"/api/v1/files/{link}/readership/sessions/{row['sessionId']}").get_json()
    assert (found["totalTimeMs"], found["visibleMs"], found["turns"], found["backTurns"]) == (15_000, 15_000, 1, 0)
    assert found["lastHeardAt"] == format_instant(closed_at)
    assert found["endedAt"] == format_instant(closed_at + 10_000)
