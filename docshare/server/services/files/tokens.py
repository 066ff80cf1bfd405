"""The two tokens of a file without an owner: one claims it, the other manages its settings.

Only digests are kept. A token outlives its file, so that a claim that comes too late hears what happened.
"""

from typing import NamedTuple

from docshare.contract.scopes import CREDENTIAL_CHARS, LANES, Lane
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import digest

_KINDS = {Lane.CLAIM: "claim", Lane.MANAGE: "manage"}
_INSERT = "INSERT INTO file_tokens (digest, file_id, kind, expires_at) VALUES (?, ?, ?, ?)"

_DELETE_EXPIRED_CLAIMS = "DELETE FROM file_tokens WHERE file_id = ? AND kind = 'claim' AND expires_at <= ?"


class FileTokens(NamedTuple):
    """Both tokens at the one moment they can be seen."""

    claim: str
    manage: str


def mint(rt: Runtime, file_id: int) -> FileTokens:
    """New tokens of the file, inside the caller's transaction; older ones stay good until their own end."""
    return FileTokens(_create_token(rt, file_id, Lane.CLAIM), _create_token(rt, file_id, Lane.MANAGE))


def mint_claim(rt: Runtime, file_id: int) -> str:
    """Another claim token of the file, inside the caller's transaction. Those past their end go: they answer as unknown
    ones, and a file whose state is asked for all day would collect them."""
    rt.db.execute(_DELETE_EXPIRED_CLAIMS, (file_id, rt.clock()))
    return _create_token(rt, file_id, Lane.CLAIM)


def delete_orphaned(rt: Runtime) -> int:
    """Remove tokens that are past their end and whose file is gone; returns how many.

    Those of a living file stay: a manage token that is known is refused in another way than an unknown one.
    """
    with rt.db.write():
        return rt.db.execute("DELETE FROM file_tokens WHERE file_id IS NULL AND expires_at <= ?", (rt.clock(),))


def _create_token(rt: Runtime, file_id: int, lane: Lane) -> str:
    row = LANES[lane]
    assert row.lifetime_ms is not None
    token = f"{row.prefix}{rt.token(CREDENTIAL_CHARS)}"
    rt.db.execute(_INSERT, (digest(token), file_id, _KINDS[lane], rt.clock() + row.lifetime_ms))
    return token
