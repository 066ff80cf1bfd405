"""Every deletion of a document destroys its data key first, in every file of the instance; nothing else does."""

import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from docshare.server.services.files import removals
from docshare.server.services.operations import encryption, sweeps
from docshare.server.store.blobs import BACKUP_LOCK
from docshare.server.store.lock import DirectoryLock
from tests.api.test_assets import upload_asset
from tests.api.variants.test_variants import create_variant
from tests.services.test_encryption import (
    blob_of,
    burn_file,
    fetch_status,
    list_all_files,
    make_document,
    purge_file,
    replace_content,
)
from tests.support.engines.database import sqlite_only
from tests.support.engines.rows import count_rows
from tests.support.engines.stored_bytes import list_stored_keys
from tests.support.people.anonymous_files import AnonymousFile, share_anonymously
from tests.support.people.cast import World
from tests.support.servers.instance_backup import Operator

pytestmark = pytest.mark.skipif(
    os.environ.get("DOCSHARE_TEST_STORAGE") == "bucket", reason="looks for keys in the files of a data directory"
)


def list_keys(world: World) -> dict[str, bytes]:
    """Return the sealed data keys of all documents and assets."""
    return {row.name: row.sealed for row in encryption._list_sealed(world.rt) if row.table == "data_keys"}


def share_file(world: World) -> dict[str, Any]:
    """Share a document without an account."""
    shared: AnonymousFile = share_anonymously(world, make_document())
    return {"uuid": shared.uuid, "shortId": shared.short_id, "claim": shared.claim_token}


def upload_file(world: World) -> dict[str, Any]:
    return world.pia.upload(make_document())


def expire_file(world: World, made: dict[str, Any]) -> None:
    del made
    world.clock.advance(minutes=15 * 24 * 60)
    assert sweeps.expire_unclaimed(world.rt) == 1


def purge_at_once(world: World, made: dict[str, Any]) -> None:
    assert world.pia.delete(f"/api/v1/files/{made['uuid']}?purge=1").status_code == 200


WAYS = [(upload_file, purge_file), (upload_file, purge_at_once), (upload_file, burn_file),
        (upload_file, replace_content), (share_file, expire_file)]  # fmt: skip


@pytest.mark.parametrize(("share", "destroy"), WAYS)
def test_the_key_is_destroyed_before_the_bytes(
    world: World, monkeypatch: pytest.MonkeyPatch, share: Callable[..., Any], destroy: Callable[..., None]
) -> None:
    made = share(world)
    blob = blob_of(world, made)
    delete, deleted = world.rt.blobs.delete, list[str]()

    def check_and_delete(key: str) -> None:
        assert key not in list_keys(world)
        deleted.append(key)
        delete(key)

    monkeypatch.setattr(world.rt.blobs, "delete", check_and_delete)
    destroy(world, made)
    assert deleted == [blob]
    assert blob not in list_stored_keys(world.rt)


@sqlite_only
@pytest.mark.parametrize("during_backup", [False, True])
@pytest.mark.parametrize(("share", "destroy"), WAYS)
def test_a_destroyed_key_is_found_in_no_file_and_no_later_backup(
    world: World, tmp_path: Path, share: Callable[..., Any], destroy: Callable[..., None], *, during_backup: bool
) -> None:
    world.mal.upload()
    made = share(world)
    folder = world.rt.config.data_dir
    sealed = list_keys(world)[blob_of(world, made)]
    key = encryption.sealed_blobs.open_key(world.rt, blob_of(world, made), sealed)
    assert any(sealed in content for content in list_all_files(folder).values())
    with DirectoryLock(folder, BACKUP_LOCK) if during_backup else nullcontext():
        destroy(world, made)
    if during_backup:
        assert removals.delete_remembered(world.rt) == 1
    (tmp_path / "place").mkdir()
    backup = Operator(world, tmp_path / "place").make_backup().read_bytes()
    for name, content in [*list_all_files(folder).items(), ("the backup", backup)]:
        assert not any(secret in content for secret in (sealed, key, key.hex().encode())), name


@pytest.mark.parametrize(("share", "destroy"), WAYS)
def test_a_copy_of_the_bytes_of_a_destroyed_document_cannot_be_read(
    world: World, share: Callable[..., Any], destroy: Callable[..., None]
) -> None:
    made = share(world)
    blob = blob_of(world, made)
    copied = b"".join(world.rt.blobs.read_blocks(blob))
    destroy(world, made)
    world.rt.blobs.put(blob, [copied])
    with pytest.raises(FileNotFoundError):
        encryption.sealed_blobs.open_blob(world.rt, blob).open()


def test_a_claim_keeps_the_key(world: World) -> None:
    shared = share_file(world)
    before = list_keys(world)
    answer = world.bea.post("/api/v1/files/claim", json={"claimToken": shared["claim"]})
    assert answer.status_code == 200, answer.text
    assert list_keys(world) == before
    assert list(before) == list_stored_keys(world.rt)
    page = f"/{shared['shortId']}/pages/1-800.jpg?v=1"
    assert fetch_status(world, page) == 200
    world.clock.advance(minutes=15 * 24 * 60)
    assert sweeps.expire_unclaimed(world.rt) == 0
    assert list_keys(world) == before


def test_variants_share_the_key_of_their_file(world: World) -> None:
    made = upload_file(world)
    before = list_keys(world)
    variant = create_variant(world.pia, made, label="Ada")
    assert fetch_status(world, f"/{variant['shortId']}/pages/1-800.jpg?v=1") == 200
    assert list_keys(world) == before
    assert count_rows(world, "data_keys") == 1
    blob = blob_of(world, made)
    purge_at_once(world, made)
    assert blob not in list_keys(world)
    assert fetch_status(world, f"/{variant['shortId']}/pages/1-800.jpg?v=1") == 404


def test_each_document_and_each_asset_has_a_key_of_its_own(world: World) -> None:
    made = upload_file(world)
    assert upload_asset(world.pia, made).status_code == 200
    upload_file(world)  # the same bytes
    keys = {encryption.sealed_blobs.open_key(world.rt, name, sealed) for name, sealed in list_keys(world).items()}
    assert len(keys) == len(list_stored_keys(world.rt)) == 3


@sqlite_only
@pytest.mark.parametrize("form", ["saved.tar", "saved.tar.zst", "saved"])
def test_a_backup_without_the_key_can_be_verified(world: World, tmp_path: Path, form: str) -> None:
    upload_file(world)
    place = tmp_path / "place"
    place.mkdir()
    operator = Operator(world, place)
    assert operator.run_admin("backup", place / form, "--without-key").code == 0
    done = operator.run_admin("restore", place / form, "--verify-only", "--json", data=place / "new")
    assert (done.code, done.json["files"]) == (0, 1), done.err
    assert not (place / "new").exists()
