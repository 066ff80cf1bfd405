"""The credentials that ``docshare.client.login.credentials`` keeps; a file that cannot be used ends the command."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.client.errors import LocalFileError, MissingCredential
from docshare.client.login.credentials import FILE_NAME, Credential, load_credential, save_credential

__all__ = ["FILE_NAME", "Credential", "is_readable_by_others", "load", "save", "translate_errors"]


def load(directory: Path, profile: str) -> Credential | None:
    """Return the credential saved for a profile, or None. Raise Stop (2) if the file cannot be read."""
    with translate_errors():
        return load_credential(directory, profile)


def save(directory: Path, profile: str, credential: Credential | None) -> None:
    """Save the credential of a profile; None deletes it. Raise Stop (2) if that fails."""
    with translate_errors():
        save_credential(directory, profile, credential)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise Stop (2) for a file that cannot be read or written."""
    try:
        yield
    except (MissingCredential, LocalFileError) as error:
        raise Stop(ExitCode.USAGE, error.detail, hint=error.hint) from error


def is_readable_by_others(directory: Path) -> bool:
    """Return whether the file grants access to group or others (False on Windows, where the user's directory protects
    it).
    """
    try:
        mode = (directory / FILE_NAME).stat().st_mode
    except OSError:
        return False
    return os.name == "posix" and bool(mode & 0o077)
