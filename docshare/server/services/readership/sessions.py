"""Single sessions of a file for its owner: the newest ones, the stream of all, and the explanation of one.

A counted session gets its number in the stream when it ends, so a client that continues at its cursor misses none. The
explanation of a session is also available while it is running, and if it was not counted. Uncounted sessions have a
list of their own, with the newest ones.
"""

import json
from dataclasses import dataclass
from typing import Any

from docshare.contract.features import require_plan
from docshare.contract.fields import is_uuid
from docshare.contract.limits import REPORT_SESSIONS, UNCOUNTED_RETENTION_MS
from docshare.contract.problems import Problem
from docshare.server.rules import reading
from docshare.server.rules.day_range import ALL_TIME, DayRange
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import files
from docshare.server.store.tables import sessions as table
from docshare.server.store.tables.sessions import PageRow as PageRow
from docshare.server.store.tables.sessions import SessionClassification
from docshare.server.store.tables.sessions import SessionSummary as SessionSummary

NEWEST = (2**62, 2**62)
"""A start (ms) and an id that are later than those of every session."""


@dataclass(frozen=True)
class BeaconRow:
    """One beacon: its arrival (ms), what it claimed, and how much of that was accepted."""

    seq: int
    received_at: int
    body: dict[str, Any]
    accepted: list[PageRow]


@dataclass(frozen=True)
class ExplainedSession:
    """Everything stored about one session."""

    row: SessionSummary
    classification: SessionClassification
    pages: list[PageRow]
    beacons: list[BeaconRow]


def list_newest(rt: Runtime, file_id: int, between: tuple[int, int] | None = None) -> list[SessionSummary]:
    """Return the 50 ended and counted sessions of a file with the latest start, newest first; only those that began
    ``between`` two instants (ms), if given."""
    if between is None:
        return table.list_newest(rt.db, file_id, REPORT_SESSIONS)
    return [row for row, _ in table.list_newest_with_pages(rt.db, file_id, between, NEWEST, REPORT_SESSIONS)]


def list_newest_with_pages(
    rt: Runtime,
    caller: Caller,
    name: str,
    days: DayRange | None = None,
    *,
    before: tuple[int, int] = NEWEST,
    limit: int = REPORT_SESSIONS,
) -> list[tuple[SessionSummary, list[PageRow]]]:
    """Return the counted sessions of the caller's file ``name`` that began on ``days``, newest first, with their pages.

    At most ``limit``, and only those older than ``before`` (start in ms and id). Raises as ``list_after``.
    """
    between = ALL_TIME if days is None else days.bounds
    with rt.db.snapshot():
        file = files.get_for_readership(rt, caller, name)
        require_plan(caller.plan, "readership.sessions", "The stream of sessions")
        found = table.list_newest_with_pages(rt.db, file.id, between, before, limit)
    return [(row, _parse_pages(json.loads(pages))) for row, pages in found]


def list_after(
    rt: Runtime, caller: Caller, name: str, *, since: int, limit: int
) -> list[tuple[SessionSummary, list[PageRow]]]:
    """Return the counted sessions of the caller's file ``name`` with an id greater than ``since``, with their pages.

    Ascending, at most ``limit``. Raises ``forbidden`` for another account's file, ``not_found``, ``plan_required``
    below Pro.
    """
    with rt.db.snapshot():
        file = files.get_for_readership(rt, caller, name)
        require_plan(caller.plan, "readership.sessions", "The stream of sessions")
        found = table.list_after(rt.db, file.id, since, limit)
    return [(row, _parse_pages(json.loads(pages))) for row, pages in found]


def list_uncounted(
    rt: Runtime, caller: Caller, name: str, days: DayRange | None = None, *, limit: int
) -> list[tuple[SessionSummary, str, str]]:
    """Return the newest ``limit`` ended sessions of the caller's file ``name`` that were not counted and began on
    ``days``, with class and reason.

    Raises as ``list_after``.
    """
    with rt.db.snapshot():
        file = files.get_for_readership(rt, caller, name)
        require_plan(caller.plan, "readership.sessions", "The stream of sessions")
        return table.list_uncounted(rt.db, file.id, ALL_TIME if days is None else days.bounds, limit)


def explain_session(rt: Runtime, caller: Caller, name: str, session: str) -> ExplainedSession:
    """Return the session ``session`` (its UUID) of the caller's file ``name``, of any class, ended or not.

    Raises as ``list_after``, and ``not_found`` for an unknown session.
    """
    now = rt.clock()
    with rt.db.snapshot():
        file = files.get_for_readership(rt, caller, name)
        require_plan(caller.plan, "readership.session", "A single session")
        found = table.find(rt.db, file.id, session.lower()) if is_uuid(session) else None
        if found is None:
            raise _session_not_found()
        key, row, judged = found
        if (
            judged.counted_at is None
            and judged.ended_at is not None
            and judged.ended_at <= now - UNCOUNTED_RETENTION_MS
        ):
            raise _session_not_found()
        pages = table.list_pages(rt.db, key, is_open=judged.ended_at is None)
        beacons = [_parse_beacon(beacon) for beacon in table.list_beacons(rt.db, key, now)]
    seen = sum(page.time_ms >= reading.MIN_SEEN_MS for page in pages)
    return ExplainedSession(row._replace(pages_viewed=seen), judged, pages, beacons)


def _session_not_found() -> Problem:
    return Problem("not_found", "There is no such session.")


def _parse_beacon(found: tuple[Any, ...]) -> BeaconRow:
    seq, received_at, body, accepted = found
    return BeaconRow(seq, received_at, json.loads(body), _parse_pages(json.loads(accepted)))


def _parse_pages(found: list[Any]) -> list[PageRow]:
    return [PageRow._make(page) for page in found]
