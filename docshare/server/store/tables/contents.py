"""Read the content of files, their revisions and pages, and the blobs that files and assets refer to."""

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from docshare.server.store.database import Store
from docshare.server.store.database_file import DatabaseFile
from docshare.server.store.segments import compute_stored_size
from docshare.server.store.tables.files import File, Revision


class ReplacementTarget(NamedTuple):
    """The file whose content is replaced, as it was when the replacement was checked."""

    id: int
    uuid: str
    content_version: int
    blob: str
    delete_at: int | None


_SELECT_CARRIED_OVER = (
    "SELECT f.settings, EXISTS (SELECT 1 FROM variants WHERE file_id = f.id "
    "AND JSON_VALUE(overrides, '$.pageRange.to') > 0), f.burned_at, f.views_consumed FROM files f WHERE f.id = ?"
)


def list_burned_ids(store: Store, burned_by: int) -> list[int]:
    """Return the ids of the files that burned by ``burned_by`` (ms) and still have their bytes."""
    query = File.select(File.id).where(File.burned_at <= burned_by, File.destroyed_at.is_null())
    return [file_id for (file_id,) in store.fetch_all(query)]


def find_burned(store: Store, file_id: int, burned_by: int) -> tuple[str, str] | None:
    """Return the UUID and the blob of a file if it burned by ``burned_by`` (ms) and still has its bytes, or None."""
    is_due = (File.burned_at <= burned_by) & File.destroyed_at.is_null()
    found = store.fetch_one(File.select(File.uuid, File.blob).where(File.id == file_id, is_due))
    return (found[0], found[1]) if found else None


def find_target(store: Store, file_id: int) -> ReplacementTarget | None:
    """Return what a replacement of the content of a file needs, or None if the file was deleted."""
    columns = (getattr(File, name) for name in ReplacementTarget._fields)
    found = store.fetch_one(File.select(*columns).where(File.id == file_id))
    return ReplacementTarget._make(found) if found else None


def get_carried_over(store: Store, file_id: int) -> tuple[str, bool, int | None, int]:
    """Return what a file keeps when its content is replaced: its settings (JSON), whether a variant has a page range,
    ``burned_at`` and ``views_consumed``."""
    ((settings, has_range, burned_at, consumed),) = store.fetch_all(_SELECT_CARRIED_OVER, (file_id,))
    return settings, bool(has_range), burned_at, consumed


def has_revision(store: Store, file_id: int, version: int, sha256: str) -> bool:
    """Return whether a version of a file has this content."""
    is_version = (Revision.file == file_id) & (Revision.content_version == version)
    return bool(Revision.select().where(is_version, Revision.sha256 == sha256).exists(store.engine))


def find_blob(store: Store, file_id: int) -> tuple[str, str] | None:
    """Return the UUID and the blob of a file, or None if it was deleted."""
    found = store.fetch_one(File.select(File.uuid, File.blob).where(File.id == file_id))
    return (found[0], found[1]) if found else None


class BlobRow(NamedTuple):
    """A row that refers to a blob.

    ``kind`` file or asset; ``blob`` the key; ``plain_size`` and ``plain_sha256`` of the content, the latter None for an
    asset; ``sealed_key`` its data key, encrypted by the vault, None for content in clear.
    """

    kind: str
    uuid: str
    blob: str
    plain_size: int
    plain_sha256: str | None
    sealed_key: bytes | None

    @property
    def size(self) -> int:
        """Return the size of the stored bytes."""
        return self.plain_size if self.sealed_key is None else compute_stored_size(self.plain_size)

    @property
    def sha256(self) -> str | None:
        """Return the SHA-256 of the stored bytes, None if it is not known before they are read."""
        return self.plain_sha256 if self.sealed_key is None else None


_FILE_ROWS = "SELECT 'file', uuid, blob, size, sha256, NULL FROM files"
_ASSET_ROWS = "SELECT 'asset', uuid, blob, size, NULL, NULL FROM assets ORDER BY id"
_ROWS_WITH_KEYS = (
    "SELECT kind, uuid, b.blob, size, sha256, k.sealed FROM ("
    "SELECT 'file' AS kind, id, uuid, blob, size, sha256 FROM files WHERE destroyed_at IS NULL UNION ALL "
    "SELECT 'asset', id, uuid, blob, size, NULL FROM assets) b LEFT JOIN data_keys k ON k.blob = b.blob "
    "ORDER BY kind DESC, id"
)


def stream_rows(database: DatabaseFile) -> Iterator[BlobRow]:
    """Yield every row whose blob must be in the store. Works at every step of the schema."""
    if database.has_table("data_keys"):
        yield from map(BlobRow._make, database.stream(_ROWS_WITH_KEYS))
    elif database.has_table("assets"):  # the same step made it possible to delete the bytes of a file
        yield from map(BlobRow._make, database.stream(f"{_FILE_ROWS} WHERE destroyed_at IS NULL ORDER BY id"))
        yield from map(BlobRow._make, database.stream(_ASSET_ROWS))
    else:
        yield from map(BlobRow._make, database.stream(f"{_FILE_ROWS} ORDER BY id"))


_STORED_BLOBS = "SELECT blob FROM files WHERE destroyed_at IS NULL UNION ALL SELECT blob FROM assets"


def stream_blobs(store: Store) -> Iterator[str]:
    """Yield the keys of all blobs that files and assets refer to."""
    return (blob for (blob,) in store.stream(_STORED_BLOBS))


def list_open_blobs(store: Store, limit: int) -> list[str]:
    """Return the keys of the blobs of the newest files whose links are not frozen, at most ``limit``."""
    statement = "SELECT blob FROM files WHERE destroyed_at IS NULL AND frozen_at IS NULL ORDER BY id DESC LIMIT ?"
    return [blob for (blob,) in store.fetch_all(statement, (limit,))]


def list_stored(store: Store | DatabaseFile, blobs: Sequence[str]) -> set[str]:
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


# For every share page and every tile of a page image: tests/benchmarks/viewer.
_SELECT_PAGE_SIZES = "SELECT page_sizes FROM files WHERE id = ?"


def find_page_sizes(store: Store, file_id: int) -> str | None:
    """Return the page sizes of a file, JSON as stored, or None if the file was deleted."""
    found = store.fetch_one(_SELECT_PAGE_SIZES, (file_id,))
    return str(found[0]) if found else None


def find_page_count(store: Store, column: str, key: str) -> tuple[int, int] | None:
    """Return the id and the number of pages of the active file whose ``column`` (``uuid`` or ``short_id``) is ``key``,
    or None."""
    is_active = (getattr(File, column) == key) & File.trashed_at.is_null()
    found = store.fetch_one(File.select(File.id, File.total_pages).where(is_active))
    return (found[0], found[1]) if found else None


def is_current_version(store: Store, uuid: str, content_version: int) -> bool:
    """Return whether an active file has that content version."""
    is_active = (File.uuid == uuid) & File.trashed_at.is_null()
    return bool(File.select().where(is_active, File.content_version == content_version).exists(store.engine))


# Run for every new session, by the benchmark ``beacons``.
_SELECT_REVISION_PAGES = "SELECT total_pages FROM revisions WHERE file_id = ? AND content_version = ?"


def find_revision_pages(store: Store, file_id: int, content_version: int) -> int | None:
    """Return the number of pages of a revision, or None if it does not exist."""
    found = store.fetch_one(_SELECT_REVISION_PAGES, (file_id, content_version))
    return int(found[0]) if found else None
