"""Invitations: a personal link for one e-mail address (section Events, ``invite.viewed``)."""

from docshare.contract.wire import present
from docshare.server.runtime import Runtime
from docshare.server.services import activity

_VIEWED = "UPDATE invites SET viewed_at = ? WHERE id = ? AND viewed_at IS NULL"


def viewed(rt: Runtime, invite_id: int, now: int) -> None:
    """Write down, in the caller's transaction, that the invitee was counted as a reader; the first time is told."""
    if rt.db.execute(_VIEWED, (now, invite_id)) == 0:
        return
    found = rt.db.row("SELECT file_id, email, name FROM invites WHERE id = ?", (invite_id,))
    if found is not None:
        file_id, email, name = found
        activity.record(rt, file_id, "invite.viewed", present({"email": email, "name": name}), at=now)
