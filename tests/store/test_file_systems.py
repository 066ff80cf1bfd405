"""File systems that lack something: hard links, locks, allocation, or a way to sync directories.

The errors are those of exFAT, of network shares, and of folders that a virtual machine shares with its host.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docshare.server.store import reserve
from docshare.server.store.blobs import FolderStore
from docshare.server.store.file_names import link_or_copy, move_to_new, sync_directory
from docshare.server.store.lock import AlreadyLocked, DirectoryLock
from docshare.server.store.master_keys import KeyFile


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str, int], None]:
    """Return a function that lets the function ``name`` of a module fail with an error number."""

    def refuse(module: Any, name: str, number: int) -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(module, name, fail)

    return refuse


def refuse_directory_syncs(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    sync = os.fsync

    def fail(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(number, os.strerror(number))
        sync(handle)

    monkeypatch.setattr(os, "fsync", fail)


def test_a_key_is_created_without_hard_links_and_never_replaced(
    tmp_path: Path, refuse: Callable[[Any, str, int], None]
) -> None:
    refuse(os, "link", errno.EPERM)
    path = tmp_path / "vault.key"
    first = KeyFile(path, os.urandom).load()
    assert KeyFile(path, os.urandom).load() == first
    assert [file.name for file in tmp_path.iterdir()] == ["vault.key"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    other = tmp_path / "other"
    other.write_bytes(b"other")
    with pytest.raises(FileExistsError):
        move_to_new(other, path)
    assert KeyFile(path, os.urandom).load() == first


def test_a_file_gets_a_second_name_or_a_copy(tmp_path: Path, refuse: Callable[[Any, str, int], None]) -> None:
    (tmp_path / "a").write_bytes(b"bytes")
    link_or_copy(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").samefile(tmp_path / "a")
    refuse(os, "link", errno.EOPNOTSUPP)
    link_or_copy(tmp_path / "a", tmp_path / "c")
    assert ((tmp_path / "c").read_bytes(), (tmp_path / "c").samefile(tmp_path / "a")) == (b"bytes", False)
    refuse(os, "link", errno.ENOSPC)
    with pytest.raises(OSError, match="No space left"):
        link_or_copy(tmp_path / "a", tmp_path / "d")


def test_a_document_is_stored_where_a_directory_cannot_be_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_directory_syncs(monkeypatch, errno.EINVAL)
    store = FolderStore(tmp_path / "blobs", tmp_path / "tmp", lambda: "blob000000000001")
    part = store.create_partial()
    part.write(b"document")
    assert b"".join(store.read_blocks(store.store(part))) == b"document"
    refuse_directory_syncs(monkeypatch, errno.EIO)
    with pytest.raises(OSError, match="Input/output error"):
        sync_directory(tmp_path)


def test_a_missing_lock_service_is_not_reported_as_another_server(
    tmp_path: Path, refuse: Callable[[Any, str, int], None]
) -> None:
    with DirectoryLock(tmp_path), pytest.raises(AlreadyLocked), DirectoryLock(tmp_path):
        pass
    refuse(fcntl, "flock", errno.ENOLCK)
    with pytest.raises(OSError, match=r"No locks available: '.*/lock'"), DirectoryLock(tmp_path):
        pass


def test_space_is_reserved_by_writing_where_it_cannot_be_allocated(
    tmp_path: Path, refuse: Callable[[Any, str, int], None]
) -> None:
    refuse(os, "posix_fallocate", errno.EOPNOTSUPP)
    assert reserve.ensure_reserve(tmp_path) == 1
    assert (tmp_path / reserve.RESERVE_NAME).stat().st_size == reserve.RESERVE_BYTES
