"""The activity feed: the record of everything that happened to an owner's files, read by cursor."""

from collections.abc import Sequence
from typing import NamedTuple

from docshare.contract.fields import is_short_id, is_uuid
from docshare.contract.limits import ACTIVITY_RETENTION_MS
from docshare.contract.webhooks import KINDS
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.operations.batches import run_in_batches

_BATCH_ROWS = 1_000  # rows forgotten in one transaction


class ActivityEvent(NamedTuple):
    """One event: ``happened_at`` in milliseconds, ``data`` the JSON text of what a webhook is told."""

    id: int
    event: str
    happened_at: int
    data: str


_BY_OWNER = "r.owner_id = ?"
_BY_FILE = {
    column: f"r.file_id = (SELECT id FROM files WHERE owner_id = ? AND {column} = ?)"  # noqa: S608 - two fixed columns
    for column in ("uuid", "short_id")
}
_DELETE_EXPIRED = (
    "DELETE FROM activity_rows WHERE id IN "
    "(SELECT id FROM activity_rows WHERE happened_at <= ? ORDER BY happened_at LIMIT ?)"
)


def fetch_page(
    rt: Runtime, caller: Caller, *, since: int, limit: int, file: str | None, kinds: Sequence[str]
) -> list[ActivityEvent]:
    """One page of what happened to the caller's files.

    Parameters: ``since``, ``limit`` and ``file`` as of ``feed.page``; ``kinds`` some of ``ACTIVITY_KINDS``, empty for
    all. Rows of kinds that need a higher plan than the caller's are left out; it is no error to ask for them.
    """
    withheld = [name for name, row in KINDS.items() if row.plan > caller.plan]
    shown = [kind for kind in kinds if kind not in withheld]
    if kinds and not shown:
        return []
    whose, key = _BY_OWNER, tuple[str, ...]()
    if file is not None:
        if not (is_uuid(file) or is_short_id(file)):
            return []
        whose, key = (_BY_FILE["uuid"], (file.lower(),)) if is_uuid(file) else (_BY_FILE["short_id"], (file,))
    sql = _build_select(whose + _kind_condition(shown, withheld), newest=since == 0)
    kept_since = rt.clock() - ACTIVITY_RETENTION_MS  # the job that deletes older ones comes once an hour
    found = rt.db.rows(sql, (caller.account_id, *key, *(shown or withheld), since, kept_since, limit))
    return [ActivityEvent._make(row) for row in found]


def _kind_condition(shown: Sequence[str], withheld: Sequence[str]) -> str:
    if not shown:
        return " AND r.event <> ?" * len(withheld)
    if len(shown) == 1:
        return " AND r.event = ?"
    # The index by kind has no order over several kinds; the plus keeps SQLite from sorting all that it finds there.
    return f" AND +r.event IN ({', '.join('?' * len(shown))})"


def _build_select(condition: str, *, newest: bool) -> str:
    # As in the polling feed: ``hidden`` is in the indexes, ``trashed_at`` is the truth, and the files come second.
    return (
        "SELECT r.id, r.event, r.happened_at, r.data "  # noqa: S608 - words from above
        "FROM activity_rows r CROSS JOIN files f ON f.id = r.file_id "
        f"WHERE {condition} AND r.hidden = 0 AND r.id > ? AND r.happened_at > ? AND f.trashed_at IS NULL "
        f"ORDER BY r.id {'DESC ' if newest else ''}LIMIT ?"
    )


def delete_expired(rt: Runtime) -> int:
    """Delete what happened 90 days ago; returns how many events that were."""
    until = rt.clock() - ACTIVITY_RETENTION_MS
    return run_in_batches(rt, _BATCH_ROWS, lambda: rt.db.execute(_DELETE_EXPIRED, (until, _BATCH_ROWS)))
