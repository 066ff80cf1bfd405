"""The master keys of an instance: in a file, or printed by a command of the operator.

The first key encrypts; the others decrypt what was encrypted before a rotation. A file holds 32 bytes for each key, or
one key on each line in hexadecimal digits or Base64; a command prints the same.
"""

import base64
import binascii
import os
import shlex
import string
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from docshare.server.store.file_names import move_to_new, sync_directory

KEY_BYTES = 32
_HEX_CHARS = 2 * KEY_BYTES
_COMMAND_TIMEOUT_S = 60.0
_MAX_KEYS = 8
_TEXT_BYTES = frozenset(string.printable.encode())


class MasterKeyError(Exception):
    """The master keys cannot be read; the message says why."""


class MasterKeys(Protocol):
    """Where the keys are."""

    @property
    def name(self) -> str:
        """Return the place, for messages."""

    def load(self) -> tuple[bytes, ...]:
        """Return the keys, the current one first. Raises MasterKeyError and OSError."""

    def version(self) -> object:
        """Return a value that changes when the keys were changed by another process."""

    def exist(self) -> bool:
        """Return whether there are keys, without creating one."""


class KeyFile:
    """The keys in the file ``path``. ``random(n)`` returns n random bytes; ``may_create``: a missing file is created on
    first use.

    It is not created again once it has been read: with another key, all documents added from then on would be lost as
    soon as the file is put back, or its disk is mounted again.
    """

    def __init__(self, path: Path, random: Callable[[int], bytes], *, may_create: bool = True) -> None:
        self.path = path
        self.name = path.name
        self._random = random
        self._may_create = may_create

    def load(self) -> tuple[bytes, ...]:
        """Return the keys; create the first one if there is no file and there never was one."""
        if self._may_create:
            with suppress(FileExistsError):
                self._create()
        try:
            keys = parse_keys(self.path.read_bytes(), str(self.path))
        except FileNotFoundError:
            raise MasterKeyError(f"{self.path} is missing") from None
        self._may_create = False
        return keys

    def version(self) -> object:
        """Return what identifies the current file."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return None
        return (status.st_ino, status.st_mtime_ns, status.st_size)

    def exist(self) -> bool:
        """Return whether the file exists."""
        return self.path.is_file()

    def replace(self, keys: Sequence[bytes]) -> None:
        """Replace the keys atomically, and delete what killed processes left behind: it has keys. Raises OSError."""
        partial = self._write_partial(b"".join(keys))
        try:
            partial.replace(self.path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        for abandoned in self.path.parent.glob(f"{self.path.name}.*.new"):
            abandoned.unlink(missing_ok=True)
        sync_directory(self.path.parent)

    def _create(self) -> None:
        """Write a new key atomically. Raises FileExistsError if there is one."""
        if self.path.exists():
            raise FileExistsError
        partial = self._write_partial(self._random(KEY_BYTES))
        try:
            move_to_new(partial, self.path)  # the key of another process must not be replaced
        finally:
            partial.unlink(missing_ok=True)

    def _write_partial(self, content: bytes) -> Path:
        partial = self.path.with_name(f"{self.path.name}.{self._random(8).hex()}.new")
        try:
            with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        return partial


class KeyCommand:
    """The keys that a command prints. It runs once in each process of the server, without a shell."""

    name = "the key command"

    def __init__(self, line: str) -> None:
        self._arguments = shlex.split(line)
        self._keys: tuple[bytes, ...] | None = None

    def load(self) -> tuple[bytes, ...]:
        """Return the keys."""
        if self._keys is None:
            self._keys = parse_keys(self._run(), "the output of the key command")
        return self._keys

    def version(self) -> object:
        """Return None: keys of a command change only with a restart."""
        return None

    def exist(self) -> bool:
        """Return True: ``load`` raises an error if the command does not print keys."""
        return True

    def _run(self) -> bytes:
        try:
            done = subprocess.run(
                self._arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                timeout=_COMMAND_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise MasterKeyError(f"the key command did not end within {_COMMAND_TIMEOUT_S:g} seconds") from None
        except OSError as error:
            raise MasterKeyError(f"the key command cannot be started: {error.strerror}: {error.filename}") from None
        if done.returncode:
            raise MasterKeyError(f"the key command failed with exit code {done.returncode}")
        return done.stdout


def parse_keys(content: bytes, place: str) -> tuple[bytes, ...]:
    """Return the keys in ``content``. Raises MasterKeyError, which names ``place`` and never shows the content."""
    keys = _parse_lines(content) or _split(content)
    if not keys or len(keys) > _MAX_KEYS:
        raise MasterKeyError(
            f"{place} has no usable key: expected {KEY_BYTES} random bytes, or a line of {_HEX_CHARS} hexadecimal "
            f"digits, for each of 1 to {_MAX_KEYS} keys"
        )
    if len(set(keys)) < len(keys):
        raise MasterKeyError(f"{place} has the same key twice")
    return keys


def _parse_lines(content: bytes) -> tuple[bytes, ...]:
    """Return the keys of lines of text, nothing if ``content`` is not such a text."""
    keys = []
    for line in content.split():
        try:
            key = (
                bytes.fromhex(line.decode("ascii"))
                if len(line) == _HEX_CHARS
                else base64.b64decode(line, validate=True)
            )
        except (ValueError, binascii.Error):
            return ()
        if len(key) != KEY_BYTES:
            return ()
        keys.append(key)
    return tuple(keys)


def _split(content: bytes) -> tuple[bytes, ...]:
    # A longer text is a misspelled key. Earlier versions accepted any 32 bytes.
    if len(content) % KEY_BYTES or (len(content) > KEY_BYTES and all(byte in _TEXT_BYTES for byte in content)):
        return ()
    return tuple(content[start : start + KEY_BYTES] for start in range(0, len(content), KEY_BYTES))
