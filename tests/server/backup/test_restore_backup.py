"""``docshare admin restore``: a backup is verified before anything is replaced, and restored completely or not."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from docshare.server.backup import restoring
from docshare.server.backup.manifest import START, VERSION
from docshare.server.pdf.engine import PdfEngine
from docshare.server.store.blobs import BACKUP_LOCK
from docshare.server.store.lock import DirectoryLock
from tests.support.clock import FakeClock
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import count_rows, insert_download
from tests.support.people import webhooks
from tests.support.people.cast import close_world, make_runtime, make_world
from tests.support.servers.instance_backup import (
    AdminShell,
    Operator,
    open_restored,
    pack_archive,
    populate_instance,
    read_members,
)

DATABASE, MANIFEST = "docshare.db", "manifest.json"
BLOB_PATH = f"blobs/00/{'0' * 64}"


def find_blob(members: dict[str, bytes]) -> str:
    """Return the path of the only document in a backup."""
    (path,) = (name for name in members if name.startswith("blobs/"))
    return path


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory, engine: PdfEngine) -> bytes:
    """Return a backup with a member of each kind, created once for all tests that only read it."""
    place, clock = tmp_path_factory.mktemp("archive"), FakeClock()
    operator = Operator(make_world(make_runtime(place / "data", clock, engine), clock), place)
    populate_instance(operator)
    data = operator.make_backup().read_bytes()
    close_world(operator.world)
    return data


@pytest.fixture
def admin_shell(tmp_path: Path) -> AdminShell:
    """Return the shell of an operator without an instance."""
    return AdminShell(tmp_path / "data", tmp_path)


@pytest.fixture
def backup_path(archive: bytes, tmp_path: Path) -> Path:
    """Return the backup of another instance."""
    path = tmp_path / "given.tar"
    path.write_bytes(archive)
    return path


# --- damaged and hostile backups --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [DATABASE, "vault.key", "config.toml", "a document", MANIFEST, START])
def test_a_changed_byte_in_any_member_is_detected(admin_shell: AdminShell, backup_path: Path, path: str) -> None:
    found = read_members(backup_path)
    path = find_blob(found) if path == "a document" else path
    middle = len(found[path]) // 2
    found[path] = found[path][:middle] + bytes([found[path][middle] ^ 1]) + found[path][middle + 1 :]
    (admin_shell.place / "bad.tar").write_bytes(pack_archive(found))
    message = admin_shell.assert_restore_refused(admin_shell.place / "bad.tar")
    assert "the backup cannot be used: " in message


@pytest.mark.parametrize("name", [DATABASE, "vault.key", "config.toml", "blobs", MANIFEST])
def test_a_changed_byte_in_a_directory_is_detected(populated_operator: Operator, name: str) -> None:
    root = populated_operator.make_backup("kept")
    path = next(path for path in root.rglob("*") if path.is_file() and path.relative_to(root).parts[0].startswith(name))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    populated_operator.assert_restore_refused(root)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.98, 0.999])
def test_a_truncated_archive_is_rejected(admin_shell: AdminShell, backup_path: Path, share: float) -> None:
    data = backup_path.read_bytes()[:-1024]  # without its end, which contains no data
    admin_shell.assert_restore_refused("-", stdin=data[: int(len(data) * share)])


@pytest.mark.parametrize("name", ["saved.tar.gz", "saved.tar.zst"])
def test_a_truncated_or_damaged_compressed_archive_is_rejected(populated_operator: Operator, name: str) -> None:
    data = populated_operator.make_backup(name).read_bytes()
    populated_operator.assert_restore_refused("-", stdin=data[: len(data) // 2])
    populated_operator.assert_restore_refused("-", stdin=data[:2000] + b"\xff" * 64 + data[2064:])


def build_member(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0, link: str = "") -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, size, link
    return info.tobuf(tarfile.GNU_FORMAT)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "an absolute path": lambda: build_member("/etc/cron.d/evil"),
    "a path outside": lambda: build_member("blobs/../../evil"),
    "a path outside after a valid name": lambda: build_member(f"{BLOB_PATH}/../../../evil"),
    "an unexpected name": lambda: build_member("instance.key"),
    "the name of a lock": lambda: build_member("lock"),
    "a blob in the wrong directory": lambda: build_member(f"blobs/00/{'a' * 64}"),
    "a name with an escape": lambda: build_member("blobs/\x1b]0;evil"),
    "a symbolic link": lambda: build_member(DATABASE, tarfile.SYMTYPE, link="/etc/passwd"),
    "a hard link": lambda: build_member(DATABASE, tarfile.LNKTYPE, link="/etc/passwd"),
    "a device": lambda: build_member(DATABASE, tarfile.CHRTYPE),
    "a pipe": lambda: build_member(DATABASE, tarfile.FIFOTYPE),
    "a directory": lambda: build_member("blobs", tarfile.DIRTYPE),
    "a sparse file": lambda: build_member(DATABASE, tarfile.GNUTYPE_SPARSE),
    "a long name of ten gigabytes": lambda: build_member("././@LongLink", tarfile.GNUTYPE_LONGNAME, size=10 << 30),
    "a pax header of ten gigabytes": lambda: build_member("pax", tarfile.XHDTYPE, size=10 << 30),
    "a member larger than declared": lambda: build_member(DATABASE, size=1 << 60),
    "a negative size": lambda: build_member(DATABASE, size=-1),
    "a second beginning": lambda: pack_archive({START: b"{}"})[:1024],
    "a manifest of ten gigabytes": lambda: build_member(MANIFEST, size=10 << 30),
    "noise": lambda: b"\x7fELF" * 128,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_writes_nothing(admin_shell: AdminShell, name: str) -> None:
    start = json.dumps({"format": "docshare-backup", "version": VERSION, "bytes": 1 << 20}).encode()
    data = pack_archive({START: start})[:1024] + HOSTILE[name]() + bytes(1024)
    message = admin_shell.assert_restore_refused("-", stdin=data)
    assert "\x1b" not in message
    assert not list(admin_shell.place.rglob("evil"))


def test_a_duplicate_member_is_rejected(admin_shell: AdminShell, backup_path: Path) -> None:
    data = backup_path.read_bytes()
    with tarfile.open(backup_path) as archive:
        info = archive.getmember("vault.key")
    whole = data[info.offset : info.offset_data + 512]
    admin_shell.assert_restore_refused("-", stdin=data[: info.offset] + whole + data[info.offset :])


def test_a_member_that_is_not_in_the_manifest_is_rejected(admin_shell: AdminShell, backup_path: Path) -> None:
    found = read_members(backup_path)
    digest = hashlib.sha256(b"more").hexdigest()
    manifest = found.pop(MANIFEST)
    start = json.loads(found[START])
    found[START] = json.dumps(start | {"bytes": start["bytes"] + 4}).encode()
    found[f"blobs/{digest[:2]}/{digest}"] = b"more"
    admin_shell.assert_restore_refused("-", stdin=pack_archive(found | {MANIFEST: manifest}))


def test_a_missing_member_is_reported(admin_shell: AdminShell, backup_path: Path) -> None:
    found = read_members(backup_path)
    path = find_blob(found)
    del found[path]
    assert f"{path} is missing" in admin_shell.assert_restore_refused("-", stdin=pack_archive(found))


def test_a_manifest_without_a_document_of_the_database_is_rejected(admin_shell: AdminShell, backup_path: Path) -> None:
    found = read_members(backup_path)
    manifest = json.loads(found[MANIFEST])
    path = find_blob(found)
    del manifest["blobs"][path.rpartition("/")[2]], found[path]
    found[MANIFEST] = json.dumps(manifest).encode()
    assert "is missing" in admin_shell.assert_restore_refused("-", stdin=pack_archive(found))


@pytest.mark.parametrize(
    ("name", "value"),
    [("files", {"docshare.db": ["../evil", 1, "0" * 64]}), ("blobs", {"../evil": [1, "a" * 20]}), ("schema", "7"),
     ("blobs", {"0" * 64: [1, "../../../evil"]}), ("blobs", {"0" * 64: [-1, "a" * 20]}), ("files", {}), ("blobs", 3),
     ("createdAt", 10**30), ("counts", {"files": "many"}), ("damaged", {"a" * 20: "\x1b[2J"}),
     ("damaged", {"\x07": "missing"})],
)  # fmt: skip
def test_a_manifest_with_invalid_values_is_rejected(populated_operator: Operator, name: str, value: object) -> None:
    root = populated_operator.make_backup("kept")
    manifest = json.loads((root / MANIFEST).read_text())
    (root / MANIFEST).write_text(json.dumps(manifest | {name: value}))
    assert "its manifest.json is damaged" in populated_operator.assert_restore_refused(root)


def test_a_manifest_of_another_database_is_rejected(populated_operator: Operator) -> None:
    root = populated_operator.make_backup("kept")
    manifest = json.loads((root / MANIFEST).read_text())
    (root / MANIFEST).write_text(json.dumps(manifest | {"schema": 1}))
    assert "but its manifest.json names step 1" in populated_operator.assert_restore_refused(root)


def test_links_and_pipes_in_a_directory_are_not_followed(populated_operator: Operator) -> None:
    root = populated_operator.make_backup("kept")
    path = next(root.glob("vault.key.*"))
    path.rename(populated_operator.place / "elsewhere")
    path.symlink_to(populated_operator.place / "elsewhere")
    populated_operator.assert_restore_refused(root, 2)
    path.unlink()
    os.mkfifo(path)
    populated_operator.assert_restore_refused(root)


def test_a_backup_of_a_later_version_is_rejected_with_its_reason(operator: Operator, own_backup: Path) -> None:
    found = read_members(own_backup)
    start = json.loads(found[START])
    found[START] = json.dumps(start | {"version": 2}).encode()
    assert "it was made by a later docshare" in operator.assert_restore_refused("-", stdin=pack_archive(found))
    with operator.world.rt.db.write():
        operator.world.rt.db.execute("PRAGMA user_version = 99")
    assert "database version 99 is newer" in operator.assert_restore_refused(operator.make_backup("later.tar"))


def test_a_backup_with_another_digest_is_rejected(admin_shell: AdminShell, backup_path: Path) -> None:
    digest = hashlib.sha256(read_members(backup_path)[MANIFEST]).hexdigest()
    new = admin_shell.place / "new"
    done = admin_shell.run_admin("restore", backup_path, "--sha256", "0" * 64, data=new)
    assert (done.code, digest in done.err) == (13, True)
    assert admin_shell.run_admin("restore", backup_path, "--sha256", "0" * 64, "--verify-only").code == 13
    assert admin_shell.run_admin("restore", backup_path, "--sha256", digest, data=new).code == 0


@pytest.mark.parametrize("option", ["--verify-only", "--dry-run"])
def test_verify_only_and_dry_run_write_nothing(admin_shell: AdminShell, backup_path: Path, option: str) -> None:
    done = admin_shell.run_admin("restore", backup_path, option, "--json", data=admin_shell.place / "new")
    assert (done.code, done.json["files"], done.json["schema"]) == (0, 1, 18)
    assert not (admin_shell.place / "new").exists()


# --- the target directory ---------------------------------------------------------------------------------------------


def test_an_instance_is_replaced_after_confirmation_and_moved_aside(operator: Operator, own_backup: Path) -> None:
    later = operator.world.pia.upload(simple_pdf(pages=1))
    operator.world.rt.db.close()
    unconfirmed = operator.run_admin("restore", own_backup)
    assert (unconfirmed.code, "--confirm" in unconfirmed.err) == (2, True)
    done = operator.run_admin("restore", own_backup, "--json", "--confirm", operator.data)
    assert done.code == 0, done.err
    aside = Path(done.json["aside"])
    with closing(sqlite3.connect(aside / DATABASE)) as old:
        assert old.execute("SELECT COUNT(*) FROM files WHERE uuid = ?", (later["uuid"],)).fetchone() == (1,)
    assert len(list((aside / "blobs").glob("*/*"))) == 2
    with open_restored(operator, operator.data) as again:
        assert again.pia.get(f"/api/v1/files/{later['uuid']}").status_code == 404
        assert count_rows(again, "files") == 1
    assert operator.run_admin("check").code == 0


def test_a_directory_with_other_files_is_rejected(admin_shell: AdminShell, backup_path: Path) -> None:
    place = admin_shell.place / "photos"
    place.mkdir()
    (place / "cat.jpg").write_bytes(b"meow")
    done = admin_shell.run_admin("restore", backup_path, "--yes", data=place)
    assert (done.code, "is not a docshare data directory" in done.err) == (2, True)
    assert [path.name for path in place.iterdir()] == ["cat.jpg"]


def test_restore_and_repair_are_rejected_while_a_server_runs(operator: Operator, own_backup: Path) -> None:
    with DirectoryLock(operator.data):
        done = operator.run_admin("restore", own_backup, "--yes")
        repair = operator.run_admin("check", "--repair")
    assert (done.code, "a server is running on" in done.err) == (7, True)
    assert repair.code == 7


def test_restore_and_repair_are_rejected_during_a_backup(operator: Operator, own_backup: Path) -> None:
    with DirectoryLock(operator.data, BACKUP_LOCK):
        done = operator.run_admin("restore", own_backup, "--yes")
        repair = operator.run_admin("check", "--repair")
    assert (done.code, "is being backed up" in done.err) == (7, True)
    assert repair.code == 7


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can restore for somebody else")
def test_files_that_root_restores_belong_to_the_owner_of_the_directory(
    admin_shell: AdminShell, backup_path: Path
) -> None:
    theirs = admin_shell.place / "theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    admin_shell.run_admin("restore", backup_path, data=theirs)
    assert {path.stat().st_uid for path in theirs.rglob("*")} == {65534}
    assert (theirs / "lock").exists()


def test_restored_files_are_private(admin_shell: AdminShell, backup_path: Path) -> None:
    new = admin_shell.place / "new"
    admin_shell.run_admin("restore", backup_path, data=new)
    assert all(path.stat().st_mode & 0o077 == 0 for path in [new, *new.rglob("*")])


def test_insufficient_disk_space_is_reported_before_writing(admin_shell: AdminShell, backup_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(restoring.shutil, "disk_usage", lambda path: _DiskUsage())
        assert "not enough disk space" in admin_shell.assert_restore_refused(backup_path, 2)


class _DiskUsage:
    free = 10


# --- state that a restore changes -------------------------------------------------------------------------------------


def test_new_event_ids_are_greater_than_any_that_a_client_may_have_seen(operator: Operator) -> None:
    made = operator.world.pia.upload()
    path = operator.make_backup()
    lost = insert_download(operator.world, made["uuid"])
    operator.run_admin("restore", path, data=operator.place / "new")
    with open_restored(operator, operator.place / "new") as again:
        found = insert_download(again, made["uuid"])
        assert found > lost + 1_000_000
        rows = again.pia.get(f"/api/v1/events?type=download&since={lost}").get_json()
        assert str(found) in json.dumps(rows)


def test_event_ids_stay_below_the_greatest_cursor_after_many_restores(operator: Operator) -> None:
    """An instance may be moved to another machine by a backup again and again; greater cursors are clamped."""
    made = operator.world.pia.upload()
    insert_download(operator.world, made["uuid"])
    data = operator.data
    for number in range(6):
        path = operator.place / f"{number}.tar"
        assert operator.run_admin("backup", path, data=data).code == 0
        data = operator.place / f"new{number}"
        assert operator.run_admin("restore", path, data=data).code == 0
    with open_restored(operator, data) as again:
        found = insert_download(again, made["uuid"])
        assert again.pia.get(f"/api/v1/events?type=download&since={found}").get_json() == []
        assert len(again.pia.get("/api/v1/events?type=download&since=1").get_json()) == 2


@pytest.mark.parametrize(("options", "waiting"), [((), 1), (("--hold-deliveries",), 0)])
def test_pending_deliveries_are_sent_unless_held(operator: Operator, options: tuple[str, ...], waiting: int) -> None:
    world = operator.world
    webhooks.resolve_all_hosts(world.rt)
    made = world.pia.upload()
    webhooks.create_webhook(world.pia)
    ((hook, file),) = world.rt.db.fetch_all(
        "SELECT w.id, f.id FROM webhooks w, files f WHERE f.uuid = ?", (made["uuid"],)
    )
    with world.rt.db.write():
        world.rt.db.execute(
            "INSERT INTO deliveries (uuid, webhook_id, file_id, event, body, created_at, next_at) "
            "VALUES ('u', ?, ?, 'file.viewed', '{}', 1, 1)",
            (hook, file),
        )
    operator.run_admin("restore", operator.make_backup(), *options, data=operator.place / "new")
    with open_restored(operator, operator.place / "new") as again:
        ((left, abandoned),) = again.rt.db.fetch_all(
            "SELECT COUNT(next_at), COUNT(abandoned_at) FROM deliveries WHERE uuid = 'u'"
        )
        assert (left, abandoned) == (waiting, 1 - waiting)
