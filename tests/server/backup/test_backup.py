"""``docshare admin backup``, and restoring its backups."""

from __future__ import annotations

import hashlib
import io
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from docshare.server.backup import making, reading
from docshare.server.backup.archive import TarSink
from docshare.server.pdf.engine import PdfEngine
from docshare.server.services.files import purge
from docshare.server.store.blobs import BACKUP_LOCK, REMOVAL_JOB
from docshare.server.store.lock import DirectoryLock
from docshare.server.workers.jobs import JOBS, run_job
from tests.support.clock import START, FakeClock
from tests.support.documents.pdfs import simple_pdf
from tests.support.owner.browser import put_settings
from tests.support.people import webhooks
from tests.support.people.cast import World, make_runtime, make_world
from tests.support.servers.instance_backup import DAY, Operator, open_restored, read_members


@pytest.mark.parametrize("name", ["saved.tar", "saved.tar.gz", "saved.tgz", "saved.tar.zst", "saved"])
def test_a_backup_is_restored_completely(operator: Operator, tmp_path: Path, name: str) -> None:
    world = operator.world
    webhooks.resolve_all_hosts(world.rt)
    made = world.pia.upload(simple_pdf(pages=2), "offer.pdf")
    put_settings(world, made, password="Open, Sesame!")
    hook = webhooks.create_webhook(world.pia)
    ((uuid, sealed),) = world.rt.db.fetch_all("SELECT uuid, secret FROM webhooks")
    path = operator.make_backup(name)
    done = operator.run_admin("restore", path, "--json", data=tmp_path / "new")
    assert (done.code, done.json["files"], done.json["blobs"]) == (0, 1, 1), done.err
    with open_restored(operator, tmp_path / "new") as again:
        assert get_content(again, made) == simple_pdf(pages=2)
        assert again.http.get(f"/{made['shortId']}").status_code == 200
        assert b"password" in again.http.get(f"/{made['shortId']}").data
        assert again.rt.vault.open(sealed, uuid) == hook["secret"]
        assert len(webhooks.list_webhooks(again.pia)) == 1
        assert operator.run_admin("check", data=tmp_path / "new").code == 0


@pytest.mark.parametrize(
    ("name", "magic"),
    [("saved.TAR", b""), ("saved.Tar.GZ", b"\x1f\x8b"), ("saved.TGZ", b"\x1f\x8b"), ("s.TZST", b"\x28\xb5")],
)
def test_the_case_of_an_archive_suffix_does_not_matter(operator: Operator, name: str, magic: bytes) -> None:
    operator.world.pia.upload()
    path = operator.make_backup(name)
    assert path.read_bytes().startswith(magic)
    done = operator.run_admin("restore", path, "--json", data=operator.place / "new")
    assert (done.code, done.json["files"]) == (0, 1)


def test_the_result_contains_the_manifest_digest_and_counts(operator: Operator) -> None:
    operator.world.pia.upload()
    path = operator.place / "saved.tar"
    done = operator.run_admin("backup", path, "--json")
    found = read_members(path)
    manifest = found.pop("manifest.json")
    assert done.json["sha256"] == hashlib.sha256(manifest).hexdigest()
    assert (done.json["path"], done.json["files"], done.json["blobs"]) == (str(path), 1, 1)
    found.pop("backup.json")
    assert done.json["bytes"] == done.json["written"] == sum(map(len, found.values()))
    (stored,) = read_stored_bytes(operator.world)
    assert set(found) == {"docshare.db", "vault.key", f"blobs/{_blob_path(stored)}"}
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["saved.tar", "saved.tar.gz", "saved.tar.zst"])
def test_a_backup_prints_the_size_of_the_archive(operator: Operator, name: str) -> None:
    operator.world.pia.upload()
    path = operator.place / name
    fields = dict(line.split("\t") for line in operator.run_admin("backup", path).lines)
    assert int(fields["archiveBytes"]) == path.stat().st_size
    assert (path.stat().st_size > int(fields["bytes"])) == (name == "saved.tar")


def test_the_result_of_a_backup_to_a_directory_has_no_size_of_an_archive(operator: Operator) -> None:
    assert "archiveBytes" not in operator.run_admin("backup", operator.place / "kept", "--json").json


def get_content(world: World, made: dict[str, Any]) -> bytes:
    """Return the content of Pia's file as downloaded by her."""
    with world.pia.get(f"/api/v1/files/{made['uuid']}/content") as answer:
        return answer.data


def read_stored_bytes(world: World) -> list[bytes]:
    """Return the bytes of all blobs as they are stored, oldest file first."""
    keys = world.rt.db.fetch_all("SELECT blob FROM files ORDER BY id")
    return [world.rt.blobs.path(key).read_bytes() for (key,) in keys]


def _blob_path(content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    return f"{digest[:2]}/{digest}"


def test_the_manifest_contains_the_digest_of_every_member(operator: Operator) -> None:
    operator.world.pia.upload()
    found = read_members(operator.make_backup())
    manifest = json.loads(found["manifest.json"])
    assert manifest["files"]["docshare.db"][1:] == [
        len(found["docshare.db"]), hashlib.sha256(found["docshare.db"]).hexdigest(),
    ]  # fmt: skip
    (stored,) = read_stored_bytes(operator.world)
    assert list(manifest["blobs"]) == [hashlib.sha256(stored).hexdigest()]
    assert manifest["createdAt"] == START + DAY * 1000


def test_equal_documents_in_clear_are_stored_once_and_restored_separately(tmp_path: Path, engine: PdfEngine) -> None:
    clock = FakeClock()
    world = make_world(make_runtime(tmp_path / "data", clock, engine, encryption=False), clock)
    operator = Operator(world, tmp_path)
    first, second = (operator.world.pia.upload() for _ in range(2))
    path = operator.make_backup()
    assert len([name for name in read_members(path) if name.startswith("blobs/")]) == 1
    assert operator.run_admin("restore", path, data=tmp_path / "new").code == 0
    with open_restored(operator, tmp_path / "new") as again:
        assert again.pia.delete(f"/api/v1/files/{first['uuid']}").status_code == 200
        assert get_content(again, second) == simple_pdf(pages=3)
        (keys,) = zip(*again.rt.db.fetch_all("SELECT blob FROM files"), strict=True)
        assert len(set(keys)) == 2
        assert all(again.rt.blobs.exists(key) for key in keys)


def test_a_second_backup_to_a_directory_copies_only_what_is_new(operator: Operator, tmp_path: Path) -> None:
    world, large = operator.world, simple_pdf(pages=1) + b"%" * 300_000
    world.pia.upload(large)
    first = operator.run_admin("backup", tmp_path / "kept", "--json").json
    small = simple_pdf(pages=2)
    world.pia.upload(small)
    second = operator.run_admin("backup", tmp_path / "kept", "--json").json
    database = next((tmp_path / "kept").glob("docshare.db.*")).stat().st_size
    key = (operator.data / "vault.key").stat().st_size
    sizes = [len(stored) for stored in read_stored_bytes(world)]
    assert sizes[0] > len(large)
    assert sizes[1] > len(small)
    assert first["written"] == database + key + sizes[0]
    assert second["written"] == database + key + sizes[1]
    assert second["bytes"] == database + key + sum(sizes)


def test_a_backup_directory_drops_destroyed_documents(operator: Operator, tmp_path: Path) -> None:
    world = operator.world
    made, kept = world.pia.upload(b"%PDF-1.4 x" + simple_pdf(pages=1)), world.pia.upload()
    operator.make_backup("kept")
    world.rt.db.engine.execute_sql("UPDATE files SET trashed_at = 1, purge_at = 1 WHERE uuid = ?", (made["uuid"],))
    world.clock.advance(days=60)
    purge.purge(world.rt, *(row for (row,) in world.rt.db.fetch_all("SELECT id FROM files WHERE trashed_at = 1")))
    operator.make_backup("kept")
    names = [path.name for path in (tmp_path / "kept" / "blobs").glob("*/*")]
    assert names == [hashlib.sha256(stored).hexdigest() for stored in read_stored_bytes(world)]
    assert operator.run_admin("restore", tmp_path / "kept", "--verify-only").code == 0
    assert kept["uuid"]


def test_a_document_destroyed_during_a_backup_is_saved_and_then_removed(operator: Operator, tmp_path: Path) -> None:
    world = operator.world
    made = world.pia.upload()
    ((blob, row),) = world.rt.db.fetch_all("SELECT blob, id FROM files")
    destroyed: list[bool] = []

    database = reading.database_size(operator.data / "docshare.db")

    def destroy(done: int, _total: int) -> None:
        if not destroyed and done > database:  # after the database has been copied
            purge.purge(world.rt, row)
            destroyed.append(world.rt.blobs.exists(blob))

    path = tmp_path / "saved.tar"
    with making.hold_backup_lock(operator.data), path.open("wb") as out:
        found = making.make_backup(
            operator.data, TarSink(out), tmp_path / "copy", world.rt.vault, now=START, progress=destroy
        )
    assert destroyed == [True], "it was removed during the backup"
    assert world.pia.get(f"/api/v1/files/{made['uuid']}").status_code == 404
    assert (found.manifest.damaged, len(found.manifest.blobs)) == ({}, 1)
    run_job(world.rt, next(job for job in JOBS if job.name == REMOVAL_JOB))
    assert not world.rt.blobs.exists(blob)
    assert operator.run_admin("restore", path, "--verify-only").code == 0


def test_a_start_during_a_backup_does_not_remove_orphans(operator: Operator) -> None:
    blobs = operator.world.rt.blobs
    part = blobs.create_partial()
    part.write(b"x")
    key = blobs.store(part)
    with DirectoryLock(operator.data, BACKUP_LOCK):
        assert blobs.sweep([]).orphans == 0
        assert blobs.exists(key)
    assert (blobs.sweep([]).orphans, blobs.exists(key)) == (1, False)


def test_backups_during_writes_are_complete(operator: Operator, tmp_path: Path) -> None:
    """Each restored backup is consistent and contains every upload acknowledged before it began."""
    world, stop = operator.world, threading.Event()
    acknowledged: list[str] = []
    writers = [threading.Thread(target=_write_until_stopped, args=(operator, stop, acknowledged, n)) for n in range(2)]
    for writer in writers:
        writer.start()
    saved: list[tuple[Path, set[str]]] = []
    try:
        while len(acknowledged) < 3:
            stop.wait(0.01)
        for number in range(3):
            before = set(acknowledged)
            saved.append((operator.make_backup(f"{number}.tar"), before))
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert not world.rt.db.fetch_all("PRAGMA foreign_key_check")
    for path, before in saved:
        target = tmp_path / f"{path.stem}-restored"
        assert operator.run_admin("restore", path, data=target).code == 0
        checked = operator.run_admin("check", "--json", data=target)
        assert checked.code == 0, checked.out
        found = set(_list_uuids(target))
        assert before <= found, "an acknowledged upload is missing"


def _write_until_stopped(operator: Operator, stop: threading.Event, acknowledged: list[str], number: int) -> None:
    """Upload files and purge every other one until ``stop`` is set."""
    pia, rt = operator.world.pia, operator.world.rt
    http = operator.world.app.test_client()
    while not stop.is_set():
        content = simple_pdf(pages=1) + f"%{number} {len(acknowledged)}".encode()
        for keep in (True, False):
            form = {"file": (io.BytesIO(content), "a.pdf")}
            answer = http.post("/api/v1/files", headers=pia.headers, data=form)
            if answer.status_code != 200:
                stop.set()
                return
            uuid = answer.get_json()["uuid"]
            if keep:
                acknowledged.append(uuid)
            else:
                http.delete(f"/api/v1/files/{uuid}", headers=pia.headers)
                ((row,),) = rt.db.fetch_all("SELECT id FROM files WHERE uuid = ?", (uuid,))
                purge.purge(rt, row)


def _list_uuids(data: Path) -> list[str]:
    with reading.open_database(data / "docshare.db", still=True) as database:
        return [uuid for (uuid,) in database.fetch_all("SELECT uuid FROM files")]


def test_a_damaged_document_does_not_prevent_a_backup_of_the_rest(operator: Operator) -> None:
    world = operator.world
    for content in (simple_pdf(pages=1), simple_pdf(pages=2), simple_pdf(pages=3)):
        world.pia.upload(content)
    keys = [key for (key,) in world.rt.db.fetch_all("SELECT blob FROM files ORDER BY id")]
    world.rt.blobs.path(keys[0]).unlink()
    world.rt.blobs.path(keys[1]).write_bytes(b"rotten")
    done = operator.run_admin("backup", operator.place / "saved.tar", "--json")
    assert (done.code, done.json["damaged"]) == (13, sorted(keys[:2]))
    assert f"{keys[0]} was missing" in done.err
    again = operator.run_admin("restore", operator.place / "saved.tar", "--json", data=operator.place / "new")
    assert (again.code, again.json["damaged"]) == (13, sorted(keys[:2]))
    blobs = operator.place / "new" / "blobs"
    assert (blobs / keys[1][:2] / keys[1]).read_bytes() == b"rotten", (
        "the damaged content, which may be the only copy, was lost"
    )
    assert (blobs / keys[2][:2] / keys[2]).read_bytes() == world.rt.blobs.path(keys[2]).read_bytes()


def test_the_vault_key_can_be_excluded(operator: Operator) -> None:
    webhooks.resolve_all_hosts(operator.world.rt)
    webhooks.create_webhook(operator.world.pia)
    assert "vault.key" in read_members(operator.make_backup())
    path = operator.place / "keyless.tar"
    assert operator.run_admin("backup", path, "--without-key").code == 0
    assert "vault.key" not in read_members(path)
    done = operator.run_admin("restore", path, data=operator.place / "new")
    assert (done.code, "the backup has no vault.key" in done.err) == (0, True)
    checked = operator.run_admin("check", "--json", data=operator.place / "new")
    assert checked.code == 13
    assert [row["check"] for row in checked.json if not row["ok"]] == ["secrets"]


def test_a_streamed_backup_is_only_the_archive(operator: Operator) -> None:
    operator.world.pia.upload()
    stream = bytearray()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("docshare.cli.framework.context.Context.write", lambda self, data: stream.extend(data))
        assert operator.run_admin("backup", "-").code == 0
    done = operator.run_admin("restore", "-", "--json", data=operator.place / "new", stdin=bytes(stream))
    assert (done.code, done.json["files"]) == (0, 1)


@pytest.mark.parametrize(
    ("out", "expected"),
    [
        ("there.tar", "exists"),
        ("saved.tar.xz", "docshare admin backup - | xz > saved.tar.xz"),
        ("saved.zst", "docshare admin backup - | zstd > saved.zst"),
        ("saved.TAR.XZ", "docshare admin backup - | xz > saved.TAR.XZ"),
        ("saved.zip", ".tar, .tar.gz, .tgz, .tar.zst, .tzst or a directory"),
        ("saved.Zip", ".tar, .tar.gz, .tgz, .tar.zst, .tzst or a directory"),
        ("full", "is not empty and is not a backup"),
        ("missing/saved.tar", "No such file or directory"),
    ],
)
def test_an_invalid_target_is_rejected(operator: Operator, out: str, expected: str) -> None:
    (operator.place / "there.tar").write_bytes(b"precious")
    (operator.place / "full").mkdir()
    (operator.place / "full" / "photo.jpg").write_bytes(b"precious")
    done = operator.run_admin("backup", operator.place / out)
    assert (done.code, done.out, expected in done.err) == (2, "", True), done.err
    assert (operator.place / "there.tar").read_bytes() == b"precious"
    assert [path.name for path in (operator.place / "full").iterdir()] == ["photo.jpg"]


def test_force_overwrites_an_archive_only_with_a_complete_one(operator: Operator) -> None:
    path = operator.make_backup()
    before = path.read_bytes()
    operator.world.pia.upload()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("docshare.server.backup.archive.TarSink.finish", _raise_full_disk)
        assert operator.run_admin("backup", path, "--force").code == 2
    assert path.read_bytes() == before
    assert not list(operator.place.glob("*.part"))
    assert operator.run_admin("backup", path, "--force").code == 0
    assert path.read_bytes() != before


def _raise_full_disk(*_: object) -> str:
    raise OSError(28, "No space left on device")


def test_a_backup_directory_of_another_instance_is_not_changed(operator: Operator, tmp_path: Path) -> None:
    operator.world.pia.upload()
    assert operator.run_admin("account", "list").code == 0  # the first opening assigns the instance id
    saved = operator.make_backup("saved")
    before = {path: path.read_bytes() for path in saved.rglob("*") if path.is_file()}
    other = tmp_path / "other"
    assert operator.run_admin("account", "create", "eve@example.com", data=other).code == 0
    done = operator.run_admin("backup", saved, data=other)
    assert (done.code, "is the backup of another instance" in done.err, "--force" in done.err) == (7, True, True)
    assert {path: path.read_bytes() for path in saved.rglob("*") if path.is_file()} == before
    assert operator.run_admin("backup", saved).code == 0
    assert operator.run_admin("backup", saved, "--force", data=other).code == 0
    assert operator.run_admin("backup", saved).code == 7


def test_a_restored_instance_continues_its_backup_directory(operator: Operator, tmp_path: Path) -> None:
    assert operator.run_admin("account", "list").code == 0
    saved = operator.make_backup("saved")
    assert operator.run_admin("restore", saved, data=tmp_path / "new").code == 0
    assert operator.run_admin("backup", saved, data=tmp_path / "new").code == 0


def test_a_backup_directory_of_an_older_version_is_continued(operator: Operator) -> None:
    manifest = operator.make_backup("saved") / "manifest.json"
    value = json.loads(manifest.read_bytes())
    del value["instance"]
    manifest.write_text(json.dumps(value))
    assert operator.run_admin("backup", manifest.parent).code == 0
