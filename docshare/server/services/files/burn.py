"""Count the views of links with a view limit, and delete the bytes of burned files.

A file is burned from the moment its last view is counted. Its bytes are deleted half an hour later; its row, its
feedback and its readership remain.
"""

from docshare.server.rules import burning as rules
from docshare.server.rules import lifecycle
from docshare.server.runtime import Runtime
from docshare.server.services.events import activity
from docshare.server.services.files import removals
from docshare.server.store.tables import contents
from docshare.server.store.tables import files as file_rows
from docshare.server.store.tables import removals as removal_rows


def consume_view(rt: Runtime, file_id: int, owner_id: int | None) -> bool:
    """Return whether a reader may open the file ``file_id`` of the account ``owner_id``; count the view if the file has
    a view limit.

    A live link without a limit is always open and counts nothing; an ended link is always closed.
    """
    now = rt.clock()
    with rt.db.write(owner_id):
        file = file_rows.find_view_limit(rt.db, file_id)
        if file is None:
            return False
        state = lifecycle.file_state(
            trashed_at=file.trashed_at, burned_at=file.burned_at, delete_at=file.delete_at, now=now
        )
        if state != lifecycle.LIVE or file.view_limit is None:
            return state == lifecycle.LIVE
        view = rules.consume_view(file.view_limit, file.views_consumed, file.burned_at)
        if view is None:
            return False
        file_rows.set_views_consumed(rt.db, file_id, view.consumed, now if view.burns else None)
    return True


def destroy_due(rt: Runtime) -> int:
    """Delete the bytes of the files that burned half an hour ago; return how many."""
    now = rt.clock()
    due = contents.list_burned_ids(rt.db, rules.latest_due_burn(now))
    return sum(_delete_bytes(rt, file_id, now) for file_id in due)


def _delete_bytes(rt: Runtime, file_id: int, now: int) -> bool:
    """Delete the bytes of one file, unless its content was replaced since it was found."""
    with rt.db.write():
        found = contents.find_burned(rt.db, file_id, rules.latest_due_burn(now))
        if found is None:
            return False
        uuid, blob = found
        file_rows.mark_destroyed(rt.db, file_id, now)
        activity.record(rt, file_id, "file.burned", at=now)
        removal_rows.add(rt.db, [blob], now)
    removals.delete_now(rt, [blob])
    rt.pages.files.delete_derived(uuid)
    return True
