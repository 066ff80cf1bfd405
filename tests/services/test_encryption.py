"""Documents are encrypted at rest: in the store, in the cache, and those that were stored in clear before."""

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docshare.server import faults
from docshare.server.app import set_runtime
from docshare.server.services.files import burn, removals
from docshare.server.services.operations import encryption, sweeps
from docshare.server.store.blobs import BACKUP_LOCK
from docshare.server.store.lock import DirectoryLock
from docshare.server.store.segments import is_encrypted
from tests.api.test_assets import upload_asset
from tests.support.documents.images import make_picture
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.database import sqlite_only
from tests.support.engines.rows import count_rows, update_file_row
from tests.support.engines.stored_bytes import list_stored_keys, read_stored
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World, make_runtime
from tests.support.people.reader import FakeReader
from tests.support.servers.instance_backup import Operator

WORDS = ("PLANTED-ALPHA", "PLANTED-BRAVO", "PLANTED-CHARLIE")
MAGICS = (b"%PDF-", b"\xff\xd8\xff", b"\x89PNG", b'{"boxes')

pytestmark = pytest.mark.skipif(
    os.environ.get("DOCSHARE_TEST_STORAGE") == "bucket", reason="changes bytes in a folder of blobs"
)


def reopen(world: World, **settings: Any) -> None:
    """Restart the server of ``world`` on its data directory with ``settings``."""
    old = world.rt
    old.converter.close()
    old.pages.close()
    old.db.close()
    world.rt = make_runtime(old.config.data_dir, world.clock, old.engine, **settings)
    set_runtime(world.app, world.rt)


def make_document(*more: str) -> bytes:
    return simple_pdf(texts=[*WORDS, *more])


def upload_everything(world: World) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Upload a document with an asset and a page range; return the upload result and the bytes behind each path."""
    made = world.pia.upload(make_document(), "Plan.pdf")
    asset = upload_asset(world.pia, made).get_json()
    name = made["shortId"]
    paths = [f"/{name}/assets/{asset['assetId']}", f"/api/v1/files/{made['uuid']}/content"]
    for page in (1, 2, 3):
        paths += [f"/{name}/pages/{page}-800.jpg?v=1", f"/{name}/text/{page}.json?v=1"]
    return made, {path: fetch(world, path) for path in paths}


def fetch(world: World, path: str) -> bytes:
    who = world.pia if path.startswith("/api") else world.http
    answer = who.get(path, buffered=True)
    assert answer.status_code == 200, (path, answer.text)
    return answer.data


def assert_served(world: World, served: dict[str, bytes]) -> None:
    for path, content in served.items():
        assert fetch(world, path) == content, path


def list_all_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def find_plain_files(world: World) -> set[str]:
    """Return the files below the data directory that show a planted text, or are of a kind that documents are."""
    folder = world.rt.config.data_dir
    return {
        name
        for name, content in list_all_files(folder).items()
        if content.startswith(MAGICS) or any(word.encode() in content for word in WORDS)
    }


def blob_of(world: World, made: dict[str, Any]) -> str:
    found = world.rt.db.fetch_one("SELECT blob FROM files WHERE uuid = ?", (made["uuid"],))
    assert found is not None
    return str(found[0])


def list_sealed(world: World) -> dict[str, bytes]:
    return {row.name: row.sealed for row in encryption._list_sealed(world.rt)}


def get_health(world: World) -> dict[str, Any]:
    found: dict[str, Any] = world.http.get("/healthz?details").get_json()["encryption"]
    return found


@pytest.mark.usefixtures("patient_trials")
def test_no_file_of_the_server_has_anything_of_a_document(world: World) -> None:
    made, served = upload_everything(world)
    assert b"PLANTED-BRAVO" in served[f"/api/v1/files/{made['uuid']}/content"]
    assert b"PLANTED-BRAVO" in served[f"/{made['shortId']}/text/2.json?v=1"]
    assert served[f"/{made['shortId']}/pages/2-800.jpg?v=1"].startswith(b"\xff\xd8")
    assert find_plain_files(world) == set()
    assert_served(world, served)  # from the cache
    put_settings(world, made, pageRange={"from": 2, "to": 3}, allowDownload=True)
    copy = world.http.post(f"/{made['shortId']}/download", buffered=True)
    assert (copy.status_code, copy.data[:5]) == (200, b"%PDF-")
    assert any(name.endswith(".pdf.sealed") for name in list_all_files(world.rt.config.data_dir / "cache"))
    assert find_plain_files(world) == set()
    stored = [read_stored(world.rt, key) for key in list_stored_keys(world.rt)]
    assert len(stored) == 2
    assert all(is_encrypted(content) for content in stored)
    assert get_health(world) == {"on": True, "encrypted": 2, "stored": 2}


def test_a_part_of_an_upload_is_encrypted_before_the_upload_ends(world: World) -> None:
    part = world.rt.blobs.create_partial()
    part.write(make_document() * 100)
    assert part.path.stat().st_size > 65_536
    assert find_plain_files(world) == set()
    part.discard()


@pytest.mark.usefixtures("patient_trials")
def test_a_personal_copy_leaves_nothing_in_clear(world: World) -> None:
    made = world.pia.upload(make_document(), "Plan.pdf")
    put_settings(world, made, allowDownload=True, watermark=True)
    version = FakeReader(world, made["shortId"]).facts["version"]
    assert fetch(world, f"/{made['shortId']}/pages/1-800.jpg?v={version}").startswith(b"\xff\xd8")
    assert world.http.post(f"/{made['shortId']}/download", buffered=True).status_code == 200
    assert find_plain_files(world) == set()


def test_documents_in_clear_are_served_and_encrypted_later(make: Callable[..., World]) -> None:
    world = make(encryption=False)
    served = upload_everything(world)[1]
    old = list_stored_keys(world.rt)
    assert get_health(world) == {"on": False, "encrypted": 0, "stored": 2}
    assert len(find_plain_files(world)) == 8
    assert encryption.encrypt_stored(world.rt) == 0

    reopen(world)
    assert get_health(world) == {"on": True, "encrypted": 0, "stored": 2}
    assert_served(world, served)
    assert encryption.encrypt_stored(world.rt) == 2
    assert get_health(world) == {"on": True, "encrypted": 2, "stored": 2}
    assert find_plain_files(world) == set()
    assert set(list_stored_keys(world.rt)).isdisjoint(old)
    assert count_rows(world, "blob_removals") == 0
    assert_served(world, served)
    assert find_plain_files(world) == set()
    assert encryption.encrypt_stored(world.rt) == 0

    reopen(world, encryption=False)  # encrypted documents stay readable, and as they are
    assert_served(world, served)
    assert get_health(world) == {"on": False, "encrypted": 2, "stored": 2}


def test_documents_are_encrypted_some_at_a_time(make: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> None:
    world = make(encryption=False)
    for _ in range(3):
        world.pia.upload()
    reopen(world)
    monkeypatch.setattr(encryption, "_BATCH", 2)
    assert encryption.encrypt_stored(world.rt) == 2
    assert get_health(world) == {"on": True, "encrypted": 2, "stored": 3}
    assert encryption.encrypt_stored(world.rt) == 1


def test_nothing_is_encrypted_during_a_backup(make: Callable[..., World]) -> None:
    world = make(encryption=False)
    world.pia.upload()
    reopen(world)
    with DirectoryLock(world.rt.config.data_dir, BACKUP_LOCK):
        assert encryption.encrypt_stored(world.rt) == 0
    assert encryption.encrypt_stored(world.rt) == 1


def test_a_document_that_is_replaced_while_it_is_encrypted_stays_the_new_one(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make(encryption=False)
    made = world.pia.upload(make_document())
    reopen(world)
    store = encryption.sealed_blobs.store

    def replace_meanwhile(*given: Any) -> Any:
        monkeypatch.setattr(encryption.sealed_blobs, "store", store)
        replace_content(world, made, b"%PDF-new ")
        return store(*given)

    monkeypatch.setattr(encryption.sealed_blobs, "store", replace_meanwhile)
    assert encryption.encrypt_stored(world.rt) == 0
    assert fetch(world, f"/api/v1/files/{made['uuid']}/content").endswith(b"%PDF-new ")
    assert len(list_stored_keys(world.rt)) == count_rows(world, "data_keys") == 1


@pytest.mark.parametrize("step", ["store", "insert_key"])
def test_an_encryption_that_fails_leaves_the_document_as_it_was(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    world = make(encryption=False)
    _, served = upload_everything(world)
    old = list_stored_keys(world.rt)
    reopen(world)

    def fail(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(encryption.sealed_blobs, step, fail)
        assert encryption.encrypt_stored(world.rt) == 0
    assert list_stored_keys(world.rt) == old
    assert list(world.rt.blobs.tmp.iterdir()) == []
    assert count_rows(world, "data_keys") == 0
    assert encryption.encrypt_stored(world.rt) == 2
    assert_served(world, served)


def test_a_crash_after_the_commit_leaves_nothing_in_clear(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make(encryption=False)
    upload_everything(world)
    reopen(world)

    def crash(*given: Any) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(removals, "delete_now", crash)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="killed"):
                encryption.encrypt_stored(world.rt)
    reopen(world)
    sweeps.clean_at_start(world.rt)
    assert find_plain_files(world) == set()


def replace_content(world: World, made: dict[str, Any], more: bytes = b"") -> None:
    world.pia.replace(made["uuid"], make_document() + more, "Plan.pdf")


def purge_file(world: World, made: dict[str, Any]) -> None:
    assert world.pia.delete(f"/api/v1/files/{made['uuid']}").status_code in (200, 204)
    from docshare.server.services.files import trash

    trash.purge_any(world.rt, made["uuid"])


def burn_file(world: World, made: dict[str, Any]) -> None:
    update_file_row(world, made["uuid"], burned_at=world.clock.now)
    world.clock.advance(minutes=31)
    assert burn.destroy_due(world.rt) == 1


DESTROY = pytest.mark.parametrize("destroy", [purge_file, burn_file, replace_content])


@DESTROY
@pytest.mark.parametrize("with_bytes", [True, False])
def test_what_destroys_a_document_destroys_its_key(
    world: World, monkeypatch: pytest.MonkeyPatch, destroy: Callable[..., None], with_bytes: bool
) -> None:
    """Also where its bytes cannot be deleted at once."""
    made, other = world.pia.upload(make_document()), world.pia.upload()
    kept, blob = blob_of(world, other), blob_of(world, made)
    if not with_bytes:
        monkeypatch.setattr(removals, "delete_now", lambda *given: None)
    destroy(world, made)
    rows = {name for (name,) in world.rt.db.fetch_all("SELECT blob FROM data_keys")}
    assert blob not in rows
    assert kept in rows
    assert world.rt.blobs.exists(blob) is not with_bytes
    if not with_bytes:
        with pytest.raises(FileNotFoundError):
            encryption.sealed_blobs.open_blob(world.rt, blob).open()


@sqlite_only
@pytest.mark.parametrize("destroy", [purge_file, pytest.param(burn_file), pytest.param(replace_content)])
def test_a_destroyed_key_is_found_in_no_file(world: World, destroy: Callable[..., None]) -> None:
    made = world.pia.upload(make_document())
    sealed = list_sealed(world)[blob_of(world, made)]
    assert any(sealed in content for content in list_all_files(world.rt.config.data_dir).values())
    destroy(world, made)
    found = [name for name, content in list_all_files(world.rt.config.data_dir).items() if sealed in content]
    assert found == []


def test_an_asset_that_is_replaced_loses_its_key(world: World) -> None:
    made = world.pia.upload()
    first = upload_asset(world.pia, made).get_json()
    before = set(list_sealed(world))
    assert upload_asset(world.pia, made, content=make_picture(size=(80, 50))).status_code == 200
    gone = before - set(list_sealed(world))
    assert fetch_status(world, f"/{made['shortId']}/assets/{first['assetId']}") == 404
    assert len(gone) == count_rows(world, "data_keys") - 1 == 1


def fetch_status(world: World, path: str) -> int:
    who = world.pia if path.startswith("/api") else world.http
    answer = who.post(path, buffered=True) if path.endswith("/download") else who.get(path, buffered=True)
    return answer.status_code


def list_document_paths(made: dict[str, Any]) -> list[str]:
    name = made["shortId"]
    return [
        f"/{name}/pages/1-800.jpg?v=1", f"/{name}/text/1.json?v=1", f"/{name}/search?v=1&q=page",
        f"/{name}/download",
        f"/api/v1/files/{made['uuid']}/content",
    ]  # fmt: skip


def damage(world: World, blob: str, change: Callable[[bytes], bytes]) -> None:
    path = Path(os.fspath(world.rt.blobs.path(blob)))
    path.write_bytes(change(path.read_bytes()))


def flip(at: int) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]

    return change


CHANGES = [flip(0), flip(20), flip(60), flip(500), lambda old: flip(len(old) - 1)(old), lambda old: old[:-1],
           lambda old: old[:40], lambda old: b"", lambda old: old + b"\0", lambda old: make_document()]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_document_is_503_and_one_line_of_the_log(
    world: World, caplog: pytest.LogCaptureFixture, change: Callable[[bytes], bytes]
) -> None:
    made = world.pia.upload(make_document())
    put_settings(world, made, allowDownload=True)
    damage(world, blob_of(world, made), change)
    logging.getLogger("docshare").propagate = True
    faults._last_logged.clear()
    caplog.clear()
    assert [fetch_status(world, path) for path in list_document_paths(made)] == [503] * 5
    lines = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [("stored bytes are damaged" in line.getMessage(), line.exc_info) for line in lines] == [(True, None)]
    assert world.http.get("/healthz").status_code == 200


def test_exchanged_documents_are_503(world: World) -> None:
    first, second = world.pia.upload(make_document("first")), world.mal.upload(make_document("other"))
    for made, owner in ((first, world.pia), (second, world.mal)):
        assert owner.put(f"/api/v1/files/{made['uuid']}/settings", json={"allowDownload": True}).status_code == 200
    one, two = (read_stored(world.rt, blob_of(world, made)) for made in (first, second))
    assert len(one) == len(two)
    damage(world, blob_of(world, first), lambda old: two)
    damage(world, blob_of(world, second), lambda old: one)
    assert [fetch_status(world, path) for path in list_document_paths(first)] == [503] * 5
    assert [fetch_status(world, path) for path in list_document_paths(second)[:3]] == [503] * 3


def test_exchanged_and_changed_files_of_the_cache_are_made_again(world: World) -> None:
    made, served = upload_everything(world)
    cache = world.rt.config.data_dir / "cache" / made["uuid"] / "1"
    one, two = cache / "1-800.jpg.sealed", cache / "2-800.jpg.sealed"
    content = one.read_bytes()
    shutil.copy(two, one)
    two.write_bytes(content)
    text = cache / "3.json.sealed"
    text.write_bytes(flip(50)(text.read_bytes()))
    assert_served(world, served)


def test_an_exchanged_asset_is_not_served(world: World) -> None:
    made, served = upload_everything(world)
    (path,) = (path for path in served if "/assets/" in path)
    ((blob,),) = world.rt.db.fetch_all("SELECT blob FROM assets")
    document = read_stored(world.rt, blob_of(world, made))
    damage(world, blob, lambda old: document)
    assert fetch_status(world, path) == 503


@sqlite_only
def test_a_backup_of_encrypted_documents_has_no_text_of_them(world: World, tmp_path: Path) -> None:
    upload_everything(world)
    operator = Operator(world, tmp_path / "place")
    (tmp_path / "place").mkdir()
    content = operator.make_backup().read_bytes()
    assert not any(word.encode() in content for word in WORDS)
