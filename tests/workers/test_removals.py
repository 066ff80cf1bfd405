"""Removal of the bytes of deleted files, at once or as soon as the store is available."""

import io
import itertools
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from docshare.server import faults
from docshare.server.services.files import burn, intake, purge, removals
from docshare.server.store.blobs import (
    BACKUP_LOCK,
    MAX_CRASH_ORPHANS,
    ORPHAN_AGE_MS,
    REMOVAL_JOB,
    BlobStore,
    FolderStore,
    StorageUnreachableError,
)
from docshare.server.store.database import CommitUnknownError
from docshare.server.store.lock import DirectoryLock
from docshare.server.workers.jobs import JOBS, run_job
from tests.support.documents.images import make_picture
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import update_file_row
from tests.support.engines.stored_bytes import list_stored_keys
from tests.support.people.cast import World


class BrokenStore:
    """A delete function for the store of ``world`` that fails while ``is_broken``."""

    def __init__(self, world: World, error: Exception) -> None:
        self.is_broken = True
        self._error = error
        self._delete = world.rt.blobs.delete

    def delete(self, key: str) -> None:
        if self.is_broken:
            raise self._error
        self._delete(key)


def list_pending_removals(world: World) -> list[str]:
    return [blob for (blob,) in world.rt.db.fetch_all("SELECT blob FROM blob_removals ORDER BY blob")]


def run_removals(world: World) -> None:
    run_job(world.rt, next(job for job in JOBS if job.name == REMOVAL_JOB))


def upload_asset(world: World, uuid: str) -> int:
    data = {"kind": "logo", "file": (io.BytesIO(make_picture("PNG")), "logo.png")}
    return world.pia.post(f"/api/v1/files/{uuid}/assets", data=data).status_code


def replace_content(world: World, uuid: str) -> int:
    data = {"file": (io.BytesIO(simple_pdf(pages=5)), "second.pdf")}
    return world.pia.post(f"/api/v1/files/{uuid}/content", data=data).status_code


def purge_file(world: World, uuid: str) -> int:
    return world.pia.delete(f"/api/v1/files/{uuid}?purge=1").status_code


def burn_file(world: World, uuid: str) -> int:
    update_file_row(world, uuid, view_limit=1, views_consumed=1, burned_at=world.clock())
    world.clock.advance(minutes=31)
    return burn.destroy_due(world.rt)


@pytest.mark.parametrize("error", [StorageUnreachableError("away"), OSError(5, "Input/output error")])
@pytest.mark.parametrize(
    ("action", "waiting"), [(replace_content, 1), (purge_file, 1), (burn_file, 1), (upload_asset, 1)]
)
def test_bytes_that_the_store_cannot_delete_are_deleted_later(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception, action: Any, waiting: int
) -> None:
    uuid = world.pia.upload()["uuid"]
    if action is upload_asset:
        assert upload_asset(world, uuid) == 200
    before = set(list_stored_keys(world.rt))
    store = BrokenStore(world, error)
    monkeypatch.setattr(world.rt.blobs, "delete", store.delete)
    assert action(world, uuid) in (200, 1)
    assert len(list_pending_removals(world)) == waiting
    assert before <= set(list_stored_keys(world.rt))
    run_removals(world)  # the store is still unavailable
    assert len(list_pending_removals(world)) == waiting
    store.is_broken = False
    gone = set(list_pending_removals(world))
    run_removals(world)
    assert (list_pending_removals(world), gone & set(list_stored_keys(world.rt))) == ([], set())


class LockingStore(BrokenStore):
    """A delete function for the store of ``world`` that rejects the deletion of the keys in ``locked``."""

    def __init__(self, world: World, locked: set[str], error: Exception) -> None:
        super().__init__(world, error)
        self._locked = locked

    def delete(self, key: str) -> None:
        self.is_broken = key in self._locked
        super().delete(key)


REJECTIONS = [StorageUnreachableError("AccessDenied: a retention rule"), PermissionError(1, "Operation not permitted")]


@pytest.mark.parametrize("error", REJECTIONS)
def test_bytes_that_the_store_refuses_to_delete_do_not_keep_others(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    uuids = [world.pia.upload(simple_pdf(pages=pages))["uuid"] for pages in (1, 2, 3)]
    keys = set(list_stored_keys(world.rt))
    with DirectoryLock(world.rt.blobs.backup_lock.parent, BACKUP_LOCK):
        assert [purge_file(world, uuid) for uuid in uuids] == [200] * 3
    ((first,), *_) = world.rt.db.fetch_all("SELECT blob FROM blob_removals ORDER BY requested_at, blob")
    monkeypatch.setattr(world.rt.blobs, "delete", LockingStore(world, {first}, error).delete)
    run_removals(world)
    assert (set(list_stored_keys(world.rt)), list_pending_removals(world)) == ({first}, [first])
    assert first in keys


@pytest.mark.parametrize("error", REJECTIONS)
def test_many_bytes_that_cannot_be_deleted_do_not_keep_others(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """A run stops after several failures, so each run must begin with other bytes."""
    uuids = [world.pia.upload(simple_pdf(pages=pages))["uuid"] for pages in range(1, 5)]
    keys = list_stored_keys(world.rt)
    with DirectoryLock(world.rt.blobs.backup_lock.parent, BACKUP_LOCK):
        assert [purge_file(world, uuid) for uuid in uuids] == [200] * 4
    monkeypatch.setattr(removals, "_MAX_FAILURES", 1)
    monkeypatch.setattr(world.rt.blobs, "delete", LockingStore(world, set(keys[1:]), error).delete)
    for _ in range(200):
        run_removals(world)
        if keys[0] not in list_pending_removals(world):
            break
    assert list_stored_keys(world.rt) == keys[1:]


def test_a_store_that_does_not_answer_is_not_asked_for_every_blob(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    uuids = [world.pia.upload(simple_pdf(pages=pages))["uuid"] for pages in (1, 2, 3)]
    with DirectoryLock(world.rt.blobs.backup_lock.parent, BACKUP_LOCK):
        assert [purge_file(world, uuid) for uuid in uuids] == [200] * 3
    asked: list[str] = []
    seconds = itertools.count(step=5)

    def time_out(key: str) -> None:
        asked.append(key)
        raise StorageUnreachableError("timed out")

    monkeypatch.setattr(removals, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    monkeypatch.setattr(world.rt.blobs, "delete", time_out)
    run_removals(world)
    assert (len(asked), len(list_pending_removals(world))) == (1, 3)


def test_no_removal_is_pending_if_the_store_works(world: World) -> None:
    uuid = world.pia.upload()["uuid"]
    assert (upload_asset(world, uuid), upload_asset(world, uuid), replace_content(world, uuid)) == (200, 200, 200)
    assert len(list_stored_keys(world.rt)) == 2
    assert purge_file(world, uuid) == 200
    assert (list_stored_keys(world.rt), list_pending_removals(world)) == ([], [])


def test_bytes_are_not_deleted_during_a_backup(world: World) -> None:
    uuid = world.pia.upload()["uuid"]
    with DirectoryLock(world.rt.blobs.backup_lock.parent, BACKUP_LOCK):
        assert purge_file(world, uuid) == 200
        run_removals(world)
        assert (len(list_stored_keys(world.rt)), len(list_pending_removals(world))) == (1, 1)
    run_removals(world)
    assert (list_stored_keys(world.rt), list_pending_removals(world)) == ([], [])


def test_the_job_deletes_bytes_that_remain_after_a_crash(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.pia.upload()
    ((file_id,),) = world.rt.db.fetch_all("SELECT id FROM files")
    with monkeypatch.context() as patch:
        patch.setattr(removals, "delete_now", lambda rt, blobs: None)
        purge.purge(world.rt, file_id)
    assert len(list_stored_keys(world.rt)) == 1
    run_removals(world)
    assert list_stored_keys(world.rt) == []


def use_shared_store(world: World, tmp_path: Path) -> FolderStore:
    """Let the server of ``world`` share its store of documents with other instances."""
    names = (f"key{number:020d}" for number in itertools.count())
    store = FolderStore(tmp_path / "shared" / "blobs", tmp_path / "shared" / "tmp", lambda: next(names), is_shared=True)
    object.__setattr__(world.rt, "blobs", store)
    return store


def test_orphaned_bytes_in_a_shared_store_are_deleted_after_a_day(
    world: World, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A running upload of another instance has bytes without a row, so recent ones are kept."""
    store = use_shared_store(world, tmp_path)
    world.pia.upload()
    (kept,) = list_stored_keys(world.rt)
    old, new_key = store_content(store), store_content(store)
    parts = [store.create_partial(), store.create_partial()]
    for path in (store.path(kept), store.path(old), parts[0].path):
        set_age(world, path, ORPHAN_AGE_MS + 1000)
    for path in (store.path(new_key), parts[1].path):
        set_age(world, path, ORPHAN_AGE_MS - 60_000)
    assert store.sweep([]).orphans == 0, "another instance may be uploading"
    assert removals.delete_orphans(world.rt) == 2
    assert list_stored_keys(world.rt) == sorted([kept, new_key])
    assert list(store.tmp.iterdir()) == [parts[1].path]
    for part in parts:
        part.discard()


def test_more_orphans_than_crashes_leave_are_kept_in_a_shared_store(
    world: World, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A database restored from an old dump does not name the documents that were uploaded after it."""
    store = use_shared_store(world, tmp_path)
    keys = [store_content(store) for _ in range(MAX_CRASH_ORPHANS + 1)]
    for key in keys:
        set_age(world, store.path(key), ORPHAN_AGE_MS + 1000)
    assert removals.delete_orphans(world.rt) == 0
    assert list_stored_keys(world.rt) == sorted(keys)
    assert "the database may be an old copy" in caplog.text
    store.delete(keys[0])
    assert removals.delete_orphans(world.rt) == MAX_CRASH_ORPHANS


def test_an_orphan_that_cannot_be_deleted_does_not_keep_others(
    world: World, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = use_shared_store(world, tmp_path)
    keys = [store_content(store) for _ in range(3)]
    for key in keys:
        set_age(world, store.path(key), ORPHAN_AGE_MS + 1000)
    (first,) = [key for keys_of_folder in store.list_old(world.clock()) for key in keys_of_folder][:1]
    monkeypatch.setattr(store, "delete", LockingStore(world, {first}, PermissionError(1, "no")).delete)
    with pytest.raises(PermissionError):
        removals.delete_orphans(world.rt)
    assert list_stored_keys(world.rt) == [first]


def test_the_bytes_of_an_upload_that_was_not_stored_are_deleted_once_that_is_certain(world: World) -> None:
    """No number of them is an old copy of the database, and none waits for the next start."""
    keys = [store_content(world.rt.blobs) for _ in range(MAX_CRASH_ORPHANS + 1)]
    stored = world.pia.upload()
    (used,) = set(list_stored_keys(world.rt)) - set(keys)
    for key in (*keys, used):
        intake.discard_blob(world.rt, key, CommitUnknownError(OperationalError("57P01")))
    if world.rt.db.is_shared:  # the database may still finish the commit
        run_removals(world)
        assert set(keys) < set(list_stored_keys(world.rt))
        world.clock.advance(days=1)
    run_removals(world)
    assert (list_stored_keys(world.rt), list_pending_removals(world)) == ([used], [])
    assert world.http.get(f"/{stored['shortId']}/pages/1-800.jpg?v=1").status_code == 200


def test_the_bytes_of_a_rejected_upload_that_could_not_be_deleted_are_deleted_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = store_content(world.rt.blobs)
    with monkeypatch.context() as patch:
        patch.setattr(world.rt.blobs, "delete", BrokenStore(world, OSError(30, "Read-only file system")).delete)
        intake.discard_blob(world.rt, key, ValueError("no slot is free"))
    world.clock.advance(days=1)
    run_removals(world)
    assert list_stored_keys(world.rt) == []


def store_content(store: BlobStore) -> str:
    part = store.create_partial()
    part.write(b"orphan")
    return store.store(part)


def set_age(world: World, path: Any, age_ms: int) -> None:
    at = (world.clock() - age_ms) / 1000
    os.utime(path, (at, at))


def test_a_store_that_is_not_shared_is_not_searched_for_orphans(world: World) -> None:
    assert removals.delete_orphans(world.rt) == 0


class OperationalError(Exception):
    """An error of the PostgreSQL driver; ``sqlstate`` is None for a broken connection."""

    __module__ = "psycopg.errors"

    def __init__(self, sqlstate: str | None) -> None:
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


@pytest.mark.parametrize(("sqlstate", "broken"), [(None, True), ("57P01", True), ("08006", True), ("23505", False)])
def test_only_a_connection_that_breaks_during_a_commit_leaves_it_unknown(sqlstate: str | None, broken: bool) -> None:
    error = OperationalError(sqlstate)
    assert faults.is_disconnected(error) is broken
    assert not faults.may_have_committed(error)
    assert faults.may_have_committed(CommitUnknownError(error))
