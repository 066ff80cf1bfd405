"""Local copies of blobs: made once, never seen in part, removed when there are too many."""

import os
import threading
from pathlib import Path
from typing import IO

import pytest

from docshare.server.store.blob_cache import BlobCache
from tests.support.polling import wait_until

HOUR_S = 3600


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "copies"


def add(cache: BlobCache, key: str, size: int, *, idle_s: int = 0) -> Path:
    """Let the cache make a copy of ``size`` bytes that was last used ``idle_s`` seconds ago."""
    path = cache.get(key, lambda file: _write(file, b"x" * size))
    used_at = path.stat().st_mtime - idle_s
    os.utime(path, (used_at, used_at))
    return path


def _write(file: IO[bytes], content: bytes) -> None:
    file.write(content)


def refuse(_: IO[bytes]) -> None:
    raise AssertionError("it was fetched a second time")


def test_a_copy_is_made_once_and_survives_a_restart(root: Path) -> None:
    path = add(BlobCache(root), "a", 10)
    assert BlobCache(root).get("a", refuse) == path
    assert path.read_bytes() == b"x" * 10


def test_threads_that_need_one_blob_at_once_wait_for_one_fetch(root: Path) -> None:
    cache, begun, release, fetched = BlobCache(root), threading.Event(), threading.Event(), []

    def fetch(file: IO[bytes]) -> None:
        fetched.append(1)
        begun.set()
        assert release.wait(30)
        file.write(b"whole")

    found: list[bytes] = []
    readers = [threading.Thread(target=lambda: found.append(cache.get("a", fetch).read_bytes())) for _ in range(10)]
    for reader in readers:
        reader.start()
    assert begun.wait(30)
    assert not (root / "a").exists(), "a copy is visible before it is whole"
    release.set()
    for reader in readers:
        reader.join(30)
    assert (found, len(fetched)) == ([b"whole"] * 10, 1)


def test_a_fetch_that_fails_leaves_nothing_and_may_be_repeated(root: Path) -> None:
    cache = BlobCache(root)

    def fail(file: IO[bytes]) -> None:
        file.write(b"half")
        raise OSError("the connection was lost")

    with pytest.raises(OSError, match="lost"):
        cache.get("a", fail)
    assert list(root.iterdir()) == []
    assert add(cache, "a", 3).read_bytes() == b"xxx"


def test_the_least_recently_used_copies_are_removed_when_they_exceed_the_limit(root: Path) -> None:
    cache = BlobCache(root, max_bytes=100)
    oldest, older = add(cache, "oldest", 40, idle_s=2 * HOUR_S), add(cache, "older", 40, idle_s=HOUR_S)
    add(cache, "new", 40)
    assert (oldest.exists(), older.exists()) == (False, True)
    cache.get("older", refuse)  # now it was used later than the one before it
    add(cache, "newest", 40)
    assert sorted(cache.list_keys()) == ["new", "newest", "older"]


def test_a_copy_that_was_used_a_moment_ago_stays_whatever_the_limit(root: Path) -> None:
    cache = BlobCache(root, max_bytes=10)
    paths = [add(cache, key, 40) for key in ("a", "b")]
    assert all(path.exists() for path in paths)


def test_a_removed_copy_stays_readable_for_who_has_opened_it(root: Path) -> None:
    cache = BlobCache(root, max_bytes=50)
    with add(cache, "old", 40, idle_s=HOUR_S).open("rb") as opened:
        add(cache, "new", 40)
        assert not (root / "old").exists()
        assert opened.read() == b"x" * 40


def test_a_partial_copy_of_a_process_that_died_is_removed_after_a_day(root: Path) -> None:
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
    assert (part.exists(), cache.get("a", refuse).read_bytes()) == (False, b"mine")
    cache.delete("a")
    cache.delete("a")
    assert cache.list_keys() == []
