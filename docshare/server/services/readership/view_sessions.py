"""The rows of view sessions, in plain SQL. Every write needs the caller's transaction.

Beacons are many, so each is two writes: its own row and its session's. The times of pages are added up from the
beacons when the session ends.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from docshare.contract.wire import drop_none
from docshare.server.rules import reading
from docshare.server.rules.reading import BeaconBody, SessionReading
from docshare.server.runtime import Runtime
from docshare.server.services.events import activity
from docshare.server.services.links import invites
from docshare.server.services.operations import notices
from docshare.server.services.readership import rollups

MAX_BEACONS_KEPT = 2_000  # of one session, as received: over an hour of reading; later ones only add to its pages

# The columns of ``Reading``, in its order.
_STATE_COLUMNS = (
    "class, reason, prefetched, earliest_at, started_at, first_at, heard_at, active_at, last_seq, hidden_at, "
    "closed_at, input_at, counted_at, visible_ms, time_ms, turns, back_turns"
)
_COLUMNS = f"id, part, ended_at, file_id, invite_id, reader, {_STATE_COLUMNS}"
_SELECT = f"SELECT {_COLUMNS} FROM view_sessions"  # noqa: S608 - columns from above
_FIND = f"{_SELECT} WHERE opening = ? AND part = ?"
_LAST = f"{_SELECT} WHERE opening = ? ORDER BY part DESC LIMIT 1"
_IDLE_END = f"active_at + {reading.IDLE_TIMEOUT_MS}"
_END = (
    f"MIN({_IDLE_END}, IFNULL(hidden_at + {reading.HIDDEN_TIMEOUT_MS}, {_IDLE_END}), "
    f"IFNULL(closed_at + {reading.CLOSED_TIMEOUT_MS}, {_IDLE_END}))"
)
_DUE = f"{_SELECT} WHERE ended_at IS NULL AND {_END} <= ? ORDER BY {_END} LIMIT ?"
_CONTEXT_COLUMNS = (
    "uuid, opening, part, file_id, content_version, total_pages, reader, country, device, browser, source, referrer, "
    "viewer_mode, variant_id, viewer_id, invite_id, email, name, shown_pages"
)
_INSERT = f"INSERT INTO view_sessions ({_CONTEXT_COLUMNS}, {_STATE_COLUMNS}) VALUES ({', '.join('?' * 36)})"  # noqa: S608 - from above
_HAS_BEACON = "SELECT 1 FROM beacons WHERE session_id = ? AND seq = ?"
_ADD_BEACON = "INSERT INTO beacons (session_id, seq, received_at, body, accepted) VALUES (?, ?, ?, ?, ?)"
_SAVE = (
    "UPDATE view_sessions SET class = ?, reason = ?, started_at = ?, heard_at = ?, active_at = ?, last_seq = ?, "
    "hidden_at = ?, closed_at = ?, input_at = ?, visible_ms = ?, time_ms = ?, turns = ?, back_turns = ? WHERE id = ?"
)
# Apart from the others, because SQLite would write three indexes anew with each beacon.
_SAVE_COUNTED = "UPDATE view_sessions SET counted_at = ? WHERE id = ?"
_COUNT_SHORT = (
    "SELECT reader, COUNT(*) FROM view_sessions WHERE file_id = ? AND reader IN (SELECT value FROM json_each(?)) "  # noqa: S608 - a number
    f"AND counted_at > ? AND heard_at - first_at < {reading.SHORT_MS} GROUP BY reader"
)
_INTO_PAGES = "INSERT INTO session_pages (session_id, page, time_ms, views, back_views)"
_ON_CONFLICT_ADD = (
    "ON CONFLICT (session_id, page) DO UPDATE SET time_ms = time_ms + excluded.time_ms, "
    "views = views + excluded.views, back_views = back_views + excluded.back_views"
)
_ADD_PAGE = f"{_INTO_PAGES} VALUES (?, ?, ?, ?, ?) {_ON_CONFLICT_ADD}"
_ADD_PAGES_OF_BEACONS = (
    f"{_INTO_PAGES} SELECT b.session_id, p.value ->> 0, SUM(p.value ->> 1), SUM(p.value ->> 2), SUM(p.value ->> 3) "  # noqa: S608 - from above
    f"FROM beacons b, json_each(b.accepted) p WHERE b.session_id = ? GROUP BY p.value ->> 0 {_ON_CONFLICT_ADD}"
)
# Each beacon may turn to a page once without a turn, as the first does; the whole session may only once.
_CUT_VIEWS = (
    "UPDATE session_pages SET views = MIN(views, ?1), back_views = MIN(back_views, views, ?1) WHERE session_id = ?2"
)
_SUM_UP = "SELECT COUNT(*), IFNULL(MAX(page), 0) FROM session_pages WHERE session_id = ? AND time_ms >= ?"
_DELETE_UNCOUNTED = (
    "DELETE FROM view_sessions WHERE id IN "
    "(SELECT id FROM view_sessions WHERE counted_at IS NULL AND ended_at <= ? LIMIT ?)"
)
_CLOSE = "UPDATE view_sessions SET ended_at = ?, pages_viewed = ?, furthest_page = ? WHERE id = ?"
# A file without an owner has no feed. The feed leaves out trashed files; their rows return on restore.
_APPEND_TO_FEED = (
    "INSERT INTO view_rows (owner_id, file_id, hidden, read_at, country, pages_viewed, time_ms) "
    "SELECT f.owner_id, f.id, f.trashed_at IS NOT NULL, s.started_at, s.country, s.pages_viewed, s.time_ms "
    "FROM view_sessions s JOIN files f ON f.id = s.file_id WHERE s.id = ? AND f.owner_id IS NOT NULL"
)
_SELECT_EVENT_DATA = (
    "SELECT s.uuid, s.pages_viewed, s.time_ms, s.variant_id, v.uuid, v.label "
    "FROM view_sessions s LEFT JOIN variants v ON v.id = s.variant_id WHERE s.id = ?"
)


@dataclass(frozen=True)
class StoredViewSession:
    """One stored session. ``part`` counts the sessions of its load; ``ended_at`` ms or None; ``invite_id`` through
    whose personal link; ``reader`` their salted name."""

    id: int
    part: int
    ended_at: int | None
    file_id: int
    invite_id: int | None
    reader: str
    reading: SessionReading

    def over(self, now: int) -> bool:
        """Whether the session has ended at ``now``, written down or not."""
        return self.ended_at is not None or reading.session_end(self.reading) <= now


@dataclass(frozen=True)
class SessionContext:
    """Where and how a session reads, and who; names as in ``view_sessions``, unknown ones None. ``total_pages`` of the
    content, ``shown_pages`` of them to this reader."""

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


def _parse_session(row: tuple[Any, ...]) -> StoredViewSession:
    session_id, part, ended_at, file_id, invite_id, reader, klass, reason, prefetched, *rest = row
    state = SessionReading(klass, reason, bool(prefetched), *rest)
    return StoredViewSession(session_id, part, ended_at, file_id, invite_id, reader, state)


def find(rt: Runtime, opening: str, part: int) -> StoredViewSession | None:
    """The session number ``part`` of the page load ``opening``, or None."""
    row = rt.db.row(_FIND, (opening, part))
    return _parse_session(row) if row else None


def find_last_of_load(rt: Runtime, opening: str) -> StoredViewSession | None:
    """The newest session of the page load ``opening``, or None."""
    row = rt.db.row(_LAST, (opening,))
    return _parse_session(row) if row else None


def list_due(rt: Runtime, now: int, limit: int) -> list[StoredViewSession]:
    """At most ``limit`` sessions that have ended at ``now``, which is not written down yet; first ended first."""
    return [_parse_session(row) for row in rt.db.rows(_DUE, (now, limit))]


def insert(rt: Runtime, place: SessionContext, state: SessionReading) -> StoredViewSession:
    """Store a new session."""
    rt.db.execute(_INSERT, (rt.uuid(), *vars(place).values(), *state))
    row = rt.db.row("SELECT last_insert_rowid()")
    assert row is not None
    return StoredViewSession(row[0], place.part, None, place.file_id, place.invite_id, place.reader, state)


def add_beacon(
    rt: Runtime,
    session: StoredViewSession,
    beacon: BeaconBody,
    now: int,
    last_page: int,
    neighbors: Callable[[], Sequence[str]],
) -> None:
    """Fold ``beacon`` into ``session``, whose reader is shown no page after ``last_page``, and count its view when that
    is due; a beacon heard before changes nothing. ``neighbors``: the names of all readers at the sender's address."""
    if _is_known_beacon(rt, session, beacon):
        return
    state, pages = reading.fold_beacon(session.reading, beacon, now, last_page)
    if state.klass == "burst" and _has_room(rt, session, now, neighbors()):
        state = reading.mark_counted(state, now)
    accepted = [(page.page, page.ms, page.views, page.back) for page in pages if page.ms or page.views]
    if beacon.seq < MAX_BEACONS_KEPT:
        texts = reading.serialize_beacon(beacon), reading.encode_compact(accepted)
        rt.db.execute(_ADD_BEACON, (session.id, beacon.seq, now, *texts))
    else:
        for page in accepted:
            rt.db.execute(_ADD_PAGE, (session.id, *page))
    _save(rt, session, state)
    if state.counted_at is not None and session.reading.counted_at is None:
        rt.db.execute(_SAVE_COUNTED, (state.counted_at, session.id))
        _count_view(rt, session, state.counted_at)


def _has_room(rt: Runtime, session: StoredViewSession, now: int, neighbors: Sequence[str]) -> bool:
    names = json.dumps([*neighbors, session.reader])  # on the road the address changes, and the name stays
    short = dict(rt.db.rows(_COUNT_SHORT, (session.file_id, names, now - reading.SHORT_WINDOW_MS)))
    return reading.has_room(short.get(session.reader, 0), sum(short.values()))


def _count_view(rt: Runtime, session: StoredViewSession, now: int) -> None:
    rt.db.execute("UPDATE files SET view_count = view_count + 1 WHERE id = ?", (session.file_id,))
    rollups.record_reader(rt, session.id)
    if session.invite_id is not None:
        invites.record_view(rt, session.invite_id, now)
    notices.notify_view(rt, session.file_id, session.id, now)


def end_session(rt: Runtime, session: StoredViewSession) -> None:
    """Write down that ``session`` has ended, at the moment the rule says; a counted one enters the feed, the record
    of events and the sums of its file, of the others their class is counted. It happens once: the times of its beacons
    stay, and are not added again."""
    ended_at = reading.session_end(session.reading)
    rt.db.execute(_ADD_PAGES_OF_BEACONS, (session.id,))
    rt.db.execute(_CUT_VIEWS, (session.reading.turns + 1, session.id))
    seen, furthest = rt.db.rows(_SUM_UP, (session.id, reading.MIN_SEEN_MS))[0]
    rt.db.execute(_CLOSE, (ended_at, seen, furthest, session.id))
    if session.reading.counted_at is not None:
        rt.db.execute(_APPEND_TO_FEED, (session.id,))
        _record_view(rt, session, ended_at)
        rollups.roll_up(rt, session.id)
    else:
        rollups.tally_uncounted(rt, session.id)


def _record_view(rt: Runtime, session: StoredViewSession, ended_at: int) -> None:
    """What was not counted, an owner's preview too, is no event."""
    ((uuid, seen, time_ms, variant_id, variant, label),) = rt.db.rows(_SELECT_EVENT_DATA, (session.id,))
    read = {"pagesViewed": seen, "timeMs": time_ms, "sessionId": uuid}
    extras = drop_none({**read, "variantUuid": variant, "variantLabel": label})
    activity.record(rt, session.file_id, "file.viewed", extras, at=ended_at, variant_id=variant_id)


def delete_uncounted(rt: Runtime, ended_by: int, limit: int) -> int:
    """Delete at most ``limit`` sessions that ended by ``ended_by`` and were not counted; returns how many."""
    return rt.db.execute(_DELETE_UNCOUNTED, (ended_by, limit))


def _is_known_beacon(rt: Runtime, session: StoredViewSession, beacon: BeaconBody) -> bool:
    if beacon.seq > session.reading.last_seq:
        return False
    # One that is not kept cannot be told from a replayed one, so it must be the newest.
    return beacon.seq >= MAX_BEACONS_KEPT or rt.db.row(_HAS_BEACON, (session.id, beacon.seq)) is not None


def _save(rt: Runtime, session: StoredViewSession, state: SessionReading) -> None:
    rt.db.execute(
        _SAVE,
        (
            state.klass,
            state.reason,
            state.started_at,
            state.heard_at,
            state.active_at,
            state.last_seq,
            state.hidden_at,
            state.closed_at,
            state.input_at,
            state.visible_ms,
            state.time_ms,
            state.turns,
            state.back_turns,
            session.id,
        ),
    )
