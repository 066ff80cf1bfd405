"""Build the readership report of all active files of an account over a range of days.

Like the report of a file, it covers the sessions that were counted and have ended. A reader of two files counts twice,
because the hash that identifies a reader differs for each file.
"""

from dataclasses import dataclass
from datetime import date

from docshare.contract.plans import Plan
from docshare.server.rules import day_range
from docshare.server.rules.day_range import DayRange
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.store.tables import sessions as table
from docshare.server.store.tables.sessions import AccountSession as AccountSession
from docshare.server.store.tables.sessions import FileSessions as FileSessions

DEFAULT_PRESET = "7d"
_NEWEST_SESSIONS = 20
_FIRST_DAY = date(1970, 1, 1)


@dataclass(frozen=True)
class AccountReport:
    """``files``: sums by file, most sessions first; ``before``: those of the range before; ``days``: sessions by day
    (``YYYY-MM-DD``), None below Basic; ``newest``: the latest sessions, None below Pro."""

    files: list[FileSessions]
    before: list[FileSessions]
    days: list[tuple[str, int]] | None
    newest: list[AccountSession] | None


def choose_default_days(rt: Runtime) -> DayRange:
    """Return the range of the report if its owner chose none."""
    return day_range.end_today(day_range.PRESETS[DEFAULT_PRESET], rt.clock())


def build_account_report(rt: Runtime, caller: Caller, days: DayRange) -> AccountReport:
    """Return the report of the caller's files over the sessions that began on ``days``, with the sections of the
    caller's plan."""
    owner, between = caller.account_id, days.bounds
    with rt.db.snapshot():
        return AccountReport(
            files=table.sum_account_by_file(rt.db, owner, between),
            before=table.sum_account_by_file(rt.db, owner, days.previous.bounds),
            days=_count_by_day(rt, owner, days) if caller.plan >= Plan.BASIC else None,
            newest=table.list_account_newest(rt.db, owner, between, _NEWEST_SESSIONS)
            if caller.plan >= Plan.PRO
            else None,
        )


def _count_by_day(rt: Runtime, owner: int, days: DayRange) -> list[tuple[str, int]]:
    found = table.count_account_by_day(rt.db, owner, days.bounds)
    first = (days.first - _FIRST_DAY).days
    return [(day, found.get(first + place, 0)) for place, day in enumerate(days.list_days())]
