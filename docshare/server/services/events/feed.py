"""The polling feed: one append-only table a stream, read by cursor."""

from dataclasses import dataclass
from typing import Any

from docshare.contract.fields import is_short_id, is_uuid
from docshare.contract.problems import Problem
from docshare.contract.streams import GATE_PLAN_MESSAGE, STREAMS
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller

FeedRow = tuple[Any, ...]
"""``id, file uuid, file name, read_at`` and then the stream's own columns, see ``_OWN_COLUMNS``."""

_OWN_COLUMNS = {
    "view": "r.country, r.pages_viewed, r.time_ms",
    "download": "r.country",
    "gate": "r.fields",
}
_BY_OWNER = "r.owner_id = ?"
_BY_FILE = {
    column: f"r.file_id = (SELECT id FROM files WHERE owner_id = ? AND {column} = ?)"  # noqa: S608 - two fixed columns
    for column in ("uuid", "short_id")
}


@dataclass(frozen=True)
class _FeedStatements:
    """The two statements of one way to ask: rows after a cursor, and the newest rows."""

    after: str
    newest: str


def _build_statements(stream: str, condition: str) -> _FeedStatements:
    # ``hidden`` is in the indexes, so a long run of trashed rows costs nothing; ``trashed_at`` is the truth while a
    # delete is still hiding them. The join is CROSS so that the planner never starts from the files.
    rows = (
        f"SELECT r.id, f.uuid, f.original_name, r.read_at, {_OWN_COLUMNS[stream]} "  # noqa: S608 - tables from above
        f"FROM {stream}_rows r CROSS JOIN files f ON f.id = r.file_id "
        f"WHERE {condition} AND r.hidden = 0 AND r.id > ? AND f.trashed_at IS NULL ORDER BY r.id"
    )
    return _FeedStatements(after=f"{rows} LIMIT ?", newest=f"{rows} DESC LIMIT ?")


_STATEMENTS = {
    stream: {name: _build_statements(stream, condition) for name, condition in {"owner": _BY_OWNER, **_BY_FILE}.items()}
    for stream in STREAMS
}


def fetch_page(rt: Runtime, caller: Caller, stream: str, *, since: int, limit: int, file: str | None) -> list[FeedRow]:
    """One page of the caller's ``stream`` (a key of ``STREAMS``).

    Parameters: ``since`` a cursor: rows with a greater id in ascending order, or 0: the newest first; ``limit`` rows at
    most; ``file`` the UUID or short id of one file, None for all (unknown and foreign ones have no rows). Raises
    ``plan_required`` for the gate stream below Pro.
    """
    if caller.plan < STREAMS[stream].plan:
        raise Problem("plan_required", GATE_PLAN_MESSAGE)
    key: tuple[int | str, ...] = (caller.account_id,)
    way = "owner"
    if file is not None:
        if not (is_uuid(file) or is_short_id(file)):
            return []
        way, name = ("uuid", file.lower()) if is_uuid(file) else ("short_id", file)
        key = (caller.account_id, name)
    reads = _STATEMENTS[stream][way]
    return rt.db.rows(reads.after if since else reads.newest, (*key, since, limit))
