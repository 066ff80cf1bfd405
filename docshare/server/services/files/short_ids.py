"""Create short ids. Files, variants and invites share one namespace."""

from docshare.contract.patterns import SHORT_ID_CHARS
from docshare.server.runtime import Runtime
from docshare.server.store.tables import files, sharing


def create_short_id(rt: Runtime) -> str:
    """Create a short id that was never used, and reserve it in the caller's transaction.

    A slug may look like a short id and is used in the same addresses, so a short id must not equal a slug either.
    """
    while True:
        short_id = rt.random_token(SHORT_ID_CHARS)
        if not files.has_slug(rt.db, short_id) and sharing.insert_short_id(rt.db, short_id):
            return short_id
