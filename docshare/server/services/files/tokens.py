"""Create and delete the two tokens of a file without an owner: one claims it, the other manages its settings.

Only digests are stored. A token outlives its file, so that a late claim gets the reason for its rejection.
"""

from dataclasses import dataclass

from docshare.contract.scopes import CREDENTIAL_CHARS, LANES, Lane
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import digest
from docshare.server.store.tables import sharing

_KINDS = {Lane.CLAIM: "claim", Lane.MANAGE: "manage"}


@dataclass(frozen=True)
class FileTokens:
    """Both tokens in plain text, which are returned only once."""

    claim: str
    manage: str


def mint(rt: Runtime, file_id: int, now: int) -> FileTokens:
    """Create both tokens of the file, in the caller's transaction; earlier tokens remain valid until they expire."""
    return FileTokens(_create_token(rt, file_id, Lane.CLAIM, now), _create_token(rt, file_id, Lane.MANAGE, now))


def mint_claim(rt: Runtime, file_id: int, now: int) -> str:
    """Create another claim token of the file, in the caller's transaction, and delete the expired ones.

    An expired token is rejected like an unknown one, and frequent status requests would accumulate them.
    """
    sharing.delete_expired_claim_tokens(rt.db, file_id, now)
    return _create_token(rt, file_id, Lane.CLAIM, now)


def delete_orphaned(rt: Runtime) -> int:
    """Delete the expired tokens of deleted files; return how many.

    Those of existing files are kept: a known manage token is rejected with another error than an unknown one.
    """
    with rt.db.write():
        return sharing.delete_orphaned_tokens(rt.db, rt.clock())


def _create_token(rt: Runtime, file_id: int, lane: Lane, now: int) -> str:
    row = LANES[lane]
    assert row.lifetime_ms is not None
    token = f"{row.prefix}{rt.random_token(CREDENTIAL_CHARS)}"
    sharing.insert_file_token(rt.db, digest(token), file_id, _KINDS[lane], now + row.lifetime_ms)
    return token
