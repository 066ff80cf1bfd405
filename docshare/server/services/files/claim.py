"""Taking over a file that was shared without an account."""

from typing import NamedTuple

from docshare.contract.problems import Problem
from docshare.server.rules import intake as rules
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, digest, recheck_caller
from docshare.server.services.files import intake
from docshare.server.services.files.files import file_not_found

_BY_TOKEN = "SELECT file_id, expires_at FROM file_tokens WHERE digest = ? AND kind = 'claim'"  # noqa: S105 - a statement
_FILE = "SELECT id, uuid, short_id, owner_id, size FROM files WHERE id = ? AND trashed_at IS NULL"
_CLAIM = "UPDATE files SET owner_id = ?, updated_at = ? WHERE id = ?"


class ClaimedFile(NamedTuple):
    """The claimed file."""

    uuid: str
    short_id: str


def claim(rt: Runtime, caller: Caller, token: str) -> ClaimedFile:
    """Make ``caller`` the owner of the file that the claim token ``token`` was made for; again is the same.

    Bytes, link, settings and expiry stay. The feed tells an owner about his own files only, so its streams
    begin with the claim; views from before are in the readership of the file and in its count.

    Raises ``unauthorized`` (unknown or expired token), ``not_found`` (swept), ``conflict`` (another account's),
    ``forbidden`` (no slot), ``payload_too_large`` (above the plan).
    """
    now = rt.clock()
    with rt.db.write():
        caller = recheck_caller(rt, caller)
        file_id, uuid, short_id, owner_id, size = _get_claimable_file(rt, token, now)
        if owner_id not in (None, caller.account_id):
            raise Problem("conflict", "This file was claimed by another account.", hint="Ask whoever claimed it.")
        if owner_id is None:
            intake.require_slot(rt, caller.account_id, caller.plan)
            rules.require_size(caller.plan, size)
            rt.db.execute(_CLAIM, (caller.account_id, now, file_id))
    return ClaimedFile(uuid, short_id)


def _get_claimable_file(rt: Runtime, token: str, now: int) -> tuple[int, str, str, int | None, int]:
    known = rt.db.row(_BY_TOKEN, (digest(token),))
    if known is None or known[1] <= now:
        hint = "Claim tokens are valid for 30 days; share the document again for a new one."
        raise Problem("unauthorized", "The claim token is not valid, or it has expired.", hint=hint)
    found = rt.db.row(_FILE, (known[0],))
    if found is None:
        raise file_not_found()
    file_id, uuid, short_id, owner_id, size = found
    return file_id, uuid, short_id, owner_id, size
