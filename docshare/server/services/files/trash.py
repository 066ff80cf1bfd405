"""The trash: what lies in it, and the ways out of it."""

from typing import Any, NamedTuple

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.wire import drop_none, format_instant
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import accounts
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import files, intake, purge
from docshare.server.services.files.files import FileRow


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


_COLUMNS = ", ".join(f"f.{name}" for name in TrashedFile._fields[:-1])
# What is due for destruction is as good as gone: nobody gets it back half.
_SELECT_TRASHED = (
    f"SELECT {_COLUMNS}, a.plan FROM files f JOIN accounts a ON a.id = f.owner_id "  # noqa: S608 - columns from the row
    "WHERE f.trashed_at IS NOT NULL AND f.purge_at > ?"
)
_OF_OWNER = f"{_SELECT_TRASHED} AND f.owner_id = ? ORDER BY f.trashed_at DESC, f.id DESC"
_RESTORE = "UPDATE files SET trashed_at = NULL, purge_at = NULL WHERE id = ?"
_PURGE = "UPDATE files SET purge_at = ? WHERE id = ? AND trashed_at IS NOT NULL"


def list_trashed(rt: Runtime, email: str) -> list[TrashedFile]:
    """What the account of ``email`` has in the trash, newest first. Raises ``not_found`` for an unknown account."""
    account = accounts.get_by_email(rt, email)
    return [TrashedFile._make(found) for found in rt.db.rows(_OF_OWNER, (rt.clock(), account.id))]


def restore(rt: Runtime, caller: Caller, name: str) -> FileRow:
    """Take the caller's file ``name`` (UUID or short id) out of the trash: its link, slug, readership and events are
    back as they were.

    Raises ``not_found`` unless it is in the caller's trash, ``forbidden`` when all slots are taken.
    """
    _restore_locked(rt, name, caller.account_id)
    return files.get_owned(rt, caller, name)


def get_owned(rt: Runtime, caller: Caller, name: str) -> TrashedFile:
    """The caller's file ``name`` (UUID or short id) in the trash. Raises ``not_found`` unless it is there."""
    return _get_trashed(rt, name, caller.account_id)


def restore_any(rt: Runtime, name: str) -> TrashedFile:
    """As ``restore``, for the operator: whosever file it is."""
    return _restore_locked(rt, name, None)


def purge_any(rt: Runtime, name: str) -> TrashedFile:
    """Destroy the file ``name`` in the trash, for the operator. Raises ``not_found`` unless it is there."""
    now = rt.clock()
    with rt.db.write():
        found = _get_trashed(rt, name, None)
        rt.db.execute(_PURGE, (now, found.id))
    purge.purge(rt, found.id)
    return found


def describe(row: TrashedFile) -> dict[str, Any]:
    """What ``docshare admin trash ... --json`` prints of a file."""
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
    with rt.db.turn(file_id):
        try:
            return _restore_in_batches(rt, name, owner_id)
        except Problem:
            purge.hide_rows(rt, file_id)  # a slot may have gone when some rows were back already
            raise


def _restore_in_batches(rt: Runtime, name: str, owner_id: int | None) -> TrashedFile:
    while True:
        with rt.db.write():
            found = _get_trashed(rt, name, owner_id)
            intake.require_slot(rt, found.owner_id, Plan(found.plan))
            if purge.unhide_batch(rt, found.id):
                rt.db.execute(_RESTORE, (found.id,))
                return found


def _get_trashed(rt: Runtime, name: str, owner_id: int | None) -> TrashedFile:
    key = files.lookup_key(name)
    found = key and rt.db.row(f"{_SELECT_TRASHED} AND f.{key[0]} = ?", (rt.clock(), key[1]))
    row = TrashedFile._make(found) if found else None
    if row is None or owner_id not in (None, row.owner_id):
        hint = "List them: docshare admin trash list EMAIL" if owner_id is None else None
        raise Problem("not_found", "There is no such file in the trash.", hint=hint)
    return row
