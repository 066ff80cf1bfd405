"""Create and load the secrets of the instance, such as the key that signs view tokens."""

from functools import lru_cache

from docshare.server.backup.reading import IDENTITY_SECRET
from docshare.server.logs import LOGGER
from docshare.server.runtime import Runtime
from docshare.server.store.database import Store
from docshare.server.store.tables import instance
from docshare.server.store.vault import Vault

VAULT_FINGERPRINT = "vault-fingerprint"
"""The name under which the fingerprint of the master key is stored."""

_SECRET_BYTES = 32
# They do not authenticate anybody, and must be readable without the key.
_PLAIN_NAMES = frozenset({IDENTITY_SECRET, VAULT_FINGERPRINT, instance.FOLDER_SECRET})


def instance_secret(rt: Runtime, name: str) -> bytes:
    """Return the secret called ``name``, 32 bytes, created on first use. It changes only if its master key is lost."""
    try:
        return _load_secret(rt.db, rt.vault, name)
    except KeyError:
        pass
    except ValueError:
        LOGGER.error("the master key of a secret of the instance was lost, so it was created again: %s", name)
        with rt.db.write():
            instance.delete_secret(rt.db, name)
    with rt.db.write():
        secret = rt.random_bytes(_SECRET_BYTES)
        instance.insert_secret(rt.db, name, secret if name in _PLAIN_NAMES else rt.vault.seal_bytes(secret, name))
    return _load_secret(rt.db, rt.vault, name)


@lru_cache(maxsize=16)  # every beacon needs one
def _load_secret(db: Store, vault: Vault, name: str) -> bytes:
    """Raises KeyError if there is none, ValueError if it cannot be decrypted; neither is cached."""
    secret = instance.find_secret(db, name)
    if secret is None:
        raise KeyError(name)
    return secret if is_plain(secret) else vault.open_bytes(secret, name)


def is_plain(value: bytes) -> bool:
    """Return whether a stored secret is not encrypted: that of an earlier version."""
    return len(value) == _SECRET_BYTES


def may_seal(name: str) -> bool:
    """Return whether the secret called ``name`` is encrypted."""
    return name not in _PLAIN_NAMES
