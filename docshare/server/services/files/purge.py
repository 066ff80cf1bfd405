"""Hide the rows of a file in the trash, and purge a file with everything that belongs to it.

A purge is due at ``purge_at``: a job (``services.operations.sweeps.purge_due``) looks for due files every few seconds.
The transaction that deletes the row of the file remembers its blobs as removals, and ``removals`` then deletes their
bytes, at once or, if the store does not answer, by a job of its own.

A file with many readers has millions of rows, so hiding and purging run in batches, each in a short transaction. The
cause (``trashed_at``, ``purge_at``) is written first; the sweeps finish what a crash interrupts.
"""

from collections.abc import Callable
from functools import partial

from docshare.server.runtime import Runtime
from docshare.server.services.files import removals
from docshare.server.store.tables import assets, contents, deliveries, readers
from docshare.server.store.tables import files as file_rows
from docshare.server.store.tables import removals as removal_rows
from docshare.server.store.tables.dependents import ATTRIBUTED_TABLES, LARGE_TABLES, STREAM_TABLES

BATCH_ROWS = 5000  # rows per transaction: the write lock is held for a few milliseconds


def revoke_grants(rt: Runtime, column: str, key: int) -> None:
    """Delete the grants of all viewers, in the caller's transaction, so that they have to pass the gate again: owners
    expect that of a link that was closed and reopened.

    Parameters: ``column`` ``file_id`` or ``variant_id``, whose value is ``key``.
    """
    if column == "file_id":
        readers.delete_grants_of_file(rt.db, key)
    else:
        readers.delete_grants_of_variant(rt.db, key)


def hide_rows(rt: Runtime, file_id: int) -> None:
    """Hide the rows of a file in the trash from all streams of the feed; stop if the file is restored meanwhile."""
    for table in STREAM_TABLES:
        _run_in_batches(rt, partial(table.hide_batch, rt.db, file_id, BATCH_ROWS))


def unhide_batch(rt: Runtime, file_id: int) -> bool:
    """Show some hidden rows of the file again, in the caller's transaction; return whether those were the last ones.

    The rows are changed before ``trashed_at``, while the trash still hides the file; after a crash in between, the next
    start hides them again.
    """
    return all(table.unhide_batch(rt.db, file_id, BATCH_ROWS) != BATCH_ROWS for table in STREAM_TABLES)


def purge(rt: Runtime, *file_ids: int) -> int:
    """Purge the files that are due: rows, bytes, derived pages, and their remains in the write-ahead log.
    Return how many still existed."""
    purged = sum(_purge_file(rt, file_id) for file_id in file_ids)
    if purged:
        rt.db.truncate_wal()
    return purged


def _purge_file(rt: Runtime, file_id: int) -> bool:
    for table in LARGE_TABLES:
        _run_in_batches(rt, partial(table.delete_batch, rt.db, file_id, BATCH_ROWS))
    with rt.db.write():
        found = contents.find_blob(rt.db, file_id)
        if found is None:
            return False
        uuid, *blobs = found
        blobs += [asset.blob for asset in assets.list_blobs(rt.db, file_id)]
        file_rows.delete(rt.db, file_id)
        removal_rows.add(rt.db, blobs, rt.clock())
    removals.delete_now(rt, blobs)
    rt.pages.files.delete_derived(uuid)
    return True


def delete_deliveries(rt: Runtime, webhook_id: int) -> None:
    """Delete the deliveries of a webhook that is being deleted, also those that are queued meanwhile."""
    _run_in_batches(rt, partial(deliveries.delete_batch_of_webhook, rt.db, webhook_id, BATCH_ROWS))


def unattribute(rt: Runtime, variant_id: int) -> None:
    """Remove a variant from the sessions and events of its readers, which then belong to the file alone.

    Its label is removed too, because a later redaction could not reach it.
    """
    for table in ATTRIBUTED_TABLES:
        _run_in_batches(rt, partial(table.unattribute_batch, rt.db, variant_id, BATCH_ROWS))


def _run_in_batches(rt: Runtime, change: Callable[[], int]) -> None:
    changed = BATCH_ROWS
    while changed == BATCH_ROWS:
        with rt.db.write():
            changed = change()
