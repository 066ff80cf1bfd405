"""Data is hidden as soon as its retention period ends, although jobs delete it only once an hour."""

from collections.abc import Callable

import pytest

from docshare.contract.problems import Problem
from docshare.server import admin
from docshare.server.services.operations import mail
from tests.support.outside.due_deliveries import deliver_due
from tests.support.outside.receivers import (
    LOOPBACK_NETWORKS,
    FakeReceiver,
    add_webhook,
    list_deliveries,
    record_replacements,
)
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader, list_view_rows


@pytest.mark.parametrize("query", ["", "?since=1", "?file={}", "?kind=note.created"])
def test_an_event_is_listed_for_90_days(world: World, query: str) -> None:
    made = world.pia.upload()
    record_replacements(world, made["uuid"])

    def count_events() -> int:
        return len(world.pia.get(f"/api/v1/activity{query.format(made['uuid'])}").get_json())

    everything = count_events()
    world.clock.advance(days=90, milliseconds=-1)
    assert count_events() == everything
    world.clock.advance(milliseconds=1)
    assert count_events() == 0


def test_a_settled_delivery_is_listed_for_90_days_and_a_queued_one_longer(
    make: Callable[..., World], receiver: FakeReceiver
) -> None:
    world = make(webhook_allow=LOOPBACK_NETWORKS)
    hook, file = add_webhook(world.pia, receiver.url), world.pia.upload()["uuid"]
    record_replacements(world, file)
    deliver_due(world.rt)
    record_replacements(world, file)
    (queued, settled) = (row["id"] for row in list_deliveries(world.pia, hook))
    world.clock.advance(days=90, milliseconds=-1)
    assert len(list_deliveries(world.pia, hook)) == len(admin.run_command(world.rt, "deliveries list", {})) == 2
    world.clock.advance(milliseconds=1)
    for query in ("", "?since=1"):
        assert [row["id"] for row in list_deliveries(world.pia, hook, query)] == [queued]
    assert [row["id"] for row in admin.run_command(world.rt, "deliveries list", {})] == [queued]
    assert world.pia.post(f"/api/v1/webhooks/{hook.uuid}/deliveries/{settled}/redeliver").status_code == 404
    with pytest.raises(Problem, match="no such delivery"):
        admin.run_command(world.rt, "deliveries show", {"id": str(settled)})


def test_beacons_of_a_session_are_listed_for_90_days(world: World) -> None:
    made = world.pia.upload()
    FakeReader(world, made["shortId"]).read_page(9)
    world.clock.advance(minutes=10)
    assert len(list_view_rows(world)) == 1
    (row,) = world.pia.get(f"/api/v1/files/{made['uuid']}/readership/sessions").get_json()
    ((ended_at,),) = world.rt.db.fetch_all("SELECT ended_at FROM view_sessions")

    def get_session() -> tuple[bool, int]:
        session = world.pia.get(f"/api/v1/files/{made['uuid']}/readership/sessions/{row['sessionId']}").get_json()
        return bool(session["beacons"]), session["pages"][0]["timeMs"]

    world.clock.advance(milliseconds=ended_at - world.clock.now, days=90)
    world.clock.advance(milliseconds=-1)
    assert get_session() == (True, 9_000)
    world.clock.advance(milliseconds=1)
    assert get_session() == (False, 9_000)


def test_an_uncounted_session_is_found_for_90_days(world: World) -> None:
    made = world.pia.upload()
    FakeReader(world, made["shortId"]).leave()
    world.clock.advance(minutes=10)
    list_view_rows(world)
    ((uuid, ended_at, counted_at),) = world.rt.db.fetch_all("SELECT uuid, ended_at, counted_at FROM view_sessions")
    assert counted_at is None
    path = f"/api/v1/files/{made['uuid']}/readership/sessions/{uuid}"
    world.clock.advance(milliseconds=ended_at - world.clock.now, days=90)
    world.clock.advance(milliseconds=-1)
    assert world.pia.get(path).status_code == 200
    world.clock.advance(milliseconds=1)
    assert world.pia.get(path).status_code == 404


def test_an_email_is_listed_in_the_outbox_for_30_days(world: World) -> None:
    with world.rt.db.write():
        mail.enqueue(world.rt, "ann@example.com", "Hello", "Hello Ann\n")
    (row,) = mail.list_outbox(world.rt)
    world.clock.advance(days=30, milliseconds=-1)
    assert len(mail.list_outbox(world.rt)) == 1
    world.clock.advance(milliseconds=1)
    assert mail.list_outbox(world.rt) == []
    with pytest.raises(Problem, match="no mail"):
        mail.show(world.rt, row["uuid"])
