"""Work that becomes due by time, and the cleaning after a crash. Every function can run again at any moment."""

from docshare.contract.limits import UNCLAIMED_RETENTION_MS
from docshare.server.runtime import Runtime
from docshare.server.services.files import burn, purge, tokens
from docshare.server.services.webhooks import dispatch
from docshare.server.store.blobs import SweepResult

_KEPT_BLOBS = "SELECT blob FROM files WHERE destroyed_at IS NULL UNION ALL SELECT blob FROM assets"
_KEPT_VERSIONS = "SELECT uuid, content_version FROM files WHERE destroyed_at IS NULL"

_MARK_UNCLAIMED = """
UPDATE files SET trashed_at = ?1, purge_at = ?1 WHERE owner_id IS NULL AND delete_at <= ?2 AND trashed_at IS NULL
"""


def clean_at_start(rt: Runtime) -> SweepResult:
    """Before the server answers: remove partial uploads, bytes and derived pages without a row, finish deletions that a
    crash cut short, and let go of deliveries that it kept from being booked."""
    swept = rt.blobs.sweep(frozenset(blob for (blob,) in rt.db.stream(_KEPT_BLOBS)))
    dispatch.release_claims(rt)
    purge_due(rt)
    rt.pages.forget_others(dict(rt.db.stream(_KEPT_VERSIONS)))
    for (file_id,) in rt.db.rows("SELECT id FROM files WHERE trashed_at IS NOT NULL"):
        purge.hide_rows(rt, file_id)
    return swept


def purge_due(rt: Runtime) -> int:
    """Destroy the files whose ``purgeAt`` has come; returns how many."""
    due = rt.db.rows("SELECT id FROM files WHERE purge_at <= ?", (rt.clock(),))
    return purge.purge(rt, *(file_id for (file_id,) in due))


def expire_unclaimed(rt: Runtime) -> int:
    """Destroy the files that expired a week ago and that nobody has claimed; returns how many.

    An owner keeps an expired file with its readership; without one there is nobody to keep it for. Until then
    its link says that it expired, and it can be claimed.
    """
    now = rt.clock()
    with rt.db.write():
        # Marked as due for destruction, so that a claim comes before or after, and a crash cannot leave half of it.
        rt.db.execute(_MARK_UNCLAIMED, (now, now - UNCLAIMED_RETENTION_MS))
    due = rt.db.rows("SELECT id FROM files WHERE owner_id IS NULL AND purge_at <= ?", (now,))
    return purge.purge(rt, *(file_id for (file_id,) in due))


def delete_expired_sign_ins(rt: Runtime) -> int:
    """Remove sign-in links and signed-in sessions that are past their end; returns how many."""
    now = rt.clock()
    with rt.db.write():
        return rt.db.execute("DELETE FROM login_links WHERE expires_at <= ?", (now,)) + rt.db.execute(
            "DELETE FROM web_sessions WHERE expires_at <= ?", (now,)
        )


def run_all(rt: Runtime) -> dict[str, int]:
    """Everything that is due now: files whose bytes were ``burned``, that were ``purged`` from the trash or had
    ``expired`` unclaimed, and leftovers of sign-ins and tokens that were ``removed``."""
    return {
        "burned": burn.destroy_due(rt),
        "purged": purge_due(rt),
        "expired": expire_unclaimed(rt),
        "removed": delete_expired_sign_ins(rt) + tokens.delete_orphaned(rt),
    }
