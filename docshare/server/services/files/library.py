"""Search, sort and page the files of an owner for the library page."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from docshare.contract.features import REPORT_SECTIONS
from docshare.contract.plans import PLAN_LIMITS, Plan
from docshare.server.rules import lifecycle, search
from docshare.server.rules.readership import list_last_days
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import files
from docshare.server.store.tables import library, rollups, sessions
from docshare.server.store.tables.library import LINK_STATES as LINK_STATES
from docshare.server.store.tables.library import ORDERS as ORDERS
from docshare.server.store.tables.library import FileRow
from docshare.server.store.tables.sessions import LastReading as LastReading

FILES_PER_PAGE = 50
_DAYS_OF_WEEK = 7


class LibraryEntry(NamedTuple):
    """A file with its ``state`` (``live``, ``expired`` or ``burned``), and whether the operator has frozen its link.

    ``week``: the last seven days in UTC with their views, today last; ``last``: the last reading, without its reader
    below the plan that includes sessions. Both are None below the plan that includes views over time.
    """

    row: FileRow
    state: str
    is_frozen: bool
    week: list[tuple[str, int]] | None = None
    last: LastReading | None = None


@dataclass(frozen=True)
class LibraryPage:
    """The ``entries`` of page ``number`` of ``pages``. ``match_count``: how many files match the search;
    ``used_slots``: how many files the account has; ``slots``: how many its plan allows, None without limit."""

    entries: list[LibraryEntry]
    number: int
    pages: int
    match_count: int
    used_slots: int
    slots: int | None

    @property
    def is_full(self) -> bool:
        """Return whether all slots are used."""
        return self.slots is not None and self.used_slots >= self.slots


def load_page(
    rt: Runtime, caller: Caller, *, words: str = "", link_state: str = "", order: str = ORDERS[0], number: int = 1
) -> LibraryPage:
    """Return one page of the caller's active files, ``FILES_PER_PAGE`` on each.

    Parameters: ``words`` that the name or the slug must contain, empty for all; ``link_state`` one of
    ``LINK_STATES``, empty for all; ``order`` one of ``ORDERS``; ``number`` of the page, from 1; a number after the
    last page returns the last one.
    """
    now = rt.clock()
    with rt.db.snapshot():
        used = files.count_active(rt, caller.account_id)
        ids = _find_ids(rt, caller, words, link_state, now)
        found = used if ids is None else len(ids)
        pages = count_pages(found)
        number = max(1, min(number, pages))
        picked = None if ids is None else json.dumps(ids)
        offset = (number - 1) * FILES_PER_PAGE
        rows = library.list_page(rt.db, caller.account_id, picked, order=order, limit=FILES_PER_PAGE, offset=offset)
        entries = _add_readings(rt, caller.plan, [_build_entry(row, frozen, now) for row, frozen in rows], now)
    return LibraryPage(entries, number, pages, found, used, PLAN_LIMITS[caller.plan].file_slots)


def list_selected(rt: Runtime, caller: Caller, uuids: Sequence[str]) -> list[LibraryEntry]:
    """Return those of the caller's active files ``uuids`` that exist, by name."""
    now = rt.clock()
    with rt.db.snapshot():
        ids = json.dumps(library.list_ids(rt.db, caller.account_id, json.dumps(uuids)))
        rows = library.list_page(rt.db, caller.account_id, ids, order="name", limit=len(uuids), offset=0)
        return _add_readings(rt, caller.plan, [_build_entry(row, frozen, now) for row, frozen in rows], now)


def get_live(rt: Runtime, caller: Caller, name: str) -> FileRow:
    """Return the caller's file ``name`` (UUID or short id) if its link serves pages. Raises ``not_found``, the same for
    files of others and for expired and burned ones."""
    row = files.get_owned(rt, caller, name)
    if _build_entry(row, False, rt.clock()).state != lifecycle.LIVE:
        raise files.file_not_found()
    return row


def count_pages(found: int) -> int:
    """Return how many pages ``found`` files need, at least one."""
    return max(1, -(-found // FILES_PER_PAGE))


def trash_expiry(rt: Runtime, plan: Plan) -> int | None:
    """Return until when (ms) a file deleted now can be restored on ``plan``, None if it is purged immediately."""
    kept_ms = PLAN_LIMITS[plan].trash_ms
    return None if kept_ms is None else rt.clock() + kept_ms


def _find_ids(rt: Runtime, caller: Caller, words: str, link_state: str, now: int) -> list[int] | None:
    """Return the ids of the caller's files that match ``words`` and ``link_state``, or None for all of them.

    The comparison is done in Python because SQLite folds the case of ASCII letters only.
    """
    if not words.strip() and not link_state:
        return None
    matches = search.make_matcher(words)
    names = library.stream_names(rt.db, caller.account_id, link_state, now)
    return [file_id for file_id, name, slug in names if matches(name, slug)]


def _add_readings(rt: Runtime, plan: Plan, entries: list[LibraryEntry], now: int) -> list[LibraryEntry]:
    """Add what ``plan`` includes of the readings, in two statements for all files."""
    if plan < REPORT_SECTIONS["viewsOverTime"]:
        return entries
    ids = json.dumps([entry.row.id for entry in entries])
    days = list_last_days(now)[-_DAYS_OF_WEEK:]
    counts = {(file_id, day): count for file_id, day, count in rollups.list_days(rt.db, ids, days[0])}
    readings = sessions.map_last_readings(rt.db, ids)
    if plan < REPORT_SECTIONS["sessions"]:
        readings = {key: LastReading(found.started_at, None, None) for key, found in readings.items()}
    return [
        entry._replace(
            week=[(day, counts.get((entry.row.id, day), 0)) for day in days], last=readings.get(entry.row.id)
        )
        for entry in entries
    ]


def _build_entry(row: FileRow, frozen: bool, now: int) -> LibraryEntry:
    state = lifecycle.file_state(trashed_at=None, burned_at=row.burned_at, delete_at=row.delete_at, now=now)
    return LibraryEntry(row, state, frozen)
