"""The polling feed: one append-only table per stream, read by cursor."""

from docshare.contract.fields import is_short_id, is_uuid
from docshare.contract.problems import Problem
from docshare.contract.streams import GATE_PLAN_MESSAGE, STREAMS
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.store.tables import events
from docshare.server.store.tables.events import FeedRow as FeedRow


def fetch_page(rt: Runtime, caller: Caller, stream: str, *, since: int, limit: int, file: str | None) -> list[FeedRow]:
    """Return one page of the caller's ``stream`` (a key of ``STREAMS``).

    Parameters: ``since`` a cursor: rows with a greater id in ascending order, or 0 for the newest rows first;
    ``limit`` maximum number of rows; ``file`` the UUID or short id of one file, None for all (unknown files and those
    of other accounts have no rows). Raises ``plan_required`` for the gate stream below Pro.
    """
    if caller.plan < STREAMS[stream].plan:
        raise Problem("plan_required", GATE_PLAN_MESSAGE)
    key = None
    if file is not None:
        if not (is_uuid(file) or is_short_id(file)):
            return []
        key = ("uuid", file.lower()) if is_uuid(file) else ("short_id", file)
    return events.list_stream(rt.db, stream, caller.account_id, file=key, since=since, limit=limit)
