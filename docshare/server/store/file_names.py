"""Give files their names so that these are durable, on any file system."""

import errno
import os
import shutil
import sys
from pathlib import Path

# Errors of file systems without hard links: exFAT, network shares, folders that a virtual machine shares.
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def sync_directory(directory: Path) -> None:
    """Return once the names in ``directory`` are on the disk. Some network file systems cannot be asked for that."""
    if sys.platform == "win32":
        return  # a directory cannot be opened there
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)


def move_to_new(source: Path, target: Path) -> None:
    """Move a file within a file system, unlike a rename never over another one. Raises FileExistsError, OSError."""
    if _link(source, target):
        source.unlink()
    else:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        source.replace(target)


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file that is never changed another name; copy it where there are no hard links. Raises OSError."""
    if not _link(source, target):
        shutil.copy(source, target)


def _link(source: Path, target: Path) -> bool:
    """Give the file ``source`` the other name ``target``. Return False on a file system without hard links."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return False
    return True
