"""Secrets that the instance generated for itself."""

from peewee import BlobField, TextField

from docshare.server.store.database import Store
from docshare.server.store.tables.base import Row


class InstanceSecret(Row):
    name = TextField(primary_key=True)
    value = BlobField()

    class Meta:
        table_name = "instance_secrets"
        without_rowid = True


def find_secret(store: Store, name: str) -> bytes | None:
    """Return the secret ``name``, or None."""
    found = store.fetch_one("SELECT value FROM instance_secrets WHERE name = ?", (name,))
    return bytes(found[0]) if found else None


def insert_secret(store: Store, name: str, value: bytes) -> None:
    """Insert a secret, unless one of that name exists."""
    InstanceSecret.insert(name=name, value=value).on_conflict_ignore().execute(store.engine)
