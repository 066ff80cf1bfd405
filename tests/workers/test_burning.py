"""View limits: a file burns after a number of views."""

import io
import json
import threading
from typing import Any

import pytest

from docshare.server.backup.checking import InstanceCheck
from docshare.server.services.files import burn
from docshare.server.services.operations import sweeps
from docshare.server.workers import jobs
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.database import sqlite_only
from tests.support.engines.rows import count_rows, insert_view, update_file_row
from tests.support.people.cast import World


def upload_limited(world: World, views: int) -> dict[str, Any]:
    made = world.pia.upload()
    update_file_row(world, made["uuid"], view_limit=views)
    return made


def upload_with_images(world: World) -> dict[str, Any]:
    """Return a file with rendered pages and one view left."""
    made = world.pia.upload()
    for page in (1, 2, 3):  # all pages, so that no page is prerendered when a test simulates a crash
        address = f"/{made['shortId']}/pages/{page}-800.jpg?v=1"
        assert world.http.get(address, buffered=True).status_code == 200
    update_file_row(world, made["uuid"], view_limit=1)
    return made


def get_file_id(world: World, made: dict[str, Any]) -> int:
    found = world.rt.db.fetch_one("SELECT id FROM files WHERE uuid = ?", (made["uuid"],))
    assert found is not None
    return int(found[0])


def consume_one_view(world: World, made: dict[str, Any]) -> bool:
    return burn.consume_view(world.rt, get_file_id(world, made), None)


def get_detail(world: World, made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()
    return found


def count_blobs(world: World) -> int:
    return sum(1 for path in world.rt.blobs.root.rglob("*") if path.is_file())


def list_burned_events(world: World) -> list[Any]:
    rows = world.rt.db.fetch_all("SELECT happened_at, data FROM activity_rows WHERE event = 'file.burned'")
    return [(at, json.loads(data)) for at, data in rows]


def get_replace_status(world: World, made: dict[str, Any]) -> int:
    data = {"file": (io.BytesIO(simple_pdf(pages=5)), "second.pdf")}
    return world.pia.post(f"/api/v1/files/{made['uuid']}/content", data=data).status_code


def test_the_view_limit_burns_at_once_and_bytes_are_deleted_30_minutes_later(world: World) -> None:
    """``file.burned`` is sent when the bytes are deleted."""
    made = upload_limited(world, 2)
    assert consume_one_view(world, made)
    assert "burnedAt" not in get_detail(world, made)
    burned_at = world.clock.advance(minutes=1)
    assert consume_one_view(world, made)
    assert get_detail(world, made)["burnedAt"] == "2026-09-21T14:14:20.000Z"
    assert get_detail(world, made)["viewsConsumed"] == 2
    assert not consume_one_view(world, made)
    world.clock.now = burned_at + 30 * 60 * 1000 - 1
    assert burn.destroy_due(world.rt) == 0
    assert (count_blobs(world), list_burned_events(world)) == (1, [])
    now = world.clock.advance(milliseconds=1)
    assert burn.destroy_due(world.rt) == 1
    assert count_blobs(world) == 0
    assert list_burned_events(world) == [(now, {"fileUuid": made["uuid"], "fileName": "report.pdf"})]


def test_the_file_burns_only_once(world: World) -> None:
    """``file.burned`` is sent once; the row and the readership are kept."""
    made = upload_limited(world, 1)
    insert_view(world, made["uuid"])
    before = get_detail(world, made)
    assert consume_one_view(world, made)
    for _ in range(3):
        world.clock.advance(minutes=31)
        burn.destroy_due(world.rt)
    assert len(list_burned_events(world)) == 1
    after = get_detail(world, made)
    changed = {"burnedAt", "viewsConsumed"}
    assert {key: after[key] for key in after.keys() - changed} == {key: before[key] for key in before.keys() - changed}
    assert len(world.pia.get("/api/v1/events").get_json()) == 1


def test_concurrent_readers_consume_exactly_the_view_limit(world: World) -> None:
    """10 of 40 concurrent readers get a view."""
    made = upload_limited(world, 10)
    number = get_file_id(world, made)
    barrier = threading.Barrier(40)
    got: list[bool] = []

    def consume() -> None:
        barrier.wait(20)
        got.append(burn.consume_view(world.rt, number, None))

    threads = [threading.Thread(target=consume) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (got.count(True), got.count(False)) == (10, 30)
    assert get_detail(world, made)["viewsConsumed"] == 10
    assert "burnedAt" in get_detail(world, made)


def test_views_of_a_link_without_a_limit_are_not_consumed(world: World) -> None:
    """``viewsConsumed`` is incremented only while a view limit is set."""
    made = world.pia.upload()
    assert consume_one_view(world, made)
    assert get_detail(world, made)["viewsConsumed"] == 0


@pytest.mark.parametrize("column", ["delete_at", "trashed_at"])
@pytest.mark.parametrize("limit", [None, 3])
def test_views_of_an_expired_or_trashed_file_are_not_consumed(world: World, column: str, limit: int | None) -> None:
    made = world.pia.upload()
    update_file_row(world, made["uuid"], view_limit=limit, **{column: world.clock.now})
    assert not consume_one_view(world, made)
    assert world.rt.db.fetch_one("SELECT views_consumed FROM files") == (0,)


def test_a_view_of_an_unknown_file_is_not_consumed(world: World) -> None:
    assert not burn.consume_view(world.rt, 99, None)


def test_a_burned_file_is_410_even_for_the_owner(world: World) -> None:
    """It is 410 before its bytes are deleted."""
    made = upload_limited(world, 1)
    path = f"/api/v1/files/{made['uuid']}/content"
    assert world.pia.get(path, buffered=True).status_code == 200
    consume_one_view(world, made)
    assert count_blobs(world) == 1
    assert world.pia.get(path).status_code == 410
    assert world.http.get(f"/{made['shortId']}").status_code == 410
    world.clock.advance(minutes=30)
    burn.destroy_due(world.rt)
    assert world.pia.get(path).status_code == 410
    assert world.http.get(f"/{made['shortId']}").status_code == 410


@pytest.mark.parametrize("minute", range(31))
def test_a_replacement_before_the_deletion_cancels_it(world: World, minute: int) -> None:
    """The new bytes are kept, and no event is sent."""
    made = upload_limited(world, 1)
    consume_one_view(world, made)
    world.clock.advance(minutes=minute)
    assert get_replace_status(world, made) == 200
    world.clock.advance(minutes=31)
    assert burn.destroy_due(world.rt) == 0
    assert list_burned_events(world) == []
    assert world.pia.get(f"/api/v1/files/{made['uuid']}/content", buffered=True).data == simple_pdf(pages=5)
    assert "burnedAt" not in get_detail(world, made)


def test_a_replacement_just_before_the_deletion_keeps_the_new_bytes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = upload_limited(world, 1)
    consume_one_view(world, made)
    world.clock.advance(minutes=30)
    write = type(world.rt.db).write

    def write_after_replacement(self: Any) -> Any:
        monkeypatch.undo()
        assert get_replace_status(world, made) == 200
        return write(self)

    monkeypatch.setattr(type(world.rt.db), "write", write_after_replacement)
    assert burn.destroy_due(world.rt) == 0
    assert list_burned_events(world) == []
    assert world.pia.get(f"/api/v1/files/{made['uuid']}/content", buffered=True).data == simple_pdf(pages=5)


def test_a_replacement_after_the_deletion_reopens_the_link_and_it_can_burn_again(world: World) -> None:
    made = upload_limited(world, 1)
    for _ in range(2):
        assert consume_one_view(world, made)
        assert not consume_one_view(world, made)
        world.clock.advance(minutes=30)
        assert burn.destroy_due(world.rt) == 1
        assert get_replace_status(world, made) == 200
        assert get_detail(world, made)["viewsConsumed"] == 0
    assert len(list_burned_events(world)) == 2
    assert count_blobs(world) == 1


def test_rendered_pages_are_deleted_with_the_bytes(world: World) -> None:
    """No copy remains in the caches."""
    made = upload_with_images(world)
    consume_one_view(world, made)
    world.clock.advance(minutes=30)
    burn.destroy_due(world.rt)
    assert not list((world.rt.config.data_dir / "cache").rglob("*.jpg"))


def test_a_file_in_the_trash_burns_and_its_event_is_hidden_until_a_restore(world: World) -> None:
    made = upload_limited(world, 1)
    consume_one_view(world, made)
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    world.clock.advance(minutes=30)
    assert burn.destroy_due(world.rt) == 1
    assert count_blobs(world) == 0
    assert world.rt.db.fetch_all("SELECT event, hidden FROM activity_rows") == [("file.burned", 1)]
    assert world.pia.post(f"/api/v1/files/{made['uuid']}/restore").status_code == 200
    assert world.rt.db.fetch_all("SELECT event, hidden FROM activity_rows") == [("file.burned", 0)]


class BurnCrash(BaseException):
    """Simulate the end of the process."""


def test_bytes_that_remain_after_a_crash_are_deleted_at_the_next_start(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = upload_with_images(world)
    consume_one_view(world, made)
    world.clock.advance(minutes=30)

    def crash(*_: Any) -> None:
        raise BurnCrash

    with monkeypatch.context() as patched:
        patched.setattr(type(world.rt.blobs), "delete", crash)
        patched.setattr(type(world.rt.pages.files), "delete_derived", crash)
        with pytest.raises(BurnCrash):
            burn.destroy_due(world.rt)
    assert count_blobs(world) == 1
    sweeps.clean_at_start(world.rt)
    assert count_blobs(world) == 0
    assert not list((world.rt.config.data_dir / "cache").rglob("*.jpg"))
    assert burn.destroy_due(world.rt) == 0
    assert len(list_burned_events(world)) == 1


def test_the_next_sweep_repeats_what_a_crash_before_the_commit_undid(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = upload_limited(world, 1)
    consume_one_view(world, made)
    world.clock.advance(minutes=30)

    def crash(*_: Any, **__: Any) -> None:
        raise BurnCrash

    with monkeypatch.context() as patched:
        patched.setattr(burn.activity, "record", crash)
        with pytest.raises(BurnCrash):
            burn.destroy_due(world.rt)
    assert (count_blobs(world), list_burned_events(world)) == (1, [])
    sweeps.clean_at_start(world.rt)
    assert burn.destroy_due(world.rt) == 1
    assert (count_blobs(world), len(list_burned_events(world))) == (0, 1)


@sqlite_only
def test_the_check_reports_missing_bytes_unless_they_were_burned(world: World) -> None:
    made = upload_limited(world, 1)
    consume_one_view(world, made)
    assert is_content_intact(world)
    world.clock.advance(minutes=30)
    burn.destroy_due(world.rt)
    assert is_content_intact(world)
    found = world.rt.db.fetch_one("SELECT blob FROM files")
    assert found is not None
    update_file_row(world, made["uuid"], destroyed_at=None)
    assert not is_content_intact(world)


def is_content_intact(world: World) -> bool:
    check = InstanceCheck(world.rt.config.data_dir, now=world.clock.now, serving=False, vault=world.rt.vault)
    return all(finding.ok for finding in check.list_findings() if finding.check == "content")


def test_burning_is_a_job_every_5_seconds_and_part_of_the_sweep(world: World) -> None:
    """The same applies to purging files."""
    for name in ("purge burned files", "purge the trash", "purge expired unclaimed files"):
        job = next(job for job in jobs.JOBS if job.name == name)
        assert job.interval_s <= 5
    consume_one_view(world, upload_limited(world, 1))
    world.clock.advance(minutes=30)
    assert sweeps.run_all(world.rt)["burned"] == 1
    assert sweeps.run_all(world.rt)["burned"] == 0
    assert count_rows(world, "files") == 1
