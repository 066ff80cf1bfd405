"""Secrets that must be read again, such as the signing secrets of webhooks. They are encrypted in the database under a
key outside of it, so a copy of the database alone does not reveal them.
"""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
_NONCE_BYTES = 12
_FINGERPRINT_BYTES = 16


class Vault:
    """Seals texts under the key in the file ``path``, made when it is first needed.

    Parameters: ``random(n)`` gives n random bytes. Safe to use from many threads.
    """

    def __init__(self, path: Path, random: Callable[[int], bytes]) -> None:
        self._path = path
        self._random = random

    def seal(self, text: str, about: str) -> bytes:
        """``text`` encrypted; only ``open`` with the same ``about``, such as the UUID of what it belongs to, reads
        it."""
        nonce = self._random(_NONCE_BYTES)
        sealed: bytes = self._cipher.encrypt(nonce, text.encode(), about.encode())
        return nonce + sealed

    def open(self, sealed: bytes, about: str) -> str:
        """Return the sealed secret. Raises ``ValueError`` if it was sealed with another key or for another context."""
        from cryptography.exceptions import InvalidTag

        try:
            text: bytes = self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], about.encode())
        except InvalidTag:
            raise ValueError(f"{self._path.name} is not the key that this was sealed with") from None
        return text.decode()

    def fingerprint(self) -> bytes:
        """Return 16 bytes by which a key is recognized and which do not reveal it."""
        return hashlib.sha256(b"docshare vault\0" + self._read_key()).digest()[:_FINGERPRINT_BYTES]

    @cached_property
    def _cipher(self) -> "AESGCM":
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # here: it would slow every start

        return AESGCM(self._read_key())

    def _read_key(self) -> bytes:
        with suppress(FileExistsError):
            self._create_key()
        return self._path.read_bytes()

    def _create_key(self) -> None:
        """Write a fresh key, whole or not at all. Raises FileExistsError where there is one."""
        partial = self._path.with_name(f"{self._path.name}.{self._random(8).hex()}.new")
        if self._path.exists():
            raise FileExistsError
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(self._random(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(partial, self._path)  # unlike a rename, this never replaces the key of somebody quicker
        finally:
            partial.unlink()
