"""List, show, download and delete the files of an owner."""

from collections.abc import Iterator
from dataclasses import dataclass

from docshare.contract.fields import is_short_id, is_uuid
from docshare.contract.problems import Problem
from docshare.contract.scopes import Lane
from docshare.server.rules import lifecycle
from docshare.server.rules.lifecycle import TrashEntry
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import purge as purging
from docshare.server.services.files import sealed_blobs
from docshare.server.store.stored_bytes import StoredBytes
from docshare.server.store.tables import files as file_rows
from docshare.server.store.tables import library
from docshare.server.store.tables.library import FileRow as FileRow
from docshare.server.store.tables.library import RevisionRow as RevisionRow


@dataclass(frozen=True)
class StoredContent:
    """The path of the stored bytes of ``row``."""

    row: FileRow
    path: StoredBytes


def list_files(rt: Runtime, caller: Caller) -> Iterator[FileRow]:
    """Yield the caller's files, newest first, without those in the trash."""
    found = library.stream_files(rt.db, caller.account_id)
    return found if caller.only_file_id is None else (row for row in found if row.id == caller.only_file_id)


def show(rt: Runtime, caller: Caller, name: str) -> tuple[FileRow, list[RevisionRow]]:
    """Return the caller's file ``name`` (UUID or short id) with its revisions, newest first. Raises ``not_found``."""
    row = get_owned(rt, caller, name)
    return row, library.list_revisions(rt.db, row.id)


def get_owned(rt: Runtime, caller: Caller, name: str) -> FileRow:
    """Return the caller's file ``name`` (UUID or short id, never a slug), unless it is in the trash. A manage token
    gives access to one file until the file is claimed.

    Raises ``not_found``, the same for unknown, foreign, unclaimed and trashed files.
    """
    key = lookup_key(name)
    if key is None:
        raise file_not_found()
    if caller.lane is Lane.MANAGE:
        row = library.find_unclaimed(rt.db, caller.file_id, *key)
    else:
        row = library.find_owned(rt.db, caller.account_id, *key)
    if row is None:
        raise file_not_found()
    return row


def require_reachable(rt: Runtime, caller: Caller, name: str) -> None:
    """Raise ``not_found`` if the caller is a restricted key for another file than ``name`` (UUID or short id). Every
    route with a file in its path checks this first."""
    if caller.only_file_id is not None and get_owned(rt, caller, name).id != caller.only_file_id:
        raise file_not_found()


def get_for_readership(rt: Runtime, caller: Caller, name: str) -> FileRow:
    """Return the caller's file ``name`` for the readership routes.

    Raises ``forbidden`` for another account's active file, and what ``get_owned`` raises.
    """
    get_active_id(rt, caller, name)
    return get_owned(rt, caller, name)


def get_content(rt: Runtime, caller: Caller, name: str) -> StoredContent:
    """Return the stored bytes of the caller's file ``name``, for download.

    Raises ``not_found``, and ``gone`` as soon as the view limit is reached. An expired file can be downloaded.
    """
    row = get_owned(rt, caller, name)
    if row.burned_at is not None:
        raise Problem("gone", "The view limit of this file was reached; its content is no longer available.")
    return StoredContent(row, sealed_blobs.open_blob(rt, row.blob))


def file_not_found() -> Problem:
    """Build the error for files that do not exist and for those that the caller must not know about."""
    return Problem("not_found", "There is no such file.")


def admin_file_not_found(name: str) -> Problem:
    """Build the error for the operator, who may know about every file."""
    hint = "Check the id: the UUID or the short id of a file that is not in the trash."
    return Problem("not_found", f"There is no file '{name}'.", hint=hint)


def count_active(rt: Runtime, account_id: int) -> int:
    """Return how many file slots the account uses. Files in the trash do not use one."""
    return library.recall_count(rt.db, account_id)


def delete(rt: Runtime, caller: Caller, name: str, *, purge: bool) -> TrashEntry | None:
    """Delete the caller's file ``name`` (UUID or short id); with ``purge`` purge it on every plan.

    Returns when it was trashed and will be purged, or None if it was purged. Raises ``not_found`` for an unknown
    file and for one in another account's trash, ``forbidden`` for another account's active file.
    """
    with rt.db.lock_key(get_id_and_trash(rt, caller, name)[0]):
        return _delete_locked(rt, caller, name, purge=purge)


def _delete_locked(rt: Runtime, caller: Caller, name: str, *, purge: bool) -> TrashEntry | None:
    now = rt.clock()
    with rt.db.write(caller.account_id):
        file_id, current = get_id_and_trash(rt, caller, name)
        trash = lifecycle.plan_deletion(plan=caller.plan, purge=purge, trash=current, now=now)
        # A file to purge is first marked as due in the trash, so that the next start finishes after a crash.
        mark = trash or TrashEntry(current.trashed_at if current else now, now)
        file_rows.mark_trashed(rt.db, file_id, mark.trashed_at, mark.purge_at)
        if trash is not None and current is None:
            purging.revoke_grants(rt, "file_id", file_id)
    if trash is None:
        purging.purge(rt, file_id)
    elif current is None:
        purging.hide_rows(rt, file_id)
    return trash


def get_active_id(rt: Runtime, caller: Caller, name: str) -> int:
    """Return the id of the caller's active file ``name`` (UUID or short id).

    Raises what ``get_id_and_trash`` raises, and ``not_found`` for a file in the caller's own trash.
    """
    file_id, trash = get_id_and_trash(rt, caller, name)
    if trash is not None:
        raise file_not_found()
    return file_id


def get_id_and_trash(rt: Runtime, caller: Caller, name: str) -> tuple[int, TrashEntry | None]:
    """Return the id of the caller's file ``name`` (UUID or short id), and its trash entry or None.

    Raises ``not_found`` for an unknown file, one that is being purged, an unclaimed one and one in another account's
    trash, ``forbidden`` for another account's active file.
    """
    key = lookup_key(name)
    found = key and file_rows.find_owner_and_trash(rt.db, *key)
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


def lookup_key(name: str) -> tuple[str, str] | None:
    """Return the column and the value by which an API route finds a file, or None if ``name`` is neither a UUID nor a
    short id."""
    if is_uuid(name):
        return "uuid", name.lower()
    return ("short_id", name) if is_short_id(name) else None
