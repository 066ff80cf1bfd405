"""Delete the stored bytes of deleted rows.

A transaction that deletes the row of a blob adds the blob to ``tables.removals``, and ``delete_now`` follows it. If the
store does not answer then, or a backup is being made, the job ``delete_remembered`` deletes the blob later.
"""

import logging
import time
from collections.abc import Sequence

from docshare.private_files import is_locked
from docshare.server import faults
from docshare.server.runtime import Runtime
from docshare.server.store.blobs import MAX_CRASH_ORPHANS, ORPHAN_AGE_MS, REMOVAL_JOB, StorageUnreachableError
from docshare.server.store.tables import contents, removals

_BATCH = 500
_MAX_FAILURES = 20  # in one run: each is a request to the store, which repeats every few seconds
_FAILURE_SECONDS = 2.0  # that they may take together; other jobs wait meanwhile
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
    """Delete the bytes that could not be deleted with their rows, and those of rows that were not written; return how
    many. During a backup, delete nothing.

    Raises OSError and StorageUnreachableError; a later run deletes the bytes that are left.
    """
    if is_locked(rt.blobs.backup_lock):
        return 0
    _remember_uncertain(rt)
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
            # Again, now with the lock.
            deleted, failure = _try_to_delete(rt, _find_orphans(rt, orphans) if orphans else [])
            if failure is not None:
                raise failure
            count += len(deleted)
    return count


def _remember_uncertain(rt: Runtime) -> None:
    """Add the uncertain blobs that have no row to the removals.

    The next commit, such as this one, replaces the part of the log in which SQLite may have left a failed one.
    PostgreSQL may still be working on a commit when the connection breaks, so it gets a day.
    """
    until = rt.clock() - (ORPHAN_AGE_MS if rt.db.is_shared else 0)
    settled = [blob for blob, failed_at in rt.uncertain_blobs.copy().items() if failed_at <= until]
    if not settled:
        return
    with rt.db.write("removals"):
        removals.add(rt.db, _find_orphans(rt, settled), rt.clock())
    for blob in settled:
        del rt.uncertain_blobs[blob]


def _find_orphans(rt: Runtime, blobs: list[str]) -> list[str]:
    known = contents.list_stored(rt.db, blobs) | removals.list_remembered(rt.db, blobs)
    return [blob for blob in blobs if blob not in known]


def delete_foreign_copies(rt: Runtime) -> int:
    """Delete the local copies of bytes that another instance has deleted; return how many."""
    return rt.blobs.delete_copies(lambda blobs: contents.list_stored(rt.db, blobs))


def _delete(rt: Runtime, blobs: Sequence[str]) -> None:
    """Delete ``blobs`` and forget those that are deleted. Raises as ``delete_remembered`` if any is left."""
    deleted, failure = _try_to_delete(rt, blobs)
    if deleted:
        with rt.db.write("removals"):
            removals.delete(rt.db, deleted)
    if failure is not None:
        raise failure


def _try_to_delete(rt: Runtime, blobs: Sequence[str]) -> tuple[list[str], OSError | StorageUnreachableError | None]:
    """Delete ``blobs``; return those that are deleted, and the first error.

    The store may refuse to delete a blob for years, for example under a retention rule, and that must not keep the
    others. Several failures, or a slow one, end the run.
    """
    deleted: list[str] = []
    failures: list[OSError | StorageUnreachableError] = []
    left_s = _FAILURE_SECONDS
    for blob in blobs:
        begun = time.monotonic()
        try:
            rt.blobs.delete(blob)
            deleted.append(blob)
        except (OSError, StorageUnreachableError) as error:
            failures.append(error)
            left_s -= time.monotonic() - begun
            if len(failures) == _MAX_FAILURES or left_s <= 0:
                break
    return deleted, failures[0] if failures else None
