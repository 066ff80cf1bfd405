"""Variants, assets, hotspots, notes, tokens of files without an owner, and the record of events."""

# ``short_ids`` has every short id that was ever assigned to a file or a variant: none is reused, not even after a
# purge. ``destroyed_at`` is set when the bytes of a burned file are deleted.
_SHARING = """
CREATE TABLE short_ids (short_id TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO short_ids (short_id) SELECT short_id FROM files;
ALTER TABLE files ADD COLUMN destroyed_at INTEGER;
CREATE INDEX files_burned ON files(burned_at) WHERE burned_at IS NOT NULL AND destroyed_at IS NULL;
CREATE INDEX files_unclaimed ON files(delete_at) WHERE owner_id IS NULL AND delete_at IS NOT NULL;
CREATE TABLE variants (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE, short_id TEXT NOT NULL UNIQUE,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    label TEXT, overrides TEXT NOT NULL DEFAULT '{}',
    created_at INTEGER NOT NULL, revoked_at INTEGER, redacted_at INTEGER
);
CREATE INDEX variants_file ON variants(file_id, id);
ALTER TABLE view_sessions ADD COLUMN variant_id INTEGER REFERENCES variants(id) ON DELETE SET NULL;
CREATE INDEX view_sessions_variant ON view_sessions(variant_id) WHERE variant_id IS NOT NULL;
CREATE TABLE assets (
    id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    kind TEXT NOT NULL, mime_type TEXT NOT NULL, size INTEGER NOT NULL, blob TEXT NOT NULL, created_at INTEGER NOT NULL
);
CREATE INDEX assets_file ON assets(file_id, id);
CREATE TABLE hotspots (
    id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE, page INTEGER NOT NULL, rect TEXT NOT NULL,
    label TEXT NOT NULL, url TEXT, asset_id INTEGER REFERENCES assets(id) ON DELETE SET NULL,
    created_at INTEGER NOT NULL
);
CREATE INDEX hotspots_file ON hotspots(file_id, page);
CREATE TABLE notes (
    id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE, page INTEGER,
    author TEXT NOT NULL, body TEXT NOT NULL, public INTEGER NOT NULL, created_at INTEGER NOT NULL
);
CREATE INDEX notes_file ON notes(file_id, id);
CREATE TABLE file_tokens (
    digest TEXT PRIMARY KEY, file_id INTEGER REFERENCES files(id) ON DELETE SET NULL,
    kind TEXT NOT NULL, expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX file_tokens_file ON file_tokens(file_id);
CREATE TABLE activity_rows (
    id INTEGER PRIMARY KEY AUTOINCREMENT, owner_id INTEGER NOT NULL,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE, hidden INTEGER NOT NULL DEFAULT 0,
    variant_id INTEGER REFERENCES variants(id) ON DELETE SET NULL,
    event TEXT NOT NULL, happened_at INTEGER NOT NULL, data TEXT NOT NULL
);
CREATE INDEX activity_rows_owner ON activity_rows(owner_id, id) WHERE hidden = 0;
CREATE INDEX activity_rows_file ON activity_rows(file_id, hidden, id);
CREATE INDEX activity_rows_variant ON activity_rows(variant_id) WHERE variant_id IS NOT NULL;
INSERT INTO sqlite_sequence (name, seq) VALUES ('activity_rows', 1);
"""

STEP = _SHARING
