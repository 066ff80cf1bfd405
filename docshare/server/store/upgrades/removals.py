"""Blobs to delete, kept until the store has confirmed it, however long the store is unreachable."""

STEP = """
CREATE TABLE blob_removals (
  blob TEXT PRIMARY KEY NOT NULL,
  requested_at INTEGER NOT NULL
) WITHOUT ROWID;
"""
