"""The activity feed: the record of everything that happened to an owner's files, read by cursor."""

from collections.abc import Sequence

from docshare.contract.fields import is_short_id, is_uuid
from docshare.contract.limits import ACTIVITY_RETENTION_MS
from docshare.contract.webhooks import KINDS
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.operations.batches import run_in_batches
from docshare.server.store.tables import events
from docshare.server.store.tables.events import ActivityEvent as ActivityEvent

_BATCH_ROWS = 1_000  # rows deleted in one transaction


def fetch_page(
    rt: Runtime, caller: Caller, *, since: int, limit: int, file: str | None, kinds: Sequence[str]
) -> list[ActivityEvent]:
    """Return one page of the events of the caller's files.

    Parameters: ``since``, ``limit`` and ``file`` as in ``feed.fetch_page``; ``kinds`` some of ``ACTIVITY_KINDS``,
    empty for all. Kinds that require a higher plan than the caller's are omitted without an error.
    """
    withheld = [name for name, row in KINDS.items() if row.plan > caller.plan]
    visible = [kind for kind in kinds if kind not in withheld]
    if kinds and not visible:
        return []
    key = None
    if file is not None:
        if not (is_uuid(file) or is_short_id(file)):
            return []
        key = ("uuid", file.lower()) if is_uuid(file) else ("short_id", file)
    return events.list_events(
        rt.db,
        caller.account_id,
        file=key,
        shown=visible,
        withheld=withheld,
        since=since,
        retained_from=rt.clock() - ACTIVITY_RETENTION_MS,  # the job that deletes expired events runs once an hour
        limit=limit,
    )


def delete_expired(rt: Runtime) -> int:
    """Delete events after 90 days. Return the number of deleted events."""
    until = rt.clock() - ACTIVITY_RETENTION_MS
    return run_in_batches(rt, _BATCH_ROWS, lambda: events.delete_expired(rt.db, until, _BATCH_ROWS))
