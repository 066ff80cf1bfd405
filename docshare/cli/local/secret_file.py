"""A new file for a secret that is told once: made before the secret is, so that it cannot be lost for want of room."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local.storage import write_error


class SecretFile:
    """The file at ``path`` (0600 from its first byte), empty until ``keep``."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.kept = False
        self._descriptor = descriptor

    def keep(self, secret: str) -> None:
        """Write ``secret`` and a line end, down to the disk. Stop (2) if that fails."""
        try:
            os.write(self._descriptor, secret.encode() + b"\n")
            os.fsync(self._descriptor)
        except OSError as error:
            raise write_error(self.path, error) from error
        self.kept = True


@contextmanager
def create_secret_file(path: Path) -> Iterator[SecretFile]:
    """Make the file at ``path``; it is gone again unless something was kept in it. Stop (2) if there is one already, or
    it cannot be written."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except FileExistsError:
        hint = "Name a new one: it may hold the secret of another webhook."
        raise Stop(ExitCode.USAGE, f"{path} exists already", hint=hint) from None
    except OSError as error:
        raise write_error(path, error) from error
    file = SecretFile(path, descriptor)
    try:
        yield file
    finally:
        os.close(descriptor)
        if not file.kept:
            with suppress(OSError):
                path.unlink()
