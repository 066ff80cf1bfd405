"""Remove folders that a hostile document may have filled, and make names durable on any file system."""

import errno
import os
import shutil
import stat
import sys
from contextlib import suppress
from pathlib import Path

_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_DEPTH = 32  # of directories that cannot be moved, one in another
_OTHER_MOUNT = (errno.EBUSY, errno.EXDEV)  # a mount in the directory, which must not be removed
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
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        source.replace(target)
    else:
        source.unlink()


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file that is never changed another name; copy it where there are no hard links. Raises OSError."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copy(source, target)


def remove_tree(path: Path) -> bool:
    """Remove ``path``, a directory with all that is in it; return whether it is removed. Never raises.

    A hostile document may have made it: directories nested too deep for any path or recursion, or without rights.
    Everything that can be removed is removed.
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
    OSError if something in it cannot be removed."""
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
    """Return whether ``name`` in ``place`` is a directory; if so, make it listable and movable if that is possible."""
    if not stat.S_ISDIR(os.lstat(name, dir_fd=place).st_mode):
        return False
    with suppress(OSError):
        os.chmod(name, 0o700, dir_fd=place)
    return True
