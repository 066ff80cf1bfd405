"""Read the files of an owner: active files with their revisions, and files in the trash."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from peewee import SQL, fn

from docshare.server.store.database import Store
from docshare.server.store.tables.accounts import Account
from docshare.server.store.tables.files import File


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


# Requests of the API and of the library run these texts. Of tests/benchmarks, json_endpoint counts the files, file_list
# lists them, library searches the names and reads a page, and readership finds the file of a request.
_COLUMNS = ", ".join(FileRow._fields).replace("protected", "password_hash IS NOT NULL")
_SELECT_OWNED = f"SELECT {_COLUMNS} FROM files WHERE owner_id = ? AND trashed_at IS NULL"  # noqa: S608 - columns from the row
_LIST = f"{_SELECT_OWNED} ORDER BY id DESC"
_ONE = {"uuid": f"{_SELECT_OWNED} AND uuid = ?", "short_id": f"{_SELECT_OWNED} AND short_id = ?"}
_MANAGED = {
    column: f"SELECT {_COLUMNS} FROM files WHERE id = ? AND owner_id IS NULL AND trashed_at IS NULL AND {column} = ?"  # noqa: S608 - as above
    for column in ("uuid", "short_id")
}
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
_REVISIONS = (
    f"SELECT {', '.join(RevisionRow._fields)} FROM revisions "  # noqa: S608 - columns from the row
    "WHERE file_id = ? ORDER BY content_version DESC"
)
_COUNT = "SELECT COUNT(*) FROM files WHERE owner_id = ? AND trashed_at IS NULL"


def stream_files(store: Store, owner_id: int | None) -> Iterator[FileRow]:
    """Yield the active files of an account, newest first."""
    return map(FileRow._make, store.stream(_LIST, (owner_id,)))


def find_owned(store: Store, owner_id: int | None, column: str, key: str) -> FileRow | None:
    """Return the active file of an account whose ``column`` (``uuid`` or ``short_id``) is ``key``, or None."""
    found = store.fetch_one(_ONE[column], (owner_id, key))
    return FileRow._make(found) if found else None


def find_uuid(store: Store, file_id: int) -> str | None:
    """Return the UUID of a file, or None if it was purged."""
    found = store.fetch_one(File.select(File.uuid).where(File.id == file_id))
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
    query = _select_trashed(File.owner == owner_id, now).order_by(File.trashed_at.desc(), File.id.desc())
    return [TrashedFile._make(found) for found in store.fetch_all(query)]


def find_trashed(store: Store, column: str, key: str, now: int) -> TrashedFile | None:
    """Return the file in the trash whose ``column`` (``uuid`` or ``short_id``) is ``key``, or None."""
    found = store.fetch_one(_select_trashed(getattr(File, column) == key, now))
    return TrashedFile._make(found) if found else None


def _select_trashed(condition: Any, now: int) -> Any:
    """Build a query that does not find files that are due for deletion: a restore could only recover a part of them."""
    columns = (getattr(File, name) for name in TrashedFile._fields[:-1])
    is_kept = File.trashed_at.is_null(False) & (File.purge_at > now)
    return File.select(*columns, Account.plan).join(Account).where(condition, is_kept)


def measure_usage(store: Store) -> dict[int, tuple[int, int, int]]:
    """Return, by account, the number of its files, their size in bytes and their counted sessions. Files in the trash
    and files whose bytes were deleted are left out."""
    query = File.select(File.owner, fn.COUNT(SQL("*")), fn.SUM(File.size), fn.SUM(File.view_count))
    rows = store.fetch_all(query.where(File.owner.is_null(False), _is_stored()).group_by(File.owner))
    return {int(owner): (int(files), int(size), int(sessions)) for owner, files, size, sessions in rows}


def sum_stored_bytes(store: Store, owner_id: int) -> int:
    """Return the size of all files of an account, without those in the trash and those whose bytes were deleted."""
    query = File.select(fn.COALESCE(fn.SUM(File.size), 0)).where(File.owner == owner_id, _is_stored())
    ((total,),) = store.fetch_all(query)
    return int(total)


def _is_stored() -> Any:
    return File.trashed_at.is_null() & File.destroyed_at.is_null()


def list_ids_of_owner(store: Store, owner_id: int) -> list[int]:
    """Return the ids of all files of an account, including those in the trash."""
    return [file_id for (file_id,) in store.fetch_all(File.select(File.id).where(File.owner == owner_id))]


def has_any(store: Store, owner_id: int) -> bool:
    """Return whether an account has a file, including those in the trash."""
    return bool(File.select().where(File.owner == owner_id).exists(store.engine))


def recall_count(store: Store, owner_id: int) -> int:
    """Return how many active files an account has."""
    found = store.fetch_cached(_COUNT, (owner_id,))
    return int(found[0]) if found else 0


def count_up_to(store: Store, owner_id: int, limit: int) -> int:
    """Return how many active files an account has, without counting further than ``limit``."""
    return int(_select_active(owner_id).limit(limit).count(store.engine))


def find_newest_name(store: Store, owner_id: int | None, file_id: int | None) -> tuple[str, str] | None:
    """Return the UUID and the name of the owner's newest active file, or of the file ``file_id`` if it is given."""
    if owner_id is None:
        return None
    query = _select_active(owner_id, File.uuid, File.original_name).order_by(File.id.desc()).limit(1)
    found = store.fetch_one(query if file_id is None else query.where(File.id == file_id))
    return (found[0], found[1]) if found else None


def find_active_id(store: Store, owner_id: int, column: str, key: str) -> int | None:
    """Return the id of an owner's active file whose ``column`` (``uuid`` or ``short_id``) is ``key``, or None."""
    found = store.fetch_one(_select_active(owner_id, File.id).where(getattr(File, column) == key))
    return int(found[0]) if found else None


def _select_active(owner_id: int, *columns: Any) -> Any:
    return File.select(*columns).where(File.owner == owner_id, File.trashed_at.is_null())
