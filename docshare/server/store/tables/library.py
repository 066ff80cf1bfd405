"""Read the files of an owner: active files with their revisions, and files in the trash.

Lists and details are read often, so the statements bypass the models.
"""

from collections.abc import Iterator
from typing import NamedTuple

from docshare.server.store.database import Store


class FileRow(NamedTuple):
    """The columns of the File object. Times in milliseconds, sizes in bytes; ``settings`` is JSON as stored;
    ``protected``: 1 if a password is set."""

    id: int
    uuid: str
    short_id: str
    slug: str | None
    original_name: str
    size: int
    mime_type: str
    total_pages: int
    sha256: str
    blob: str
    content_version: int
    created_at: int
    updated_at: int
    delete_at: int | None
    burned_at: int | None
    view_count: int
    views_consumed: int
    view_limit: int | None
    protected: int
    settings: str
    download_warning: str | None


class RevisionRow(NamedTuple):
    """A stored version of the content of a file."""

    content_version: int
    original_name: str
    size: int
    total_pages: int
    sha256: str
    created_at: int


class TrashedFile(NamedTuple):
    """A file in the trash. Times in milliseconds, ``size`` in bytes; ``owner_id`` and ``plan`` of its account."""

    id: int
    uuid: str
    short_id: str
    slug: str | None
    original_name: str
    size: int
    trashed_at: int
    purge_at: int
    owner_id: int
    plan: int


_COLUMNS = ", ".join(FileRow._fields).replace("protected", "password_hash IS NOT NULL")
_SELECT_OWNED = f"SELECT {_COLUMNS} FROM files WHERE owner_id = ? AND trashed_at IS NULL"  # noqa: S608 - columns from the row
_LIST = f"{_SELECT_OWNED} ORDER BY id DESC"
_ONE = {"uuid": f"{_SELECT_OWNED} AND uuid = ?", "short_id": f"{_SELECT_OWNED} AND short_id = ?"}
_MANAGED = {
    column: f"SELECT {_COLUMNS} FROM files WHERE id = ? AND owner_id IS NULL AND trashed_at IS NULL AND {column} = ?"  # noqa: S608 - as above
    for column in ("uuid", "short_id")
}
_REVISIONS = f"""
SELECT {", ".join(RevisionRow._fields)} FROM revisions WHERE file_id = ? ORDER BY content_version DESC
"""  # noqa: S608 - columns from the row
_NAMES = "SELECT id, original_name, slug FROM files WHERE owner_id = ? AND trashed_at IS NULL"
_IDS = "SELECT id FROM files WHERE owner_id = ? AND trashed_at IS NULL AND uuid IN (JSON_TEXTS(?))"
# Not the states of a file: a reader cannot open a frozen link either.
_LINK_CONDITIONS = {
    "live": "burned_at IS NULL AND frozen_at IS NULL AND (delete_at IS NULL OR delete_at > ?)",
    "ended": "(burned_at IS NOT NULL OR frozen_at IS NOT NULL OR delete_at <= ?)",
}
LINK_STATES = tuple(_LINK_CONDITIONS)
_ORDER_COLUMNS = {
    "newest": "id DESC",
    "oldest": "id",
    "name": "NOCASE(original_name), id DESC",
    "views": "view_count DESC, id DESC",
    "size": "size DESC, id DESC",
    "name-desc": "NOCASE(original_name) DESC, id",
    "views-asc": "view_count, id",
    "size-asc": "size, id",
}
ORDERS = tuple(_ORDER_COLUMNS)
_SELECT_PAGE = (
    f"SELECT {_COLUMNS}, frozen_at IS NOT NULL FROM files WHERE owner_id = ? AND trashed_at IS NULL"  # noqa: S608 - columns from the row
    " AND (CAST(? AS TEXT) IS NULL OR id IN (JSON_NUMBERS(?))) ORDER BY {} LIMIT ? OFFSET ?"
)
_TRASH_COLUMNS = ", ".join(f"f.{name}" for name in TrashedFile._fields[:-1])
# Files that are due for deletion are not found: a restore could only recover a part of them.
_SELECT_TRASHED = (
    f"SELECT {_TRASH_COLUMNS}, a.plan FROM files f JOIN accounts a ON a.id = f.owner_id "  # noqa: S608 - columns from the row
    "WHERE f.trashed_at IS NOT NULL AND f.purge_at > ?"
)
_TRASHED_OF_OWNER = f"{_SELECT_TRASHED} AND f.owner_id = ? ORDER BY f.trashed_at DESC, f.id DESC"
_ONE_TRASHED = {column: f"{_SELECT_TRASHED} AND f.{column} = ?" for column in ("uuid", "short_id")}


def stream_files(store: Store, owner_id: int | None) -> Iterator[FileRow]:
    """Yield the active files of an account, newest first."""
    return map(FileRow._make, store.stream(_LIST, (owner_id,)))


def find_owned(store: Store, owner_id: int | None, column: str, key: str) -> FileRow | None:
    """Return the active file of an account whose ``column`` (``uuid`` or ``short_id``) is ``key``, or None."""
    found = store.fetch_one(_ONE[column], (owner_id, key))
    return FileRow._make(found) if found else None


def find_uuid(store: Store, file_id: int) -> str | None:
    """Return the UUID of a file, or None if it was purged."""
    found = store.fetch_one("SELECT uuid FROM files WHERE id = ?", (file_id,))
    return str(found[0]) if found else None


def find_unclaimed(store: Store, file_id: int | None, column: str, key: str) -> FileRow | None:
    """Return the active file ``file_id`` if it has no owner and its ``column`` (``uuid`` or ``short_id``) is ``key``,
    or None."""
    found = store.fetch_one(_MANAGED[column], (file_id, key))
    return FileRow._make(found) if found else None


def list_revisions(store: Store, file_id: int) -> list[RevisionRow]:
    """Return the revisions of a file, newest first."""
    return [RevisionRow._make(found) for found in store.fetch_all(_REVISIONS, (file_id,))]


def stream_names(
    store: Store, owner_id: int | None, link_state: str = "", now: int = 0
) -> Iterator[tuple[int, str, str | None]]:
    """Yield the id, the name and the slug of each active file of an account.

    Parameters: ``link_state`` one of ``LINK_STATES`` at ``now`` (ms), empty for all.
    """
    if link_state:
        found = store.stream(f"{_NAMES} AND {_LINK_CONDITIONS[link_state]}", (owner_id, now))
    else:
        found = store.stream(_NAMES, (owner_id,))
    return ((file_id, name, slug) for file_id, name, slug in found)


def list_page(
    store: Store, owner_id: int | None, ids: str | None, *, order: str, limit: int, offset: int
) -> list[tuple[FileRow, bool]]:
    """Return ``limit`` active files of an account after the first ``offset``, each with whether it is frozen.

    Parameters: ``ids`` JSON, the files to choose from, None for all; ``order`` one of ``ORDERS``.
    """
    found = store.fetch_all(_SELECT_PAGE.format(_ORDER_COLUMNS[order]), (owner_id, ids, ids, limit, offset))
    return [(FileRow._make(row), bool(frozen)) for *row, frozen in found]


def list_ids(store: Store, owner_id: int | None, uuids: str) -> list[int]:
    """Return the ids of those of ``uuids`` (JSON) that are active files of an account."""
    return [int(file_id) for (file_id,) in store.fetch_all(_IDS, (owner_id, uuids))]


def list_trashed(store: Store, owner_id: int, now: int) -> list[TrashedFile]:
    """Return the files of an account in the trash, newest first."""
    return [TrashedFile._make(found) for found in store.fetch_all(_TRASHED_OF_OWNER, (now, owner_id))]


def find_trashed(store: Store, column: str, key: str, now: int) -> TrashedFile | None:
    """Return the file in the trash whose ``column`` (``uuid`` or ``short_id``) is ``key``, or None."""
    found = store.fetch_one(_ONE_TRASHED[column], (now, key))
    return TrashedFile._make(found) if found else None


def measure_usage(store: Store) -> dict[int, tuple[int, int, int]]:
    """Return, by account, the number of its files, their size in bytes and their counted sessions. Files in the trash
    and files whose bytes were deleted are left out."""
    rows = store.fetch_all(
        "SELECT owner_id, COUNT(*), COALESCE(SUM(size), 0), COALESCE(SUM(view_count), 0) FROM files "
        "WHERE owner_id IS NOT NULL AND trashed_at IS NULL AND destroyed_at IS NULL GROUP BY owner_id"
    )
    return {int(owner): (int(files), int(size), int(sessions)) for owner, files, size, sessions in rows}


def sum_stored_bytes(store: Store, owner_id: int) -> int:
    """Return the size of all files of an account, without those in the trash and those whose bytes were deleted."""
    ((total,),) = store.fetch_all(
        "SELECT COALESCE(SUM(size), 0) FROM files WHERE owner_id = ? AND trashed_at IS NULL AND destroyed_at IS NULL",
        (owner_id,),
    )
    return int(total)


def list_ids_of_owner(store: Store, owner_id: int) -> list[int]:
    """Return the ids of all files of an account, including those in the trash."""
    return [file_id for (file_id,) in store.fetch_all("SELECT id FROM files WHERE owner_id = ?", (owner_id,))]


def has_any(store: Store, owner_id: int) -> bool:
    """Return whether an account has a file, including those in the trash."""
    return store.fetch_one("SELECT 1 FROM files WHERE owner_id = ? LIMIT 1", (owner_id,)) is not None


_COUNT_UP_TO = "SELECT COUNT(*) FROM (SELECT 1 FROM files WHERE owner_id = ? AND trashed_at IS NULL LIMIT ?) found"


def recall_count(store: Store, owner_id: int) -> int:
    """Return how many active files an account has."""
    found = store.fetch_cached("SELECT COUNT(*) FROM files WHERE owner_id = ? AND trashed_at IS NULL", (owner_id,))
    return int(found[0]) if found else 0


def count_up_to(store: Store, owner_id: int, limit: int) -> int:
    """Return how many active files an account has, without counting further than ``limit``."""
    found = store.fetch_one(_COUNT_UP_TO, (owner_id, limit))
    return int(found[0]) if found else 0


_SELECT_NEWEST = """
SELECT uuid, original_name FROM files WHERE owner_id = ? AND trashed_at IS NULL
    AND (CAST(? AS BIGINT) IS NULL OR id = ?)
ORDER BY id DESC LIMIT 1
"""


def find_newest_name(store: Store, owner_id: int | None, file_id: int | None) -> tuple[str, str] | None:
    """Return the UUID and the name of the owner's newest active file, or of the file ``file_id`` if it is given."""
    found = store.fetch_one(_SELECT_NEWEST, (owner_id, file_id, file_id))
    return (found[0], found[1]) if found else None


_FIND_ACTIVE = {
    column: f"SELECT id FROM files WHERE owner_id = ? AND trashed_at IS NULL AND {column} = ?"  # noqa: S608 - two words
    for column in ("uuid", "short_id")
}


def find_active_id(store: Store, owner_id: int, column: str, key: str) -> int | None:
    """Return the id of an owner's active file whose ``column`` (``uuid`` or ``short_id``) is ``key``, or None."""
    found = store.fetch_one(_FIND_ACTIVE[column], (owner_id, key))
    return int(found[0]) if found else None
