"""Bytes without a row in a store that two instances use, while one of them makes a backup."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from docshare.server.backup.making import hold_removals
from docshare.server.runtime import Runtime
from docshare.server.services.files import purge, removals
from docshare.server.store.blobs import ORPHAN_AGE_MS, FolderStore
from docshare.server.store.postgresql import PostgresqlStore
from tests.support.engines.stored_bytes import list_stored_keys
from tests.support.people.cast import World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, make: Callable[..., World], tmp_path: Path) -> World:
    """Return an instance on PostgreSQL with a store that others may use."""
    monkeypatch.setenv("DOCSHARE_TEST_DATABASE", "postgresql")
    world = make()
    names = iter(f"key{number:020d}" for number in range(10))
    store = FolderStore(tmp_path / "shared" / "blobs", tmp_path / "shared" / "tmp", lambda: next(names), is_shared=True)
    object.__setattr__(world.rt, "blobs", store)
    return world


@pytest.fixture
def other(world: World) -> Iterator[Runtime]:
    """Yield another instance on the same database."""
    store = PostgresqlStore(world.rt.db.engine.pool.conninfo)
    yield replace(world.rt, db=store)
    store.close()


def add_old_orphan(world: World) -> str:
    part = world.rt.blobs.create_partial()
    part.write(b"orphan")
    key = world.rt.blobs.store(part)
    at = (world.clock() - ORPHAN_AGE_MS - 1000) / 1000
    os.utime(world.rt.blobs.path(key), (at, at))
    return key


def test_orphans_are_kept_while_another_instance_makes_a_backup(world: World, other: Runtime) -> None:
    key = add_old_orphan(world)
    with hold_removals(other.db):
        assert removals.delete_orphans(world.rt) == 0
        assert list_stored_keys(world.rt) == [key]
    assert removals.delete_orphans(world.rt) == 1


def test_bytes_that_wait_for_their_removal_are_not_orphans(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.pia.upload()
    (key,) = list_stored_keys(world.rt)
    ((file_id,),) = world.rt.db.fetch_all("SELECT id FROM files")
    with monkeypatch.context() as patch:
        patch.setattr(removals, "delete_now", lambda rt, blobs: None)
        purge.purge(world.rt, file_id)
    os.utime(world.rt.blobs.path(key), (0, 0))
    assert (removals.delete_orphans(world.rt), list_stored_keys(world.rt)) == (0, [key])
    assert (removals.delete_remembered(world.rt), list_stored_keys(world.rt)) == (1, [])
