"""Accounts, files, the feed and reading."""

_ACCOUNTS = """
CREATE TABLE accounts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE, email TEXT NOT NULL UNIQUE COLLATE NOCASE,
    name TEXT NOT NULL, plan INTEGER NOT NULL, created_at INTEGER NOT NULL
);
CREATE TABLE api_keys (
    id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE,
    account_id INTEGER NOT NULL REFERENCES accounts(id) ON DELETE CASCADE,
    name TEXT NOT NULL, digest TEXT NOT NULL UNIQUE, tail TEXT NOT NULL,
    created_at INTEGER NOT NULL, revoked_at INTEGER
);
CREATE INDEX api_keys_account ON api_keys(account_id);
CREATE TABLE oauth_clients (
    id INTEGER PRIMARY KEY, client_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
    redirect_uris TEXT NOT NULL, secret_digest TEXT, created_at INTEGER NOT NULL
);
CREATE TABLE login_links (
    digest TEXT PRIMARY KEY, account_id INTEGER NOT NULL REFERENCES accounts(id) ON DELETE CASCADE,
    expires_at INTEGER NOT NULL, used_at INTEGER
) WITHOUT ROWID;
CREATE TABLE web_sessions (
    digest TEXT PRIMARY KEY, account_id INTEGER NOT NULL REFERENCES accounts(id) ON DELETE CASCADE,
    csrf TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE instance_secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""

_FILES = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE, short_id TEXT NOT NULL UNIQUE, slug TEXT UNIQUE,
    owner_id INTEGER REFERENCES accounts(id) ON DELETE CASCADE,
    original_name TEXT NOT NULL, size INTEGER NOT NULL, mime_type TEXT NOT NULL, total_pages INTEGER NOT NULL,
    page_sizes TEXT NOT NULL, sha256 TEXT NOT NULL, blob TEXT NOT NULL, content_version INTEGER NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, delete_at INTEGER,
    trashed_at INTEGER, purge_at INTEGER, burned_at INTEGER,
    view_count INTEGER NOT NULL DEFAULT 0, views_consumed INTEGER NOT NULL DEFAULT 0, view_limit INTEGER,
    password_hash TEXT, settings TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX files_owner ON files(owner_id, id) WHERE trashed_at IS NULL;
CREATE INDEX files_purge ON files(purge_at) WHERE purge_at IS NOT NULL;
CREATE TABLE revisions (
    id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    content_version INTEGER NOT NULL, original_name TEXT NOT NULL, size INTEGER NOT NULL,
    total_pages INTEGER NOT NULL, sha256 TEXT NOT NULL, created_at INTEGER NOT NULL,
    UNIQUE (file_id, content_version)
);
"""

# Rows of a stream are inserted when the event is complete, so ids never appear below a cursor that has passed.
# AUTOINCREMENT keeps deleted ids from coming back; seeding the sequence with 1 makes every stream start at id 2, so
# that since=1 walks the whole history. ``hidden`` is set while the file is in the trash.
_FEED = """
CREATE TABLE view_rows (
    id INTEGER PRIMARY KEY AUTOINCREMENT, owner_id INTEGER NOT NULL,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE, hidden INTEGER NOT NULL DEFAULT 0,
    read_at INTEGER, country TEXT, pages_viewed INTEGER NOT NULL, time_ms INTEGER NOT NULL
);
CREATE INDEX view_rows_owner ON view_rows(owner_id, id) WHERE hidden = 0;
CREATE INDEX view_rows_file ON view_rows(file_id, hidden, id);
CREATE TABLE download_rows (
    id INTEGER PRIMARY KEY AUTOINCREMENT, owner_id INTEGER NOT NULL,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE, hidden INTEGER NOT NULL DEFAULT 0,
    read_at INTEGER, country TEXT
);
CREATE INDEX download_rows_owner ON download_rows(owner_id, id) WHERE hidden = 0;
CREATE INDEX download_rows_file ON download_rows(file_id, hidden, id);
CREATE TABLE gate_rows (
    id INTEGER PRIMARY KEY AUTOINCREMENT, owner_id INTEGER NOT NULL,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE, hidden INTEGER NOT NULL DEFAULT 0,
    read_at INTEGER, fields TEXT
);
CREATE INDEX gate_rows_owner ON gate_rows(owner_id, id) WHERE hidden = 0;
CREATE INDEX gate_rows_file ON gate_rows(file_id, hidden, id);
INSERT INTO sqlite_sequence (name, seq) VALUES ('view_rows', 1), ('download_rows', 1), ('gate_rows', 1);
"""

_READING = """
CREATE TABLE view_sessions (
    id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, opening TEXT NOT NULL, part INTEGER NOT NULL,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE, content_version INTEGER NOT NULL,
    total_pages INTEGER NOT NULL, reader TEXT NOT NULL, class TEXT NOT NULL, reason TEXT NOT NULL,
    prefetched INTEGER NOT NULL, earliest_at INTEGER NOT NULL, started_at INTEGER NOT NULL, heard_at INTEGER NOT NULL,
    active_at INTEGER NOT NULL, last_seq INTEGER NOT NULL, hidden_at INTEGER, input_at INTEGER, counted_at INTEGER,
    ended_at INTEGER, visible_ms INTEGER NOT NULL, time_ms INTEGER NOT NULL, pages_viewed INTEGER NOT NULL DEFAULT 0,
    furthest_page INTEGER NOT NULL DEFAULT 0, turns INTEGER NOT NULL, back_turns INTEGER NOT NULL,
    country TEXT, device TEXT NOT NULL, browser TEXT NOT NULL, source TEXT NOT NULL, referrer TEXT,
    viewer_mode TEXT NOT NULL, UNIQUE (opening, part)
);
CREATE INDEX view_sessions_open ON view_sessions(id) WHERE ended_at IS NULL;
CREATE INDEX view_sessions_uncounted ON view_sessions(ended_at) WHERE counted_at IS NULL;
CREATE INDEX view_sessions_file ON view_sessions(file_id, id);
CREATE TABLE session_pages (
    session_id INTEGER NOT NULL REFERENCES view_sessions(id) ON DELETE CASCADE, page INTEGER NOT NULL,
    time_ms INTEGER NOT NULL, views INTEGER NOT NULL, back_views INTEGER NOT NULL, PRIMARY KEY (session_id, page)
) WITHOUT ROWID;
CREATE TABLE beacons (
    session_id INTEGER NOT NULL REFERENCES view_sessions(id) ON DELETE CASCADE, seq INTEGER NOT NULL,
    received_at INTEGER NOT NULL, body TEXT NOT NULL, accepted TEXT NOT NULL, PRIMARY KEY (session_id, seq)
) WITHOUT ROWID;
CREATE TABLE reader_salts (
    file_id INTEGER PRIMARY KEY REFERENCES files(id) ON DELETE CASCADE, salt BLOB NOT NULL, created_at INTEGER NOT NULL
);
"""

STEP = _ACCOUNTS + _FILES + _FEED + _READING
