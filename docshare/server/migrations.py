"""The schema, as an append-only list of steps; ``PRAGMA user_version`` counts those that were taken.

Never edit a step that was released: add one. Times are integer milliseconds UTC, sizes bytes, state is a dated fact.
"""

from docshare.server.db import Store

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
# that since=1 walks the whole history. ``hidden`` is set while the file lies in the trash.
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

# ``short_ids`` holds every short id that was ever given to a file or a variant: none returns, also after a purge.
# ``destroyed_at`` is set when the bytes of a burned file are gone.
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

# ``viewers`` are people that left something of themselves: passed a gate, took a view, said something. Who only reads
# has no row. ``grants`` is what each may do: ``kind`` is ``password``, ``gate`` or ``view``; ``seal`` says what was
# asked when it was given, so that it is worth nothing once something else is. ``taps`` without a hotspot: of the CTA.
_READERS = """
CREATE TABLE invites (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE, short_id TEXT NOT NULL UNIQUE,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    email TEXT NOT NULL COLLATE NOCASE, name TEXT, created_at INTEGER NOT NULL, viewed_at INTEGER,
    UNIQUE (file_id, email)
);
CREATE TABLE viewers (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    variant_id INTEGER REFERENCES variants(id) ON DELETE SET NULL,
    invite_id INTEGER REFERENCES invites(id) ON DELETE SET NULL,
    pseudonym TEXT NOT NULL, email TEXT, name TEXT, created_at INTEGER NOT NULL, proofed_at INTEGER,
    UNIQUE (file_id, pseudonym)
);
CREATE INDEX viewers_variant ON viewers(variant_id) WHERE variant_id IS NOT NULL;
CREATE INDEX viewers_invite ON viewers(invite_id) WHERE invite_id IS NOT NULL;
CREATE TABLE grants (
    viewer_id INTEGER NOT NULL REFERENCES viewers(id) ON DELETE CASCADE, kind TEXT NOT NULL,
    content_version INTEGER NOT NULL, seal TEXT NOT NULL, granted_at INTEGER NOT NULL, PRIMARY KEY (viewer_id, kind)
) WITHOUT ROWID;
ALTER TABLE view_sessions ADD COLUMN viewer_id INTEGER REFERENCES viewers(id) ON DELETE SET NULL;
ALTER TABLE view_sessions ADD COLUMN invite_id INTEGER REFERENCES invites(id) ON DELETE SET NULL;
ALTER TABLE view_sessions ADD COLUMN email TEXT;
ALTER TABLE view_sessions ADD COLUMN name TEXT;
CREATE INDEX view_sessions_viewer ON view_sessions(viewer_id) WHERE viewer_id IS NOT NULL;
CREATE INDEX view_sessions_invite ON view_sessions(invite_id) WHERE invite_id IS NOT NULL;
ALTER TABLE notes ADD COLUMN viewer_id INTEGER REFERENCES viewers(id) ON DELETE SET NULL;
CREATE INDEX notes_viewer ON notes(viewer_id) WHERE viewer_id IS NOT NULL;
CREATE TABLE marks (
    viewer_id INTEGER NOT NULL REFERENCES viewers(id) ON DELETE CASCADE, page INTEGER NOT NULL,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    content_version INTEGER NOT NULL, mark TEXT NOT NULL, marked_at INTEGER NOT NULL, PRIMARY KEY (viewer_id, page)
) WITHOUT ROWID;
CREATE INDEX marks_file ON marks(file_id, page);
CREATE TABLE annotations (
    id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    viewer_id INTEGER NOT NULL REFERENCES viewers(id) ON DELETE CASCADE,
    content_version INTEGER NOT NULL, page INTEGER NOT NULL, rect TEXT NOT NULL, note TEXT NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE INDEX annotations_file ON annotations(file_id, page, id);
CREATE INDEX annotations_viewer ON annotations(viewer_id);
CREATE TABLE receipts (
    viewer_id INTEGER NOT NULL REFERENCES viewers(id) ON DELETE CASCADE,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    content_version INTEGER NOT NULL, name TEXT NOT NULL, confirmed_at INTEGER NOT NULL,
    PRIMARY KEY (viewer_id, content_version)
) WITHOUT ROWID;
CREATE INDEX receipts_file ON receipts(file_id);
CREATE TABLE taps (
    id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    hotspot_id INTEGER REFERENCES hotspots(id) ON DELETE CASCADE, tapped_at INTEGER NOT NULL
);
CREATE INDEX taps_file ON taps(file_id, hotspot_id);
CREATE INDEX taps_hotspot ON taps(hotspot_id) WHERE hotspot_id IS NOT NULL;
ALTER TABLE files ADD COLUMN notified_at INTEGER;
ALTER TABLE files ADD COLUMN notified_views INTEGER NOT NULL DEFAULT 0;
CREATE TABLE mails (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE,
    file_id INTEGER REFERENCES files(id) ON DELETE CASCADE,
    recipient TEXT NOT NULL, subject TEXT NOT NULL, body TEXT NOT NULL, created_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, next_at INTEGER, gathers_until INTEGER,
    sent_at INTEGER, failed_at INTEGER, error TEXT
);
CREATE INDEX mails_due ON mails(next_at) WHERE next_at IS NOT NULL;
CREATE INDEX mails_file ON mails(file_id) WHERE file_id IS NOT NULL;
"""

# What reports are made of, so that none has to look at every session: added up as counted sessions end.
# ``session_rows`` is their stream, with ids in the order of the ends; the row of a session whose beacons are still
# kept says until when. ``readers`` gets a row when a reader's first session is counted. ``tallies`` counts sessions by
# what stands in ``kind``.
_ROLLUPS = """
ALTER TABLE view_sessions ADD COLUMN shown_pages INTEGER NOT NULL DEFAULT 0;
ALTER TABLE view_sessions ADD COLUMN came_back INTEGER NOT NULL DEFAULT 0;
CREATE TABLE session_rows (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    session_id INTEGER NOT NULL UNIQUE REFERENCES view_sessions(id) ON DELETE CASCADE,
    started_at INTEGER NOT NULL, time_ms INTEGER NOT NULL, beacons_until INTEGER
);
CREATE INDEX session_rows_file ON session_rows(file_id, id);
CREATE INDEX session_rows_started ON session_rows(file_id, started_at, id);
CREATE INDEX session_rows_time ON session_rows(file_id, time_ms);
CREATE INDEX session_rows_beacons ON session_rows(beacons_until) WHERE beacons_until IS NOT NULL;
INSERT INTO sqlite_sequence (name, seq) VALUES ('session_rows', 1);
CREATE TABLE readerships (
    file_id INTEGER PRIMARY KEY REFERENCES files(id) ON DELETE CASCADE,
    sessions INTEGER NOT NULL, came_back INTEGER NOT NULL, visitors INTEGER NOT NULL, time_ms INTEGER NOT NULL,
    turns INTEGER NOT NULL, back_turns INTEGER NOT NULL, completion INTEGER NOT NULL
);
CREATE TABLE readers (
    id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    reader TEXT NOT NULL, sessions INTEGER NOT NULL, UNIQUE (file_id, reader)
);
CREATE TABLE tallies (
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE, kind TEXT NOT NULL, label TEXT NOT NULL,
    sessions INTEGER NOT NULL, PRIMARY KEY (file_id, kind, label)
) WITHOUT ROWID;
CREATE TABLE page_tallies (
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE, page INTEGER NOT NULL,
    time_ms INTEGER NOT NULL, views INTEGER NOT NULL, back_views INTEGER NOT NULL, PRIMARY KEY (file_id, page)
) WITHOUT ROWID;
CREATE TABLE variant_tallies (
    variant_id INTEGER PRIMARY KEY REFERENCES variants(id) ON DELETE CASCADE,
    sessions INTEGER NOT NULL, time_ms INTEGER NOT NULL
);
"""

# The same of the sessions that ended before there were rollups. Their beacons no longer say what was believed of them.
_ROLLED_UP = """
UPDATE view_sessions SET shown_pages = total_pages;
UPDATE view_sessions SET came_back = 1 FROM (
    SELECT id, ROW_NUMBER() OVER (PARTITION BY file_id, reader ORDER BY counted_at, id) AS number
    FROM view_sessions WHERE counted_at IS NOT NULL
) AS known WHERE known.id = view_sessions.id AND known.number > 1;
INSERT INTO session_rows (file_id, session_id, started_at, time_ms, beacons_until)
    SELECT file_id, id, started_at, time_ms, ended_at + 7776000000 FROM view_sessions
    WHERE counted_at IS NOT NULL AND ended_at IS NOT NULL ORDER BY ended_at, id;
INSERT INTO readers (file_id, reader, sessions)
    SELECT file_id, reader, SUM(ended_at IS NOT NULL) FROM view_sessions
    WHERE counted_at IS NOT NULL GROUP BY file_id, reader;
INSERT INTO readerships (file_id, sessions, came_back, visitors, time_ms, turns, back_turns, completion)
    SELECT s.file_id, COUNT(*), SUM(s.came_back), COUNT(DISTINCT s.reader), SUM(s.time_ms), SUM(s.turns),
    SUM(s.back_turns), SUM(s.pages_viewed * 1000000 / s.shown_pages)
    FROM session_rows r JOIN view_sessions s ON s.id = r.session_id GROUP BY s.file_id;
INSERT INTO tallies (file_id, kind, label, sessions)
    SELECT s.file_id, t.key, t.value, COUNT(*)
    FROM session_rows r JOIN view_sessions s ON s.id = r.session_id, json_each(json_object(
        'country', s.country, 'device', s.device, 'browser', s.browser, 'source', s.source, 'referrer', s.referrer,
        'viewerMode', s.viewer_mode, 'furthest', s.furthest_page,
        'day', strftime('%Y-%m-%d', s.started_at / 1000, 'unixepoch'),
        'hour', strftime('%w %H', s.started_at / 1000, 'unixepoch')
    )) t WHERE t.value IS NOT NULL GROUP BY s.file_id, t.key, t.value;
INSERT INTO page_tallies (file_id, page, time_ms, views, back_views)
    SELECT r.file_id, p.page, SUM(p.time_ms), SUM(p.views), SUM(p.back_views)
    FROM session_rows r JOIN session_pages p ON p.session_id = r.session_id GROUP BY r.file_id, p.page;
INSERT INTO variant_tallies (variant_id, sessions, time_ms)
    SELECT s.variant_id, COUNT(*), SUM(s.time_ms) FROM session_rows r JOIN view_sessions s ON s.id = r.session_id
    WHERE s.variant_id IS NOT NULL GROUP BY s.variant_id;
"""

# ``events`` is a JSON array of kinds; ``secret`` is sealed by the vault; ``peer`` is host:port, since each has a cap.
# ``listens_until`` is set for the webhook of ``docshare webhooks listen``: it is nobody's to see, and ends by itself.
# A delivery waits while ``next_at`` is set, and is on its way while ``claimed_at`` is too; ``tries`` counts the
# attempts of its round, which a redelivery begins anew, and ``attempts`` holds all of them.
_WEBHOOKS = """
CREATE TABLE webhooks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE,
    account_id INTEGER NOT NULL REFERENCES accounts(id) ON DELETE CASCADE,
    file_id INTEGER REFERENCES files(id) ON DELETE CASCADE,
    url TEXT NOT NULL, peer TEXT NOT NULL, format TEXT NOT NULL, events TEXT NOT NULL, secret BLOB NOT NULL,
    created_at INTEGER NOT NULL, failure_count INTEGER NOT NULL DEFAULT 0,
    last_delivery_at INTEGER, last_status INTEGER, disabled_at INTEGER, listens_until INTEGER
);
CREATE INDEX webhooks_account ON webhooks(account_id, id);
CREATE INDEX webhooks_file ON webhooks(file_id) WHERE file_id IS NOT NULL;
CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE,
    webhook_id INTEGER NOT NULL REFERENCES webhooks(id) ON DELETE CASCADE,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    variant_id INTEGER REFERENCES variants(id) ON DELETE SET NULL,
    event TEXT NOT NULL, body TEXT NOT NULL, created_at INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0, next_at INTEGER, claimed_at INTEGER,
    delivered_at INTEGER, abandoned_at INTEGER
);
CREATE INDEX deliveries_due ON deliveries(webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_claimed ON deliveries(claimed_at) WHERE claimed_at IS NOT NULL;
CREATE INDEX deliveries_webhook ON deliveries(webhook_id, id);
CREATE INDEX deliveries_file ON deliveries(file_id);
CREATE INDEX deliveries_variant ON deliveries(variant_id) WHERE variant_id IS NOT NULL;
CREATE INDEX deliveries_old ON deliveries(created_at);
CREATE TABLE attempts (
    delivery_id INTEGER NOT NULL REFERENCES deliveries(id) ON DELETE CASCADE, number INTEGER NOT NULL,
    at INTEGER NOT NULL, status INTEGER NOT NULL, latency_ms INTEGER NOT NULL, error TEXT,
    PRIMARY KEY (delivery_id, number)
) WITHOUT ROWID;
CREATE INDEX activity_rows_old ON activity_rows(happened_at);
CREATE INDEX activity_rows_kind ON activity_rows(owner_id, event, id) WHERE hidden = 0;
CREATE TABLE denials (
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE, reason TEXT NOT NULL,
    variant_id INTEGER NOT NULL, minute INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (file_id, reason, variant_id, minute)
) WITHOUT ROWID;
"""

# A grant is one approval of one client by one account; its tokens come and go. A code keeps what it was exchanged for,
# so that a second exchange can end it; a refresh token that was exchanged stays to be recognised.
_OAUTH = """
CREATE TABLE oauth_grants (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE,
    account_id INTEGER NOT NULL REFERENCES accounts(id) ON DELETE CASCADE,
    client_id INTEGER NOT NULL REFERENCES oauth_clients(id) ON DELETE CASCADE,
    scopes TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, used_at INTEGER NOT NULL,
    revoked_at INTEGER
);
CREATE INDEX oauth_grants_account ON oauth_grants(account_id, id);
CREATE INDEX oauth_grants_client ON oauth_grants(client_id);
CREATE TABLE oauth_codes (
    digest TEXT PRIMARY KEY, account_id INTEGER NOT NULL REFERENCES accounts(id) ON DELETE CASCADE,
    client_id INTEGER NOT NULL REFERENCES oauth_clients(id) ON DELETE CASCADE,
    redirect_uri TEXT NOT NULL, scopes TEXT NOT NULL, challenge TEXT NOT NULL, expires_at INTEGER NOT NULL,
    grant_id INTEGER REFERENCES oauth_grants(id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX oauth_codes_account ON oauth_codes(account_id);
CREATE INDEX oauth_codes_client ON oauth_codes(client_id);
CREATE INDEX oauth_codes_grant ON oauth_codes(grant_id) WHERE grant_id IS NOT NULL;
CREATE TABLE oauth_tokens (
    digest TEXT PRIMARY KEY, kind TEXT NOT NULL,
    grant_id INTEGER NOT NULL REFERENCES oauth_grants(id) ON DELETE CASCADE,
    scopes TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, rotated_at INTEGER
) WITHOUT ROWID;
CREATE INDEX oauth_tokens_grant ON oauth_tokens(grant_id);
"""

STEPS: tuple[str, ...] = (
    _ACCOUNTS + _FILES + _FEED + _READING,
    _SHARING,
    _READERS + _ROLLUPS + _ROLLED_UP,
    _WEBHOOKS,
    _OAUTH,
)


class TooNew(Exception):
    """The database was written by a later version of docshare."""


def migrate(store: Store) -> None:
    """Bring the schema up to date, one transaction a step. Raises ``TooNew``."""
    taken = store.row("PRAGMA user_version")
    version = int(taken[0]) if taken else 0
    if version > len(STEPS):
        raise TooNew(f"database version {version} is newer than this docshare ({len(STEPS)}); upgrade docshare")
    for number, step in enumerate(STEPS[version:], start=version + 1):
        with store.write():
            for statement in step.split(";\n"):
                if statement.strip():
                    store.execute(statement)
            store.execute(f"PRAGMA user_version = {number}")
