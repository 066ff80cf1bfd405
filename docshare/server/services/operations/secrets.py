"""Secrets the instance made for itself, such as the key under which view tokens are signed."""

from functools import lru_cache

from docshare.server.runtime import Runtime
from docshare.server.store.database import Store

_SECRET_BYTES = 32


def instance_secret(rt: Runtime, name: str) -> bytes:
    """The secret called ``name``, 32 bytes, made when it is first asked for and never changed."""
    try:
        return _load_secret(rt.db, name)
    except KeyError:
        with rt.db.write():
            made = (name, rt.secret(_SECRET_BYTES))
            rt.db.execute("INSERT OR IGNORE INTO instance_secrets (name, value) VALUES (?, ?)", made)
        return _load_secret(rt.db, name)


@lru_cache(maxsize=16)  # asked for with every beacon
def _load_secret(db: Store, name: str) -> bytes:
    found = db.row("SELECT value FROM instance_secrets WHERE name = ?", (name,))
    if found is None:
        raise KeyError(name)
    return bytes(found[0])
