"""Adding up counted sessions as they end, in the transaction that ends them.

A report reads these sums and never the sessions themselves, so that a file of a million readers is reported like one
of ten. Nothing is ever taken out again: a counted session goes with its file only.
"""

from docshare.contract.limits import BEACON_RETENTION_MS
from docshare.server.runtime import Runtime

# A reader's name lasts as long as the salt of the file, 30 days; whoever comes later is somebody new.
_MARK_RETURNING = (
    "UPDATE view_sessions AS s SET came_back = EXISTS "
    "(SELECT 1 FROM readers r WHERE r.file_id = s.file_id AND r.reader = s.reader) WHERE s.id = ?"
)
_ADD_READER = (
    "INSERT OR IGNORE INTO readers (file_id, reader, sessions) "
    "SELECT file_id, reader, 0 FROM view_sessions WHERE id = ?"
)
_APPEND = (
    "INSERT INTO session_rows (file_id, session_id, started_at, time_ms, beacons_until) "
    "SELECT file_id, id, started_at, time_ms, ended_at + ?2 FROM view_sessions WHERE id = ?1"
)
_COUNT_READER = (
    "UPDATE readers SET sessions = sessions + 1 "
    "WHERE (file_id, reader) = (SELECT file_id, reader FROM view_sessions WHERE id = ?)"
)
_UPDATE_READERSHIP = (
    "INSERT INTO readerships (file_id, sessions, came_back, visitors, time_ms, turns, back_turns, completion) "
    "SELECT s.file_id, 1, s.came_back, r.sessions = 1, s.time_ms, s.turns, s.back_turns, "
    "s.pages_viewed * 1000000 / s.shown_pages "
    "FROM view_sessions s JOIN readers r ON r.file_id = s.file_id AND r.reader = s.reader WHERE s.id = ? "
    "ON CONFLICT (file_id) DO UPDATE SET sessions = sessions + 1, came_back = came_back + excluded.came_back, "
    "visitors = visitors + excluded.visitors, time_ms = time_ms + excluded.time_ms, turns = turns + excluded.turns, "
    "back_turns = back_turns + excluded.back_turns, completion = completion + excluded.completion"
)
_TALLY = (
    "INSERT INTO tallies (file_id, kind, label, sessions) SELECT s.file_id, t.key, t.value, 1 "
    "FROM view_sessions s, json_each(json_object("
    "'country', s.country, 'device', s.device, 'browser', s.browser, 'source', s.source, 'referrer', s.referrer, "
    "'viewerMode', s.viewer_mode, 'furthest', s.furthest_page, "
    "'day', strftime('%Y-%m-%d', s.started_at / 1000, 'unixepoch'), "
    "'hour', strftime('%w %H', s.started_at / 1000, 'unixepoch'))) t WHERE s.id = ? AND t.value IS NOT NULL "
    "ON CONFLICT (file_id, kind, label) DO UPDATE SET sessions = sessions + 1"
)
_TALLY_UNCOUNTED = (
    "INSERT INTO tallies (file_id, kind, label, sessions) SELECT file_id, 'uncounted', class, 1 FROM view_sessions "
    "WHERE id = ? ON CONFLICT (file_id, kind, label) DO UPDATE SET sessions = sessions + 1"
)
_TALLY_PAGES = (
    "INSERT INTO page_tallies (file_id, page, time_ms, views, back_views) "
    "SELECT s.file_id, p.page, p.time_ms, p.views, p.back_views "
    "FROM view_sessions s JOIN session_pages p ON p.session_id = s.id WHERE s.id = ? "
    "ON CONFLICT (file_id, page) DO UPDATE SET time_ms = time_ms + excluded.time_ms, views = views + excluded.views, "
    "back_views = back_views + excluded.back_views"
)
_TALLY_VARIANT = (
    "INSERT INTO variant_tallies (variant_id, sessions, time_ms) "
    "SELECT variant_id, 1, time_ms FROM view_sessions WHERE id = ? AND variant_id IS NOT NULL "
    "ON CONFLICT (variant_id) DO UPDATE SET sessions = sessions + 1, time_ms = time_ms + excluded.time_ms"
)
_DELETE_BEACONS = (
    "DELETE FROM beacons WHERE session_id IN (SELECT session_id FROM session_rows WHERE beacons_until <= ? "
    "ORDER BY beacons_until, id LIMIT ?)"
)
_MARK_BEACONS_DELETED = (
    "UPDATE session_rows SET beacons_until = NULL WHERE id IN "
    "(SELECT id FROM session_rows WHERE beacons_until <= ? ORDER BY beacons_until, id LIMIT ?)"
)


def record_reader(rt: Runtime, session_id: int) -> None:
    """Write down whether the reader of a session that is counted now has come back."""
    rt.db.execute(_MARK_RETURNING, (session_id,))
    rt.db.execute(_ADD_READER, (session_id,))


def roll_up(rt: Runtime, session_id: int) -> None:
    """Add up a counted session that has just ended, its pages known."""
    rt.db.execute(_APPEND, (session_id, BEACON_RETENTION_MS))
    for statement in (_COUNT_READER, _UPDATE_READERSHIP, _TALLY, _TALLY_PAGES, _TALLY_VARIANT):
        rt.db.execute(statement, (session_id,))


def tally_uncounted(rt: Runtime, session_id: int) -> None:
    """Count the class of a session that has just ended and was not counted as a view."""
    rt.db.execute(_TALLY_UNCOUNTED, (session_id,))


def delete_beacons(rt: Runtime, now: int, limit: int) -> int:
    """Delete the beacons of at most ``limit`` sessions that were kept until ``now``; returns of how many. Sessions and
    the times of their pages stay."""
    rt.db.execute(_DELETE_BEACONS, (now, limit))
    return rt.db.execute(_MARK_BEACONS_DELETED, (now, limit))
