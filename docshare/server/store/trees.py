"""Require a directory, judge the age of one, and remove directories that a hostile document may have filled."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_DEPTH = 32  # of directories that cannot be moved, one in another
_OTHER_MOUNT = (errno.EBUSY, errno.EXDEV)  # a mount in the directory, which must not be removed


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


def require_directory(path: Path) -> None:
    """Raise NotADirectoryError if ``path`` is missing, for example because its file system is not mounted. Raises
    OSError."""
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))


def is_old(path: Path, before: int) -> bool:
    """Return whether ``path`` exists and was last changed before ``before`` (ms)."""
    try:
        return path.stat().st_mtime * 1000 < before
    except FileNotFoundError:  # it has been deleted since
        return False
