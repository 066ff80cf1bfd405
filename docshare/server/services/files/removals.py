"""Delete the stored bytes of deleted rows.

A transaction that deletes the row of a blob adds the blob to ``tables.removals``, and ``delete_now`` follows it. If the
store does not answer then, or a backup is being made, the job ``delete_remembered`` deletes the blob later.
"""

import logging
from collections.abc import Sequence

from docshare.server import faults
from docshare.server.runtime import Runtime
from docshare.server.store.blobs import MAX_CRASH_ORPHANS, ORPHAN_AGE_MS, REMOVAL_JOB
from docshare.server.store.lock import is_locked
from docshare.server.store.tables import contents, removals

_BATCH = 500
_log = logging.getLogger(__name__)


def delete_now(rt: Runtime, blobs: Sequence[str]) -> None:
    """Delete ``blobs``, which were added to the removals, as far as that is possible now. Logs errors instead of
    raising."""
    if not blobs or is_locked(rt.blobs.backup_lock):
        return
    try:
        rt.db.truncate_wal()  # it still has the data keys
        with rt.db.try_lock(("job", REMOVAL_JOB)) as is_mine:
            if is_mine:
                _delete(rt, blobs)
    except Exception as error:  # noqa: BLE001 - the rows are deleted already, and the job tries again
        faults.log_error(error, "the bytes of deleted files could not be deleted yet")


def delete_remembered(rt: Runtime) -> int:
    """Delete the bytes that could not be deleted with their rows; return how many. During a backup, delete nothing.

    Raises OSError and StorageUnreachableError; the next run deletes the bytes that are left.
    """
    if is_locked(rt.blobs.backup_lock):
        return 0
    due = removals.list_blobs(rt.db, _BATCH)
    if due:
        rt.db.truncate_wal()  # it may still have the data keys, such as after a backup
        _delete(rt, due)
    return len(due)


def delete_orphans(rt: Runtime) -> int:
    """Delete the bytes without a row, older than a day, that crashes left in a store which several instances share;
    return how many. Stop when a backup begins. An instance with its own store does this at its start.

    Keep all blobs if more than ``MAX_CRASH_ORPHANS`` have no row, because the database may be an old copy.
    """
    if not rt.blobs.is_shared or is_locked(rt.blobs.backup_lock):
        return 0
    before = rt.clock() - ORPHAN_AGE_MS
    count = rt.blobs.delete_old_partials(before)
    orphans: list[str] = []
    for blobs in rt.blobs.list_old(before):
        orphans += _find_orphans(rt, blobs)
        if len(orphans) > MAX_CRASH_ORPHANS:
            _log.warning(
                "over %d stored files without a row are kept: the database may be an old copy",
                MAX_CRASH_ORPHANS,
            )
            return count
    with rt.db.try_lock(("job", REMOVAL_JOB)) as is_mine:
        if is_mine and not is_locked(rt.blobs.backup_lock):
            for blob in _find_orphans(rt, orphans) if orphans else ():  # again, now with the lock
                rt.blobs.delete(blob)
                count += 1
    return count


def _find_orphans(rt: Runtime, blobs: list[str]) -> list[str]:
    known = contents.list_stored(rt.db, blobs) | removals.list_remembered(rt.db, blobs)
    return [blob for blob in blobs if blob not in known]


def delete_foreign_copies(rt: Runtime) -> int:
    """Delete the local copies of bytes that another instance has deleted; return how many."""
    return rt.blobs.delete_copies(lambda blobs: contents.list_stored(rt.db, blobs))


def _delete(rt: Runtime, blobs: Sequence[str]) -> None:
    deleted = []
    try:
        for blob in blobs:
            rt.blobs.delete(blob)
            deleted.append(blob)
    finally:
        if deleted:
            with rt.db.write("removals"):
                removals.delete(rt.db, deleted)
