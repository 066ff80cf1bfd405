"""Store view sessions and their beacons. Every write needs the caller's transaction.

Beacons are frequent, so each costs two writes: its own row and the row of its session, which is cached on SQLite. Page
times are added up from the beacons when the session ends.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from docshare.contract.wire import drop_none
from docshare.server.rules import reading
from docshare.server.rules.page_window import PageWindow
from docshare.server.rules.reading import BeaconBody, SessionReading
from docshare.server.runtime import Runtime
from docshare.server.services.events import activity
from docshare.server.services.links import invites
from docshare.server.services.operations import notices
from docshare.server.services.readership import rollups
from docshare.server.store.tables import feed, files, viewing
from docshare.server.store.tables import sessions as session_table
from docshare.server.store.tables.viewing import SessionContext as SessionContext

_MAX_CLOSED = 50  # closed sessions of which a reload may continue one; the next run of the job ends most of them
_ANY_PAGE = 2**31  # greater than the number of every page
MAX_BEACONS_KEPT = 2_000  # per session, as received: over an hour of reading; later ones only add to the page times


class StoredViewSession(NamedTuple):
    """One stored session.

    ``opening``: the nonce of its page load; ``part``: its number among the sessions of the load, from 0; ``ended_at``:
    ms, None until the end is stored; ``invite_id``: the invitation that opened it; ``reader``: the salted key of its
    reader; ``seq_before``: added to the sequence numbers of the beacons if a reload continues the session.
    """

    id: int
    opening: str
    part: int
    ended_at: int | None
    file_id: int
    invite_id: int | None
    reader: str
    reading: SessionReading
    seq_before: int = 0

    @property
    def is_declined(self) -> bool:
        """Return whether the session only records that its reader chose not to be measured."""
        return self.reading.klass == reading.DECLINED

    def is_over(self, now: int) -> bool:
        """Return whether the session has ended by ``now``, stored or not."""
        return self.ended_at is not None or reading.session_end(self.reading) <= now


def _parse_session(row: tuple[Any, ...]) -> StoredViewSession:
    session_id, opening, part, ended_at, file_id, invite_id, reader, klass, reason, prefetched, *rest = row
    state = SessionReading(klass, reason, bool(prefetched), *rest)
    return StoredViewSession(session_id, opening, part, ended_at, file_id, invite_id, reader, state)


def find(rt: Runtime, nonce: str, part: int) -> StoredViewSession | None:
    """Return the session number ``part`` of the page load with the ``nonce``, or None.

    Only inside the transaction of a write, for which its row is locked.
    """
    # A session that a reload continues is cached under the key of its own load only: under a second one it would become
    # stale.
    session = rt.db.recall(_cache_key(nonce, part), lambda: _find_own(rt, nonce, part))
    return find_reloaded(rt, nonce) if session is None and part == 0 else session


def _find_own(rt: Runtime, nonce: str, part: int) -> StoredViewSession | None:
    row = viewing.find_session(rt.db, nonce, part)
    return _parse_session(row) if row is not None else None


def _cache_key(nonce: str, part: int) -> tuple[str, str, int]:
    return "view session", nonce, part


def find_last_of_load(rt: Runtime, nonce: str) -> StoredViewSession | None:
    """Return the newest session of the page load with the ``nonce``, or None."""
    row = viewing.find_last_session(rt.db, nonce)
    return _parse_session(row) if row is not None else find_reloaded(rt, nonce)


def find_reloaded(rt: Runtime, nonce: str) -> StoredViewSession | None:
    """Return the session of an earlier load that the page load with the ``nonce`` continues, or None."""
    row = viewing.find_reloaded_session(rt.db, nonce)
    return _parse_session(row[:-1])._replace(part=0, seq_before=row[-1]) if row is not None else None


def continue_closed(rt: Runtime, place: SessionContext, window: PageWindow, now: int) -> StoredViewSession | None:
    """Make the page load of ``place``, a reload that shows the pages of ``window``, continue the session that its
    reader closed a few seconds ago.

    Return None if there is no such session, or more than one: two readers can have one address and one browser. Return
    None too if other pages were read in it, because the page range was changed (it would have more pages than were
    shown), and if no more of its beacons are kept (nobody could tell what the reload adds).
    """
    closed = [_parse_session(row) for row in viewing.list_closed_sessions(rt.db, place, _MAX_CLOSED)]
    running = [session for session in closed if not session.is_over(now)]
    if len(running) != 1:
        return None
    (session,) = running
    seq_before = session.reading.last_seq + 1
    if seq_before >= MAX_BEACONS_KEPT:
        return None
    read = session_table.list_pages(rt.db, session.id, is_open=True)
    if any(window.to_reader_page(row.page) is None for row in read):
        return None
    viewing.insert_reload(rt.db, place.opening, session.id, seq_before)
    return session._replace(part=0, seq_before=seq_before)


def list_times_since_reload(rt: Runtime, session: StoredViewSession) -> list[tuple[int, int]]:
    """Return the pages, and their reading times in ms, that a reload has added to the ``session`` that it continues."""
    # The pages of beacons that are not kept; once the session has ended, those of all its beacons.
    stored = session_table.list_pages(rt.db, session.id, is_open=False) if session.ended_at is None else []
    times = {row.page: row.time_ms for row in stored}
    for _, accepted in session_table.list_beacons_from(rt.db, session.id, session.seq_before):
        for page, ms, *_views in json.loads(accepted):
            times[page] = times.get(page, 0) + ms
    return sorted(times.items())


def was_counted_before_reload(rt: Runtime, session: StoredViewSession) -> bool:
    """Return whether ``session`` was counted as a view before the reload that continues it; False without a reload."""
    if not session.seq_before or session.reading.counted_at is None:
        return False
    added = session_table.list_beacons_from(rt.db, session.id, session.seq_before)
    return not added or session.reading.counted_at < added[0][0]


def delete_since_reload(rt: Runtime, session: StoredViewSession) -> None:
    """Delete what a reload has added to the counted ``session`` that it continues: the session is again what its other
    beacons make of it, and ends when it would have."""
    added_ms = sum(ms for _, ms in list_times_since_reload(rt, session))
    viewing.delete_beacons_from(rt.db, session.id, session.seq_before)
    kept = [(at, _parse_stored(body)) for _, at, body, _ in session_table.list_beacons(rt.db, session.id, 0)]
    kept.sort(key=lambda row: (row[0], row[1].seq))  # in the order of their arrival
    before = session.reading
    state = reading.begin_reading(kept[0][0], before.earliest_at, None, before.prefetched)
    for received_at, beacon in kept:
        state, _ = reading.fold_beacon(state, beacon, received_at, _ANY_PAGE)
    _save(rt, session, state._replace(klass=before.klass, reason=before.reason, time_ms=before.time_ms - added_ms))


def _parse_stored(body: str) -> BeaconBody:
    data = json.loads(body)
    pages = tuple(reading.PageTime(page["page"], page["ms"], page["views"], page["back"]) for page in data["pages"])
    named = ("part", "seq", "ageMs", "visible", "visibleMs", "input", "turns", "backTurns")
    return BeaconBody._make((*(data[name] for name in named), pages, False, data.get("closing", False), False))


def list_due(rt: Runtime, now: int, limit: int) -> list[StoredViewSession]:
    """Return up to ``limit`` sessions that timed out by ``now`` and are still open, in the order of their ends."""
    found = viewing.list_due_sessions(
        rt.db,
        now,
        limit,
        idle_ms=reading.IDLE_TIMEOUT_MS,
        hidden_ms=reading.HIDDEN_TIMEOUT_MS,
        closed_ms=reading.CLOSED_TIMEOUT_MS,
    )
    return [_parse_session(row) for row in found]


def insert(rt: Runtime, place: SessionContext, state: SessionReading) -> StoredViewSession:
    """Store a new session."""
    session_id = viewing.insert_session(rt.db, rt.random_uuid(), place, state)
    return StoredViewSession(
        session_id, place.opening, place.part, None, place.file_id, place.invite_id, place.reader, state
    )


def add_beacon(
    rt: Runtime,
    session: StoredViewSession,
    beacon: BeaconBody,
    now: int,
    last_page: int,
    neighbors: Callable[[], Sequence[str]],
    *,
    is_account_locked: bool,
) -> bool:
    """Add ``beacon`` to ``session``, and count the session as a view once the rules are met. A repeated beacon changes
    nothing.

    Parameters: ``last_page`` the last page shown to the reader; ``neighbors`` returns the keys of all readers at the
    address of the sender; ``is_account_locked``: the transaction protects the account of the owner, which counting a
    view requires. Without that, return False and change nothing if the beacon may count a view: the caller then repeats
    the call in a transaction that protects the account.
    """
    if _is_known_beacon(rt, session, beacon):
        return True
    state, pages = reading.fold_beacon(session.reading, beacon, now, last_page)
    counts = state.counted_at is not None and session.reading.counted_at is None
    if (counts or state.klass == "burst") and not is_account_locked:
        return False
    if state.klass == "burst" and _has_room(rt, session, now, neighbors()):
        state = reading.mark_counted(state, now)
    accepted = [page for page in pages if page.ms or page.views]
    if beacon.seq < MAX_BEACONS_KEPT:
        texts = reading.serialize_beacon(beacon), reading.serialize_accepted(accepted)
        viewing.insert_beacon(rt.db, session.id, beacon.seq, now, *texts)
    else:
        for page in accepted:
            viewing.add_page(rt.db, session.id, *page)
    _save(rt, session, state)
    if session.seq_before:
        rt.db.forget()  # the session may be cached as that of the load before
    else:
        rt.db.remember(_cache_key(session.opening, session.part), session._replace(reading=state))
    if state.counted_at is not None and session.reading.counted_at is None:
        viewing.mark_counted(rt.db, session.id, state.counted_at)
        _count_view(rt, session, state.counted_at)
    return True


def _has_room(rt: Runtime, session: StoredViewSession, now: int, neighbors: Sequence[str]) -> bool:
    names = json.dumps([*neighbors, session.reader])  # a reader's address may change while the key stays the same
    short = viewing.count_short_sessions(
        rt.db, session.file_id, names, counted_after=now - reading.SHORT_WINDOW_MS, max_ms=reading.SHORT_MS
    )
    return reading.has_room(short.get(session.reader, 0), sum(short.values()))


def _count_view(rt: Runtime, session: StoredViewSession, now: int) -> None:
    files.increment_view_count(rt.db, session.file_id)
    rollups.record_reader(rt, session.id)
    if session.invite_id is not None:
        invites.record_view(rt, session.invite_id, now)
    notices.notify_view(rt, session.file_id, session.id, now)


def end_session(rt: Runtime, session: StoredViewSession) -> None:
    """Store the end of ``session`` at the time that the rule determines.

    A counted session enters the feed, the activity record and the sums of its file; for any other session its class
    is counted. Call this once: the beacons are kept, and a second call would add their times again.
    """
    ended_at = reading.session_end(session.reading)
    viewing.add_pages_of_beacons(rt.db, session.id)
    viewing.limit_page_views(rt.db, session.id, session.reading.turns + 1)
    seen, furthest = viewing.sum_up_pages(rt.db, session.id, reading.MIN_SEEN_MS)
    viewing.close_session(rt.db, session.id, ended_at, seen, furthest)
    if session.reading.counted_at is not None:
        feed.append_view(rt.db, session.id)
        _record_view(rt, session, ended_at)
        rollups.roll_up(rt, session.id)
    else:
        rollups.tally_uncounted(rt, session.id)


def _record_view(rt: Runtime, session: StoredViewSession, ended_at: int) -> None:
    """Record the event of a counted session. Other sessions and an owner's preview are not events."""
    uuid, seen, time_ms, variant_id, variant, label = viewing.get_event_data(rt.db, session.id)
    read = {"pagesViewed": seen, "timeMs": time_ms, "sessionId": uuid}
    extras = drop_none({**read, "variantUuid": variant, "variantLabel": label})
    activity.record(rt, session.file_id, "file.viewed", extras, at=ended_at, variant_id=variant_id)


def delete_uncounted(rt: Runtime, ended_by: int, limit: int) -> int:
    """Delete up to ``limit`` uncounted sessions that ended by ``ended_by``. Return the number of deleted sessions."""
    return viewing.delete_uncounted_sessions(rt.db, ended_by, limit)


def _is_known_beacon(rt: Runtime, session: StoredViewSession, beacon: BeaconBody) -> bool:
    if beacon.seq > session.reading.last_seq:
        return False
    # Beacons from this number on are not stored, so an older one may be a repetition, and only the newest is accepted.
    return beacon.seq >= MAX_BEACONS_KEPT or viewing.has_beacon(rt.db, session.id, beacon.seq)


def _save(rt: Runtime, session: StoredViewSession, state: SessionReading) -> None:
    columns = (
        state.klass,
        state.reason,
        state.started_at,
        state.last_beacon_at,
        state.active_at,
        state.last_seq,
        state.hidden_at,
        state.closed_at,
        state.input_at,
        state.visible_ms,
        state.time_ms,
        state.turns,
        state.back_turns,
    )
    viewing.update_state(rt.db, session.id, columns)
