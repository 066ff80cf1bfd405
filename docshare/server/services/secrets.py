"""Secrets the instance made for itself, such as the key under which view tokens are signed."""

from docshare.server.runtime import Runtime

_BYTES = 32


def instance_secret(rt: Runtime, name: str) -> bytes:
    """The secret called ``name``, 32 bytes, made when it is first asked for and never changed."""
    found = rt.db.row("SELECT value FROM instance_secrets WHERE name = ?", (name,))
    if found is None:
        with rt.db.write():
            made = (name, rt.secret(_BYTES))
            rt.db.execute("INSERT OR IGNORE INTO instance_secrets (name, value) VALUES (?, ?)", made)
        found = rt.db.row("SELECT value FROM instance_secrets WHERE name = ?", (name,))
    assert found is not None
    return bytes(found[0])
