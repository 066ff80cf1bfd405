"""Encrypt secrets that must be read again: the data keys of documents, and the signing secrets of webhooks.

They are encrypted in the database with a master key outside of it, so a copy of the database alone does not reveal
them. A sealed value is the id of the key (8 bytes), a nonce (12 bytes), and the value under AES-256-GCM with its
context. Earlier versions wrote no id.
"""

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from docshare.server.store.master_keys import MasterKeys

_ID_BYTES = 8
_NONCE_BYTES = 12
_FINGERPRINT_BYTES = 16


@dataclass(frozen=True)
class _KeyRing:
    """The ciphers by the id of their key, the current one first, as of ``version`` of the keys."""

    ciphers: dict[bytes, AESGCM]
    fingerprints: tuple[bytes, ...]
    version: object

    def open(self, sealed: bytes, about: str) -> bytes | None:
        """Return the secret in ``sealed``, or None if none of these keys can decrypt it for ``about``."""
        named = self.ciphers.get(sealed[:_ID_BYTES])
        tries = [(cipher, sealed) for cipher in self.ciphers.values()]
        if named is not None:
            tries.insert(0, (named, sealed[_ID_BYTES:]))
        for cipher, rest in tries:
            try:
                return cipher.decrypt(rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], about.encode())
            except InvalidTag:
                continue
        return None


class Vault:
    """Encrypts secrets with the master keys ``keys``. Thread-safe.

    Parameters: ``random(n)`` returns n random bytes. Methods raise MasterKeyError and OSError if the keys cannot be
    read.
    """

    def __init__(self, keys: MasterKeys, random: Callable[[int], bytes]) -> None:
        self.keys = keys
        self._random = random
        self._lock = threading.Lock()
        self._ring: _KeyRing | None = None

    def seal(self, text: str, about: str) -> bytes:
        """Return ``text`` encrypted; only ``open`` with the same ``about``, such as the UUID of its owner, can
        decrypt it."""
        return self.seal_bytes(text.encode(), about)

    def open(self, sealed: bytes, about: str) -> str:
        """Return the decrypted secret. Raises ``ValueError`` if it was encrypted with another key or for another
        context."""
        secret = self._load().open(sealed, about)
        if secret is None:
            raise self._make_error()
        return secret.decode()

    def seal_bytes(self, secret: bytes, about: str) -> bytes:
        """Return ``secret`` encrypted, as ``seal`` does."""
        key_id, cipher = next(iter(self._load().ciphers.items()))
        nonce = self._random(_NONCE_BYTES)
        return key_id + nonce + cipher.encrypt(nonce, secret, about.encode())

    def open_bytes(self, sealed: bytes, about: str) -> bytes:
        """Return the decrypted secret, as ``open`` does, also with keys that were replaced meanwhile."""
        # The keys in memory first: whether another process has changed them costs a system call, after which a thread
        # waits for the interpreter (tests.benchmarks.page_warm, for the data key of every image).
        known = self._ring
        secret = None if known is None else known.open(sealed, about)
        if secret is None:
            current = self._load()
            secret = None if current is known else current.open(sealed, about)
        if secret is None:
            raise self._make_error()
        return secret

    def current_id(self) -> bytes:
        """Return the beginning of everything that the current key sealed."""
        return next(iter(self._load().ciphers))

    def fingerprint(self) -> bytes:
        """Return 16 bytes that identify the current key without revealing it."""
        return self.fingerprints()[0]

    def fingerprints(self) -> tuple[bytes, ...]:
        """Return the fingerprints of all keys, the current one first."""
        return self._load().fingerprints

    def _make_error(self) -> ValueError:
        return ValueError(f"{self.keys.name} is not the key that this was sealed with")

    def _load(self) -> _KeyRing:
        """Return the current keys; read them again if another process has changed them."""
        ring, version = self._ring, self.keys.version()
        if ring is None or ring.version != version:
            with self._lock:
                ring = self._ring = self._read()
        return ring

    def _read(self) -> _KeyRing:
        version = None
        keys: tuple[bytes, ...] = ()
        while not keys or version != self.keys.version():  # another process may replace the keys meanwhile
            self.keys.load()  # creates the first key
            version = self.keys.version()
            keys = self.keys.load()
        fingerprints = tuple(hashlib.sha256(b"docshare vault\0" + key).digest()[:_FINGERPRINT_BYTES] for key in keys)
        ids = (fingerprint[:_ID_BYTES] for fingerprint in fingerprints)
        return _KeyRing(dict(zip(ids, map(AESGCM, keys), strict=True)), fingerprints, version)


def name_data_key(blob: str) -> str:
    """Return the context of the data key of ``blob``."""
    return f"data key {blob}"
