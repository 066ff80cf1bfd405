"""Encrypt secrets that must be read again, such as the signing secrets of webhooks.

They are encrypted in the database with a key outside of it, so a copy of the database alone does not reveal them.
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
    """Encrypts texts with the key in the file ``path``, which is created on first use. Thread-safe.

    Parameters: ``random(n)`` returns n random bytes.
    """

    def __init__(self, path: Path, random: Callable[[int], bytes]) -> None:
        self._path = path
        self._random = random

    def seal(self, text: str, about: str) -> bytes:
        """Return ``text`` encrypted; only ``open`` with the same ``about``, such as the UUID of its owner, can
        decrypt it."""
        nonce = self._random(_NONCE_BYTES)
        sealed: bytes = self._cipher.encrypt(nonce, text.encode(), about.encode())
        return nonce + sealed

    def open(self, sealed: bytes, about: str) -> str:
        """Return the decrypted secret. Raises ``ValueError`` if it was encrypted with another key or for another
        context."""
        from cryptography.exceptions import InvalidTag

        try:
            text: bytes = self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], about.encode())
        except InvalidTag:
            raise ValueError(f"{self._path.name} is not the key that this was sealed with") from None
        return text.decode()

    def fingerprint(self) -> bytes:
        """Return 16 bytes that identify a key without revealing it."""
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
        """Write a new key atomically. Raises FileExistsError if there is one."""
        partial = self._path.with_name(f"{self._path.name}.{self._random(8).hex()}.new")
        if self._path.exists():
            raise FileExistsError
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(self._random(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(partial, self._path)  # unlike a rename, this never replaces the key of another process
        finally:
            partial.unlink()
