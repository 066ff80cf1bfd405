"""Write the content of files: insert a file, replace its content, and record that its bytes were deleted."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from docshare.server.store.database import Store
from docshare.server.store.tables.files import File, Revision


class ReplacementTarget(NamedTuple):
    """The file whose content is replaced, as it was when the replacement was checked."""

    id: int
    uuid: str
    content_version: int
    blob: str
    delete_at: int | None


_SELECT_BURNED = "SELECT id, uuid, blob FROM files WHERE burned_at <= ? AND destroyed_at IS NULL"
_SELECT_TARGET = f"SELECT {', '.join(ReplacementTarget._fields)} FROM files WHERE id = ?"  # noqa: S608 - columns from the row
_SELECT_CARRIED_OVER = (
    "SELECT f.settings, EXISTS (SELECT 1 FROM variants WHERE file_id = f.id "
    "AND JSON_VALUE(overrides, '$.pageRange.to') > 0), f.burned_at, f.views_consumed FROM files f WHERE f.id = ?"
)
_REPLACE_CONTENT = (
    "UPDATE files SET original_name = ?, size = ?, total_pages = ?, page_sizes = ?, sha256 = ?, blob = ?, "
    "content_version = ?, updated_at = ?, burned_at = NULL, destroyed_at = NULL, views_consumed = ? WHERE id = ?"
)
_ADD_REVISION = (
    "INSERT INTO revisions (file_id, content_version, original_name, size, total_pages, sha256, created_at) "
    "SELECT id, content_version, original_name, size, total_pages, sha256, updated_at FROM files WHERE id = ?"
)


def insert(store: Store, columns: Mapping[str, Any]) -> File:
    """Insert a file with its first revision and return it."""
    row = File(**columns)
    row.id = File.insert(**columns).execute(store.engine)
    Revision.insert(
        file=row.id,
        content_version=row.content_version,
        original_name=row.original_name,
        size=row.size,
        total_pages=row.total_pages,
        sha256=row.sha256,
        created_at=row.created_at,
    ).execute(store.engine)
    return row


def list_burned_ids(store: Store, burned_by: int) -> list[int]:
    """Return the ids of the files that burned by ``burned_by`` (ms) and still have their bytes."""
    return [found[0] for found in store.fetch_all(_SELECT_BURNED, (burned_by,))]


def find_burned(store: Store, file_id: int, burned_by: int) -> tuple[str, str] | None:
    """Return the UUID and the blob of a file if it burned by ``burned_by`` (ms) and still has its bytes, or None."""
    found = store.fetch_one(f"{_SELECT_BURNED} AND id = ?", (burned_by, file_id))
    return (found[1], found[2]) if found else None


def mark_destroyed(store: Store, file_id: int, now: int) -> None:
    """Store when the bytes of a burned file were deleted."""
    store.execute("UPDATE files SET destroyed_at = ? WHERE id = ?", (now, file_id))


def find_target(store: Store, file_id: int) -> ReplacementTarget | None:
    """Return what a replacement of the content of a file needs, or None if the file was deleted."""
    found = store.fetch_one(_SELECT_TARGET, (file_id,))
    return ReplacementTarget._make(found) if found else None


def get_carried_over(store: Store, file_id: int) -> tuple[str, bool, int | None, int]:
    """Return what a file keeps when its content is replaced: its settings (JSON), whether a variant has a page range,
    ``burned_at`` and ``views_consumed``."""
    ((settings, has_range, burned_at, consumed),) = store.fetch_all(_SELECT_CARRIED_OVER, (file_id,))
    return settings, bool(has_range), burned_at, consumed


def replace_content(
    store: Store, file_id: int, content: tuple[str, int, int, str, str, str], version: int, consumed: int, now: int
) -> None:
    """Replace the content of a file, which is no longer burned, and append the revision.

    Parameters: ``content`` name, size, pages, page sizes, SHA-256 and blob; ``consumed`` views of the view limit.
    """
    store.execute(_REPLACE_CONTENT, (*content, version, now, consumed, file_id))
    store.execute(_ADD_REVISION, (file_id,))


def has_revision(store: Store, file_id: int, version: int, sha256: str) -> bool:
    """Return whether a version of a file has this content."""
    query = "SELECT 1 FROM revisions WHERE file_id = ? AND content_version = ? AND sha256 = ?"
    return store.fetch_one(query, (file_id, version, sha256)) is not None


def find_blob(store: Store, file_id: int) -> tuple[str, str] | None:
    """Return the UUID and the blob of a file, or None if it was deleted."""
    found = store.fetch_one("SELECT uuid, blob FROM files WHERE id = ?", (file_id,))
    return (found[0], found[1]) if found else None


_STORED_BLOBS = "SELECT blob FROM files WHERE destroyed_at IS NULL UNION ALL SELECT blob FROM assets"


def stream_blobs(store: Store) -> Iterator[str]:
    """Yield the keys of all blobs that files and assets refer to."""
    return (blob for (blob,) in store.stream(_STORED_BLOBS))


def list_stored(store: Store, blobs: Sequence[str]) -> set[str]:
    """Return which of ``blobs`` a file or an asset refers to."""
    rows = store.fetch_all(
        "SELECT blob FROM files WHERE destroyed_at IS NULL AND blob IN (JSON_TEXTS(?)) "
        "UNION ALL SELECT blob FROM assets WHERE blob IN (JSON_TEXTS(?))",
        (json.dumps(list(blobs)), json.dumps(list(blobs))),
    )
    return {blob for (blob,) in rows}


def stream_versions(store: Store) -> Iterator[tuple[str, int]]:
    """Yield the UUID and the content version of every file that has its bytes."""
    rows = store.stream("SELECT uuid, content_version FROM files WHERE destroyed_at IS NULL")
    return ((uuid, version) for uuid, version in rows)


def list_existing(store: Store, uuids: Sequence[str]) -> set[str]:
    """Return which of the files ``uuids`` exist and have their bytes."""
    rows = store.fetch_all(
        "SELECT uuid FROM files WHERE destroyed_at IS NULL AND uuid IN (JSON_TEXTS(?))", (json.dumps(list(uuids)),)
    )
    return {uuid for (uuid,) in rows}
