"""The owner's files as their library shows them: some at a time, searched and sorted."""

import json
from dataclasses import dataclass
from typing import NamedTuple

from docshare.contract.plans import PLAN_LIMITS, Plan
from docshare.server.rules import lifecycle, search
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import files
from docshare.server.services.files.files import FileRow

FILES_PER_PAGE = 50

_ORDER_COLUMNS = {
    "newest": "id DESC",
    "oldest": "id",
    "name": "original_name COLLATE NOCASE, id DESC",
    "views": "view_count DESC, id DESC",
    "size": "size DESC, id DESC",
}
ORDERS = tuple(_ORDER_COLUMNS)
"""The ways to sort; the first is what nobody needs to ask for."""

_NAMES = "SELECT id, original_name, slug FROM files WHERE owner_id = ? AND trashed_at IS NULL"
_SELECT_PAGE = (
    f"SELECT {files.COLUMNS}, frozen_at IS NOT NULL FROM files WHERE owner_id = ? AND trashed_at IS NULL"  # noqa: S608 - columns from the row
    " AND (? IS NULL OR id IN (SELECT value FROM json_each(?))) ORDER BY {} LIMIT ? OFFSET ?"
)


class LibraryEntry(NamedTuple):
    """A file, what it is now (``live``, ``expired`` or ``burned``), and whether the operator has frozen its link."""

    row: FileRow
    state: str
    frozen: bool


@dataclass(frozen=True)
class LibraryPage:
    """The ``entries`` of page ``number`` of ``pages``. ``found``: how many files the search finds; ``used``: how many
    the account has; ``slots``: how many its plan allows, None without limit."""

    entries: list[LibraryEntry]
    number: int
    pages: int
    found: int
    used: int
    slots: int | None

    @property
    def is_full(self) -> bool:
        """Whether every slot is taken."""
        return self.slots is not None and self.used >= self.slots


def load_page(rt: Runtime, caller: Caller, *, words: str = "", order: str = ORDERS[0], number: int = 1) -> LibraryPage:
    """The caller's files without those in the trash, ``PAGE_FILES`` at a time.

    Parameters: ``words`` that the name or the slug must hold, empty for all; ``order`` one of ``ORDERS``; ``number`` of
    the page, from 1; past the end it is the last one.
    """
    with rt.db.snapshot():
        used = files.count_active(rt, caller.account_id)
        ids = _find_ids(rt, caller, words)
        found = used if ids is None else len(ids)
        pages = count_pages(found)
        number = max(1, min(number, pages))
        picked = None if ids is None else json.dumps(ids)
        place = (FILES_PER_PAGE, (number - 1) * FILES_PER_PAGE)
        rows = rt.db.rows(_SELECT_PAGE.format(_ORDER_COLUMNS[order]), (caller.account_id, picked, picked, *place))
    now = rt.clock()
    entries = [_build_entry(FileRow._make(row), bool(frozen), now) for *row, frozen in rows]
    return LibraryPage(entries, number, pages, found, used, PLAN_LIMITS[caller.plan].file_slots)


def count_pages(found: int) -> int:
    """How many pages ``found`` files take; at least one."""
    return max(1, -(-found // FILES_PER_PAGE))


def trash_expiry(rt: Runtime, plan: Plan) -> int | None:
    """Until when (ms) a file that is deleted now could be restored on ``plan``; None where it is gone at once."""
    kept_ms = PLAN_LIMITS[plan].trash_ms
    return None if kept_ms is None else rt.clock() + kept_ms


def _find_ids(rt: Runtime, caller: Caller, words: str) -> list[int] | None:
    """The ids of the caller's files that ``words`` find; None for all of them. Python compares: SQLite knows the case
    of ASCII letters only."""
    if not words.strip():
        return None
    finds = search.make_matcher(words)
    rows = rt.db.stream(_NAMES, (caller.account_id,))
    return [file_id for file_id, name, slug in rows if finds(name, slug)]


def _build_entry(row: FileRow, frozen: bool, now: int) -> LibraryEntry:
    state = lifecycle.file_state(trashed_at=None, burned_at=row.burned_at, delete_at=row.delete_at, now=now)
    return LibraryEntry(row, state, frozen)
