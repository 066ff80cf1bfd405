"""Hash and verify share passwords with argon2id."""

from threading import BoundedSemaphore

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from docshare.server.runtime import Runtime

# The minimum that is recommended for argon2id (19 MiB, two passes) takes about 50 ms. At most two run at a time, checks
# and new passwords together, so that a few callers cannot keep all processors busy; ``PasswordTurns`` decides whose
# check is next.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
_HASH_SLOTS = BoundedSemaphore(2)
_SALT_BYTES = 16


def hash_password(rt: Runtime, password: str) -> str:
    """Return the argon2id hash of ``password`` with parameters and salt. It is slow: not for use in a transaction."""
    with _HASH_SLOTS:
        return _HASHER.hash(password, salt=rt.random_bytes(_SALT_BYTES))


def is_match(stored: str, password: str) -> bool:
    """Return whether ``stored`` is the hash of ``password``. As slow as hashing, however long the password is."""
    with _HASH_SLOTS:
        try:
            return _HASHER.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False
