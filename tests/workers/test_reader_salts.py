"""The salt of reader identities is deleted after thirty days."""

from docshare.server.workers import jobs
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader

(DELETE_SALTS_JOB,) = (job for job in jobs.JOBS if job.name == "delete old reader salts")


def test_a_salt_is_deleted_after_thirty_days_even_without_new_readers(world: World) -> None:
    FakeReader(world, world.pia.upload()["shortId"]).read_page(9)
    ((salt,),) = world.rt.db.fetch_all("SELECT salt FROM reader_salts")
    assert len(salt) == 32
    world.clock.advance(days=29.9)
    assert DELETE_SALTS_JOB.run(world.rt) == 0
    world.clock.advance(days=0.1)
    assert DELETE_SALTS_JOB.run(world.rt) == 1
    assert world.rt.db.fetch_all("SELECT * FROM reader_salts") == []
