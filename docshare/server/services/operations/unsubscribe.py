"""Switching notices off: the link at the end of each, good for one account and one kind of notice.

The link is the credential: mail programs follow it with a single POST, signed in nowhere. It can switch its notice off
and on again, and nothing else.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass

from docshare.contract.fields import is_uuid
from docshare.server.runtime import Runtime
from docshare.server.services.operations.secrets import instance_secret

VIEWS, COMMENTS, WEBHOOKS = "views", "comments", "webhooks"
NOTICES = {
    VIEWS: "mails about readers of your documents",
    COMMENTS: "mails about new notes on your documents",
    WEBHOOKS: "mails about webhooks that were disabled",
}
"""The kinds of notices, and what each is called."""

_SECRET = "notice-link-1"  # noqa: S105 - a name
_TOKEN = re.compile(r"([a-z]+)\.([0-9a-f-]{36})\.([0-9a-f]{40})", re.ASCII)
_IS_MUTED = "SELECT 1 FROM muted_notices WHERE account_id = ? AND notice = ?"
_ALL_MUTED = "SELECT notice FROM muted_notices WHERE account_id = ? ORDER BY notice"
_MUTE = "INSERT OR IGNORE INTO muted_notices (account_id, notice, muted_at) VALUES (?, ?, ?)"
_UNMUTE = "DELETE FROM muted_notices WHERE account_id = ? AND notice = ?"
_DELETE_QUEUED = "DELETE FROM mails WHERE account_id = ? AND notice = ? AND next_at IS NOT NULL"


@dataclass(frozen=True)
class Notice:
    """One kind of notice to one account; ``muted``: it is switched off."""

    account_id: int
    kind: str
    muted: bool

    @property
    def words(self) -> str:
        """What it is called."""
        return NOTICES[self.kind]


def prepare(rt: Runtime) -> None:
    """Make the secret of the links, so that looking at one stores nothing."""
    instance_secret(rt, _SECRET)


def build_link(rt: Runtime, account_id: int, kind: str) -> str:
    """Return the address that switches notices of ``kind`` to the account off."""
    ((uuid,),) = rt.db.rows("SELECT uuid FROM accounts WHERE id = ?", (account_id,))
    return f"{rt.config.base_url}/notices/{kind}.{uuid}.{_compute_signature(rt, kind, uuid)}"


def find(rt: Runtime, token: str) -> Notice | None:
    """Return the notice that the last part of a link stands for, or None."""
    found = _TOKEN.fullmatch(token)
    if found is None or found[1] not in NOTICES or not is_uuid(found[2]):
        return None
    kind, uuid, seal = found.groups()
    if not hmac.compare_digest(seal, _compute_signature(rt, kind, uuid)):
        return None
    account = rt.db.row("SELECT id FROM accounts WHERE uuid = ?", (uuid,))
    return Notice(account[0], kind, is_muted(rt, account[0], kind)) if account else None


def is_muted(rt: Runtime, account_id: int, kind: str) -> bool:
    """Return whether notices of ``kind`` to the account are switched off."""
    return rt.db.row(_IS_MUTED, (account_id, kind)) is not None


def list_muted(rt: Runtime, account_id: int) -> list[str]:
    """Return the kinds of notices that the account has switched off."""
    return [kind for (kind,) in rt.db.rows(_ALL_MUTED, (account_id,))]


def mute(rt: Runtime, notice: Notice) -> None:
    """Switch ``notice`` off, also what waits to be sent. Doing it again changes nothing."""
    with rt.db.write():
        rt.db.execute(_MUTE, (notice.account_id, notice.kind, rt.clock()))
        rt.db.execute(_DELETE_QUEUED, (notice.account_id, notice.kind))


def unmute(rt: Runtime, notice: Notice) -> None:
    """Switch ``notice`` on again."""
    with rt.db.write():
        rt.db.execute(_UNMUTE, (notice.account_id, notice.kind))


def _compute_signature(rt: Runtime, kind: str, uuid: str) -> str:
    return hmac.digest(instance_secret(rt, _SECRET), f"{kind} {uuid}".encode(), hashlib.sha256)[:20].hex()
