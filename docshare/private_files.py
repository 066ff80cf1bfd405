"""Write small files atomically, and readable by this user alone if they hold secrets; lock files.

Shared by the command line, the library, and the server. Functions raise ``OSError``; the callers say what that means to
them.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MAX_FILE_BYTES = 16 * 1024 * 1024  # 16 MB


def read_file(path: str | Path) -> bytes:
    """Return the content of a small file; that of a device, such as /dev/null, as far as it goes.

    Raise ``OSError`` also for a pipe, because nobody may ever write to it, and for more than ``MAX_FILE_BYTES``.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is a pipe")
        with open(descriptor, "rb", closefd=False) as file:
            raw = file.read(MAX_FILE_BYTES + 1) or b""  # None: a terminal on which nothing was typed
    finally:
        os.close(descriptor)
    if len(raw) > MAX_FILE_BYTES:
        raise OSError(errno.EFBIG, "it is larger than 16 MB")
    return raw


def make_directory(path: Path) -> None:
    """Create a directory for this user alone (0700), with its parents."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def replace_file(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write ``content`` (text as UTF-8) to ``path`` so that readers see either the old or the new file.

    A symbolic link keeps its target, and an existing file its mode and owner; a new or ``private`` file is 0600 from
    its first byte. A device or pipe is written in place.
    """
    if is_special(path):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return
    target = Path(os.path.realpath(path))
    make_directory(target.parent)
    temporary = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
    try:
        _write(temporary, content.encode() if isinstance(content, str) else content)
        _copy_ownership(temporary, target, private)
        os.replace(temporary, target)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise


def is_special(path: str | Path) -> bool:
    """Return whether ``path`` is a device, pipe or socket, or a link to one: its data goes to others, so it is written
    in place. A file moved over it would replace it: root would lose /dev/null, and the reader of a pipe would wait."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


@contextmanager
def hold_lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold the lock file ``path``, created if necessary; yield False if ``wait`` is off and another process holds it.

    Raise ``LockError`` if it cannot be opened or locked: some network file systems do not support locks. The kernel
    releases the lock when the process ends, so a crash leaves nothing to clean up.
    """
    try:
        make_directory(path.parent)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as error:
        raise LockError(error.errno, error.strerror) from error
    try:
        yield _try_to_lock(descriptor, wait)
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Return whether the lock file ``path`` is locked; one that does not exist, or that cannot be opened, is not."""
    try:
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return False
    try:
        _lock_shared(descriptor)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


class LockError(OSError):
    """A lock file cannot be opened or locked. Not an error of what the lock protects."""


def _try_to_lock(descriptor: int, wait: bool) -> bool:
    try:
        return _lock(descriptor, wait)
    except OSError as error:
        raise LockError(error.errno, error.strerror) from error


def _write(path: Path, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def _copy_ownership(temporary: Path, target: Path, private: bool) -> None:
    try:
        old = target.stat()
    except FileNotFoundError:
        return
    if not private:
        os.chmod(temporary, old.st_mode & 0o777)
    if hasattr(os, "chown"):
        with suppress(PermissionError):  # only root may change the owner; otherwise the file is the writer's own
            os.chown(temporary, old.st_uid, old.st_gid)


if os.name == "nt":  # pragma: no cover - the other half runs everywhere else
    import msvcrt

    def _lock(descriptor: int, wait: bool) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True

    def _lock_shared(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]

else:
    import fcntl

    def _lock(descriptor: int, wait: bool) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True

    def _lock_shared(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # several readers of the state do not conflict
