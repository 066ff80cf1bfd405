"""Change the rows that belong to a file or a variant, in whichever table they are.

A file with many readers has millions of rows, so what can be many is changed by a limited number of rows at a time.
"""

from docshare.server.store.database import Store

STREAM_TABLES = ("view_rows", "download_rows", "gate_rows", "activity_rows")
# Tables with many rows a file, in the order in which their rows can be deleted. The rest is deleted with the file.
LARGE_TABLES = (*STREAM_TABLES, "session_rows", "readers", "view_sessions", "taps", "viewers", "mails", "deliveries")
_UNATTRIBUTE_CHANGES = {
    "view_sessions": "variant_id = NULL",
    "activity_rows": "variant_id = NULL, data = JSON_REMOVE(data, '$.variantUuid', '$.variantLabel')",
    "deliveries": "variant_id = NULL, body = JSON_REMOVE(body, '$.data.variantUuid', '$.data.variantLabel')",
}
ATTRIBUTED_TABLES = tuple(_UNATTRIBUTE_CHANGES)


def hide_batch(store: Store, table: str, file_id: int, limit: int) -> int:
    """Hide rows of a file from the stream ``table`` while the file is in the trash; return how many."""
    return store.execute(
        f"UPDATE {table} SET hidden = 1 WHERE id IN"  # noqa: S608 - names from the table above
        f" (SELECT id FROM {table} WHERE file_id = (SELECT id FROM files WHERE id = ? AND trashed_at IS NOT NULL)"
        f" AND hidden = 0 LIMIT {limit})",
        (file_id,),
    )


def unhide_batch(store: Store, table: str, file_id: int, limit: int) -> int:
    """Show hidden rows of a file in the stream ``table`` again; return how many."""
    return store.execute(
        f"UPDATE {table} SET hidden = 0 WHERE id IN"  # noqa: S608 - names from the table above
        f" (SELECT id FROM {table} WHERE file_id = ? AND hidden = 1 LIMIT {limit})",
        (file_id,),
    )


def delete_batch(store: Store, table: str, file_id: int, limit: int) -> int:
    """Delete rows of a file from ``table``; return how many."""
    return store.execute(
        f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE file_id = ? LIMIT {limit})",  # noqa: S608 - as above
        (file_id,),
    )


def unattribute_batch(store: Store, table: str, variant_id: int, limit: int) -> int:
    """Remove the variant from its rows in ``table``; return how many rows were changed."""
    return store.execute(
        f"UPDATE {table} SET {_UNATTRIBUTE_CHANGES[table]} WHERE id IN"  # noqa: S608 - words from above
        f" (SELECT id FROM {table} WHERE variant_id = ? LIMIT {limit})",
        (variant_id,),
    )


def count_anchored(store: Store, table: str, file_id: int) -> int:
    """Return how many rows of ``table`` are anchored to a page of a file."""
    ((count,),) = store.fetch_all(
        f"SELECT COUNT(*) FROM {table} WHERE file_id = ? AND page IS NOT NULL",  # noqa: S608 - as above
        (file_id,),
    )
    return int(count)


def delete_anchored(store: Store, table: str, file_id: int) -> int:
    """Delete the rows of ``table`` that are anchored to a page of a file; return how many. A note about the whole
    document is not anchored to a page."""
    return store.execute(f"DELETE FROM {table} WHERE file_id = ? AND page IS NOT NULL", (file_id,))  # noqa: S608 - as above


def set_content_version(store: Store, table: str, file_id: int, version: int) -> None:
    """Move the rows of a file in ``table`` to another version of its content."""
    store.execute(f"UPDATE {table} SET content_version = ? WHERE file_id = ?", (version, file_id))  # noqa: S608 - as above
