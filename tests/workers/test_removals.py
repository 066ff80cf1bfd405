"""The bytes of what was deleted are destroyed, at once or as soon as that is possible, and no others are."""

import io
import os
from typing import Any

import pytest

from docshare.server.http import faults
from docshare.server.services.files import burn, purge, removals
from docshare.server.store.blobs import BACKUP_LOCK, ORPHAN_AGE_MS, REMOVAL_JOB, FolderStore, StorageUnreachableError
from docshare.server.store.lock import DirectoryLock
from docshare.server.workers.jobs import JOBS, run_job
from tests.support.cast import World
from tests.support.images import make_picture
from tests.support.pdfs import simple_pdf
from tests.support.rows import update_file_row
from tests.support.stored_bytes import list_stored_keys


class BrokenStore:
    """Lets the store of ``world`` fail to delete, while ``is_broken``."""

    def __init__(self, world: World, error: Exception) -> None:
        self.is_broken = True
        self._error = error
        self._delete = world.rt.blobs.delete

    def delete(self, key: str) -> None:
        if self.is_broken:
            raise self._error
        self._delete(key)


def list_waiting(world: World) -> list[str]:
    return [blob for (blob,) in world.rt.db.fetch_all("SELECT blob FROM blob_removals ORDER BY blob")]


def run_removals(world: World) -> None:
    run_job(world.rt, next(job for job in JOBS if job.name == REMOVAL_JOB))


def upload_asset(world: World, uuid: str) -> int:
    data = {"kind": "logo", "file": (io.BytesIO(make_picture("PNG")), "logo.png")}
    return world.pia.post(f"/api/v1/files/{uuid}/assets", data=data).status_code


def replace(world: World, uuid: str) -> int:
    data = {"file": (io.BytesIO(simple_pdf(pages=5)), "second.pdf")}
    return world.pia.post(f"/api/v1/files/{uuid}/content", data=data).status_code


def delete(world: World, uuid: str) -> int:
    return world.pia.delete(f"/api/v1/files/{uuid}?purge=1").status_code


def burn_down(world: World, uuid: str) -> int:
    update_file_row(world, uuid, view_limit=1, views_consumed=1, burned_at=world.clock())
    world.clock.advance(minutes=31)
    return burn.destroy_due(world.rt)


@pytest.mark.parametrize("error", [StorageUnreachableError("away"), OSError(5, "Input/output error")])
@pytest.mark.parametrize(("action", "waiting"), [(replace, 1), (delete, 1), (burn_down, 1), (upload_asset, 1)])
def test_what_the_store_cannot_delete_now_it_deletes_later(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception, action: Any, waiting: int
) -> None:
    uuid = world.pia.upload()["uuid"]
    if action is upload_asset:
        assert upload_asset(world, uuid) == 200
    before = set(list_stored_keys(world.rt))
    store = BrokenStore(world, error)
    monkeypatch.setattr(world.rt.blobs, "delete", store.delete)
    assert action(world, uuid) in (200, 1)
    assert len(list_waiting(world)) == waiting
    assert before <= set(list_stored_keys(world.rt))
    run_removals(world)  # it is still away
    assert len(list_waiting(world)) == waiting
    store.is_broken = False
    gone = set(list_waiting(world))
    run_removals(world)
    assert (list_waiting(world), gone & set(list_stored_keys(world.rt))) == ([], set())


def test_nothing_waits_where_the_store_works(world: World) -> None:
    uuid = world.pia.upload()["uuid"]
    assert (upload_asset(world, uuid), upload_asset(world, uuid), replace(world, uuid)) == (200, 200, 200)
    assert len(list_stored_keys(world.rt)) == 2
    assert delete(world, uuid) == 200
    assert (list_stored_keys(world.rt), list_waiting(world)) == ([], [])


def test_during_a_backup_nothing_is_deleted(world: World) -> None:
    uuid = world.pia.upload()["uuid"]
    with DirectoryLock(world.rt.blobs.backup_lock.parent, BACKUP_LOCK):
        assert delete(world, uuid) == 200
        run_removals(world)
        assert (len(list_stored_keys(world.rt)), len(list_waiting(world))) == (1, 1)
    run_removals(world)
    assert (list_stored_keys(world.rt), list_waiting(world)) == ([], [])


def test_a_crash_before_the_bytes_are_deleted_leaves_it_to_the_job(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.pia.upload()
    ((file_id,),) = world.rt.db.fetch_all("SELECT id FROM files")
    with monkeypatch.context() as patch:
        patch.setattr(removals, "delete_now", lambda rt, blobs: None)
        purge.purge(world.rt, file_id)
    assert len(list_stored_keys(world.rt)) == 1
    run_removals(world)
    assert list_stored_keys(world.rt) == []


def test_bytes_without_a_row_are_deleted_after_a_day_where_instances_share_a_store(
    world: World, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A running upload of another instance has bytes and no row, so young ones stay."""
    names = iter(f"key{number:020d}" for number in range(10))
    store = FolderStore(tmp_path / "shared" / "blobs", tmp_path / "shared" / "tmp", lambda: next(names), is_shared=True)
    object.__setattr__(world.rt, "blobs", store)
    world.pia.upload()
    (kept,) = list_stored_keys(world.rt)
    old, young = store_content(store), store_content(store)
    parts = [store.create_partial(), store.create_partial()]
    for path in (store.path(kept), store.path(old), parts[0].path):
        set_age(world, path, ORPHAN_AGE_MS + 1000)
    for path in (store.path(young), parts[1].path):
        set_age(world, path, ORPHAN_AGE_MS - 60_000)
    assert store.sweep([]).orphans == 0, "another instance may be uploading"
    assert removals.delete_orphans(world.rt) == 2
    assert list_stored_keys(world.rt) == sorted([kept, young])
    assert list(store.tmp.iterdir()) == [parts[1].path]
    for part in parts:
        part.discard()


def store_content(store: FolderStore) -> str:
    part = store.create_partial()
    part.write(b"orphan")
    return store.store(part)


def set_age(world: World, path: Any, age_ms: int) -> None:
    at = (world.clock() - age_ms) / 1000
    os.utime(path, (at, at))


def test_a_store_of_its_own_has_no_orphans_to_look_for(world: World) -> None:
    assert removals.delete_orphans(world.rt) == 0


class OperationalError(Exception):
    """An error of PostgreSQL's driver: ``sqlstate`` is None for a connection that broke."""

    __module__ = "psycopg.errors"

    def __init__(self, sqlstate: str | None) -> None:
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


@pytest.mark.parametrize(("sqlstate", "unknown"), [(None, True), ("57P01", True), ("08006", True), ("23505", False)])
def test_bytes_stay_where_nobody_knows_whether_the_commit_arrived(sqlstate: str | None, unknown: bool) -> None:
    assert faults.may_have_committed(OperationalError(sqlstate)) is unknown
