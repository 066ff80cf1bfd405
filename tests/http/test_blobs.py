"""The blob store: content is synced before it gets its name, and leftovers are removed at the start."""

import errno
import os
import threading
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from docshare.server.store.blobs import MAX_CRASH_ORPHANS, FolderStore, SweepResult
from tests.http.harness import sha256


@pytest.fixture
def blobs(tmp_path: Path) -> FolderStore:
    numbers = count()
    return FolderStore(tmp_path / "blobs", tmp_path / "tmp", lambda: f"{next(numbers) % 7:02d}blob{next(numbers):014d}")


def store_content(blobs: FolderStore, content: bytes) -> str:
    part = blobs.create_partial()
    part.write(content)
    return blobs.store(part)


def test_a_part_has_its_size_hash_and_head(blobs: FolderStore) -> None:
    part = blobs.create_partial()
    for block in (b"%PDF-1.7\n", memoryview(b"a" * 1020), b"", b"b" * 5000):
        part.write(block)
    whole = b"%PDF-1.7\n" + b"a" * 1020 + b"b" * 5000
    assert (part.size, part.sha256(), part.head) == (len(whole), sha256(whole), whole[:1024])
    assert part.path.read_bytes() == whole
    part.discard()


def test_equal_content_is_stored_as_two_blobs(blobs: FolderStore) -> None:
    first, second = store_content(blobs, b"same"), store_content(blobs, b"same")
    assert first != second
    assert blobs.path(first).read_bytes() == blobs.path(second).read_bytes() == b"same"


def test_a_stored_blob_exists_until_it_is_deleted(blobs: FolderStore) -> None:
    key = store_content(blobs, b"x")
    assert blobs.exists(key)
    assert blobs.path(key) == blobs.root / key[:2] / key
    blobs.delete(key)
    assert not blobs.exists(key)
    blobs.delete(key)


def test_discarding_a_stored_part_does_not_delete_its_blob(blobs: FolderStore) -> None:
    part = blobs.create_partial()
    part.write(b"x")
    part.close()
    key = blobs.store(part)
    part.discard()
    assert blobs.path(key).read_bytes() == b"x"


def test_directories_and_files_are_private(blobs: FolderStore) -> None:
    key = store_content(blobs, b"x")
    modes = {path: path.stat().st_mode & 0o777 for path in (blobs.root, blobs.tmp, blobs.path(key).parent)}
    assert set(modes.values()) == {0o700}
    assert blobs.path(key).stat().st_mode & 0o777 == 0o600


def test_content_is_synced_before_the_rename_and_the_directory_after_it(
    blobs: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    real_fsync, real_rename = os.fsync, os.rename

    def fsync(descriptor: int) -> None:
        target = Path(os.readlink(f"/proc/self/fd/{descriptor}")).relative_to(blobs.root.parent)
        steps.append(f"fsync {target.parts[0]}, level {len(target.parts)}")
        real_fsync(descriptor)

    def rename(source: Path, target: Path) -> None:
        steps.append("rename")
        real_rename(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", rename)
    store_content(blobs, b"x")
    # The partial, the root (for the new directory), the rename, the directory.
    assert steps == ["fsync tmp, level 2", "fsync blobs, level 1", "rename", "fsync blobs, level 2"]


def test_a_part_that_could_not_be_stored_can_be_discarded(blobs: FolderStore, monkeypatch: pytest.MonkeyPatch) -> None:
    part = blobs.create_partial()
    part.write(b"x")
    calls = count()

    def fail_after_rename(descriptor: int) -> None:
        if next(calls) == 2:
            raise OSError("I/O error")

    monkeypatch.setattr(os, "fsync", fail_after_rename)
    with pytest.raises(OSError, match="I/O error"):
        blobs.store(part)
    part.discard()
    assert [path for path in blobs.root.rglob("*") if path.is_file()] == []


def test_many_threads_can_store_at_once(blobs: FolderStore) -> None:
    keys: list[str] = []
    threads = [threading.Thread(target=lambda: keys.append(store_content(blobs, b"x"))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(keys)) == 16
    assert all(blobs.exists(key) for key in keys)


@pytest.mark.parametrize("key", ["", "..", "../../etc/passwd", "short", "a" * 15, "a" * 65, "a" * 20 + "/", "é" * 20])
def test_an_invalid_key_is_rejected(blobs: FolderStore, key: str) -> None:
    for use in (blobs.path, blobs.exists, blobs.delete):
        with pytest.raises(ValueError, match="not a blob key"):
            use(key)


def test_sweep_removes_only_partials_and_blobs_without_a_row(blobs: FolderStore, tmp_path: Path) -> None:
    known, orphan = store_content(blobs, b"known"), store_content(blobs, b"orphan")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"x")
    partial = blobs.create_partial()
    partial.close()
    (blobs.tmp / "convert").mkdir()
    (blobs.tmp / "convert" / "leftover.docx").write_bytes(b"x")
    (blobs.tmp / "link").symlink_to(outside)
    assert blobs.sweep(iter([known])) == SweepResult(partials=3, orphans=1)
    assert list(blobs.tmp.iterdir()) == []
    assert blobs.exists(known)
    assert not blobs.exists(orphan)
    assert (outside / "precious").exists()
    assert blobs.sweep({known}) == SweepResult(partials=0, orphans=0)


def test_sweep_keeps_more_blobs_than_a_crash_can_leave(blobs: FolderStore, caplog: pytest.LogCaptureFixture) -> None:
    """The database is an old copy: without the rows of newer documents, all of them look like leftovers."""
    keys = [store_content(blobs, b"%d" % number) for number in range(MAX_CRASH_ORPHANS + 2)]
    assert blobs.sweep(keys[:1]).orphans == 0
    assert all(blobs.exists(key) for key in keys)
    assert f"{MAX_CRASH_ORPHANS + 1} stored files without a row are kept" in caplog.text
    assert blobs.sweep(keys[:2]).orphans == MAX_CRASH_ORPHANS


def test_free_bytes_is_what_an_unprivileged_process_may_write(
    blobs: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = {blobs.tmp: SimpleNamespace(f_bavail=3, f_bfree=5, f_frsize=4096, f_bsize=512)}
    monkeypatch.setattr(os, "statvfs", lambda place: room[place])
    assert blobs.free_bytes() == 3 * 4096


def test_a_temporary_directory_on_another_file_system_is_rejected(tmp_path: Path) -> None:
    elsewhere = Path("/dev/shm")
    if not elsewhere.is_dir() or elsewhere.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system here")
    with pytest.raises(ValueError, match="must lie on one file system"):
        FolderStore(tmp_path / "blobs", elsewhere, lambda: "x" * 16)


def test_a_growing_part_stops_before_the_disk_is_full(blobs: FolderStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Uploads of unknown length and concurrent uploads leave 1 GB free."""
    gb, block = 1 << 30, bytes(4 << 20)
    free = [gb]
    monkeypatch.setattr(os, "fstatvfs", lambda handle: SimpleNamespace(f_bavail=free[0], f_frsize=1))
    part = blobs.create_partial()
    for _ in range(4):
        part.write(block)
    free[0] = gb - 1
    for _ in range(3):
        part.write(block)
    with pytest.raises(OSError, match="No space left") as caught:
        part.write(block)
    assert caught.value.errno == errno.ENOSPC
    part.discard()
    assert list(blobs.tmp.iterdir()) == []


def make_nested_directories(place: Path, depth: int) -> None:
    """Create directories nested deeper than the limits of path length and recursion."""
    handle = os.open(place, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=handle)
        inner = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)


def test_the_start_removes_leftovers_of_a_hostile_document(tmp_path: Path) -> None:
    blobs = FolderStore(tmp_path / "blobs", tmp_path / "tmp", lambda: "k" * 16)
    left = tmp_path / "tmp" / "office-x"
    left.mkdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    make_nested_directories(left, 3_000)
    (left / "link").symlink_to(outside)
    closed = left / "closed"
    (closed / "in").mkdir(parents=True)
    (closed / ("\U0001f600" * 63)).mkdir()
    (closed / "in" / "file").touch()
    for directory in (closed / "in", closed, left):
        directory.chmod(0)
    blobs.sweep(())
    assert list((tmp_path / "tmp").iterdir()) == []
    assert (outside / "kept").exists()


def test_leftovers_that_cannot_be_removed_do_not_prevent_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    blobs = FolderStore(tmp_path / "blobs", tmp_path / "tmp", lambda: "k" * 16)
    (tmp_path / "tmp" / "office-x").mkdir()
    (tmp_path / "tmp" / "part").touch()

    def reject(*_: object) -> None:
        raise PermissionError("not yours")

    monkeypatch.setattr(Path, "rmdir", reject)
    blobs.sweep(())
    assert [path.name for path in (tmp_path / "tmp").iterdir()] == ["office-x"]
    assert "cannot be removed: office-x" in caplog.text
