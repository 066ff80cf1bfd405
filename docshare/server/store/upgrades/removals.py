"""Blobs that are deleted until the store has confirmed it, however long it is away."""

STEP = """
CREATE TABLE blob_removals (
  blob TEXT PRIMARY KEY NOT NULL,
  requested_at INTEGER NOT NULL
) WITHOUT ROWID;
"""
