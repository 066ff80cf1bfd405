"""Data keys of encrypted blobs. A blob of an earlier version has none, until it is encrypted in the background."""

STEP = """
CREATE TABLE data_keys (
  blob TEXT PRIMARY KEY NOT NULL,
  sealed BLOB NOT NULL
) WITHOUT ROWID;
"""
