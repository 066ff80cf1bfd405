"""Sessions that nobody is shown do not stay for ever, and ended ones keep only what was received."""

from docshare.server import jobs
from tests.support.cast import World
from tests.support.reader import Reader

(FORGET,) = (job for job in jobs.JOBS if job.name == "forget sessions that were not counted")
(END_SESSIONS,) = (job for job in jobs.JOBS if job.name == "end reading sessions")


def test_a_session_that_was_not_counted_is_deleted_ninety_days_after_it_ended(world: World) -> None:
    link = str(world.pia.upload()["shortId"])
    for host in range(201):
        Reader(world, link, address=f"198.51.100.{host}").leaves()
    Reader(world, link, address="203.0.113.7").reads(9)
    world.clock.advance(seconds=51)
    assert END_SESSIONS.run(world.rt) == 201
    world.clock.advance(minutes=10)
    END_SESSIONS.run(world.rt)
    world.clock.advance(days=90, minutes=-10, milliseconds=-1)
    assert FORGET.run(world.rt) == 0
    world.clock.advance(milliseconds=1)
    assert FORGET.run(world.rt) == 201
    assert world.rt.db.rows("SELECT class FROM view_sessions") == [("human",)]
    assert world.rt.db.rows("SELECT COUNT(*) FROM beacons") == [(1,)]


def test_what_was_only_needed_to_add_a_session_up_goes_when_it_ends(world: World) -> None:
    Reader(world, str(world.pia.upload()["shortId"])).reads(9)
    assert world.rt.db.rows("SELECT accepted FROM beacons") == [("[[1,9000,1,0]]",)]
    world.clock.advance(minutes=6)
    END_SESSIONS.run(world.rt)
    assert world.rt.db.rows("SELECT accepted FROM beacons") == [("[]",)]
    assert world.rt.db.rows("SELECT page, time_ms, views FROM session_pages") == [(1, 9_000, 1)]
