"""Store the bytes of documents, assets and design files as blobs: in a local folder, or in a bucket (``bucket``).

A blob is durable before its row exists. The row is deleted, and the key remembered in ``tables.removals``, before the
blob is deleted. While a backup is being made no blob is deleted, so a blob that the database names when a backup begins
exists until it ends. After a crash, partial files and blobs without a row are found by listing.
"""

import errno
import hashlib
import logging
import os
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, Protocol

from docshare.private_files import is_locked
from docshare.server.rules.intake import MIN_FREE_DISK_BYTES
from docshare.server.store.file_names import sync_directory
from docshare.server.store.identity import write_private
from docshare.server.store.segments import KEY_BYTES, SALT_BYTES, SegmentWriter
from docshare.server.store.stored_bytes import StoredBytes
from docshare.server.store.trees import is_old, remove_tree, require_directory

BACKUP_LOCK = "backup.lock"
"""The lock of a backup, in the data directory."""

REMOVAL_JOB = "delete bytes of deleted files"
"""The name of a job. While a backup holds the lock of this job, no instance deletes bytes."""

ORPHAN_AGE_MS = 86_400_000
"""A younger blob without a row in a shared store may belong to a running upload of another instance: one day."""

MAX_CRASH_ORPHANS = 32
"""A crash leaves at most one blob without a row for each upload that ran: more are a sign of an old database."""

OWNER_NAME = "docshare-instance"
"""The file or object in a shared store that names the instance which the store belongs to. It is not a key."""

HEAD_BYTES = 1024
"""How much of a file's beginning a part remembers: "is a PDF" is decided within it."""

# O_EXCL and O_NOFOLLOW: never write through a file or link that somebody else has put there.
_CREATE_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK_BYTES = 1 << 20
_SPACE_CHECK_BYTES = 16 << 20  # bytes between checks of free space
_KEY_PATTERN = re.compile(r"[0-9A-Za-z]{16,64}")
_log = logging.getLogger(__name__)


class PartialFile:
    """An open partial file, hashed while it is written.

    ``path``: its current path; ``size``: bytes written so far; ``head``: its first ``HEAD_BYTES`` bytes. It is written
    by one thread at a time; closing and discarding twice is harmless. ``floor``: bytes that must stay free on its disk.
    ``encrypt``: generates n random bytes for a new ``data_key``; None: the file is not encrypted.
    """

    def __init__(self, path: Path, floor: int = 0, encrypt: Callable[[int], bytes] | None = None) -> None:
        self.path = path
        self.size = 0
        self.head = b""
        self.data_key = encrypt and encrypt(KEY_BYTES)
        self._floor = floor
        self._next_check_at = _SPACE_CHECK_BYTES
        self._hash = hashlib.sha256()
        self._file = open(os.open(path, _CREATE_FLAGS, 0o600), "r+b", buffering=0)  # noqa: SIM115 - outlives this call
        self._discardable = True
        self._is_finished = False
        self._writer: SegmentWriter | None = None
        if encrypt and self.data_key:
            try:
                self._writer = SegmentWriter(self._file, self.data_key, encrypt(SALT_BYTES))
            except OSError:
                self.discard()
                raise

    def write(self, block: bytes | memoryview) -> None:
        """Append ``block``. Raises OSError when the disk is full, or nearly so (``floor``), or fails."""
        if len(self.head) < HEAD_BYTES:
            self.head += bytes(block[: HEAD_BYTES - len(self.head)])
        self._hash.update(block)
        if self._writer is not None:
            self._writer.write(block)
        else:
            view = memoryview(block)
            while view:
                view = view[self._file.write(view) or 0 :]
        self.size += len(block)
        if self.size >= self._next_check_at:
            self._next_check_at = self.size + _SPACE_CHECK_BYTES
            self._require_space()

    def _require_space(self) -> None:
        # Checking free space before the upload is not enough: its length may be unknown, and others write too.
        if _available_bytes(os.fstatvfs(self._file.fileno())) < self._floor:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def sha256(self) -> str:
        """The SHA-256 of everything written so far, in hex."""
        return self._hash.hexdigest()

    def finish(self) -> StoredBytes:
        """Write what is missing at the end of an encrypted file; return the bytes, for reading. Nothing can be written
        afterwards. Raises OSError."""
        if self._writer is not None and not self._is_finished:
            self._writer.finish()
            self._is_finished = True
        return StoredBytes(self.path, self.data_key)

    def close(self) -> None:
        """Sync all bytes to disk and close the file, which is not moved."""
        if not self._file.closed:
            self.finish()
            os.fsync(self._file.fileno())
            self._file.close()

    def mark_stored(self) -> None:
        """Mark the file as stored, so that ``discard`` does not remove it."""
        self._discardable = False

    def discard(self) -> None:
        """Close the file, and remove it unless it is marked as stored."""
        self._file.close()
        if self._discardable:
            self._discardable = False
            self.path.unlink(missing_ok=True)


class StorageUnreachableError(Exception):
    """The blob store did not respond or rejected the request; the message has the reason. Usually temporary."""


class BlobPath(Protocol):
    """A path-like object for a blob. ``os.fspath`` returns the path of a local file, which a bucket downloads first.

    Both raise FileNotFoundError for a blob that does not exist, OSError and StorageUnreachableError.
    """

    def __fspath__(self) -> str:
        """Return the path of a file with the bytes."""

    def open(self, mode: Literal["rb"], /) -> IO[bytes]:
        """Open the file for reading."""


@dataclass(frozen=True)
class SweepResult:
    """The files removed by a sweep: ``partials`` of unfinished uploads, ``orphans`` that no row names."""

    partials: int
    orphans: int


class BlobStore(ABC):
    """A store of blobs. ``tmp``: the folder of partial files; ``backup_lock``: the file whose holder makes a backup;
    ``name`` generates a random alphanumeric name of 16 to 64 characters; ``encrypt`` n random bytes for the keys of new
    partial files, None: they are not encrypted. An encrypted one is stored as it is.

    ``is_shared``: whether other instances may use it, so that a blob without a row may be a running upload of theirs.
    """

    is_shared = False

    def __init__(
        self, tmp: Path, backup_lock: Path, name: Callable[[], str], encrypt: Callable[[int], bytes] | None
    ) -> None:
        self.tmp = tmp
        self.backup_lock = backup_lock
        self._generate_name = name
        self._encrypt = encrypt

    def create_partial(self) -> PartialFile:
        """Create an empty partial file with mode 0600. Raises OSError."""
        require_directory(self.tmp)
        return PartialFile(self.tmp / f"{self._generate_name()}.part", MIN_FREE_DISK_BYTES, self._encrypt)

    def free_bytes(self) -> int:
        """Return how many bytes an unprivileged process may still write to the disk of the partial files. Raises
        OSError."""
        require_directory(self.tmp)
        return _available_bytes(os.statvfs(self.tmp))

    @abstractmethod
    def store(self, part: PartialFile) -> str:
        """Make ``part`` a blob that survives a power cut once this returns; return its key.

        Raises OSError when a disk is full or fails, and StorageUnreachableError; the part can be discarded then.
        """

    @abstractmethod
    def path(self, key: str) -> BlobPath:
        """Return a path-like object for the blob ``key``. Raises ValueError if it is not a key, and OSError if the
        directory of the store is missing, which would look as if the blob did not exist."""

    @abstractmethod
    def find_size(self, key: str) -> int | None:
        """Return the size of the blob ``key`` in bytes, None if the store does not have it. Raises
        StorageUnreachableError."""

    def exists(self, key: str) -> bool:
        """Return whether the store has the blob ``key``. Raises StorageUnreachableError."""
        return self.find_size(key) is not None

    @abstractmethod
    def read_blocks(self, key: str) -> Iterator[bytes]:
        """Yield the bytes of the blob ``key``, as they are stored, without keeping a copy. Raises FileNotFoundError,
        OSError and StorageUnreachableError."""

    @abstractmethod
    def put(self, key: str, blocks: Iterable[bytes]) -> None:
        """Store ``blocks`` durably as the blob ``key``, as a move of an instance does. Raises what ``store`` raises."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Delete the blob ``key``; deleting it twice is harmless. Raises OSError and StorageUnreachableError."""

    @abstractmethod
    def list_old(self, before: int) -> Iterator[list[str]]:
        """Yield the keys of all blobs that were stored before ``before`` (ms), some hundreds at a time. Raises
        StorageUnreachableError."""

    def delete_old_partials(self, before: int) -> int:  # noqa: ARG002 - where the folder is shared
        """Delete the partial files that nothing was written to since ``before`` (ms), where other instances keep theirs
        in the same folder; return how many."""
        return 0

    def delete_copies(self, find_stored: Callable[[list[str]], Set[str]]) -> int:  # noqa: ARG002 - in a bucket
        """Delete the local copies of blobs that another instance has deleted; return how many.

        ``find_stored`` returns those of its keys that a row refers to.
        """
        return 0

    @abstractmethod
    def sweep(self, known: Iterable[str]) -> SweepResult:
        """Remove what a crash of this instance left behind, before it serves: its partial files, and in a store of its
        own every blob that is not ``known``, unless there are more than a crash can leave."""

    @abstractmethod
    def claim(self, owner: str) -> str:
        """Record in a shared store that it belongs to the instance ``owner``, unless another owner is recorded; return
        the recorded owner. Raises OSError and StorageUnreachableError if the store cannot be written to."""

    @abstractmethod
    def is_writable(self) -> bool:
        """Return whether blobs can be stored now, for health checks."""


class FolderStore(BlobStore):
    """Blobs as files ``<root>/<first two characters>/<key>``. ``tmp`` must be on the same file system, because a rename
    makes a partial file a blob. ``is_shared``: other instances use the same folder."""

    def __init__(
        self,
        root: Path,
        tmp: Path,
        name: Callable[[], str],
        *,
        is_shared: bool = False,
        encrypt: Callable[[int], bytes] | None = None,
    ) -> None:
        super().__init__(tmp, root.with_name(BACKUP_LOCK), name, encrypt)
        self.root = root
        self.is_shared = is_shared
        self._directory_lock = threading.Lock()
        for directory in (root, tmp):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if root.stat().st_dev != tmp.stat().st_dev:
            raise ValueError(f"{root} and {tmp} must lie on one file system")

    def store(self, part: PartialFile) -> str:
        """Rename ``part``, and return once the name is on the disk too."""
        key = self._generate_name()
        self._place(part, key)
        return key

    def _place(self, part: PartialFile, key: str) -> None:
        target = self.path(key)
        part.close()
        self._make_directory(target.parent)
        os.rename(part.path, target)
        part.path = target
        sync_directory(target.parent)
        part.mark_stored()

    def put(self, key: str, blocks: Iterable[bytes]) -> None:
        """Write ``blocks`` as they are to a partial file, and rename it."""
        part = PartialFile(self.tmp / f"{self._generate_name()}.part", MIN_FREE_DISK_BYTES)
        try:
            for block in blocks:
                part.write(block)
            self._place(part, key)
        finally:
            part.discard()

    def _make_directory(self, subfolder: Path) -> None:
        # Another thread that sees the directory can rely on it: it is on disk before the lock is released.
        with self._directory_lock:
            if not subfolder.is_dir():
                subfolder.mkdir(mode=0o700)
                sync_directory(self.root)

    def path(self, key: str) -> Path:
        """Return the path of the file of ``key``. Raises ValueError if it is not a key, and NotADirectoryError."""
        require_directory(self.root)
        return self.root.joinpath(check_key(key)[:2], key)

    def find_size(self, key: str) -> int | None:
        """Return the size of the file of ``key``, or None."""
        path = self.path(key)
        return path.stat().st_size if path.is_file() else None

    def read_blocks(self, key: str) -> Iterator[bytes]:
        """Yield the bytes of the file of ``key``."""
        with self.path(key).open("rb", buffering=0) as file:
            while block := file.read(_BLOCK_BYTES):
                yield block

    def delete(self, key: str) -> None:
        """Remove the file of ``key``."""
        self.path(key).unlink(missing_ok=True)

    def list_old(self, before: int) -> Iterator[list[str]]:
        """Yield the keys of all files that were written before ``before`` (ms), a folder at a time."""
        for subfolder in self._list_subfolders():
            yield [path.name for path in subfolder.iterdir() if is_key(path.name) and is_old(path, before)]

    def sweep(self, known: Iterable[str]) -> SweepResult:
        """Remove partial files and every blob that is not ``known``; nothing in a shared folder, because it may belong
        to uploads to other instances. Keep all blobs if more than ``MAX_CRASH_ORPHANS`` are not ``known``, because the
        database may be an old copy."""
        if self.is_shared:
            return SweepResult(0, 0)
        keys = known if isinstance(known, Set) else frozenset(known)
        partials = list(self.tmp.iterdir())
        orphans = [path for folder in self._list_subfolders() for path in folder.iterdir() if path.name not in keys]
        if is_locked(self.backup_lock):
            orphans = []
        if len(orphans) > MAX_CRASH_ORPHANS:
            _log.warning("%d stored files without a row are kept: the database may be an old copy", len(orphans))
            orphans = []
        for path in partials + orphans:
            if not remove_tree(path):
                _log.warning("left behind, because it cannot be removed: %s", path.name)
        return SweepResult(len(partials), len(orphans))

    def delete_old_partials(self, before: int) -> int:
        """Delete the partial files that nothing was written to since ``before`` (ms); return how many."""
        old = [path for path in self.tmp.iterdir() if is_old(path, before)]
        return sum(remove_tree(path) for path in old)

    def claim(self, owner: str) -> str:
        """Keep the name of the instance in a file beside ``root``."""
        path = self.root.with_name(OWNER_NAME)
        if not path.exists():
            write_private(path, owner)
        return path.read_text(encoding="ascii")

    def is_writable(self) -> bool:
        """Return whether files can be created in both folders."""
        return all(os.access(folder, os.W_OK | os.X_OK) for folder in (self.root, self.tmp))

    def _list_subfolders(self) -> Iterator[Path]:
        return (subfolder for subfolder in self.root.iterdir() if subfolder.is_dir() and not subfolder.is_symlink())


def open_folder(data_dir: Path) -> FolderStore:
    """Return the store in a data directory, to read from it."""
    return FolderStore(data_dir / "blobs", data_dir / "tmp", str)


def check_key(key: str) -> str:
    """Return ``key``. Raises ValueError if it is not the key of a blob."""
    if not is_key(key):
        raise ValueError("not a blob key")
    return key


def is_key(name: str) -> bool:
    """Return whether ``name`` can be the key of a blob."""
    return _KEY_PATTERN.fullmatch(name) is not None


def _available_bytes(room: os.statvfs_result) -> int:
    return room.f_bavail * room.f_frsize
