"""Write mails to the outbox, in the transaction of the change they report; a job sends them.

Mails stay in the outbox, where the operator can read them, until a mail server is configured and the owner has set a
real address. A request never waits for a mail server.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email import policy
from email.headerregistry import BaseHeader, HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage
from email.policy import Policy
from email.utils import format_datetime, parseaddr
from typing import Any
from urllib.parse import urlsplit

from docshare.contract.fields import is_uuid
from docshare.contract.plans import DAY
from docshare.contract.problems import Problem
from docshare.contract.wire import drop_none, format_instant
from docshare.server.logs import LOGGER
from docshare.server.outbound.mail import MailNotDelivered
from docshare.server.rules import mails as rules
from docshare.server.runtime import Runtime
from docshare.server.services.operations import unsubscribe
from docshare.server.store.tables import mail as mail_rows
from docshare.server.store.tables.mail import MailRow as MailRow

RETENTION_MS = 30 * DAY
_BATCH_MAILS = 20
_MAX_LISTED = 500
_IMAGE_ID = "logo@docshare"
_HEADERS = HeaderRegistry()
# Long lines keep links intact: with a shorter limit, the library would encode and break them.
_POLICY = policy.default.clone(max_line_length=200, header_factory=_HEADERS)


@dataclass(frozen=True)
class InlineImage:
    """An image that is part of a mail."""

    content: bytes
    mime_type: str


ImageFinder = Callable[[Runtime, MailRow], InlineImage | None]


class _ListUnsubscribe(UnstructuredHeader, BaseHeader):
    """The header List-Unsubscribe on one line: the library would break a long address into encoded words, which mail
    programs do not read."""

    def fold(self, *, policy: Policy) -> str:
        """Return the header with its whole value on one line."""
        return f"{self.name}: {self}{policy.linesep}"


_HEADERS.map_to_type("list-unsubscribe", _ListUnsubscribe)


def enqueue(
    rt: Runtime,
    recipient: str,
    subject: str,
    body: str,
    *,
    file_id: int | None = None,
    gathers_ms: int | None = None,
    notice: tuple[int, str] | None = None,
    at: int | None = None,
) -> None:
    """Write a mail into the outbox, in the caller's transaction, unless it is a notice that its account has turned
    off.

    Parameters: ``recipient`` one address; ``subject`` may contain names of documents and people with any characters;
    ``body`` plain text; ``file_id`` of the file it is about; ``gathers_ms`` how long it waits for more events, see
    ``find_gathering``; ``notice`` the id of the account and the kind of notice, a key of ``unsubscribe.NOTICES``;
    ``at`` the moment (ms) of the first event it is about, None for now.
    """
    if notice is not None and unsubscribe.is_muted(rt, *notice):
        return
    now = rt.clock() if at is None else at
    gathers_until = None if gathers_ms is None else now + gathers_ms
    can_send = rt.mailer.is_configured and not rules.is_placeholder(recipient)
    next_at = (gathers_until or now) if can_send else None
    mail_rows.insert(
        rt.db,
        rt.random_uuid(),
        recipient,
        rules.sanitize_header(subject),
        body,
        file_id=file_id,
        notice=notice,
        now=now,
        next_at=next_at,
        gathers_until=gathers_until,
    )


def is_unreachable(rt: Runtime, email: str) -> bool:
    """Return whether mails to ``email`` wait although a mail server is configured: its owner has not set an address."""
    return rt.mailer.is_configured and rules.is_placeholder(email)


def find_gathering(rt: Runtime, recipient: str, file_id: int) -> tuple[int, int] | None:
    """Return the id and the creation time (ms) of the mail about the file ``file_id`` that still waits for more events,
    or None."""
    return mail_rows.find_gathering(rt.db, file_id, recipient, rt.clock())


def rewrite(rt: Runtime, mail_id: int, subject: str, body: str) -> None:
    """Replace the subject and the body of the waiting mail ``mail_id``, in the caller's transaction."""
    mail_rows.rewrite(rt.db, mail_id, rules.sanitize_header(subject), body)


def discard(rt: Runtime, mail_id: int) -> None:
    """Delete the waiting mail ``mail_id``, in the caller's transaction."""
    mail_rows.delete(rt.db, mail_id)


def discard_notice(rt: Runtime, file_id: int, notice: str, at: int) -> bool:
    """Delete the notice of that kind about the file ``file_id`` that was enqueued ``at`` (ms), sent or not, in the
    caller's transaction. Return whether there was one that no attempt was made to send."""
    return mail_rows.delete_notice(rt.db, file_id, notice, at)


def send_due(rt: Runtime, find_image: ImageFinder | None = None) -> int:
    """Send the mails that are due, one after the other; return how many the mail server accepted.

    Parameters: ``find_image`` returns the image above the text of a mail, or None.
    """
    if not rt.mailer.is_configured:
        return 0
    return sum(_attempt_delivery(rt, due, find_image) for due in mail_rows.list_due(rt.db, rt.clock(), _BATCH_MAILS))


def send_test(rt: Runtime, recipient: str) -> None:
    """Send a short mail now, without the outbox. Raises MailNotDelivered."""
    body = f"This is a test email from the docshare server at {rt.config.base_url}\n"
    row = MailRow(0, rt.random_uuid(), recipient, "Test email from docshare", body, rt.clock(), 0, *[None] * 7)
    rt.mailer.send(_compose(rt, row))


def delete_expired(rt: Runtime) -> int:
    """Delete the mails that are 30 days old and need no further attempt; return how many."""
    with rt.db.write():
        return mail_rows.delete_expired(rt.db, _retention_start(rt))


def list_outbox(rt: Runtime) -> list[dict[str, Any]]:
    """Return the newest 500 mails, newest first, without their bodies."""
    return [_describe(row) for row in mail_rows.list_newest(rt.db, _retention_start(rt), _MAX_LISTED)]


def show(rt: Runtime, uuid: str, find_image: ImageFinder | None = None) -> dict[str, Any]:
    """Return the mail ``uuid`` with the whole ``message`` as it is sent; ``find_image`` as in ``send_due``. Raises
    ``not_found``."""
    row = mail_rows.find(rt.db, uuid.lower(), _retention_start(rt)) if is_uuid(uuid) else None
    if row is None:
        detail = f"There is no mail '{uuid}' in the outbox."
        raise Problem("not_found", detail, hint="List them: docshare admin outbox list")
    return {**_describe(row), "message": _build_message(rt, row, find_image).as_string()}


def _retention_start(rt: Runtime) -> int:
    """Return the moment (ms) up to which mails that need no further attempt are deleted."""
    return rt.clock() - RETENTION_MS


def _attempt_delivery(rt: Runtime, due: MailRow, find_image: ImageFinder | None) -> bool:
    """Attempt to send a mail; return whether the mail server accepted it.

    The attempt is stored before it begins, so that a mail is sent at most twice after a crash. Its address may have
    changed since it was listed, because the mails before it may have taken minutes.
    """
    now = rt.clock()
    with rt.db.write():
        row = mail_rows.claim(rt.db, due, rules.next_attempt_at(due.attempts + 1, now))
    if row is None:
        return False
    try:
        rt.mailer.send(_compose(rt, row, find_image))
    except MailNotDelivered as error:
        _record_failure(rt, row, error)
        return False
    with rt.db.write():
        mail_rows.mark_sent(rt.db, row.id, rt.clock())
    return True


def _record_failure(rt: Runtime, row: MailRow, error: MailNotDelivered) -> None:
    now = rt.clock()
    next_at = None if error.is_permanent else rules.next_attempt_at(row.attempts, now)
    with rt.db.write():
        mail_rows.mark_failed(rt.db, row.id, str(error), next_at=next_at, failed_at=None if next_at else now)
    LOGGER.warning("mail not delivered", extra={"mail": row.uuid, "attempt": row.attempts, "error": str(error)})


def _compose(rt: Runtime, row: MailRow, find_image: ImageFinder | None = None) -> EmailMessage:
    try:
        return _build_message(rt, row, find_image)
    except ValueError as error:  # the library rejects a header, and would at every attempt
        raise MailNotDelivered(f"the mail cannot be composed: {error}", is_permanent=True) from error


def _build_message(rt: Runtime, row: MailRow, find_image: ImageFinder | None = None) -> EmailMessage:
    sender = rt.config.mail_from or f"docshare <docshare@{urlsplit(rt.config.base_url).hostname or 'localhost'}>"
    message = EmailMessage(_POLICY)
    message["From"] = sender
    message["To"] = row.recipient
    message["Subject"] = row.subject
    # The date of the attempt, not that of the mail, because a mail may wait until the mail server is available.
    message["Date"] = format_datetime(datetime.fromtimestamp((row.sent_at or rt.clock()) / 1000, UTC))
    message["Message-ID"] = f"<{row.uuid}@{parseaddr(sender)[1].rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    body = row.body
    if row.account_id is not None and row.notice is not None:
        off = unsubscribe.build_link(rt, row.account_id, row.notice)
        message["List-Unsubscribe"] = f"<{off}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        body = f"{body.rstrip()}\n\nTurn these emails off: {off}\n"
    message.set_content(body)
    image = None if find_image is None else find_image(rt, row)
    html = rules.render_html(row.subject, body, rt.config.base_url, "" if image is None else _IMAGE_ID)
    message.add_alternative(html, subtype="html")
    if image is not None:
        # Part of the mail: an image that is loaded from a server would report when the mail is read.
        maintype, _, subtype = image.mime_type.partition("/")
        part = list(message.iter_parts())[-1]
        part.add_related(image.content, maintype, subtype, cid=f"<{_IMAGE_ID}>")
    return message


def _describe(row: MailRow) -> dict[str, Any]:
    return drop_none(
        {
            "uuid": row.uuid,
            "to": row.recipient,
            "subject": row.subject,
            "createdAt": format_instant(row.created_at),
            "state": rules.mail_state(row.attempts, row.next_at, row.sent_at),
            "attempts": row.attempts,
            "nextAttemptAt": None if row.next_at is None else format_instant(row.next_at),
            "sentAt": None if row.sent_at is None else format_instant(row.sent_at),
            "error": row.error,
        }
    )
