"""Sums over the counted sessions of a file, updated as each session ends, so reports do not read all sessions."""

from typing import NamedTuple

from peewee import SQL, CompositeKey, ForeignKeyField, IntegerField, TextField, fn

from docshare.server.store.database import Store
from docshare.server.store.dialect import Statement
from docshare.server.store.tables.base import BatchedTable, Row, SequenceField
from docshare.server.store.tables.files import File
from docshare.server.store.tables.sharing import Variant
from docshare.server.store.tables.viewing import ViewSession


class SessionRow(BatchedTable, Row):
    id = SequenceField()
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    session = ForeignKeyField(ViewSession, unique=True, on_delete="CASCADE", index=False)
    started_at = IntegerField()
    time_ms = IntegerField()
    beacons_until = IntegerField(null=True)  # None: its beacons were deleted

    class Meta:
        table_name = "session_rows"
        indexes = (
            SQL("CREATE INDEX session_rows_beacons ON session_rows(beacons_until) WHERE beacons_until IS NOT NULL"),
            SQL("CREATE INDEX session_rows_file ON session_rows(file_id, id)"),
            SQL("CREATE INDEX session_rows_started ON session_rows(file_id, started_at, id)"),
            SQL("CREATE INDEX session_rows_time ON session_rows(file_id, time_ms)"),
        )


class Readership(Row):
    file = ForeignKeyField(File, primary_key=True, on_delete="CASCADE", index=False)
    sessions = IntegerField()
    came_back = IntegerField()
    visitors = IntegerField()
    time_ms = IntegerField()
    turns = IntegerField()
    back_turns = IntegerField()
    completion = IntegerField()  # millionths of the shown pages, added up over the sessions

    class Meta:
        table_name = "readerships"


class Reader(BatchedTable, Row):
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    reader = TextField()
    sessions = IntegerField()  # ended ones; 0 while the first one is running

    class Meta:
        table_name = "readers"
        indexes = ((("file", "reader"), True),)


class Tally(Row):
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    kind = TextField()
    label = TextField()
    sessions = IntegerField()

    class Meta:
        table_name = "tallies"
        primary_key = CompositeKey("file", "kind", "label")
        without_rowid = True


class PageTally(Row):
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    page = IntegerField()
    time_ms = IntegerField()
    views = IntegerField()
    back_views = IntegerField()

    class Meta:
        table_name = "page_tallies"
        primary_key = CompositeKey("file", "page")
        without_rowid = True


class VariantTally(Row):
    variant = ForeignKeyField(Variant, primary_key=True, on_delete="CASCADE", index=False)
    sessions = IntegerField()
    time_ms = IntegerField()

    class Meta:
        table_name = "variant_tallies"


class ReadershipTotals(NamedTuple):
    """Stored sums and counts of a whole file: times in ms, ``completion`` in millionths."""

    sessions: int
    came_back: int
    visitors: int
    time_ms: int
    turns: int
    back_turns: int
    completion: int
    countries: int
    downloads: int
    active: int
    not_viewed: int
    unconfirmed: int


# A session adds itself to the sums when it is counted (tests/benchmarks/beacons) and when it ends. The statements copy
# its columns within the database, and are shorter as text.
_ADD_READER = (
    "INSERT INTO readers (file_id, reader, sessions) "
    "SELECT file_id, reader, 0 FROM view_sessions WHERE id = ? ON CONFLICT DO NOTHING"
)
_APPEND_SESSION = (
    "INSERT INTO session_rows (file_id, session_id, started_at, time_ms, beacons_until) "
    "SELECT file_id, id, started_at, time_ms, ended_at + ?2 FROM view_sessions WHERE id = ?1"
)
_COUNT_READER = (
    "UPDATE readers SET sessions = sessions + 1 "
    "WHERE (file_id, reader) = (SELECT file_id, reader FROM view_sessions WHERE id = ?)"
)
_UPDATE_READERSHIP = (
    "INSERT INTO readerships (file_id, sessions, came_back, visitors, time_ms, turns, back_turns, completion) "
    "SELECT s.file_id, 1, s.came_back, CASE WHEN r.sessions = 1 THEN 1 ELSE 0 END, s.time_ms, s.turns, s.back_turns, "
    "s.pages_viewed * 1000000 / s.shown_pages "
    "FROM view_sessions s JOIN readers r ON r.file_id = s.file_id AND r.reader = s.reader WHERE s.id = ? "
    "ON CONFLICT (file_id) DO UPDATE SET sessions = readerships.sessions + 1, "
    "came_back = readerships.came_back + excluded.came_back, visitors = readerships.visitors + excluded.visitors, "
    "time_ms = readerships.time_ms + excluded.time_ms, turns = readerships.turns + excluded.turns, "
    "back_turns = readerships.back_turns + excluded.back_turns, "
    "completion = readerships.completion + excluded.completion"
)
_INTO_TALLIES = "INSERT INTO tallies (file_id, kind, label, sessions)"
_COUNT_TALLY = "ON CONFLICT (file_id, kind, label) DO UPDATE SET sessions = tallies.sessions + 1"
_LABELS = (
    "'country', s.country, 'device', s.device, 'browser', s.browser, 'source', s.source, 'referrer', s.referrer, "
    "'viewerMode', s.viewer_mode, 'furthest', s.furthest_page, "
)
_TALLY_LABELS = Statement(
    sqlite=f"{_INTO_TALLIES} SELECT s.file_id, t.key, t.value, 1 FROM view_sessions s, json_each(json_object({_LABELS}"  # noqa: S608 - fixed
    "'day', strftime('%Y-%m-%d', s.started_at / 1000, 'unixepoch'), "
    "'hour', strftime('%w %H', s.started_at / 1000, 'unixepoch'))) t "
    f"WHERE s.id = ? AND t.value IS NOT NULL {_COUNT_TALLY}",
    postgresql=f"{_INTO_TALLIES} SELECT s.file_id, t.key, t.value, 1 "  # noqa: S608 - fixed
    "FROM (SELECT *, to_timestamp(started_at / 1000) AT TIME ZONE 'UTC' AS started FROM view_sessions) s "
    f"CROSS JOIN jsonb_each_text(jsonb_build_object({_LABELS}'day', to_char(s.started, 'YYYY-MM-DD'), "
    "'hour', extract(dow FROM s.started) || to_char(s.started, ' HH24'))) t "
    f"WHERE s.id = ? AND t.value IS NOT NULL {_COUNT_TALLY}",
)
_TALLY_UNCOUNTED = (
    f"{_INTO_TALLIES} SELECT file_id, 'uncounted', class, 1 FROM view_sessions WHERE id = ? {_COUNT_TALLY}"  # noqa: S608 - fixed
)
_TALLY_PAGES = (
    "INSERT INTO page_tallies (file_id, page, time_ms, views, back_views) "
    "SELECT s.file_id, p.page, p.time_ms, p.views, p.back_views "
    "FROM view_sessions s JOIN session_pages p ON p.session_id = s.id WHERE s.id = ? "
    "ON CONFLICT (file_id, page) DO UPDATE SET time_ms = page_tallies.time_ms + excluded.time_ms, "
    "views = page_tallies.views + excluded.views, back_views = page_tallies.back_views + excluded.back_views"
)
_TALLY_VARIANT = (
    "INSERT INTO variant_tallies (variant_id, sessions, time_ms) "
    "SELECT variant_id, 1, time_ms FROM view_sessions WHERE id = ? AND variant_id IS NOT NULL "
    "ON CONFLICT (variant_id) DO UPDATE SET sessions = variant_tallies.sessions + 1, "
    "time_ms = variant_tallies.time_ms + excluded.time_ms"
)
# Every report and the library read the sums: tests/benchmarks/readership and library.
_SUMS = ", ".join(f"COALESCE(r.{column}, 0)" for column in ReadershipTotals._fields[:7])
# Few sessions are open on the whole instance, but a file may have many; the plan must not use the index by file.
_TOTALS = f"""
SELECT {_SUMS},
    (SELECT COUNT(*) FROM tallies WHERE file_id = f.id AND kind = 'country'),
    (SELECT COUNT(*) FROM download_rows WHERE file_id = f.id),
    (SELECT COUNT(*) FROM view_sessions
        WHERE ended_at IS NULL AND NOINDEX(file_id) = f.id AND counted_at IS NOT NULL AND heard_at > ?),
    (SELECT COUNT(*) FROM invites WHERE file_id = f.id AND viewed_at IS NULL),
    COALESCE((SELECT sessions FROM tallies WHERE file_id = f.id AND kind = 'uncounted' AND label = 'unconfirmed'), 0)
FROM files f LEFT JOIN readerships r ON r.file_id = f.id WHERE f.id = ?
"""  # noqa: S608 - columns from the row
# One row in the middle, or the two around it.
_MEDIAN = """
SELECT SUM(time_ms), COUNT(*) FROM (SELECT time_ms FROM session_rows WHERE file_id = ? ORDER BY time_ms
LIMIT ? OFFSET ?) middle
"""
# These kinds have few labels each; a file may have any number of referrers.
_TALLIES = """
SELECT kind, label, sessions FROM tallies
WHERE file_id = ? AND kind IN ('country', 'device', 'browser', 'source', 'viewerMode', 'hour', 'furthest', 'day',
        'uncounted')
    AND NOT (kind = 'day' AND label < ?) ORDER BY sessions DESC, label
"""
_DAYS = (
    "SELECT file_id, label, sessions FROM tallies WHERE kind = 'day' AND label >= ? AND file_id IN (JSON_NUMBERS(?))"
)
_REFERRERS = """
SELECT label, sessions FROM tallies WHERE file_id = ? AND kind = 'referrer' ORDER BY sessions DESC, label LIMIT ?
"""
_PAGES = "SELECT page, time_ms, views, back_views FROM page_tallies WHERE file_id = ? AND page <= ?"


def insert_reader(store: Store, session_id: int) -> None:
    """Store the reader of a session unless they are known."""
    store.execute(_ADD_READER, (session_id,))


def add_session(store: Store, session_id: int, beacon_retention_ms: int) -> None:
    """Add a counted session that has just ended to the stream and to all sums of its file and its variant."""
    store.execute(_APPEND_SESSION, (session_id, beacon_retention_ms))
    for statement in (_COUNT_READER, _UPDATE_READERSHIP, _TALLY_LABELS, _TALLY_PAGES, _TALLY_VARIANT):
        store.execute(statement, (session_id,))


def add_uncounted(store: Store, session_id: int) -> None:
    """Count the class of a session that was not counted as a view."""
    store.execute(_TALLY_UNCOUNTED, (session_id,))


def mark_beacons_deleted(store: Store, now: int, limit: int) -> int:
    """Mark up to ``limit`` sessions whose beacons expired by ``now`` as sessions without beacons. Return how many."""
    expired = SessionRow.select(SessionRow.id).where(SessionRow.beacons_until <= now)
    first = expired.order_by(SessionRow.beacons_until, SessionRow.id).limit(limit)
    return store.execute(SessionRow.update(beacons_until=None).where(SessionRow.id.in_(first)))


def get_totals(store: Store, file_id: int, active_since: int) -> ReadershipTotals:
    """Return the totals of a file; open sessions with a beacon after ``active_since`` (ms) are active."""
    return ReadershipTotals._make(store.fetch_all(_TOTALS, (active_since, file_id))[0])


def get_median_sum(store: Store, file_id: int, sessions: int) -> tuple[int, int]:
    """Return the sum and the number (1 or 2) of the middle times of a file that has ``sessions`` > 0 sessions."""
    ((total, count),) = store.fetch_all(_MEDIAN, (file_id, 2 - sessions % 2, (sessions - 1) // 2))
    return total, count


def list_tallies(store: Store, file_id: int, first_day: str) -> list[tuple[str, str, int]]:
    """Return ``(kind, label, sessions)`` of a file, most sessions first; days only from ``first_day``, no referrers."""
    return [(found[0], found[1], found[2]) for found in store.fetch_all(_TALLIES, (file_id, first_day))]


def list_days(store: Store, file_ids: str, first_day: str) -> list[tuple[int, str, int]]:
    """Return ``(file_id, day, sessions)`` of the files ``file_ids`` (JSON) from ``first_day`` on, for days with
    sessions."""
    return [(found[0], found[1], found[2]) for found in store.fetch_all(_DAYS, (first_day, file_ids))]


def count_by_referrer(store: Store, file_id: int, limit: int) -> dict[str, int]:
    """Return the number of sessions of the ``limit`` most frequent referrers, most first."""
    return {found[0]: found[1] for found in store.fetch_all(_REFERRERS, (file_id, limit))}


def list_pages(store: Store, file_id: int, total_pages: int) -> list[tuple[int, int, int, int]]:
    """Return ``(page, time_ms, views, back_views)`` of the pages that were read, up to ``total_pages``."""
    return [(found[0], found[1], found[2], found[3]) for found in store.fetch_all(_PAGES, (file_id, total_pages))]


def forget_reader(store: Store, file_id: int, reader: str) -> None:
    """Delete the reader of a running session that is deleted by now, unless other sessions of theirs are counted."""
    is_theirs = (ViewSession.file == file_id) & (ViewSession.reader == reader)
    counted = ViewSession.select().where(is_theirs, ViewSession.counted_at.is_null(False))
    is_reader = (Reader.file == file_id) & (Reader.reader == reader) & (Reader.sessions == 0)
    store.execute(Reader.delete().where(is_reader, ~fn.EXISTS(counted)))


def find_first_returning(store: Store, file_id: int, reader: str) -> tuple[int, bool] | None:
    """Return the id of the first counted session of a reader, and whether it has ended, if each of these sessions is
    that of a returning reader; None otherwise."""
    counted = (ViewSession.file == file_id) & (ViewSession.reader == reader) & ViewSession.counted_at.is_null(False)
    query = ViewSession.select(ViewSession.id, ViewSession.ended_at, ViewSession.came_back).where(counted)
    found = store.fetch_all(query.order_by(ViewSession.counted_at, ViewSession.id))
    if not found or not all(came_back for _, _, came_back in found):
        return None
    return found[0][0], found[0][1] is not None


def subtract_returning(store: Store, file_id: int) -> None:
    """Subtract one session of a returning reader from the sums of a file."""
    changed = Readership.update(came_back=Readership.came_back - 1)
    store.execute(changed.where(Readership.file == file_id))
