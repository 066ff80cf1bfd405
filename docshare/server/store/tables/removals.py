"""Blobs to which no row refers any more, until the store has confirmed that they are deleted."""

import json
from collections.abc import Sequence

from peewee import IntegerField, TextField, fn

from docshare.server.store.database import Store
from docshare.server.store.tables import instance
from docshare.server.store.tables.base import Row


class BlobRemoval(Row):
    blob = TextField(primary_key=True)
    requested_at = IntegerField()

    class Meta:
        table_name = "blob_removals"
        without_rowid = True


def add(store: Store, blobs: Sequence[str], now: int) -> None:
    """Destroy the data keys of ``blobs``, and remember that their bytes are to be deleted, in the transaction that
    deletes what refers to them."""
    instance.delete_data_keys(store, blobs)
    for blob in blobs:
        store.execute(BlobRemoval.insert(blob=blob, requested_at=now))


def list_blobs(store: Store, most: int) -> list[str]:
    """Return the keys of up to ``most`` blobs to delete, in random order: those that the store refuses to delete must
    not be the first of every run."""
    query = BlobRemoval.select(BlobRemoval.blob).order_by(fn.RANDOM()).limit(most)
    return [blob for (blob,) in store.fetch_all(query)]


def list_remembered(store: Store, blobs: Sequence[str]) -> set[str]:
    """Return which of ``blobs`` are to be deleted."""
    rows = store.fetch_all("SELECT blob FROM blob_removals WHERE blob IN (JSON_TEXTS(?))", (json.dumps(list(blobs)),))
    return {blob for (blob,) in rows}


def delete(store: Store, blobs: Sequence[str]) -> None:
    """Delete the rows of ``blobs``, which the store has deleted."""
    store.execute("DELETE FROM blob_removals WHERE blob IN (JSON_TEXTS(?))", (json.dumps(list(blobs)),))
