"""Mails to the owner about their readers: ``notifyOnView`` and ``notifyOnComment``.

Of views, at most one mail an hour for each file; notes of five minutes are told in one. The label of a
variant is in no mail: redaction must reach it wherever it is kept, and a mail that was sent is out of reach.
"""

from typing import NamedTuple

from docshare.contract.limits import HOUR, MINUTE
from docshare.contract.plans import Plan
from docshare.contract.settings import SETTINGS
from docshare.server.runtime import Runtime
from docshare.server.services.operations import mail, unsubscribe
from docshare.server.services.readership.readers import IDENTITY, JOIN_VIEWER

VIEW_MAIL_INTERVAL_MS = HOUR
NOTE_MAIL_DELAY_MS = 5 * MINUTE
_MAX_NOTES_PER_MAIL = 20  # in one mail; of more it tells how many

_OWNER = (
    "SELECT a.id, f.uuid, f.original_name, f.notified_at, f.view_count - f.notified_views, a.email, a.plan, "
    "f.settings ->> 'notifyOnView' IS 1, f.settings ->> 'notifyOnComment' IS 1 "
    "FROM files f JOIN accounts a ON a.id = f.owner_id WHERE f.id = ?"
)
_READER = "SELECT variant_id IS NOT NULL, country, email FROM view_sessions WHERE id = ?"
_SINCE = "WHERE r.file_id = ? AND r.created_at >= ?"
_NOTES = (
    f"SELECT r.author, {IDENTITY}, r.body, r.page, r.public FROM notes r {JOIN_VIEWER} {_SINCE} "  # noqa: S608 - fixed
    f"ORDER BY r.id LIMIT {_MAX_NOTES_PER_MAIL}"
)
_COUNT_NOTES = f"SELECT COUNT(*) FROM notes r {_SINCE}"  # noqa: S608 - fixed
_MARK_NOTIFIED = "UPDATE files SET notified_at = ?, notified_views = view_count WHERE id = ?"


class MailedNote(NamedTuple):
    """A note as a mail tells it. Anybody can sign as anybody, so beside the ``author`` stands the ``identity`` of who
    left it, None where nobody is known any more; ``page`` of the document, None for a note about all of it;
    ``public`` whether other readers see it."""

    author: str
    identity: str | None
    body: str
    page: int | None
    public: bool

    @property
    def who(self) -> str:
        """The name and the identity."""
        return f"{self.author} ({self.identity})" if self.identity else self.author


class _FileOwner(NamedTuple):
    account_id: int
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


def notify_view(rt: Runtime, file_id: int, session_id: int, now: int) -> None:
    """Tell the owner that somebody reads the file ``file_id``, if they want to know, in the caller's transaction."""
    owner = _find_owner(rt, file_id)
    if owner is None or not owner.wants("notifyOnView", owner.of_views):
        return
    since = owner.notified_at
    if since is not None and now - since < VIEW_MAIL_INTERVAL_MS:
        return
    told = since is not None and owner.views_since > 1
    others = f" {owner.views_since} readers since the last mail about it." if told else ""
    news = f'{_describe_reader(rt, session_id)} reading "{owner.document}" now.{others}'
    body = f"{news}\n\n{_format_report_link(rt, owner)}"
    body += "You get at most one such mail an hour for each document.\nThe setting is called notifyOnView.\n"
    mail.enqueue(
        rt,
        owner.email,
        f'Somebody reads "{owner.document}"',
        body,
        file_id=file_id,
        notice=(owner.account_id, unsubscribe.VIEWS),
    )
    rt.db.execute(_MARK_NOTIFIED, (now, file_id))


def notify_note(rt: Runtime, file_id: int, note: MailedNote) -> None:
    """Tell the owner of a new ``note`` on the file ``file_id``, if they want to know, in the caller's transaction.

    A mail about notes waits for five minutes; what is left meanwhile, and is not taken back, is told in the same one.
    """
    owner = _find_owner(rt, file_id)
    if owner is None or not owner.wants("notifyOnComment", owner.of_notes):
        return
    waiting = mail.find_gathering(rt, owner.email, file_id)
    if waiting is None:
        subject, body = _compose_notes_mail(rt, owner, [note], 1)
        notice = (owner.account_id, unsubscribe.COMMENTS)
        mail.enqueue(rt, owner.email, subject, body, file_id=file_id, gathers_ms=NOTE_MAIL_DELAY_MS, notice=notice)
        return
    mail_id, begun_at = waiting
    notes = [MailedNote._make(found) for found in rt.db.rows(_NOTES, (file_id, begun_at))]
    ((how_many,),) = rt.db.rows(_COUNT_NOTES, (file_id, begun_at))
    mail.rewrite(rt, mail_id, *_compose_notes_mail(rt, owner, notes, how_many))


def _compose_notes_mail(rt: Runtime, owner: _FileOwner, notes: list[MailedNote], how_many: int) -> tuple[str, str]:
    """The subject and the text of a mail that tells of ``how_many`` notes: the first of them, ``notes``, whole."""
    told = "".join(_format_note(note, owner.document) for note in notes)
    more = f"And {how_many - len(notes)} more.\n\n" if how_many > len(notes) else ""
    left = f"{notes[0].who} left a note" if how_many == 1 else f"{how_many} notes were left"
    return f'{left} on "{owner.document}"', told + more + _format_report_link(rt, owner)


def _format_note(note: MailedNote, document: str) -> str:
    where = f"page {note.page} of " if note.page is not None else ""
    kind = "a public note" if note.public else "a note for you alone"
    quoted = "\n".join(f"    {line}" for line in note.body.splitlines())
    return f'{note.who} left {kind} on {where}"{document}":\n\n{quoted}\n\n'


def _find_owner(rt: Runtime, file_id: int) -> _FileOwner | None:
    found = rt.db.row(_OWNER, (file_id,))
    return _FileOwner._make(found) if found else None


def _describe_reader(rt: Runtime, session_id: int) -> str:
    found = rt.db.row(_READER, (session_id,))
    through_variant, country, email = found or (False, None, None)
    who = email or "Somebody"
    place = f" ({country})" if country else ""
    way = ", through a link of their own," if through_variant else ""
    return f"{who}{place}{way} is"


def _format_report_link(rt: Runtime, owner: _FileOwner) -> str:
    return f"Who read what: {rt.config.base_url}/readership/{owner.uuid}\n\n"
