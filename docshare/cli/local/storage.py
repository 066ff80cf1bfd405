"""Write small files atomically, as ``docshare.private_files`` does; a file that cannot be written ends the command."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docshare import private_files
from docshare.cli.framework.exits import ExitCode, Stop


def make_directory(path: Path) -> None:
    """Create a directory for this user alone (0700), with its parents. Raise Stop (2) if that fails."""
    try:
        private_files.make_directory(path)
    except OSError as error:
        raise write_error(path, error) from error


def write_error(path: Path, error: OSError) -> Stop:
    """Return the error for a path that cannot be written."""
    return Stop(ExitCode.USAGE, f"cannot write {path}: {error.strerror or error}")


def replace_file(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write ``content`` to ``path`` as ``private_files.replace_file`` does. Raise Stop (2) if that fails."""
    try:
        private_files.replace_file(path, content, private=private)
    except OSError as error:
        raise write_error(path, error) from error


@contextmanager
def hold_lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold the lock file ``path`` as ``private_files.hold_lock`` does. Raise Stop (2) if it cannot be opened or
    locked."""
    try:
        with private_files.hold_lock(path, wait=wait) as is_held:
            yield is_held
    except private_files.LockError as error:
        raise write_error(path, error) from error
