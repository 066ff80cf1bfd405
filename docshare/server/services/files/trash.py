"""List and restore files in the trash, and purge one for the operator.

The sweep ``purge_due`` of ``services.operations.sweeps`` purges the others when their time has come; ``purge`` does the
work for both.
"""

from typing import Any

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.wire import drop_none, format_instant
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import accounts
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import files, intake, purge
from docshare.server.store.tables import files as file_rows
from docshare.server.store.tables import library
from docshare.server.store.tables.library import FileRow
from docshare.server.store.tables.library import TrashedFile as TrashedFile


def list_trashed(rt: Runtime, email: str) -> list[TrashedFile]:
    """Return the files of an account in the trash, newest first. Raises ``not_found`` for an unknown account."""
    account = accounts.get_by_email(rt, email)
    return library.list_trashed(rt.db, account.id, rt.clock())


def restore(rt: Runtime, caller: Caller, name: str) -> FileRow:
    """Restore the caller's file ``name`` (UUID or short id) from the trash, with its link, slug, readership and events.

    Raises ``not_found`` unless it is in the caller's trash, ``forbidden`` if all slots are used.
    """
    _restore_locked(rt, name, caller.account_id)
    return files.get_owned(rt, caller, name)


def get_owned(rt: Runtime, caller: Caller, name: str) -> TrashedFile:
    """Return the caller's file ``name`` (UUID or short id) in the trash. Raises ``not_found`` unless it is there."""
    return _get_trashed(rt, name, caller.account_id)


def restore_any(rt: Runtime, name: str) -> TrashedFile:
    """Restore the file ``name`` of any account, for the operator. Raises what ``restore`` raises."""
    return _restore_locked(rt, name, None)


def purge_any(rt: Runtime, name: str) -> TrashedFile:
    """Purge the file ``name`` in the trash, for the operator. Raises ``not_found`` unless it is there."""
    now = rt.clock()
    with rt.db.write():
        found = _get_trashed(rt, name, None)
        file_rows.mark_for_purge(rt.db, found.id, now)
    purge.purge(rt, found.id)
    return found


def describe(row: TrashedFile) -> dict[str, Any]:
    """Build the JSON of a file for ``docshare admin trash ... --json``."""
    return drop_none(
        {
            "uuid": row.uuid,
            "shortId": row.short_id,
            "slug": row.slug,
            "originalName": row.original_name,
            "size": row.size,
            "trashedAt": format_instant(row.trashed_at),
            "purgeAt": format_instant(row.purge_at),
        }
    )


def _restore_locked(rt: Runtime, name: str, owner_id: int | None) -> TrashedFile:
    file_id = _get_trashed(rt, name, owner_id).id
    with rt.db.lock_key(file_id):
        try:
            return _restore_in_batches(rt, name, owner_id)
        except Problem:
            purge.hide_rows(rt, file_id)  # the last slot may have been used after some rows were shown again
            raise


def _restore_in_batches(rt: Runtime, name: str, owner_id: int | None) -> TrashedFile:
    while True:
        with rt.db.write():
            found = _get_trashed(rt, name, owner_id)
            intake.require_slot(rt, found.owner_id, Plan(found.plan))
            if purge.unhide_batch(rt, found.id):
                file_rows.restore(rt.db, found.id)
                return found


def _get_trashed(rt: Runtime, name: str, owner_id: int | None) -> TrashedFile:
    key = files.lookup_key(name)
    row = library.find_trashed(rt.db, *key, rt.clock()) if key else None
    if row is None or owner_id not in (None, row.owner_id):
        hint = "List them: docshare admin trash list EMAIL" if owner_id is None else None
        raise Problem("not_found", "There is no such file in the trash.", hint=hint)
    return row
