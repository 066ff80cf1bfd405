"""Retention of uncounted sessions and of beacons."""

from docshare.server.workers import jobs
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader

(DELETE_SESSIONS_JOB,) = (job for job in jobs.JOBS if job.name == "delete uncounted sessions")
(DELETE_BEACONS_JOB,) = (job for job in jobs.JOBS if job.name == "delete old beacons")
(END_SESSIONS_JOB,) = (job for job in jobs.JOBS if job.name == "end reading sessions")


def test_an_uncounted_session_is_deleted_ninety_days_after_its_end(world: World) -> None:
    link = str(world.pia.upload()["shortId"])
    for host in range(201):
        FakeReader(world, link, address=f"198.51.100.{host}").leave()
    FakeReader(world, link, address="203.0.113.7").read_page(9)
    world.clock.advance(seconds=51)
    assert END_SESSIONS_JOB.run(world.rt) == 201
    world.clock.advance(minutes=10)
    END_SESSIONS_JOB.run(world.rt)
    world.clock.advance(days=90, minutes=-10, milliseconds=-1)
    assert DELETE_SESSIONS_JOB.run(world.rt) == 0
    world.clock.advance(milliseconds=1)
    assert DELETE_SESSIONS_JOB.run(world.rt) == 201
    assert world.rt.db.fetch_all("SELECT class FROM view_sessions") == [("human",)]
    assert world.rt.db.fetch_all("SELECT COUNT(*) FROM beacons") == [(1,)]


def test_beacons_of_a_counted_session_are_deleted_ninety_days_after_its_end(world: World) -> None:
    """The session, the times of its pages and the beacons of newer sessions are kept."""
    made = world.pia.upload()
    crowd = [FakeReader(world, made["shortId"], address=f"198.51.100.{host}") for host in range(201)]
    world.clock.advance(seconds=2)
    assert {reader.send_next_beacon(input=True) for reader in crowd} == {204}
    FakeReader(world, made["shortId"], address="203.0.113.7").read_page(9)
    world.clock.advance(minutes=6)
    END_SESSIONS_JOB.run(world.rt)
    world.clock.advance(days=90, seconds=-69, milliseconds=-1)
    assert DELETE_BEACONS_JOB.run(world.rt) == 0
    world.clock.advance(milliseconds=1)
    assert DELETE_BEACONS_JOB.run(world.rt) == 201
    assert DELETE_BEACONS_JOB.run(world.rt) == 0
    assert world.rt.db.fetch_all("SELECT accepted FROM beacons") == [("[[1,9000,1,0]]",)]
    world.clock.advance(seconds=9)
    assert DELETE_BEACONS_JOB.run(world.rt) == 1
    assert world.rt.db.fetch_all("SELECT COUNT(*) FROM beacons") == [(0,)]
    stream = world.pia.get(f"/api/v1/files/{made['uuid']}/readership/sessions?since=202").get_json()
    assert [(row["totalTimeMs"], row["pages"]) for row in stream] == [(9_000, [{"page": 1, "timeMs": 9_000}])]
    details = world.pia.get(f"/api/v1/files/{made['uuid']}/readership/sessions/{stream[0]['sessionId']}").get_json()
    assert (details["beacons"], details["pages"][0]["timeMs"]) == ([], 9_000)
