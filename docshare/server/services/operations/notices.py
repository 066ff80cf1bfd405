"""Mail the owner about their readers: ``notifyOnView`` and ``notifyOnComment``.

The owner gets at most one mail about views an hour for each file; one mail collects the notes of five minutes. A mail
never contains the label of a variant: a redaction cannot erase it from a mail that was sent.
"""

from docshare.contract.limits import HOUR, MINUTE
from docshare.contract.plans import Plan
from docshare.contract.settings import SETTINGS
from docshare.server.runtime import Runtime
from docshare.server.services.operations import mail, unsubscribe
from docshare.server.store.tables import feedback, files, sessions
from docshare.server.store.tables.feedback import MailedNote
from docshare.server.store.tables.files import NotifiedOwner

VIEW_MAIL_INTERVAL_MS = HOUR
NOTE_MAIL_DELAY_MS = 5 * MINUTE
_MAX_NOTES_PER_MAIL = 20  # a mail about more notes quotes the first ones and gives the number of the others


def notify_view(rt: Runtime, file_id: int, session_id: int, now: int) -> None:
    """Enqueue a mail that a reader opened the file ``file_id``, if its owner wants it, in the caller's transaction."""
    owner = files.find_notified_owner(rt.db, file_id)
    if owner is None or not _wants_mail(owner, "notifyOnView", owner.of_views):
        return
    since = owner.notified_at
    if since is not None and now - since < VIEW_MAIL_INTERVAL_MS:
        return
    has_others = since is not None and owner.views_since > 1
    others = f" {owner.views_since} readers since the last email about it." if has_others else ""
    news = f'{_describe_reader(rt, session_id)} reading "{owner.document}" now.{others}'
    body = f"{news}\n\n{_format_report_link(rt, owner)}"
    body += "You get at most one such email an hour for each document.\nThe setting is called notifyOnView.\n"
    mail.enqueue(
        rt,
        owner.email,
        f'Someone is reading "{owner.document}"',
        body,
        file_id=file_id,
        notice=(owner.account_id, unsubscribe.VIEWS),
        at=now,
    )
    files.mark_notified(rt.db, file_id, now)


def retract_view(rt: Runtime, file_id: int, viewed_at: int) -> None:
    """Delete the mail about a reader who opened the file ``file_id`` at ``viewed_at`` (ms), in the caller's
    transaction: it may still wait, and the outbox keeps sent mails. If no attempt was made to send it, the next reader
    causes a mail."""
    if mail.discard_notice(rt, file_id, unsubscribe.VIEWS, viewed_at):
        files.move_notice(rt.db, file_id, viewed_at, viewed_at - VIEW_MAIL_INTERVAL_MS)


def notify_note(rt: Runtime, file_id: int, note: MailedNote, now: int) -> None:
    """Enqueue a mail about a ``note`` that was added to the file ``file_id`` at ``now`` (ms), if its owner wants it, in
    the caller's transaction.

    A mail about notes waits for five minutes; it includes the notes that are added meanwhile and not deleted.
    """
    owner = files.find_notified_owner(rt.db, file_id)
    if owner is None or not _wants_mail(owner, "notifyOnComment", owner.of_notes):
        return
    gathering = mail.find_gathering(rt, owner.email, file_id)
    if gathering is None:
        subject, body = _compose_notes_mail(rt, owner, [note], 1)
        notice = (owner.account_id, unsubscribe.COMMENTS)
        mail.enqueue(
            rt, owner.email, subject, body, file_id=file_id, gathers_ms=NOTE_MAIL_DELAY_MS, notice=notice, at=now
        )
        return
    _rewrite_notes_mail(rt, owner, file_id, *gathering)


def retract_note(rt: Runtime, file_id: int) -> None:
    """Remove a note that its reader has just deleted from the mail that still waits for more notes, in the caller's
    transaction."""
    owner = files.find_notified_owner(rt.db, file_id)
    gathering = owner and mail.find_gathering(rt, owner.email, file_id)
    if owner and gathering:
        _rewrite_notes_mail(rt, owner, file_id, *gathering)


def _rewrite_notes_mail(rt: Runtime, owner: NotifiedOwner, file_id: int, mail_id: int, begun_at: int) -> None:
    """Rewrite the mail ``mail_id`` about the notes since ``begun_at`` (ms), or delete it if there are none any more."""
    notes = feedback.list_notes_since(rt.db, file_id, begun_at, _MAX_NOTES_PER_MAIL)
    if not notes:
        mail.discard(rt, mail_id)
        return
    count = feedback.count_notes_since(rt.db, file_id, begun_at)
    mail.rewrite(rt, mail_id, *_compose_notes_mail(rt, owner, notes, count))


def _wants_mail(owner: NotifiedOwner, setting: str, switched_on: int) -> bool:
    return bool(switched_on) and Plan(owner.plan) >= SETTINGS[setting].plan


def _compose_notes_mail(rt: Runtime, owner: NotifiedOwner, notes: list[MailedNote], count: int) -> tuple[str, str]:
    """Return the subject and the text of a mail about ``count`` notes; it quotes ``notes``, the first of them."""
    quoted = "".join(_format_note(note, owner.document) for note in notes)
    more = f"And {count - len(notes)} more.\n\n" if count > len(notes) else ""
    left = f"{notes[0].author_label} left a note" if count == 1 else f"{count} notes were left"
    return f'{left} on "{owner.document}"', quoted + more + _format_report_link(rt, owner)


def _format_note(note: MailedNote, document: str) -> str:
    where = f"page {note.page} of " if note.page is not None else ""
    kind = "a public note" if note.public else "a private note"
    quoted = "\n".join(f"    {line}" for line in note.body.splitlines())
    return f'{note.author_label} left {kind} on {where}"{document}":\n\n{quoted}\n\n'


def _describe_reader(rt: Runtime, session_id: int) -> str:
    through_variant, country, email = sessions.find_reader(rt.db, session_id) or (False, None, None)
    who = email or "Someone"
    place = f" ({country})" if country else ""
    way = ", through a personal link," if through_variant else ""
    return f"{who}{place}{way} is"


def _format_report_link(rt: Runtime, owner: NotifiedOwner) -> str:
    return f"Readership report: {rt.config.base_url}/readership/{owner.uuid}\n\n"
