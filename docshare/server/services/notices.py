"""Mails to the owner about their readers: ``notifyOnView`` and ``notifyOnComment`` (section File settings).

Spec gap: of views, at most one mail an hour for each file. The label of a variant is in no mail: redaction must reach
it wherever it is kept, and a mail that was sent is out of reach.
"""

from typing import NamedTuple

from docshare.contract.limits import HOUR
from docshare.contract.plans import Plan
from docshare.contract.settings import SETTINGS
from docshare.server.runtime import Runtime
from docshare.server.services import mail

VIEWS_EVERY_MS = HOUR

_OWNER = (
    "SELECT f.uuid, f.original_name, f.notified_at, f.view_count - f.notified_views, a.email, a.plan, "
    "f.settings ->> 'notifyOnView' IS 1, f.settings ->> 'notifyOnComment' IS 1 "
    "FROM files f JOIN accounts a ON a.id = f.owner_id WHERE f.id = ?"
)
_READER = (
    "SELECT s.variant_id IS NOT NULL, s.country, IFNULL(i.email, v.email) FROM view_sessions s "
    "LEFT JOIN invites i ON i.id = s.invite_id LEFT JOIN viewers v ON v.id = s.viewer_id WHERE s.id = ?"
)
_NOTIFIED = "UPDATE files SET notified_at = ?, notified_views = view_count WHERE id = ?"


class _Owner(NamedTuple):
    uuid: str
    document: str
    notified_at: int | None
    views_since: int
    email: str
    plan: int
    of_views: int
    of_notes: int

    def wants(self, setting: str, switched_on: int) -> bool:
        return bool(switched_on) and Plan(self.plan) >= SETTINGS[setting].plan


def view_counted(rt: Runtime, file_id: int, session_id: int, now: int) -> None:
    """Tell the owner that somebody reads the file ``file_id``, if they want to know, in the caller's transaction."""
    owner = _owner(rt, file_id)
    if owner is None or not owner.wants("notifyOnView", owner.of_views):
        return
    since = owner.notified_at
    if since is not None and now - since < VIEWS_EVERY_MS:
        return
    told = since is not None and owner.views_since > 1
    others = f" {owner.views_since} readers since the last mail about it." if told else ""
    body = f'{_reader(rt, session_id)} reading "{owner.document}" now.{others}\n\n{_report(rt, owner)}'
    body += "You get at most one such mail an hour for each document.\nThe setting is called notifyOnView.\n"
    mail.enqueue(rt, owner.email, f'Somebody reads "{owner.document}"', body, file_id=file_id)
    rt.db.execute(_NOTIFIED, (now, file_id))


def note_left(rt: Runtime, file_id: int, *, author: str, body: str, page: int | None, public: bool) -> None:
    """Tell the owner of a new note on the file ``file_id``, if they want to know, in the caller's transaction.

    Parameters: ``page`` of the document, None for a note about all of it; ``public`` whether other readers see it.
    """
    owner = _owner(rt, file_id)
    if owner is None or not owner.wants("notifyOnComment", owner.of_notes):
        return
    where = f"page {page} of " if page is not None else ""
    kind = "a public note" if public else "a note for you alone"
    quoted = "\n".join(f"    {line}" for line in body.splitlines())
    text = f'{author} left {kind} on {where}"{owner.document}":\n\n{quoted}\n\n{_report(rt, owner)}'
    mail.enqueue(rt, owner.email, f'{author} left a note on "{owner.document}"', text, file_id=file_id)


def _owner(rt: Runtime, file_id: int) -> _Owner | None:
    found = rt.db.row(_OWNER, (file_id,))
    return _Owner._make(found) if found else None


def _reader(rt: Runtime, session_id: int) -> str:
    found = rt.db.row(_READER, (session_id,))
    through_variant, country, email = found or (False, None, None)
    who = email or "Somebody"
    place = f" ({country})" if country else ""
    way = ", through a link of their own," if through_variant else ""
    return f"{who}{place}{way} is"


def _report(rt: Runtime, owner: _Owner) -> str:
    return f"Who read what: {rt.config.base_url}/readership/{owner.uuid}\n\n"
