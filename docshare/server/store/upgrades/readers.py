"""Viewers and their feedback, mails, and the sums of reports."""

# ``viewers`` are people who passed a gate, used a view or left feedback; those who only read have no row. ``grants``
# is the access of each: ``kind`` is ``password``, ``gate`` or ``view``; ``seal`` identifies the condition at that
# time, so that the grant ends when the condition changes. ``taps`` without a hotspot: of the CTA.
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

# Sums for reports, so that they do not read every session: updated as counted sessions end. ``session_rows`` is their
# stream, with ids in the order of the ends; the row of a session whose beacons are still stored has their expiry.
# ``readers`` gets a row when a reader's first session is counted. ``tallies`` counts sessions by the value in
# ``kind``.
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

# The same for sessions that ended before there were rollups. Their beacons do not contain the accepted times.
_FILL_ROLLUPS = """
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

STEP = _READERS + _ROLLUPS + _FILL_ROLLUPS
