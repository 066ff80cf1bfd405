"""Share passwords, stored as argon2id."""

from threading import BoundedSemaphore

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from docshare.server.runtime import Runtime

# The least that is recommended for argon2id (19 MiB, two passes): some 50 ms, so two at a time and no more, or a few
# callers could keep the whole processor busy.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
_HASH_SLOTS = BoundedSemaphore(2)
_SALT_BYTES = 16


def hash_password(rt: Runtime, password: str) -> str:
    """What is stored of ``password``: its argon2id hash with parameters and salt. Slow, so never in a transaction."""
    with _HASH_SLOTS:
        return _HASHER.hash(password, salt=rt.secret(_SALT_BYTES))


def is_match(stored: str, password: str) -> bool:
    """Whether ``stored`` is the hash of ``password``. As slow as hashing, however long the password is."""
    with _HASH_SLOTS:
        try:
            return _HASHER.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False
