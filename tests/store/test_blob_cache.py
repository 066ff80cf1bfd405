"""The cache of local blob copies: fetched once, never visible while incomplete, evicted above a limit."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import pytest

from docshare.server.store import blob_cache
from docshare.server.store.blob_cache import BlobCache, TooManyFillsError
from tests.support.polling import wait_until

HOUR_S = 3600


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "copies"


def add(cache: BlobCache, key: str, size: int, *, idle_s: int = 0) -> Path:
    """Add a copy of ``size`` bytes to the cache that was last used ``idle_s`` seconds ago."""
    path = cache.get(key, lambda file: _write(file, b"x" * size))
    used_at = path.stat().st_mtime - idle_s
    os.utime(path, (used_at, used_at))
    return path


def _write(file: IO[bytes], content: bytes) -> None:
    file.write(content)


def fail_on_fetch(_: IO[bytes]) -> None:
    raise AssertionError("it was fetched a second time")


def test_a_copy_is_fetched_once_and_survives_a_restart(root: Path) -> None:
    path = add(BlobCache(root), "a", 10)
    assert BlobCache(root).get("a", fail_on_fetch) == path
    assert path.read_bytes() == b"x" * 10


def test_concurrent_readers_of_one_blob_wait_for_a_single_fetch(root: Path) -> None:
    cache, started, release, fetched = BlobCache(root), threading.Event(), threading.Event(), []

    def fetch(file: IO[bytes]) -> None:
        fetched.append(1)
        started.set()
        assert release.wait(30)
        file.write(b"whole")

    found: list[bytes] = []
    readers = [threading.Thread(target=lambda: found.append(cache.get("a", fetch).read_bytes())) for _ in range(10)]
    for reader in readers:
        reader.start()
    assert started.wait(30)
    assert not (root / "a").exists(), "a copy is visible before it is whole"
    release.set()
    for reader in readers:
        reader.join(30)
    assert (found, len(fetched)) == ([b"whole"] * 10, 1)


def test_a_failed_fetch_stores_nothing_and_can_be_repeated(root: Path) -> None:
    cache = BlobCache(root)

    def fail(file: IO[bytes]) -> None:
        file.write(b"half")
        raise OSError("the connection was lost")

    with pytest.raises(OSError, match="lost"):
        cache.get("a", fail)
    assert list(root.iterdir()) == []
    assert add(cache, "a", 3).read_bytes() == b"xxx"


def test_the_least_recently_used_copies_are_evicted_above_the_limit(root: Path) -> None:
    cache = BlobCache(root, max_bytes=100)
    oldest, older = add(cache, "oldest", 40, idle_s=2 * HOUR_S), add(cache, "older", 40, idle_s=HOUR_S)
    add(cache, "new", 40)
    assert (oldest.exists(), older.exists()) == (False, True)
    cache.get("older", fail_on_fetch)  # now it was used more recently than "new"
    add(cache, "newest", 40)
    assert sorted(cache.list_keys()) == ["new", "newest", "older"]


def test_a_recently_used_copy_is_kept_even_above_the_limit(root: Path) -> None:
    cache = BlobCache(root, max_bytes=10)
    paths = [add(cache, key, 40) for key in ("a", "b")]
    assert all(path.exists() for path in paths)


def test_an_evicted_copy_remains_readable_while_it_is_open(root: Path) -> None:
    cache = BlobCache(root, max_bytes=50)
    with add(cache, "old", 40, idle_s=HOUR_S).open("rb") as opened:
        add(cache, "new", 40)
        assert not (root / "old").exists()
        assert opened.read() == b"x" * 40


def test_a_partial_copy_of_a_crashed_process_is_deleted_after_a_day(root: Path) -> None:
    cache = BlobCache(root)
    add(cache, "a", 1)
    lost, current = root / "lost.part", root / "current.part"
    for path in (lost, current):
        path.write_bytes(b"half")
    os.utime(lost, (0, 0))
    add(cache, "b", 1)
    wait_until(lambda: not lost.exists())
    assert current.exists()
    assert sorted(cache.list_keys()) == ["a", "b"]


def test_a_file_can_be_adopted_and_deleted(root: Path, tmp_path: Path) -> None:
    cache, part = BlobCache(root), tmp_path / "part"
    part.write_bytes(b"mine")
    cache.adopt(part, "a")
    assert (part.exists(), cache.get("a", fail_on_fetch).read_bytes()) == (False, b"mine")
    cache.delete("a")
    cache.delete("a")
    assert cache.list_keys() == []


def test_a_copy_is_on_the_disk_before_it_gets_its_name(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut may otherwise keep the name and lose the bytes."""
    synced: list[tuple[int, list[str]]] = []
    sync = os.fsync

    def note_sync(handle: int) -> None:
        sync(handle)
        synced.append((os.fstat(handle).st_size, BlobCache(root).list_keys()))

    monkeypatch.setattr(os, "fsync", note_sync)
    add(BlobCache(root), "a", 10)
    assert synced == [(10, [])]


def test_a_slow_store_leaves_threads_for_other_work(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blob_cache, "PATIENCE_S", 0.05)
    cache, release = BlobCache(root, max_fills=2), threading.Event()
    add(cache, "known", 10)
    started = threading.Semaphore(0)

    def fetch(file: IO[bytes]) -> None:
        started.release()
        assert release.wait(30)
        file.write(b"whole")

    with ThreadPoolExecutor() as pool:
        slow = [pool.submit(cache.get, key, fetch) for key in ("a", "b")]
        assert started.acquire(timeout=30)
        assert started.acquire(timeout=30)
        for key in ("a", "c"):
            with pytest.raises(TooManyFillsError):
                cache.get(key, fail_on_fetch)
        assert cache.get("known", fail_on_fetch).read_bytes() == b"x" * 10
        release.set()
        assert [each.result(30).read_bytes() for each in slow] == [b"whole"] * 2
    assert cache.get("c", fetch).read_bytes() == b"whole"


def test_a_thread_waits_for_a_store_that_is_only_busy(root: Path) -> None:
    cache, release, started = BlobCache(root, max_fills=1), threading.Event(), threading.Event()

    def fetch(file: IO[bytes]) -> None:
        started.set()
        assert release.wait(30)
        file.write(b"whole")

    with ThreadPoolExecutor() as pool:
        first = pool.submit(cache.get, "a", fetch)
        assert started.wait(30)
        second = pool.submit(cache.get, "b", lambda file: _write(file, b"too"))
        release.set()
        assert [first.result(30).read_bytes(), second.result(30).read_bytes()] == [b"whole", b"too"]
