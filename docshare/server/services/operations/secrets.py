"""Create and load the secrets of the instance, such as the key that signs view tokens."""

from functools import lru_cache

from docshare.server.runtime import Runtime
from docshare.server.store.database import Store
from docshare.server.store.tables import instance

_SECRET_BYTES = 32


def instance_secret(rt: Runtime, name: str) -> bytes:
    """Return the secret called ``name``, 32 bytes, created on first use and never changed."""
    try:
        return _load_secret(rt.db, name)
    except KeyError:
        with rt.db.write():
            instance.insert_secret(rt.db, name, rt.random_bytes(_SECRET_BYTES))
        return _load_secret(rt.db, name)


@lru_cache(maxsize=16)  # every beacon needs one
def _load_secret(db: Store, name: str) -> bytes:
    secret = instance.find_secret(db, name)
    if secret is None:
        raise KeyError(name)  # and not None, which would be cached
    return secret
