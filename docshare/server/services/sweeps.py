"""Work that becomes due by time, and the cleaning after a crash. Every function can run again at any moment."""

from docshare.server.blobs import Swept
from docshare.server.runtime import Runtime
from docshare.server.services import purging


def at_start(rt: Runtime) -> Swept:
    """Before the server answers: remove partial uploads, bytes and derived pages without a row, and finish deletions
    that a crash cut short."""
    swept = rt.blobs.sweep(frozenset(blob for (blob,) in rt.db.stream("SELECT blob FROM files")))
    purge_due(rt)
    rt.pages.forget_others(frozenset(uuid for (uuid,) in rt.db.stream("SELECT uuid FROM files")))
    for (file_id,) in rt.db.rows("SELECT id FROM files WHERE trashed_at IS NOT NULL"):
        purging.hide(rt, file_id)
    return swept


def purge_due(rt: Runtime) -> int:
    """Destroy the files whose ``purgeAt`` has come; returns how many."""
    due = rt.db.rows("SELECT id FROM files WHERE purge_at <= ?", (rt.clock(),))
    return sum(purging.purge(rt, file_id) for (file_id,) in due)


def forget_sign_ins(rt: Runtime) -> int:
    """Remove sign-in links and signed-in sessions that are past their end; returns how many."""
    now = rt.clock()
    with rt.db.write():
        return rt.db.execute("DELETE FROM login_links WHERE expires_at <= ?", (now,)) + rt.db.execute(
            "DELETE FROM web_sessions WHERE expires_at <= ?", (now,)
        )


def run(rt: Runtime) -> dict[str, int]:
    """Everything that is due now: ``{purged, removed}``, files destroyed and leftovers of sign-ins removed."""
    return {"purged": purge_due(rt), "removed": forget_sign_ins(rt)}
