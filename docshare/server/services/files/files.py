"""The owner's files: list, detail, stored bytes, delete."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from docshare.contract.fields import is_short_id, is_uuid
from docshare.contract.problems import Problem
from docshare.contract.scopes import Lane
from docshare.server.rules import lifecycle
from docshare.server.rules.lifecycle import TrashEntry
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import purge as purging


class FileRow(NamedTuple):
    """What the File object is drawn from. Times in milliseconds, sizes in bytes; ``settings`` is JSON as stored."""

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
    """One stored content of a file."""

    content_version: int
    original_name: str
    size: int
    total_pages: int
    sha256: str
    created_at: int


@dataclass(frozen=True)
class StoredContent:
    """The stored bytes of ``row``, at ``path``."""

    row: FileRow
    path: Path


# Hot reads are compiled once, past the models.
COLUMNS = ", ".join(FileRow._fields).replace("protected", "password_hash IS NOT NULL")
"""What to select from ``files`` for a ``FileRow``."""
_SELECT_OWNED = f"SELECT {COLUMNS} FROM files WHERE owner_id = ? AND trashed_at IS NULL"  # noqa: S608 - columns from the row
_LIST = f"{_SELECT_OWNED} ORDER BY id DESC"
_ONE = {"uuid": f"{_SELECT_OWNED} AND uuid = ?", "short_id": f"{_SELECT_OWNED} AND short_id = ?"}
_MANAGED = {
    column: f"SELECT {COLUMNS} FROM files WHERE id = ? AND owner_id IS NULL AND trashed_at IS NULL AND {column} = ?"  # noqa: S608 - as above
    for column in ("uuid", "short_id")
}
_SELECT_ANY = {
    column: f"SELECT id, owner_id, trashed_at, purge_at FROM files WHERE {column} = ?"  # noqa: S608 - as above
    for column in ("uuid", "short_id")
}
_REVISIONS = f"""
SELECT {", ".join(RevisionRow._fields)} FROM revisions WHERE file_id = ? ORDER BY content_version DESC
"""  # noqa: S608 - columns from the row


def list_files(rt: Runtime, caller: Caller) -> Iterator[FileRow]:
    """The caller's files, newest first, without those in the trash; read in blocks."""
    return map(FileRow._make, rt.db.stream(_LIST, (caller.account_id,)))


def show(rt: Runtime, caller: Caller, name: str) -> tuple[FileRow, list[RevisionRow]]:
    """The caller's file ``name`` (UUID or short id) with its revisions, newest first. Raises ``not_found``."""
    row = get_owned(rt, caller, name)
    return row, [RevisionRow._make(found) for found in rt.db.rows(_REVISIONS, (row.id,))]


def get_owned(rt: Runtime, caller: Caller, name: str) -> FileRow:
    """The caller's file ``name`` (UUID or short id, never a slug), trash excluded. A manage token has one file, while
    that is nobody's.

    Raises ``not_found``, the same for unknown, foreign, unclaimed and trashed files.
    """
    key = lookup_key(name)
    reads, holder = (_MANAGED, caller.file_id) if caller.lane is Lane.MANAGE else (_ONE, caller.account_id)
    found = key and rt.db.row(reads[key[0]], (holder, key[1]))
    if not found:
        raise file_not_found()
    return FileRow._make(found)


def get_for_readership(rt: Runtime, caller: Caller, name: str) -> FileRow:
    """The caller's file ``name`` as the readership routes find it.

    Another account's active file is ``forbidden`` there; otherwise as ``owned``.
    """
    get_active_id(rt, caller, name)
    return get_owned(rt, caller, name)


def get_content(rt: Runtime, caller: Caller, name: str) -> StoredContent:
    """The stored bytes of the caller's file ``name``, for download. Raises ``not_found``; ``gone`` once burned.

    Burned counts from the moment the view limit is reached; an expired file can still be downloaded.
    """
    row = get_owned(rt, caller, name)
    if row.burned_at is not None:
        raise Problem("gone", "The view limit of this file was reached; its content is gone.")
    return StoredContent(row, rt.blobs.path(row.blob))


def file_not_found() -> Problem:
    """The one answer for what a caller must not know, or what is not there."""
    return Problem("not_found", "There is no such file.")


def admin_file_not_found(name: str) -> Problem:
    """What the operator hears, from whom no file is hidden."""
    hint = "Check the id: the UUID or the short id of a file that is not in the trash."
    return Problem("not_found", f"There is no file '{name}'.", hint=hint)


def count_active(rt: Runtime, account_id: int) -> int:
    """How many file slots the account uses. Files in the trash hold none."""
    found = rt.db.recall("SELECT COUNT(*) FROM files WHERE owner_id = ? AND trashed_at IS NULL", (account_id,))
    return int(found[0]) if found else 0


def delete(rt: Runtime, caller: Caller, name: str, *, purge: bool) -> TrashEntry | None:
    """Delete the caller's file ``name`` (UUID or short id); ``purge`` destroys it whatever the plan.

    Returns its place in the trash, None when it was destroyed. Raises ``not_found`` for an unknown file and for one
    in another account's trash, ``forbidden`` for another account's active file.
    """
    with rt.db.turn(get_id_and_trash(rt, caller, name)[0]):
        return _delete_locked(rt, caller, name, purge=purge)


def _delete_locked(rt: Runtime, caller: Caller, name: str, *, purge: bool) -> TrashEntry | None:
    now = rt.clock()
    with rt.db.write():
        file_id, standing = get_id_and_trash(rt, caller, name)
        trash = lifecycle.plan_deletion(plan=caller.plan, purge=purge, trash=standing, now=now)
        # Destruction is written as a place in the trash that is due now, so that a crash cannot leave half of it.
        mark = trash or TrashEntry(standing.trashed_at if standing else now, now)
        rt.db.execute("UPDATE files SET trashed_at = ?, purge_at = ? WHERE id = ?", (*_trash_columns(mark), file_id))
        if trash is not None and standing is None:
            purging.revoke_grants(rt, "file_id", file_id)
    if trash is None:
        purging.purge(rt, file_id)
    elif standing is None:
        purging.hide_rows(rt, file_id)
    return trash


def get_active_id(rt: Runtime, caller: Caller, name: str) -> int:
    """The id of the caller's file ``name`` (UUID or short id) that is not in the trash. Raises as ``held``, and
    ``not_found`` for one in the caller's own trash."""
    file_id, trash = get_id_and_trash(rt, caller, name)
    if trash is not None:
        raise file_not_found()
    return file_id


def get_id_and_trash(rt: Runtime, caller: Caller, name: str) -> tuple[int, TrashEntry | None]:
    """The id of the caller's file ``name`` (UUID or short id), and its place in the trash.

    Raises ``not_found`` for an unknown file, one that is being destroyed, an unclaimed one and one in another account's
    trash, ``forbidden`` for another account's active file.
    """
    key = lookup_key(name)
    found = key and rt.db.row(_SELECT_ANY[key[0]], (key[1],))
    if not found:
        raise file_not_found()
    file_id, owner_id, trashed_at, purge_at = found
    if owner_id != caller.account_id:
        if owner_id is None or trashed_at is not None:
            raise file_not_found()
        raise Problem("forbidden", "This file belongs to another account.")
    if purge_at is not None and purge_at <= rt.clock():
        raise file_not_found()
    return file_id, None if trashed_at is None else TrashEntry(trashed_at, purge_at)


def _trash_columns(trash: TrashEntry) -> tuple[int, int]:
    return trash.trashed_at, trash.purge_at


def lookup_key(name: str) -> tuple[str, str] | None:
    """The column and value by which an API route finds a file; None for what is neither UUID nor short id."""
    if is_uuid(name):
        return "uuid", name.lower()
    return ("short_id", name) if is_short_id(name) else None
