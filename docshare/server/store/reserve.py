"""A few reserved megabytes in the data directory, so that a server can start when the disk is full.

SQLite needs space to recover its log after a crash. The file is deleted at a start without enough space, and created
again once there is enough.
"""

import errno
import os
from contextlib import suppress
from pathlib import Path

RESERVE_NAME = "reserve"
RESERVE_BYTES = 8 << 20
_MIN_FREE_BYTES = 8 * RESERVE_BYTES  # bytes that must be free before the reserve is created


def release_if_full(data_dir: Path) -> None:
    """Delete the reserve if the disk of ``data_dir`` has less free space than its size."""
    with suppress(OSError):
        if _available_bytes(data_dir) < RESERVE_BYTES:
            (data_dir / RESERVE_NAME).unlink(missing_ok=True)


def ensure_reserve(data_dir: Path) -> int:
    """Create the reserve if it is missing and there is space for it; return the number of created files."""
    path = data_dir / RESERVE_NAME
    if path.exists() or _available_bytes(data_dir) < _MIN_FREE_BYTES:
        return 0
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        _allocate(handle)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
    return 1


def is_spent(data_dir: Path) -> bool:
    """Return whether the disk of ``data_dir`` is so full that there is no reserve."""
    return _available_bytes(data_dir) < _MIN_FREE_BYTES and not (data_dir / RESERVE_NAME).exists()


def _allocate(handle: int) -> None:
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(handle, 0, RESERVE_BYTES)
            return
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # musl leaves it to the file system alone
                raise
    os.write(handle, bytes(RESERVE_BYTES))


def _available_bytes(data_dir: Path) -> int:
    room = os.statvfs(data_dir)
    return room.f_bavail * room.f_frsize
