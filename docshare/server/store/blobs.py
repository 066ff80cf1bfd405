"""Where document bytes live: one file per blob under ``<data>/blobs``, open uploads under ``<data>/tmp``.

A blob is durable before its row exists: partial file, ``fsync``, rename, ``fsync`` of the directory. Leftovers of a
crash (partials, blobs without a row) are removed by ``Blobs.sweep`` before the server answers.

While a backup is being made, whose process holds ``<data>/backup.lock``, no blob is removed: what is deleted meanwhile
goes once it has ended (``Blobs.settle``). The row of a blob is deleted and committed before the blob itself. So a blob
that the database names after the lock was taken exists until the lock is released.
"""

import errno
import hashlib
import logging
import os
import re
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from docshare.server.rules.intake import MIN_FREE_DISK_BYTES
from docshare.server.store.lock import is_locked

BACKUP_LOCK = "backup.lock"
"""The lock of a backup, in the data directory."""

HEAD_BYTES = 1024
"""How much of a file's beginning a part remembers: "is a PDF" is decided within it."""

# O_EXCL and O_NOFOLLOW: never write through a file or link that somebody else has put there.
_CREATE_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_DEPTH = 32  # of directories that cannot be moved, one in another
_OTHER_MOUNT = (errno.EBUSY, errno.EXDEV)  # what is mounted in a directory belongs to somebody else
_SPACE_CHECK_BYTES = 16 << 20  # how often a growing part looks how much room is left
_KEY_PATTERN = re.compile(r"[0-9A-Za-z]{16,64}")
_log = logging.getLogger(__name__)


class PartialFile:
    """An open partial file, hashed while it is written.

    ``path``: its current path; ``size``: bytes written so far; ``head``: its first ``HEAD_BYTES`` bytes. It is written
    by one thread at a time; closing and discarding twice is harmless. ``floor``: bytes that must stay free on its disk.
    """

    def __init__(self, path: Path, floor: int = 0) -> None:
        self.path = path
        self.size = 0
        self.head = b""
        self._floor = floor
        self._next_check_at = _SPACE_CHECK_BYTES
        self._hash = hashlib.sha256()
        self._file = open(os.open(path, _CREATE_FLAGS, 0o600), "r+b", buffering=0)  # noqa: SIM115 - outlives this call
        self._discardable = True

    def write(self, block: bytes | memoryview) -> None:
        """Append ``block``. Raises OSError when the disk is full, or nearly so (``floor``), or fails."""
        if len(self.head) < HEAD_BYTES:
            self.head += bytes(block[: HEAD_BYTES - len(self.head)])
        self._hash.update(block)
        view = memoryview(block)
        while view:
            view = view[self._file.write(view) or 0 :]
        self.size += len(block)
        if self.size >= self._next_check_at:
            self._next_check_at = self.size + _SPACE_CHECK_BYTES
            self._require_space()

    def _require_space(self) -> None:
        # Checking free space before the upload is not enough: its length may be unknown, and others write meanwhile.
        if _available_bytes(os.fstatvfs(self._file.fileno())) < self._floor:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def sha256(self) -> str:
        """The SHA-256 of everything written so far, in hex."""
        return self._hash.hexdigest()

    def close(self) -> None:
        """Return once all bytes are on the disk, and close the file; it stays where it is."""
        if not self._file.closed:
            os.fsync(self._file.fileno())
            self._file.close()

    def mark_stored(self) -> None:
        """The file belongs to the store: ``discard`` leaves it alone from now on."""
        self._discardable = False

    def discard(self) -> None:
        """Close and remove the file, unless it has been kept."""
        self._file.close()
        if self._discardable:
            self._discardable = False
            self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class SweepResult:
    """The files removed by a sweep: ``partials`` of unfinished uploads, ``orphans`` that no row names."""

    partials: int
    orphans: int


class BlobStore:
    """The store. ``root`` holds ``<first two characters>/<key>``; ``tmp`` must lie on the same file system, because
    a blob comes into being by a rename; ``name`` makes a fresh random alphanumeric name (16 to 64 characters)."""

    def __init__(self, root: Path, tmp: Path, name: Callable[[], str]) -> None:
        self.root = root
        self.tmp = tmp
        self._generate_name = name
        self._backup_lock = root.with_name(BACKUP_LOCK)
        self._postponed_keys: set[str] = set()
        self._directory_lock = threading.Lock()
        for directory in (root, tmp):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if root.stat().st_dev != tmp.stat().st_dev:
            raise ValueError(f"{root} and {tmp} must lie on one file system")

    def create_partial(self) -> PartialFile:
        """A new empty partial file, mode 0600."""
        return PartialFile(self.tmp / f"{self._generate_name()}.part", MIN_FREE_DISK_BYTES)

    def store(self, part: PartialFile) -> str:
        """Make ``part`` a blob that survives a power cut once this returns; returns its key.

        Raises OSError when the disk is full or fails; the part can still be discarded then.
        """
        key = self._generate_name()
        target = self.path(key)
        part.close()
        self._make_directory(target.parent)
        os.rename(part.path, target)
        part.path = target
        _sync_directory(target.parent)
        part.mark_stored()
        return key

    def _make_directory(self, shelf: Path) -> None:
        # Another thread that sees the directory can rely on it: it is on disk before the lock is released.
        with self._directory_lock:
            if not shelf.is_dir():
                shelf.mkdir(mode=0o700)
                _sync_directory(self.root)

    def path(self, key: str) -> Path:
        """Return the path of the blob ``key``. Raises ValueError if it is not a key."""
        if _KEY_PATTERN.fullmatch(key) is None:
            raise ValueError("not a blob key")
        return self.root / key[:2] / key

    def exists(self, key: str) -> bool:
        """Whether the store holds ``key``."""
        return self.path(key).is_file()

    def delete(self, key: str) -> None:
        """Remove the blob, or put that off while a backup is being made; removing it twice is harmless."""
        if is_locked(self._backup_lock):
            self._postponed_keys.add(key)
        else:
            self.path(key).unlink(missing_ok=True)

    def delete_postponed(self) -> int:
        """Remove what could not be removed during a backup; returns how many. Nothing while one is being made."""
        if not self._postponed_keys or is_locked(self._backup_lock):
            return 0
        due = tuple(self._postponed_keys)
        for key in due:
            self.path(key).unlink(missing_ok=True)
            self._postponed_keys.discard(key)
        return len(due)

    def free_bytes(self) -> int:
        """Bytes that an unprivileged process may still write to the store's file system."""
        return _available_bytes(os.statvfs(self.root))

    def sweep(self, known: Iterable[str]) -> SweepResult:
        """Remove everything in ``tmp`` and every blob that is not in ``known``.

        Only before serving: a running upload is a partial, and a blob is stored before its row.
        """
        keys = known if isinstance(known, Set) else frozenset(known)
        partials = list(self.tmp.iterdir())
        orphans = [path for path in self._list_stored() if path.name not in keys]
        if is_locked(self._backup_lock):
            self._postponed_keys.update(path.name for path in orphans if _KEY_PATTERN.fullmatch(path.name))
            orphans = []
        for path in partials + orphans:
            if not remove_tree(path):
                _log.warning("left behind, because it cannot be removed: %s", path.name)
        return SweepResult(len(partials), len(orphans))

    def _list_stored(self) -> Iterator[Path]:
        for shelf in self.root.iterdir():
            if shelf.is_dir() and not shelf.is_symlink():
                yield from shelf.iterdir()


def _available_bytes(room: os.statvfs_result) -> int:
    return room.f_bavail * room.f_frsize


def remove_tree(path: Path) -> bool:
    """Remove ``path``, a directory with all that is in it; returns whether it is gone. Raises nothing.

    A hostile document may have made it: directories nested too deep for any path or recursion, or without rights. All
    is removed that can be, whatever else cannot.
    """
    try:
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)
            return True
        with suppress(OSError):
            path.chmod(0o700)
        top = os.open(path, _DIRECTORY_FLAGS)
        try:
            _empty(top)
        finally:
            os.close(top)
        path.rmdir()
    except OSError:
        return False
    return True


def _empty(top: int, depth: int = 0) -> None:
    """Remove what can be removed in the directory ``top``."""
    stuck: set[str] = set()
    while names := set(os.listdir(top)) - stuck:
        for name in names:
            try:
                _flatten(top, name, depth)
            except OSError:
                stuck.add(name)


def _flatten(top: int, name: str, depth: int) -> None:
    """Remove ``name`` in the directory ``top``; directories in it move up into ``top``, to be removed next. Raises
    OSError if something in it stays."""
    if not _unlock_if_directory(top, name):
        os.unlink(name, dir_fd=top)
        return
    directory = os.open(name, _DIRECTORY_FLAGS, dir_fd=top)
    try:
        for inner in os.listdir(directory):
            with suppress(OSError):  # the directory itself cannot be removed then
                _take_out(directory, inner, top, depth)
    finally:
        os.close(directory)
    os.rmdir(name, dir_fd=top)


def _take_out(directory: int, inner: str, top: int, depth: int) -> None:
    """Remove the file ``inner`` from ``directory``, or move the directory up into ``top``. Raises OSError."""
    if not _unlock_if_directory(directory, inner):
        os.unlink(inner, dir_fd=directory)
        return
    try:
        os.rename(inner, os.urandom(16).hex(), src_dir_fd=directory, dst_dir_fd=top)
    except OSError as error:
        if error.errno in _OTHER_MOUNT or depth >= _MAX_DEPTH:
            raise
        _remove_in_place(directory, inner, depth + 1)


def _remove_in_place(place: int, name: str, depth: int) -> None:
    """Remove the directory ``name``, which cannot be moved: a disk that is full may have no room for its new name."""
    directory = os.open(name, _DIRECTORY_FLAGS, dir_fd=place)
    try:
        _empty(directory, depth)
    finally:
        os.close(directory)
    os.rmdir(name, dir_fd=place)


def _unlock_if_directory(place: int, name: str) -> bool:
    """Whether ``name`` in ``place`` is a directory; then it may be listed and moved afterwards, if that is allowed."""
    if not stat.S_ISDIR(os.lstat(name, dir_fd=place).st_mode):
        return False
    with suppress(OSError):
        os.chmod(name, 0o700, dir_fd=place)
    return True


def _sync_directory(directory: Path) -> None:
    """A rename lasts only when the directory that holds the name is on the disk too."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
