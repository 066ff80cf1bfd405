"""New short ids: of files and of variants, which share one space."""

from docshare.server.runtime import Runtime

SHORT_ID_LENGTH = 12


def create_short_id(rt: Runtime) -> str:
    """A short id that nobody has or ever had; written down at once, so inside the caller's transaction.

    A slug may have the same form and the same place in addresses, so none may be equal either.
    """
    while True:
        short_id = rt.token(SHORT_ID_LENGTH)
        if rt.db.row("SELECT 1 FROM files WHERE slug = ?", (short_id,)) is None and rt.db.execute(
            "INSERT OR IGNORE INTO short_ids (short_id) VALUES (?)", (short_id,)
        ):
            return short_id
