"""Claim a file that was shared without an account."""

from dataclasses import dataclass

from docshare.contract.problems import Problem
from docshare.server.rules import intake as rules
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, digest, recheck_caller
from docshare.server.services.files import intake
from docshare.server.services.files.files import file_not_found
from docshare.server.store.tables import files as file_rows
from docshare.server.store.tables import sharing


@dataclass(frozen=True)
class ClaimedFile:
    """The ids of a claimed file."""

    uuid: str
    short_id: str


def claim(rt: Runtime, caller: Caller, token: str) -> ClaimedFile:
    """Make ``caller`` the owner of the file of the claim token ``token``; claiming it again changes nothing.

    Bytes, link, settings and expiry do not change. The feed reports only what happens while a file has an owner, so
    its streams begin with the claim; earlier views are in the readership of the file and in its view count.

    Raises ``unauthorized`` (unknown or expired token), ``not_found`` (swept), ``conflict`` (another account's),
    ``forbidden`` (no slot), ``payload_too_large`` (above the plan).
    """
    now = rt.clock()
    with rt.db.write():
        caller = recheck_caller(rt, caller)
        file_id, uuid, short_id, owner_id, size = _get_claimable_file(rt, token, now)
        if owner_id not in (None, caller.account_id):
            raise Problem("conflict", "This file was claimed by another account.", hint="Ask its owner.")
        if owner_id is None:
            intake.require_slot(rt, caller.account_id, caller.plan)
            rules.require_size(caller.plan, size)
            file_rows.set_owner(rt.db, file_id, caller.account_id, now)
    return ClaimedFile(uuid, short_id)


def _get_claimable_file(rt: Runtime, token: str, now: int) -> tuple[int, str, str, int | None, int]:
    claim_token = sharing.find_claim_token(rt.db, digest(token))
    if claim_token is None or claim_token[1] <= now:
        hint = "Claim tokens are valid for 30 days; share the document again for a new one."
        raise Problem("unauthorized", "The claim token is not valid, or it has expired.", hint=hint)
    found = file_rows.find_for_claim(rt.db, claim_token[0])
    if found is None:
        raise file_not_found()
    return found
