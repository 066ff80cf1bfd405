"""Mails: written into the outbox in the transaction of what they tell, sent by a job.

Without a mail server they stay in the outbox for the operator to read. Nothing that answers a request ever waits for
one that is configured.
"""

from datetime import UTC, datetime
from email import policy
from email.headerregistry import BaseHeader, HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage
from email.policy import Policy
from email.utils import format_datetime, parseaddr
from typing import Any, NamedTuple
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

RETENTION_MS = 30 * DAY
_BATCH_MAILS = 20
_MAX_LISTED = 500
_HEADERS = HeaderRegistry()
# Links stay whole: the encoding that breaks long lines would tear them for whoever reads the source.
_POLICY = policy.default.clone(max_line_length=200, header_factory=_HEADERS)


class _ListUnsubscribe(UnstructuredHeader, BaseHeader):
    """The header with its address whole: the library would break a long one into encoded words, which no program
    reads."""

    def fold(self, *, policy: Policy) -> str:
        return f"{self.name}: {self}{policy.linesep}"


_HEADERS.map_to_type("list-unsubscribe", _ListUnsubscribe)


class MailRow(NamedTuple):
    """One mail of the outbox. Times in milliseconds; ``next_at`` None once it needs no (further) attempt; ``notice``
    what kind of notice it is to the account ``account_id``, both None for other mails."""

    id: int
    uuid: str
    recipient: str
    subject: str
    body: str
    created_at: int
    attempts: int
    next_at: int | None
    sent_at: int | None
    failed_at: int | None
    error: str | None
    account_id: int | None
    notice: str | None


_COLUMNS = ", ".join(MailRow._fields)
_SELECT = f"SELECT {_COLUMNS} FROM mails"  # noqa: S608 - columns from the row
_IS_RETAINED = "(created_at > ? OR next_at IS NOT NULL)"  # the job that deletes the others comes once an hour
_ADD = (
    "INSERT INTO mails "
    "(uuid, file_id, recipient, subject, body, created_at, next_at, gathers_until, account_id, notice) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_SELECT_GATHERING = "SELECT id, created_at FROM mails WHERE file_id = ? AND recipient = ? AND gathers_until > ?"
_REWRITE = "UPDATE mails SET subject = ?, body = ? WHERE id = ?"
# What is about a file in the trash waits there with it: a restore lets it go on, a purge destroys it.
_FILE_NOT_TRASHED = "NOT EXISTS (SELECT 1 FROM files f WHERE f.id = mails.file_id AND f.trashed_at IS NOT NULL)"
_DUE = f"{_SELECT} WHERE next_at <= ? AND {_FILE_NOT_TRASHED} ORDER BY next_at LIMIT ?"
_CLAIM = (
    "UPDATE mails SET attempts = attempts + 1, next_at = ? "  # noqa: S608 - words from above
    f"WHERE id = ? AND attempts = ? AND next_at IS NOT NULL AND {_FILE_NOT_TRASHED}"
)
_MARK_SENT = "UPDATE mails SET sent_at = ?, next_at = NULL, error = NULL WHERE id = ?"
_MARK_FAILED = "UPDATE mails SET next_at = ?, failed_at = ?, error = ? WHERE id = ?"


def enqueue(
    rt: Runtime,
    recipient: str,
    subject: str,
    body: str,
    *,
    file_id: int | None = None,
    gathers_ms: int | None = None,
    notice: tuple[int, str] | None = None,
) -> None:
    """Write a mail into the outbox, inside the caller's transaction; nothing where it is a notice that its account has
    switched off.

    Parameters: ``recipient`` one address; ``subject`` may hold names of documents and people, whatever is in them;
    ``body`` plain text; ``file_id`` what it is about; ``gathers_ms`` how long it waits for more to tell, see
    ``gathering``; ``notice`` the id of the account and the kind of notice, of ``muting.NOTICES``.
    """
    if notice is not None and unsubscribe.is_muted(rt, *notice):
        return
    now = rt.clock()
    gathers_until = None if gathers_ms is None else now + gathers_ms
    next_at = (gathers_until or now) if rt.mailer.configured else None
    row = (rt.uuid(), file_id, recipient, rules.sanitize_header(subject), body, now, next_at, gathers_until)
    rt.db.execute(_ADD, (*row, *(notice or (None, None))))


def find_gathering(rt: Runtime, recipient: str, file_id: int) -> tuple[int, int] | None:
    """The id of the mail about the file ``file_id`` that still waits for more to tell, and when it was begun (ms), or
    None."""
    found = rt.db.row(_SELECT_GATHERING, (file_id, recipient, rt.clock()))
    return found and (found[0], found[1])


def rewrite(rt: Runtime, mail_id: int, subject: str, body: str) -> None:
    """Let the waiting mail ``mail_id`` say something else, inside the caller's transaction."""
    rt.db.execute(_REWRITE, (rules.sanitize_header(subject), body, mail_id))


def send_due(rt: Runtime) -> int:
    """Hand the mails that are due to the mail server, one after the other; returns how many it took."""
    if not rt.mailer.configured:
        return 0
    sent = 0
    for found in rt.db.rows(_DUE, (rt.clock(), _BATCH_MAILS)):
        sent += _attempt_delivery(rt, MailRow._make(found))
    return sent


def send_test(rt: Runtime, recipient: str) -> None:
    """Hand a short mail to the mail server now, past the outbox. Raises ``Undelivered``."""
    body = f"This is a test mail of the docshare server at {rt.config.base_url}\n"
    row = MailRow(0, rt.uuid(), recipient, "Test mail of docshare", body, rt.clock(), 0, *[None] * 6)
    rt.mailer.send(_compose(rt, row))


def delete_expired(rt: Runtime) -> int:
    """Remove mails that were written 30 days ago; returns how many."""
    with rt.db.write():
        return rt.db.execute("DELETE FROM mails WHERE created_at <= ? AND next_at IS NULL", (_retention_start(rt),))


def list_outbox(rt: Runtime) -> list[dict[str, Any]]:
    """The newest 500 mails, newest first, without their texts."""
    found = rt.db.rows(f"{_SELECT} WHERE {_IS_RETAINED} ORDER BY id DESC LIMIT {_MAX_LISTED}", (_retention_start(rt),))
    return [_describe(MailRow._make(row)) for row in found]


def show(rt: Runtime, uuid: str) -> dict[str, Any]:
    """The mail ``uuid`` with its whole ``message`` as it is sent. Raises ``not_found``."""
    found = (
        rt.db.row(f"{_SELECT} WHERE {_IS_RETAINED} AND uuid = ?", (_retention_start(rt), uuid.lower()))
        if is_uuid(uuid)
        else None
    )
    if found is None:
        detail = f"There is no mail '{uuid}' in the outbox."
        raise Problem("not_found", detail, hint="List them: docshare admin outbox list")
    row = MailRow._make(found)
    return {**_describe(row), "message": _build_message(rt, row).as_string()}


def _retention_start(rt: Runtime) -> int:
    """The moment (ms) up to which mails are forgotten that need no attempt any more."""
    return rt.clock() - RETENTION_MS


def _attempt_delivery(rt: Runtime, row: MailRow) -> bool:
    """One attempt. It is booked before the mail server is asked, so that a crash in between sends at most twice."""
    now = rt.clock()
    with rt.db.write():
        if rt.db.execute(_CLAIM, (rules.next_attempt_at(row.attempts + 1, now), row.id, row.attempts)) == 0:
            return False
    try:
        rt.mailer.send(_compose(rt, row))
    except MailNotDelivered as error:
        _record_failure(rt, row, error)
        return False
    with rt.db.write():
        rt.db.execute(_MARK_SENT, (rt.clock(), row.id))
    return True


def _record_failure(rt: Runtime, row: MailRow, error: MailNotDelivered) -> None:
    now = rt.clock()
    next_at = None if error.lasting else rules.next_attempt_at(row.attempts + 1, now)
    with rt.db.write():
        rt.db.execute(_MARK_FAILED, (next_at, None if next_at else now, str(error), row.id))
    LOGGER.warning("mail not delivered", extra={"mail": row.uuid, "attempt": row.attempts + 1, "error": str(error)})


def _compose(rt: Runtime, row: MailRow) -> EmailMessage:
    try:
        return _build_message(rt, row)
    except ValueError as error:  # the library refuses to put it into a header, and will again
        raise MailNotDelivered(f"the mail cannot be written: {error}", lasting=True) from error


def _build_message(rt: Runtime, row: MailRow) -> EmailMessage:
    sender = rt.config.mail_from or f"docshare <docshare@{urlsplit(rt.config.base_url).hostname or 'localhost'}>"
    message = EmailMessage(_POLICY)
    message["From"] = sender
    message["To"] = row.recipient
    message["Subject"] = row.subject
    # When it is handed over, not when it was written: it may have waited for a mail server that was down.
    message["Date"] = format_datetime(datetime.fromtimestamp((row.sent_at or rt.clock()) / 1000, UTC))
    message["Message-ID"] = f"<{row.uuid}@{parseaddr(sender)[1].rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    body = row.body
    if row.account_id is not None and row.notice is not None:
        off = unsubscribe.build_link(rt, row.account_id, row.notice)
        message["List-Unsubscribe"] = f"<{off}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        body = f"{body.rstrip()}\n\nSwitch these mails off: {off}\n"
    message.set_content(body)
    message.add_alternative(rules.render_html(row.subject, body, rt.config.base_url), subtype="html")
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
