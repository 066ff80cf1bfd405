"""Links that end after a number of views: taking a unit, and the sweep of the bytes.

A file is burned from the moment its last unit is taken. Its bytes are destroyed half an hour later; its row and what
its readers left stay.
"""

from docshare.server.rules import burning as rules
from docshare.server.rules import lifecycle
from docshare.server.runtime import Runtime
from docshare.server.services.events import activity

_SELECT_STATE = "SELECT view_limit, views_consumed, trashed_at, burned_at, delete_at FROM files WHERE id = ?"
_CONSUME = "UPDATE files SET views_consumed = ?, burned_at = ? WHERE id = ?"
_DUE = "SELECT id, uuid, blob FROM files WHERE burned_at <= ? AND destroyed_at IS NULL"
_STILL_DUE = f"{_DUE} AND id = ?"
_DESTROY = "UPDATE files SET destroyed_at = ? WHERE id = ?"


def consume_view(rt: Runtime, file_id: int) -> bool:
    """Let one reader open the file ``file_id``: whether there was a unit of its view limit left, now taken.

    A live link without a limit is open to everybody and counts nothing; a dead one is open to nobody.
    """
    now = rt.clock()
    with rt.db.write():
        found = rt.db.row(_SELECT_STATE, (file_id,))
        if found is None:
            return False
        limit, consumed, trashed_at, burned_at, delete_at = found
        state = lifecycle.file_state(trashed_at=trashed_at, burned_at=burned_at, delete_at=delete_at, now=now)
        if state != lifecycle.LIVE or limit is None:
            return state == lifecycle.LIVE
        taken = rules.consume_view(limit, consumed, burned_at)
        if taken is None:
            return False
        rt.db.execute(_CONSUME, (taken.consumed, now if taken.burns else None, file_id))
    return True


def destroy_due(rt: Runtime) -> int:
    """Destroy the bytes of the files that burned half an hour ago; returns how many."""
    due = rt.db.rows(_DUE, (rules.latest_due_burn(rt.clock()),))
    return sum(_destroy_bytes(rt, file_id) for file_id, *_ in due)


def _destroy_bytes(rt: Runtime, file_id: int) -> bool:
    """Destroy the bytes of one file, unless its content was replaced since it was found."""
    now = rt.clock()
    with rt.db.write():
        found = rt.db.row(_STILL_DUE, (rules.latest_due_burn(now), file_id))
        if found is None:
            return False
        _, uuid, blob = found
        rt.db.execute(_DESTROY, (now, file_id))
        activity.record(rt, file_id, "file.burned", at=now)
    # The fact first: bytes of a file that is down as destroyed are removed at the next start if a crash left them.
    try:
        rt.blobs.delete(blob)
    finally:
        rt.pages.forget(uuid)
    return True
