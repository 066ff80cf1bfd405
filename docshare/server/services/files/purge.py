"""What happens to everything that hangs on a file when the file goes: hidden with the trash, destroyed with the purge.

A much-read file has millions of rows, so both work in batches, each its own short transaction. The fact they follow
from (``trashed_at``, ``purge_at``) is written first; whatever a crash leaves is finished by the sweeps.
"""

from docshare.server.runtime import Runtime

BATCH_ROWS = 5000  # rows a transaction: some milliseconds under the write lock
STREAM_TABLES = ("view_rows", "download_rows", "gate_rows", "activity_rows")
# Rows that can be many, in the order they can go; the rest goes with the file itself.
_LARGE_TABLES = (*STREAM_TABLES, "session_rows", "readers", "view_sessions", "taps", "viewers", "mails", "deliveries")
_UNATTRIBUTE_CHANGES = (
    ("view_sessions", "variant_id = NULL"),
    ("activity_rows", "variant_id = NULL, data = json_remove(data, '$.variantUuid', '$.variantLabel')"),
    ("deliveries", "variant_id = NULL, body = json_remove(body, '$.data.variantUuid', '$.data.variantLabel')"),
)


def revoke_grants(rt: Runtime, column: str, key: int) -> None:
    """Let everybody who was let in be asked again, in the caller's transaction: what came back open after it was closed
    would surprise its owner.

    Parameters: ``column`` ``file_id`` or ``variant_id``, whose value is ``key``.
    """
    rt.db.execute(f"DELETE FROM grants WHERE viewer_id IN (SELECT id FROM viewers WHERE {column} = ?)", (key,))  # noqa: S608


def hide_rows(rt: Runtime, file_id: int) -> None:
    """Take the rows of a file in the trash out of every stream of the feed; a restore meanwhile ends it."""
    for table in STREAM_TABLES:
        _run_in_batches(
            rt,
            f"UPDATE {table} SET hidden = 1 WHERE id IN"  # noqa: S608 - names from the table above
            f" (SELECT id FROM {table} WHERE file_id = (SELECT id FROM files WHERE id = ? AND trashed_at IS NOT NULL)"
            f" AND hidden = 0 LIMIT {BATCH_ROWS})",
            file_id,
        )


def unhide_batch(rt: Runtime, file_id: int) -> bool:
    """Put back some of the file's rows, in the caller's transaction; returns whether that were the last ones.

    Nobody sees them while the file is in the trash, so they go first and ``trashed_at`` last; should a crash come
    between, the next start hides them again.
    """
    for table in STREAM_TABLES:
        changed = rt.db.execute(
            f"UPDATE {table} SET hidden = 0 WHERE id IN"  # noqa: S608 - names from the table above
            f" (SELECT id FROM {table} WHERE file_id = ? AND hidden = 1 LIMIT {BATCH_ROWS})",
            (file_id,),
        )
        if changed == BATCH_ROWS:
            return False
    return True


def purge(rt: Runtime, *file_ids: int) -> int:
    """Destroy files that are marked for it: rows, bytes and derived pages, also what the database's log still holds of
    them. Returns how many were still there."""
    purged = sum(_destroy_file(rt, file_id) for file_id in file_ids)
    if purged:
        rt.db.scrub()
    return purged


def _destroy_file(rt: Runtime, file_id: int) -> bool:
    for table in _LARGE_TABLES:
        _run_in_batches(
            rt,
            f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE file_id = ? LIMIT {BATCH_ROWS})",  # noqa: S608
            file_id,
        )
    with rt.db.write():
        found = rt.db.row("SELECT uuid, blob FROM files WHERE id = ?", (file_id,))
        assets = rt.db.rows("SELECT blob FROM assets WHERE file_id = ?", (file_id,))
        rt.db.execute("DELETE FROM files WHERE id = ?", (file_id,))
    if found is None:
        return False
    # Rows first: bytes without a row are found at the next start, a row without bytes would be a lie.
    uuid, blob = found
    try:
        for key in (blob, *(asset for (asset,) in assets)):
            rt.blobs.delete(key)
    finally:
        rt.pages.forget(uuid)
    return True


def delete_deliveries(rt: Runtime, webhook_id: int) -> None:
    """Destroy the deliveries of a webhook that is to go; those that come in meanwhile go with it."""
    _run_in_batches(
        rt,
        f"DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE webhook_id = ? LIMIT {BATCH_ROWS})",  # noqa: S608
        webhook_id,
    )


def unattribute(rt: Runtime, variant_id: int) -> None:
    """Let what a variant's readers did stay with the file alone; its label goes from the record of events, for no
    redaction can reach it any more."""
    for table, change in _UNATTRIBUTE_CHANGES:
        _run_in_batches(
            rt,
            f"UPDATE {table} SET {change} WHERE id IN"  # noqa: S608 - words from above
            f" (SELECT id FROM {table} WHERE variant_id = ? LIMIT {BATCH_ROWS})",
            variant_id,
        )


def _run_in_batches(rt: Runtime, sql: str, key: int) -> None:
    changed = BATCH_ROWS
    while changed == BATCH_ROWS:
        with rt.db.write():
            changed = rt.db.execute(sql, (key,))
