"""Turn notices off, by the link at the end of each: it is valid for one account and one kind of notice.

The link is the credential: mail programs follow it with a single POST, without a session. It can switch its notice off
and on again, and nothing else.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass

from docshare.contract.fields import is_uuid
from docshare.server.runtime import Runtime
from docshare.server.services.operations.secrets import instance_secret
from docshare.server.store.tables import accounts
from docshare.server.store.tables import mail as mail_rows

VIEWS, COMMENTS, WEBHOOKS = "views", "comments", "webhooks"
NOTICES = {
    VIEWS: "emails about readers of your documents",
    COMMENTS: "emails about new notes on your documents",
    WEBHOOKS: "emails about webhooks that were disabled",
}
"""The kinds of notices, and the name of each."""

_SECRET = "notice-link-1"  # noqa: S105 - a name
_TOKEN = re.compile(r"([a-z]+)\.([0-9a-f-]{36})\.([0-9a-f]{40})", re.ASCII)


@dataclass(frozen=True)
class Notice:
    """One kind of notice to one account; ``is_muted``: the account has switched it off."""

    account_id: int
    kind: str
    is_muted: bool

    @property
    def label(self) -> str:
        """Return the name of this kind."""
        return NOTICES[self.kind]


def prepare(rt: Runtime) -> None:
    """Create the secret of the links, so that opening one stores nothing."""
    instance_secret(rt, _SECRET)


def build_link(rt: Runtime, account_id: int, kind: str) -> str:
    """Return the address that switches notices of ``kind`` to the account off."""
    uuid = accounts.get_uuid(rt.db, account_id)
    return f"{rt.config.base_url}/notices/{kind}.{uuid}.{_compute_signature(rt, kind, uuid)}"


def find(rt: Runtime, token: str) -> Notice | None:
    """Return the notice of a link, given the last part of its address, or None."""
    found = _TOKEN.fullmatch(token)
    if found is None or found[1] not in NOTICES or not is_uuid(found[2]):
        return None
    kind, uuid, signature = found.groups()
    if not hmac.compare_digest(signature, _compute_signature(rt, kind, uuid)):
        return None
    account_id = accounts.find_id(rt.db, uuid)
    return None if account_id is None else Notice(account_id, kind, is_muted(rt, account_id, kind))


def is_muted(rt: Runtime, account_id: int, kind: str) -> bool:
    """Return whether notices of ``kind`` to the account are switched off."""
    return mail_rows.is_muted(rt.db, account_id, kind)


def list_muted(rt: Runtime, account_id: int) -> list[str]:
    """Return the kinds of notices that the account has switched off."""
    return mail_rows.list_muted(rt.db, account_id)


def mute(rt: Runtime, notice: Notice) -> None:
    """Switch ``notice`` off and delete the pending mails of that kind. Muting again changes nothing; neither does it if
    the account was deleted meanwhile."""
    with rt.db.write():
        if accounts.find_by_id(rt.db, notice.account_id) is None:
            return
        mail_rows.mute(rt.db, notice.account_id, notice.kind, rt.clock())
        mail_rows.delete_pending(rt.db, notice.account_id, notice.kind)


def unmute(rt: Runtime, notice: Notice) -> None:
    """Switch ``notice`` on again."""
    with rt.db.write():
        mail_rows.unmute(rt.db, notice.account_id, notice.kind)


def _compute_signature(rt: Runtime, kind: str, uuid: str) -> str:
    return hmac.digest(instance_secret(rt, _SECRET), f"{kind} {uuid}".encode(), hashlib.sha256)[:20].hex()
