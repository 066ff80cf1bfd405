"""Locks on a data directory, for its owner and for a backup; the system releases them when the holder dies."""

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType

NOBODY = 0
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


class AlreadyLocked(Exception):
    """Another process owns the data directory."""


class DirectoryLock:
    """Holds ``<data>/<name>`` for the duration of the block. Raises ``AlreadyLocked`` on entry, and OSError on a file
    system without locks."""

    def __init__(self, data_dir: Path, name: str = "lock") -> None:
        self._path = data_dir / name
        self._handle = -1

    def __enter__(self) -> "DirectoryLock":
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _lock(handle)
        except OSError as error:
            os.close(handle)
            if error.errno in _NO_LOCKS:
                raise OSError(error.errno, error.strerror, str(self._path)) from None
            raise AlreadyLocked(str(self._path.parent)) from None
        _store_holder(handle, os.getpid())
        self._handle = handle
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _store_holder(self._handle, NOBODY)  # the next holder has the lock for a moment before it stores its ID
        os.close(self._handle)


def _store_holder(handle: int, pid: int) -> None:
    """Store who holds the lock, which works without that. All IDs have the same length: a file that is cut off first
    would name nobody for a moment, as on a full disk."""
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, f"{pid:<10}\n".encode())
    except OSError:
        with suppress(OSError):
            os.ftruncate(handle, 0)


def read_holder(path: Path) -> int | None:
    """Return the process ID in the lock file ``path``: that of the holder while it is locked, or NOBODY while it has
    not stored it yet. None if it is not known, because the disk was full."""
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
