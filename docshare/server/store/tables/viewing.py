"""View sessions, the pages seen in them, and the beacons both are computed from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from peewee import SQL, CompositeKey, ForeignKeyField, IntegerField, TextField

from docshare.contract.limits import UNCOUNTED_RETENTION_MS
from docshare.server.store.database import Store
from docshare.server.store.dialect import Statement
from docshare.server.store.tables.base import BatchedTable, Row
from docshare.server.store.tables.files import File
from docshare.server.store.tables.readers import Viewer
from docshare.server.store.tables.sharing import Invite, Variant


class ViewSession(BatchedTable, Row):
    UNATTRIBUTE = "variant_id = NULL"
    uuid = TextField(unique=True)
    opening = TextField()  # the load of the page it belongs to: the nonce of its token
    part = IntegerField()  # which session of that load it is, from 0
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    content_version = IntegerField()
    total_pages = IntegerField()
    reader = TextField()
    klass = TextField(column_name="class")
    reason = TextField()
    prefetched = IntegerField()
    earliest_at = IntegerField()  # when the page was served or the load's session before it ended
    started_at = IntegerField()
    first_at = IntegerField(null=True)  # arrival of the first beacon; None of sessions before it was kept
    heard_at = IntegerField()
    active_at = IntegerField()
    last_seq = IntegerField()
    hidden_at = IntegerField(null=True)
    closed_at = IntegerField(null=True)
    input_at = IntegerField(null=True)
    counted_at = IntegerField(null=True)
    ended_at = IntegerField(null=True)
    visible_ms = IntegerField()
    time_ms = IntegerField()
    pages_viewed = IntegerField(default=0)
    furthest_page = IntegerField(default=0)
    turns = IntegerField()
    back_turns = IntegerField()
    country = TextField(null=True)
    device = TextField()
    browser = TextField()
    source = TextField()
    referrer = TextField(null=True)
    viewer_mode = TextField()
    variant = ForeignKeyField(Variant, null=True, on_delete="SET NULL", index=False)
    viewer = ForeignKeyField(Viewer, null=True, on_delete="SET NULL", index=False)
    invite = ForeignKeyField(Invite, null=True, on_delete="SET NULL", index=False)
    email = TextField(null=True)  # of its reader, as it was known when the session began
    name = TextField(null=True)
    shown_pages = IntegerField(default=0)  # how many pages of the document its reader could see
    came_back = IntegerField(default=0)  # whether an earlier session of the same reader was counted

    class Meta:
        table_name = "view_sessions"
        indexes = (
            (("opening", "part"), True),
            SQL("CREATE INDEX view_sessions_file ON view_sessions(file_id, id)"),
            SQL("CREATE INDEX view_sessions_invite ON view_sessions(invite_id) WHERE invite_id IS NOT NULL"),
            SQL("CREATE INDEX view_sessions_not_counted ON view_sessions(file_id, id) WHERE counted_at IS NULL"),
            SQL("CREATE INDEX view_sessions_open ON view_sessions(id) WHERE ended_at IS NULL"),
            SQL(
                "CREATE INDEX view_sessions_reader ON view_sessions(file_id, reader, counted_at) "
                "WHERE counted_at IS NOT NULL"
            ),
            SQL("CREATE INDEX view_sessions_uncounted ON view_sessions(ended_at) WHERE counted_at IS NULL"),
            SQL("CREATE INDEX view_sessions_variant ON view_sessions(variant_id) WHERE variant_id IS NOT NULL"),
            SQL("CREATE INDEX view_sessions_viewer ON view_sessions(viewer_id) WHERE viewer_id IS NOT NULL"),
        )


class PageReload(Row):
    opening = TextField(primary_key=True)  # a load of the page that continues the session of an earlier load
    session = ForeignKeyField(ViewSession, on_delete="CASCADE", index=False)
    seq_before = IntegerField()  # what to add to the numbers of its beacons, so that they follow those before

    class Meta:
        table_name = "page_reloads"
        without_rowid = True
        indexes = (SQL("CREATE INDEX page_reloads_session ON page_reloads(session_id)"),)


class SessionPage(Row):
    session = ForeignKeyField(ViewSession, backref="pages", on_delete="CASCADE", index=False)
    page = IntegerField()
    time_ms = IntegerField()
    views = IntegerField()
    back_views = IntegerField()

    class Meta:
        table_name = "session_pages"
        primary_key = CompositeKey("session", "page")
        without_rowid = True


class Beacon(Row):
    session = ForeignKeyField(ViewSession, backref="beacons", on_delete="CASCADE", index=False)
    seq = IntegerField()
    received_at = IntegerField()
    body = TextField()  # JSON: what was sent, without the token
    accepted = TextField()  # JSON: [[page, ms, views, back], ...], the accepted part of it

    class Meta:
        table_name = "beacons"
        primary_key = CompositeKey("session", "seq")
        without_rowid = True


@dataclass(frozen=True)
class SessionContext:
    """The columns of a session that never change; unknown ones are None. ``total_pages`` of the content,
    ``shown_pages`` of them to this reader."""

    opening: str
    part: int
    file_id: int
    content_version: int
    total_pages: int
    reader: str
    country: str | None
    device: str
    browser: str
    source: str
    referrer: str | None
    viewer_mode: str
    variant_id: int | None
    viewer_id: int | None
    invite_id: int | None
    email: str | None
    name: str | None
    shown_pages: int


class VisitContext(NamedTuple):
    """The known facts of the reader of a session; unknown ones are None."""

    device: str
    browser: str
    country: str | None
    source: str
    referrer: str | None
    email: str | None
    name: str | None


# The columns of ``SessionReading``, in its order.
_STATE_COLUMNS = (
    "class, reason, prefetched, earliest_at, started_at, first_at, heard_at, active_at, last_seq, hidden_at, "
    "closed_at, input_at, counted_at, visible_ms, time_ms, turns, back_turns"
)
_COLUMNS = f"id, view_sessions.opening, part, ended_at, file_id, invite_id, reader, {_STATE_COLUMNS}"
_SELECT_SESSION = f"SELECT {_COLUMNS} FROM view_sessions"  # noqa: S608 - columns from above
_FIND = f"{_SELECT_SESSION} WHERE opening = ? AND part = ? FOR UPDATE OF view_sessions"
_LAST = f"{_SELECT_SESSION} WHERE opening = ? ORDER BY part DESC LIMIT 1"
_RELOADED = (
    f"SELECT {_COLUMNS}, r.seq_before FROM page_reloads r "  # noqa: S608 - columns from above
    "JOIN view_sessions ON id = r.session_id WHERE r.opening = ? FOR UPDATE OF view_sessions"
)
# The reader may have received a token meanwhile, by leaving a note for example.
_CLOSED = (
    f"{_SELECT_SESSION} WHERE file_id = ? AND reader = ? AND device = ? AND source = ? "
    "AND variant_id IS NOT DISTINCT FROM ? AND invite_id IS NOT DISTINCT FROM ? "
    "AND (viewer_id IS NULL OR viewer_id = ?) AND content_version = ? AND shown_pages = ? "
    "AND ended_at IS NULL AND closed_at IS NOT NULL ORDER BY id DESC LIMIT ?"
)
_ADD_RELOAD = "INSERT INTO page_reloads (opening, session_id, seq_before) VALUES (?, ?, ?)"
# The timeouts are part of the text, because the planner compares the expression with an index only as text.
_IDLE_END = "active_at + {idle_ms}"
_END = (
    f"LEAST({_IDLE_END}, COALESCE(hidden_at + {{hidden_ms}}, {_IDLE_END}), "
    f"COALESCE(closed_at + {{closed_ms}}, {_IDLE_END}))"
)
_DUE = f"{_SELECT_SESSION} WHERE ended_at IS NULL AND {_END} <= ? ORDER BY {_END} LIMIT ?"
_CONTEXT_COLUMNS = (
    "uuid, opening, part, file_id, content_version, total_pages, reader, country, device, browser, source, referrer, "
    "viewer_mode, variant_id, viewer_id, invite_id, email, name, shown_pages"
)
_INSERT_SESSION = (
    f"INSERT INTO view_sessions ({_CONTEXT_COLUMNS}, {_STATE_COLUMNS}) VALUES ({', '.join('?' * 36)}) RETURNING id"  # noqa: S608 - from above
)
_HAS_BEACON = "SELECT 1 FROM beacons WHERE session_id = ? AND seq = ?"
_ADD_BEACON = "INSERT INTO beacons (session_id, seq, received_at, body, accepted) VALUES (?, ?, ?, ?, ?)"
_SAVE = (
    "UPDATE view_sessions SET class = ?, reason = ?, started_at = ?, heard_at = ?, active_at = ?, last_seq = ?, "
    "hidden_at = ?, closed_at = ?, input_at = ?, visible_ms = ?, time_ms = ?, turns = ?, back_turns = ? WHERE id = ?"
)
# Apart from the others, because SQLite would update three indexes with every beacon.
_SAVE_COUNTED = "UPDATE view_sessions SET counted_at = ? WHERE id = ?"
_COUNT_SHORT = (
    "SELECT reader, COUNT(*) FROM view_sessions WHERE file_id = ? AND reader IN (JSON_TEXTS(?)) "
    "AND counted_at > ? AND heard_at - first_at < ? GROUP BY reader"
)
_INTO_PAGES = "INSERT INTO session_pages (session_id, page, time_ms, views, back_views)"
_ON_CONFLICT_ADD = (
    "ON CONFLICT (session_id, page) DO UPDATE SET time_ms = session_pages.time_ms + excluded.time_ms, "
    "views = session_pages.views + excluded.views, back_views = session_pages.back_views + excluded.back_views"
)
_ADD_PAGE = f"{_INTO_PAGES} VALUES (?, ?, ?, ?, ?) {_ON_CONFLICT_ADD}"
_ADD_PAGES_OF_BEACONS = Statement(
    sqlite=f"{_INTO_PAGES} SELECT b.session_id, p.value ->> 0, SUM(p.value ->> 1), SUM(p.value ->> 2), "  # noqa: S608 - from above
    "SUM(p.value ->> 3) FROM beacons b, json_each(b.accepted) p "
    f"WHERE b.session_id = ? GROUP BY p.value ->> 0 {_ON_CONFLICT_ADD}",
    postgresql=f"{_INTO_PAGES} SELECT b.session_id, (p ->> 0)::bigint, SUM((p ->> 1)::bigint), "  # noqa: S608 - from above
    "SUM((p ->> 2)::bigint), SUM((p ->> 3)::bigint) "
    "FROM beacons b CROSS JOIN jsonb_array_elements(b.accepted::jsonb) p "
    f"WHERE b.session_id = ? GROUP BY b.session_id, (p ->> 0)::bigint {_ON_CONFLICT_ADD}",
)
# Every beacon may reach a page once without a turn, as the first does; the whole session may only once.
_CUT_VIEWS = (
    "UPDATE session_pages SET views = LEAST(views, ?1), back_views = LEAST(back_views, views, ?1) WHERE session_id = ?2"
)
_SUM_UP = "SELECT COUNT(*), COALESCE(MAX(page), 0) FROM session_pages WHERE session_id = ? AND time_ms >= ?"
_DELETE_UNCOUNTED = (
    "DELETE FROM view_sessions WHERE id IN "
    "(SELECT id FROM view_sessions WHERE counted_at IS NULL AND ended_at <= ? LIMIT ?)"
)
_CLOSE = "UPDATE view_sessions SET ended_at = ?, pages_viewed = ?, furthest_page = ? WHERE id = ?"
_SELECT_EVENT_DATA = (
    "SELECT s.uuid, s.pages_viewed, s.time_ms, s.variant_id, v.uuid, v.label "
    "FROM view_sessions s LEFT JOIN variants v ON v.id = s.variant_id WHERE s.id = ?"
)
# A reader's name lasts as long as the salt of the file, 30 days; a later visit counts as a new reader.
_MARK_RETURNING = (
    "UPDATE view_sessions AS s SET came_back = CASE WHEN EXISTS "
    "(SELECT 1 FROM readers r WHERE r.file_id = s.file_id AND r.reader = s.reader) THEN 1 ELSE 0 END WHERE s.id = ?"
)
_DELETE_BEACONS = (
    "DELETE FROM beacons WHERE session_id IN (SELECT session_id FROM session_rows WHERE beacons_until <= ? "
    "ORDER BY beacons_until, id LIMIT ?)"
)
# Without a time, a page or a reader; deleted by the job that deletes uncounted sessions.
_INSERT_DECLINED = (
    "INSERT INTO view_sessions (uuid, opening, part, file_id, ended_at, class, content_version, total_pages, reader, "
    "reason, prefetched, earliest_at, started_at, heard_at, active_at, last_seq, visible_ms, time_ms, turns, "
    "back_turns, device, browser, source, viewer_mode) "
    "VALUES (?, ?, ?, ?, ?, 'declined', 0, 0, '', '', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', '', '', '') RETURNING id"
)
_SELECT_VISIT = f"SELECT {', '.join(VisitContext._fields)} FROM view_sessions WHERE id = ?"  # noqa: S608 - from above


def mark_returning(store: Store, session_id: int) -> None:
    """Store whether the reader of a session has come back."""
    store.execute(_MARK_RETURNING, (session_id,))


def mark_new(store: Store, session_id: int) -> None:
    """Store that the reader of a session has not come back."""
    store.execute(ViewSession.update(came_back=0).where(ViewSession.id == session_id))


def delete_beacons(store: Store, now: int, limit: int) -> None:
    """Delete the beacons of up to ``limit`` sessions that were kept until ``now``."""
    store.execute(_DELETE_BEACONS, (now, limit))


def find_session(store: Store, opening: str, part: int) -> tuple[Any, ...] | None:
    """Return the id, load, part, end, file, invite and reader of one session of a page load, and its state; or None."""
    return store.fetch_one(_FIND, (opening, part))


def find_last_session(store: Store, opening: str) -> tuple[Any, ...] | None:
    """Return the columns of ``find_session`` of the newest session of a page load, or None."""
    return store.fetch_one(_LAST, (opening,))


def find_reloaded_session(store: Store, opening: str) -> tuple[Any, ...] | None:
    """Return the columns of ``find_session`` of the session that a load continues, and its ``seq_before``; or None."""
    return store.fetch_one(_RELOADED, (opening,))


def list_closed_sessions(store: Store, place: SessionContext, limit: int) -> list[tuple[Any, ...]]:
    """Return the columns of ``find_session`` of up to ``limit`` sessions that have not ended although their page was
    closed, and that a reload by the reader of ``place`` could continue."""
    values = (place.file_id, place.reader, place.device, place.source, place.variant_id, place.invite_id)
    return store.fetch_all(_CLOSED, (*values, place.viewer_id, place.content_version, place.shown_pages, limit))


def insert_reload(store: Store, opening: str, session_id: int, seq_before: int) -> None:
    """Store that the page load ``opening`` continues a session."""
    store.execute(_ADD_RELOAD, (opening, session_id, seq_before))


def delete_beacons_from(store: Store, session_id: int, seq: int) -> None:
    """Delete the beacons of an open session from number ``seq`` on, and its stored pages."""
    store.execute(Beacon.delete().where(Beacon.session == session_id, Beacon.seq >= seq))
    store.execute(SessionPage.delete().where(SessionPage.session == session_id))


def list_due_sessions(
    store: Store, now: int, limit: int, *, idle_ms: int, hidden_ms: int, closed_ms: int
) -> list[tuple[Any, ...]]:
    """Return the columns of ``find_session`` of up to ``limit`` open sessions that timed out by ``now``, first ended
    first."""
    sql = _DUE.format(idle_ms=idle_ms, hidden_ms=hidden_ms, closed_ms=closed_ms)
    return store.fetch_all(sql, (now, limit))


def insert_session(store: Store, uuid: str, context: SessionContext, state: Sequence[Any]) -> int:
    """Store a new session. Return its id."""
    ((session_id,),) = store.fetch_all(_INSERT_SESSION, (uuid, *vars(context).values(), *state))
    return int(session_id)


def update_state(store: Store, session_id: int, state: Sequence[Any]) -> None:
    """Store the state after a beacon, in the order of the statement."""
    store.execute(_SAVE, (*state, session_id))


def mark_counted(store: Store, session_id: int, counted_at: int) -> None:
    """Store when a session was counted as a view."""
    store.execute(_SAVE_COUNTED, (counted_at, session_id))


def count_short_sessions(
    store: Store, file_id: int, readers: str, *, counted_after: int, max_ms: int
) -> dict[str, int]:
    """Return the number of counted sessions shorter than ``max_ms`` of each of ``readers``, a JSON array."""
    return {found[0]: found[1] for found in store.fetch_all(_COUNT_SHORT, (file_id, readers, counted_after, max_ms))}


def has_beacon(store: Store, session_id: int, seq: int) -> bool:
    """Return whether a beacon of a session is stored."""
    return store.fetch_one(_HAS_BEACON, (session_id, seq)) is not None


def insert_beacon(store: Store, session_id: int, seq: int, now: int, body: str, accepted: str) -> None:
    """Store one beacon; ``body`` and ``accepted`` are JSON."""
    store.execute(_ADD_BEACON, (session_id, seq, now, body, accepted))


def add_page(store: Store, session_id: int, page: int, time_ms: int, views: int, back_views: int) -> None:
    """Add to the sums of one page of a session."""
    store.execute(_ADD_PAGE, (session_id, page, time_ms, views, back_views))


def add_pages_of_beacons(store: Store, session_id: int) -> None:
    """Add the pages of all stored beacons of a session to its pages."""
    store.execute(_ADD_PAGES_OF_BEACONS, (session_id,))


def limit_page_views(store: Store, session_id: int, max_views: int) -> None:
    """Limit the views of every page of a session to ``max_views``."""
    store.execute(_CUT_VIEWS, (max_views, session_id))


def sum_up_pages(store: Store, session_id: int, min_ms: int) -> tuple[int, int]:
    """Return how many pages of a session were seen for ``min_ms``, and the last of them (0 without any)."""
    ((seen, furthest),) = store.fetch_all(_SUM_UP, (session_id, min_ms))
    return seen, furthest


def close_session(store: Store, session_id: int, ended_at: int, pages_viewed: int, furthest_page: int) -> None:
    """Store the end of a session."""
    store.execute(_CLOSE, (ended_at, pages_viewed, furthest_page, session_id))


def count_sessions_of_load(store: Store, opening: str, before: int) -> int:
    """Return how many sessions of a page load precede the session number ``before``."""
    sql = "SELECT COUNT(*) FROM view_sessions WHERE opening = ? AND part < ?"
    return int(store.fetch_all(sql, (opening, before))[0][0])


def get_visit_context(store: Store, session_id: int) -> VisitContext:
    """Return what is known of the reader of a session."""
    return VisitContext._make(store.fetch_all(_SELECT_VISIT, (session_id,))[0])


def insert_declined(store: Store, uuid: str, opening: str, part: int, file_id: int, kept_until: int) -> int:
    """Store that the reader of a page load chose not to be measured, until ``kept_until`` (ms). Return its id."""
    ended_at = kept_until - UNCOUNTED_RETENTION_MS
    ((session_id,),) = store.fetch_all(_INSERT_DECLINED, (uuid, opening, part, file_id, ended_at))
    return int(session_id)


def delete_session(store: Store, session_id: int) -> None:
    """Delete a session with its beacons and pages."""
    store.execute("DELETE FROM view_sessions WHERE id = ?", (session_id,))


def get_event_data(store: Store, session_id: int) -> tuple[str, int, int, int | None, str | None, str | None]:
    """Return the UUID, the pages, the time, and the id, the UUID and the label of the variant of a session."""
    ((uuid, seen, time_ms, variant_id, variant, label),) = store.fetch_all(_SELECT_EVENT_DATA, (session_id,))
    return uuid, seen, time_ms, variant_id, variant, label


def delete_uncounted_sessions(store: Store, ended_by: int, limit: int) -> int:
    """Delete up to ``limit`` sessions that ended by ``ended_by`` and were not counted. Return how many."""
    return store.execute(_DELETE_UNCOUNTED, (ended_by, limit))
