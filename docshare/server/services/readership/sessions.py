"""Single sessions of a file as its owner sees them: the newest, the stream of all, and how one came about.

The stream is an addition. A session enters it when it ends, so that none appears below a cursor that has passed. One
session can be looked at while it goes on, and when it was not counted, too. Sessions that were not counted have a list
of their own, of the newest only.
"""

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from docshare.contract.features import require_plan
from docshare.contract.fields import is_uuid
from docshare.contract.limits import REPORT_SESSIONS, UNCOUNTED_RETENTION_MS
from docshare.contract.problems import Problem
from docshare.server.rules import reading
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import files


class SessionSummary(NamedTuple):
    """One session; times in ms. ``id`` in the stream, None unless it was counted and has ended; ``email`` and ``name``
    as its reader was invited by, or had given them when it began; ``invite`` and ``variant`` the UUIDs of the
    invitation and of the variant it came through; ``shown_pages`` how many pages its reader could see."""

    id: int | None
    uuid: str
    started_at: int
    time_ms: int
    pages_viewed: int
    country: str | None
    device: str
    browser: str
    came_back: int
    email: str | None
    name: str | None
    invite: str | None
    variant: str | None
    content_version: int
    shown_pages: int


class PageRow(NamedTuple):
    """What was accepted of one page in one session: turned to ``views`` times, ``back`` of them going backward."""

    page: int
    time_ms: int
    views: int
    back: int


class SessionClassification(NamedTuple):
    """How a session was judged: all ``_at`` in ms or None, the rest as in ``view_sessions``."""

    klass: str
    reason: str
    counted_at: int | None
    heard_at: int
    ended_at: int | None
    visible_ms: int
    turns: int
    back_turns: int
    source: str
    referrer: str | None
    viewer_mode: str
    prefetched: int


class BeaconRow(NamedTuple):
    """One beacon: when it came (ms), what it said, and what of that was believed."""

    seq: int
    received_at: int
    body: dict[str, Any]
    accepted: list[PageRow]


@dataclass(frozen=True)
class ExplainedSession:
    """Everything that is known of one session."""

    row: SessionSummary
    judged: SessionClassification
    pages: list[PageRow]
    beacons: list[BeaconRow]


_ROW = (
    "r.id, s.uuid, s.started_at, s.time_ms, s.pages_viewed, s.country, s.device, s.browser, s.came_back, "
    "s.email, s.name, i.uuid, v.uuid, s.content_version, s.shown_pages"
)
_CLASSIFICATION = ", ".join(f"s.{column}" for column in SessionClassification._fields).replace("s.klass", "s.class")
_JOIN_SOURCES = "LEFT JOIN invites i ON i.id = s.invite_id LEFT JOIN variants v ON v.id = s.variant_id"
_FROM_COUNTED = (
    f"FROM session_rows r CROSS JOIN view_sessions s ON s.id = r.session_id {_JOIN_SOURCES} WHERE r.file_id = ?"
)
_NEWEST = f"SELECT {_ROW} {_FROM_COUNTED} ORDER BY r.started_at DESC, r.id DESC LIMIT ?"
_PAGES = (
    "(SELECT json_group_array(json_array(page, time_ms, views, back_views)) FROM "
    "(SELECT * FROM session_pages WHERE session_id = s.id ORDER BY page))"
)
_AFTER = f"SELECT {_ROW}, {_PAGES} {_FROM_COUNTED} AND r.id > ? ORDER BY r.id LIMIT ?"
_UNCOUNTED = (
    f"SELECT {_ROW}, s.class, s.reason FROM view_sessions s "  # noqa: S608 - columns from above
    f"LEFT JOIN session_rows r ON r.session_id = s.id {_JOIN_SOURCES} "
    "WHERE s.file_id = ? AND s.counted_at IS NULL AND s.ended_at IS NOT NULL ORDER BY s.id DESC LIMIT ?"
)
_ONE = (
    f"SELECT s.id, {_ROW}, {_CLASSIFICATION} FROM view_sessions s "  # noqa: S608 - columns from above
    f"LEFT JOIN session_rows r ON r.session_id = s.id {_JOIN_SOURCES} "
    "WHERE s.uuid = ? AND s.file_id = ?"
)
# While a session goes on its pages stand in its beacons; afterwards those are in the sum already.
_PAGES_OF_ONE = (
    "SELECT page, SUM(time_ms), SUM(views), SUM(back_views) FROM ("
    "SELECT page, time_ms, views, back_views FROM session_pages WHERE session_id = ?1 UNION ALL "
    "SELECT p.value ->> 0, p.value ->> 1, p.value ->> 2, p.value ->> 3 "
    "FROM beacons b, json_each(b.accepted) p WHERE b.session_id = ?1 AND ?2) GROUP BY page ORDER BY page"
)
# The jobs that delete beacons and uncounted sessions come once an hour.
_BEACONS = (
    "SELECT seq, received_at, body, accepted FROM beacons b WHERE session_id = ? AND NOT EXISTS "
    "(SELECT 1 FROM session_rows r WHERE r.session_id = b.session_id AND r.beacons_until <= ?) ORDER BY seq"
)


def list_newest(rt: Runtime, file_id: int) -> list[SessionSummary]:
    """The 50 counted sessions of a file that began last of those that have ended, newest first."""
    return [SessionSummary._make(found) for found in rt.db.rows(_NEWEST, (file_id, REPORT_SESSIONS))]


def list_after(
    rt: Runtime, caller: Caller, name: str, *, since: int, limit: int
) -> list[tuple[SessionSummary, list[PageRow]]]:
    """The counted sessions of the caller's file ``name`` with an id greater than ``since``, ascending, at most
    ``limit``, each with its pages.

    Raises ``forbidden`` for another account's file, ``not_found``, ``plan_required`` below Pro.
    """
    with rt.db.snapshot():
        file = files.get_for_readership(rt, caller, name)
        require_plan(caller.plan, "readership.sessions", "The stream of sessions")
        found = rt.db.rows(_AFTER, (file.id, since, limit))
    return [(SessionSummary._make(row), _parse_pages(json.loads(pages))) for *row, pages in found]


def list_uncounted(rt: Runtime, caller: Caller, name: str, *, limit: int) -> list[tuple[SessionSummary, str, str]]:
    """The sessions of the caller's file ``name`` that began last of those that have ended and were not counted, at most
    ``limit``, newest first, each with its class and its reason. Raises as ``after``."""
    with rt.db.snapshot():
        file = files.get_for_readership(rt, caller, name)
        require_plan(caller.plan, "readership.sessions", "The stream of sessions")
        found = rt.db.rows(_UNCOUNTED, (file.id, limit))
    return [(SessionSummary._make(row), klass, reason) for *row, klass, reason in found]


def explain_session(rt: Runtime, caller: Caller, name: str, session: str) -> ExplainedSession:
    """The session ``session`` (its UUID) of the caller's file ``name``, of any class, ended or not. Raises as
    ``after``, ``not_found`` also for an unknown session."""
    now = rt.clock()
    with rt.db.snapshot():
        file = files.get_for_readership(rt, caller, name)
        require_plan(caller.plan, "readership.session", "A look at a single session")
        found = rt.db.row(_ONE, (session.lower(), file.id)) if is_uuid(session) else None
        if found is None:
            raise _session_not_found()
        key, columns = found[0], found[1:]
        width = len(SessionSummary._fields)
        row, judged = SessionSummary._make(columns[:width]), SessionClassification._make(columns[width:])
        if (
            judged.counted_at is None
            and judged.ended_at is not None
            and judged.ended_at <= now - UNCOUNTED_RETENTION_MS
        ):
            raise _session_not_found()
        pages = _parse_pages(rt.db.rows(_PAGES_OF_ONE, (key, judged.ended_at is None)))
        beacons = [_parse_beacon(beacon) for beacon in rt.db.rows(_BEACONS, (key, now))]
    seen = sum(page.time_ms >= reading.MIN_SEEN_MS for page in pages)
    return ExplainedSession(row._replace(pages_viewed=seen), judged, pages, beacons)


def _session_not_found() -> Problem:
    return Problem("not_found", "There is no such session.")


def _parse_beacon(found: tuple[Any, ...]) -> BeaconRow:
    seq, received_at, body, accepted = found
    return BeaconRow(seq, received_at, json.loads(body), _parse_pages(json.loads(accepted)))


def _parse_pages(found: list[Any]) -> list[PageRow]:
    return [PageRow._make(page) for page in found]
