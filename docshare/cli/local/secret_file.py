"""A file for a secret that is shown once: created before the secret, so that a full disk cannot lose it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local.storage import write_error


class SecretFile:
    """The file at ``path`` (0600 from its first byte), empty until ``write``."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.is_written = False
        self._descriptor = descriptor

    def write(self, secret: str) -> None:
        """Write ``secret`` and a newline, synced to disk. Raise Stop (2) if that fails."""
        try:
            os.write(self._descriptor, secret.encode() + b"\n")
            os.fsync(self._descriptor)
        except OSError as error:
            raise write_error(self.path, error) from error
        self.is_written = True


@contextmanager
def create_secret_file(path: Path) -> Iterator[SecretFile]:
    """Create the file at ``path``, and delete it again unless a secret is stored in it.

    Raise Stop (2) if it exists or cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except FileExistsError:
        hint = "Name a new file: this one may hold the secret of another webhook."
        raise Stop(ExitCode.USAGE, f"{path} already exists", hint=hint) from None
    except OSError as error:
        raise write_error(path, error) from error
    file = SecretFile(path, descriptor)
    try:
        yield file
    finally:
        os.close(descriptor)
        if not file.is_written:
            with suppress(OSError):
                path.unlink()
