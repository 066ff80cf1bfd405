"""``docshare admin backup`` when a target or the disk does not permit it, and what its backups leave out."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

import pytest

from docshare.server.backup import durable, making, reading
from docshare.server.store.blobs import BACKUP_LOCK, FolderStore
from docshare.server.store.lock import DirectoryLock
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import count_rows
from tests.support.owner.browser import sign_in_browser
from tests.support.servers.instance_backup import Operator, open_restored


def test_an_archive_is_not_written_to_a_terminal(operator: Operator) -> None:
    operator.shell.tty = True
    done = operator.run_admin("backup", "-")
    assert (done.code, done.out) == (2, "")


def test_a_second_concurrent_backup_is_rejected(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "_LOCK_PAUSE_S", 0)
    with DirectoryLock(operator.data, BACKUP_LOCK):
        done = operator.run_admin("backup", operator.place / "saved.tar")
    assert (done.code, "is being backed up" in done.err) == (7, True)
    assert not list(operator.place.glob("saved*"))


@pytest.mark.parametrize("name", ["saved.tar", "saved"])
def test_a_second_backup_to_the_same_target_does_not_damage_the_first(
    operator: Operator, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The command of one night may still be running when that of the next one begins."""
    copy, codes = reading.copy_database, []

    def copy_and_begin_another(source: Path, target: Path, progress: Callable[[int], None]) -> None:
        copy(source, target, progress)
        monkeypatch.setattr(making, "_LOCK_PAUSE_S", 0)
        codes.append(operator.run_admin("backup", operator.place / name).code)

    with monkeypatch.context() as patch:
        patch.setattr(reading, "copy_database", copy_and_begin_another)
        path = operator.make_backup(name)
    assert codes == [7]
    assert operator.run_admin("restore", path, "--verify-only").code == 0


def test_the_copy_of_the_database_is_private_while_it_is_written(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    copy = reading.copy_database

    def copy_and_record(source: Path, target: Path, progress: Callable[[int], None]) -> None:
        def step(count: int) -> None:
            modes.extend(path.stat().st_mode & 0o077 for path in target.parent.glob(f"{target.name}*"))
            progress(count)

        copy(source, target, step)

    monkeypatch.setattr(reading, "copy_database", copy_and_record)
    before = os.umask(0o022)
    try:
        operator.make_backup()
    finally:
        os.umask(before)
    assert set(modes) == {0}


def test_a_full_disk_is_reported(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill_disk(source: Path, target: Path, progress: Callable[[int], None]) -> None:
        with closing(sqlite3.connect(target)) as database:
            database.execute("PRAGMA max_page_count = 1")
            database.execute("CREATE TABLE far (too INTEGER, much TEXT)")
            database.execute("CREATE TABLE more (than TEXT)")

    monkeypatch.setattr(reading, "copy_database", fill_disk)
    done = operator.run_admin("backup", operator.place / "saved.tar")
    assert (done.code, "not enough disk space" in done.err) == (2, True)
    assert not list(operator.place.glob("saved*"))


def test_a_dry_run_writes_nothing(operator: Operator) -> None:
    operator.world.pia.upload()
    done = operator.run_admin("backup", operator.place / "saved.tar", "-n")
    assert done.code == 0
    assert done.out.startswith(f"WRITE\t{operator.place / 'saved.tar'}\t")
    assert not list(operator.place.glob("saved*"))


def test_a_missing_data_directory_is_reported(operator: Operator) -> None:
    done = operator.run_admin("backup", operator.place / "saved.tar", data=operator.place / "nowhere")
    assert (done.code, "there is no docshare data" in done.err) == (2, True)
    assert not (operator.place / "nowhere").exists()


def test_browser_sessions_are_not_restored(operator: Operator) -> None:
    world = operator.world
    sign_in_browser(world, world.pia)
    path = operator.make_backup()
    assert count_rows(world, "web_sessions") == 1
    operator.run_admin("restore", path, data=operator.place / "new")
    with open_restored(operator, operator.place / "new") as again:
        assert (count_rows(again, "web_sessions"), count_rows(again, "login_links")) == (0, 0)
        assert again.pia.get("/api/v1/user").status_code == 200


def test_an_unreadable_document_does_not_prevent_a_backup_of_the_rest(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One bad sector must not cost all other documents, and the check names the document."""
    lost, kept = operator.world.pia.upload(simple_pdf(pages=1)), operator.world.pia.upload(simple_pdf(pages=2))
    ((key,),) = operator.world.rt.db.fetch_all("SELECT blob FROM files WHERE uuid = ?", (lost["uuid"],))
    read_blocks = durable.read_blocks

    def read_or_fail(source: IO[bytes], size: int | None = None) -> Iterable[bytes]:
        if str(source.name).endswith(key):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return read_blocks(source, size)

    with monkeypatch.context() as patch:
        patch.setattr(durable, "read_blocks", read_or_fail)
        done = operator.run_admin("backup", operator.place / "saved.tar", "--json")
    assert (done.code, done.json["damaged"]) == (13, [key])
    again = operator.run_admin("restore", operator.place / "saved.tar", "--json", data=operator.place / "new")
    assert (again.code, again.json["damaged"]) == (13, [key])
    with open_restored(operator, operator.place / "new") as world:
        assert world.pia.get(f"/api/v1/files/{kept['uuid']}/content").data == simple_pdf(pages=2)


def test_the_check_names_an_unreadable_document(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    lost, _ = operator.world.pia.upload(), operator.world.pia.upload(simple_pdf(pages=2))
    ((key,),) = operator.world.rt.db.fetch_all("SELECT blob FROM files WHERE uuid = ?", (lost["uuid"],))
    read_blocks = FolderStore.read_blocks

    def read_or_fail(store: FolderStore, name: str) -> Iterator[bytes]:
        if name == key:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return read_blocks(store, name)

    monkeypatch.setattr(FolderStore, "read_blocks", read_or_fail)
    done = operator.run_admin("check", "--json")
    (found,) = [row["detail"] for row in done.json if not row["ok"]]
    assert (done.code, found) == (13, f"file {lost['uuid']}: its content cannot be read: Input/output error")


def test_a_repaired_document_replaces_its_damaged_bytes_in_a_backup_directory(operator: Operator) -> None:
    made = operator.world.pia.upload()
    ((key,),) = operator.world.rt.db.fetch_all("SELECT blob FROM files WHERE uuid = ?", (made["uuid"],))
    path = operator.world.rt.blobs.path(key)
    whole = path.read_bytes()
    path.write_bytes(whole[:-40] + bytes(40))
    first = operator.run_admin("backup", operator.place / "saved", "--json")
    assert (first.code, first.json["damaged"]) == (13, [key])
    path.write_bytes(whole)
    second = operator.run_admin("backup", operator.place / "saved", "--json")
    assert (second.code, second.json["damaged"]) == (0, [])
    assert operator.run_admin("restore", operator.place / "saved", data=operator.place / "new").code == 0
    assert (operator.place / "new" / "blobs" / key[:2] / key).read_bytes() == whole


@pytest.mark.parametrize("content", [None, b"damaged", bytes(32)])
def test_a_missing_or_wrong_key_is_reported_and_not_created(
    populated_operator: Operator, tmp_path: Path, content: bytes | None
) -> None:
    """A backup that nobody can decrypt must not look like a good one, and no command may put a new key in place."""
    operator, key = populated_operator, populated_operator.data / "vault.key"
    operator.world.rt.db.close()
    (tmp_path / "store").mkdir()
    key.unlink()
    if content is not None:
        key.write_bytes(content)
        key.chmod(0o600)
    for line, code in {
        ("check",): 13,
        ("check", "--repair", "--dry-run"): 13,
        ("backup", tmp_path / "saved.tar"): 13,
        ("backup", tmp_path / "saved"): 13,
        ("restore", tmp_path / "saved.tar", "--verify-only"): 13 if content else 0,
        ("restore", tmp_path / "saved", "--verify-only"): 13 if content else 0,
        ("backup", tmp_path / "public.tar", "--without-key"): 0,
        ("move", "--to-data", tmp_path / "moved"): 13 if content == bytes(32) else 2,
        ("move", "--to-storage", f"file://{tmp_path}/store"): 13 if content == bytes(32) else 2,
    }.items():
        done = operator.run_admin(*line)
        assert done.code == code, (line, done.err)
        assert (key.read_bytes() if key.exists() else None) == content, line
