"""The outbox: mails that are pending, sent, or failed."""

from typing import Any, NamedTuple

from peewee import SQL, CompositeKey, ForeignKeyField, IntegerField, TextField, fn

from docshare.server.store.database import Store
from docshare.server.store.database_file import DatabaseFile
from docshare.server.store.tables.accounts import Account
from docshare.server.store.tables.base import BatchedTable, QueueState, Row, SequenceField
from docshare.server.store.tables.files import File


class MutedNotice(Row):
    """A kind of notice that the account has switched off."""

    account = ForeignKeyField(Account, on_delete="CASCADE", index=False)
    notice = TextField()
    muted_at = IntegerField()

    class Meta:
        table_name = "muted_notices"
        primary_key = CompositeKey("account", "notice")
        without_rowid = True


class Mail(BatchedTable, Row):
    id = SequenceField()
    uuid = TextField(unique=True)
    file = ForeignKeyField(File, null=True, on_delete="CASCADE", index=False)
    recipient = TextField()
    subject = TextField()
    body = TextField()
    created_at = IntegerField()
    attempts = IntegerField(default=0)
    next_at = IntegerField(null=True)  # None: sent or failed
    gathers_until = IntegerField(null=True)  # until when notices are added to it; None: it is complete
    sent_at = IntegerField(null=True)
    failed_at = IntegerField(null=True)
    error = TextField(null=True)
    # the account of a notice; None for other mails
    account = ForeignKeyField(Account, null=True, on_delete="CASCADE", index=False)
    notice = TextField(null=True)

    class Meta:
        table_name = "mails"
        indexes = (
            SQL("CREATE INDEX mails_account ON mails(account_id) WHERE account_id IS NOT NULL"),
            SQL("CREATE INDEX mails_due ON mails(next_at) WHERE next_at IS NOT NULL"),
            SQL("CREATE INDEX mails_file ON mails(file_id) WHERE file_id IS NOT NULL"),
        )


class MailRow(NamedTuple):
    """A mail of the outbox. Times in milliseconds; ``next_at`` is None once it needs no further attempt; ``notice`` is
    the kind of notice to the account ``account_id``, both None for other mails; ``file_id`` of its file."""

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
    file_id: int | None


_SELECT_LATE = """
SELECT COUNT(*) FROM mails m LEFT JOIN files f ON f.id = m.file_id LEFT JOIN accounts a ON a.id = m.account_id
WHERE m.next_at <= ? AND f.trashed_at IS NULL AND f.frozen_at IS NULL AND a.disabled_at IS NULL
"""
_CANCEL_PENDING = (
    "UPDATE mails SET next_at = NULL, gathers_until = NULL, failed_at = ?, error = 'held back by a restore' "
    "WHERE next_at IS NOT NULL"
)


def insert(
    store: Store,
    uuid: str,
    recipient: str,
    subject: str,
    body: str,
    *,
    file_id: int | None,
    notice: tuple[int, str] | None,
    now: int,
    next_at: int | None,
    gathers_until: int | None,
) -> None:
    """Insert a mail. ``notice`` is the id of the account and the kind of notice."""
    account_id, kind = notice or (None, None)
    query = Mail.insert(
        uuid=uuid,
        file=file_id,
        recipient=recipient,
        subject=subject,
        body=body,
        created_at=now,
        next_at=next_at,
        gathers_until=gathers_until,
        account=account_id,
        notice=kind,
    )
    store.execute(query)


def find_gathering(store: Store, file_id: int, recipient: str, now: int) -> tuple[int, int] | None:
    """Return the id and the creation time (ms) of the mail about a file that still collects notices, or None."""
    query = Mail.select(Mail.id, Mail.created_at)
    found = store.fetch_one(query.where(Mail.file == file_id, Mail.recipient == recipient, Mail.gathers_until > now))
    return (found[0], found[1]) if found else None


def rewrite(store: Store, mail_id: int, subject: str, body: str) -> None:
    """Replace the subject and the body of a mail."""
    store.execute(Mail.update(subject=subject, body=body).where(Mail.id == mail_id))


def delete(store: Store, mail_id: int) -> None:
    """Delete a mail."""
    store.execute(Mail.delete().where(Mail.id == mail_id))


def delete_notice(store: Store, file_id: int, notice: str, created_at: int) -> bool:
    """Delete the notice of one kind about a file that was created at ``created_at`` (ms). Return whether there was one
    that no attempt was made to send."""
    is_notice = (Mail.file == file_id) & (Mail.notice == notice) & (Mail.created_at == created_at)
    is_unsent = store.execute(Mail.delete().where(is_notice, Mail.attempts == 0)) > 0
    store.execute(Mail.delete().where(is_notice))
    return is_unsent


def list_due(store: Store, now: int, limit: int) -> list[MailRow]:
    """Return up to ``limit`` mails that are due and not held."""
    query = _select_mails().where(Mail.next_at <= now, ~_is_held()).order_by(Mail.next_at).limit(limit)
    return [MailRow._make(found) for found in store.fetch_all(query)]


def claim(store: Store, row: MailRow, next_at: int | None) -> MailRow | None:
    """Count an attempt and store when the next one is due; return the mail as it is now, or None if it was attempted,
    deleted or held back since ``row`` was read."""
    query = Mail.update({Mail.attempts: Mail.attempts + 1, Mail.next_at: next_at})
    is_due = (Mail.id == row.id) & (Mail.attempts == row.attempts) & Mail.next_at.is_null(False)
    if not store.execute(query.where(is_due, ~_is_held())):
        return None
    return MailRow._make(store.fetch_all(_select_mails().where(Mail.id == row.id))[0])


def _is_held() -> Any:
    # A mail about a file in the trash is kept with it: a restore releases it, a purge deletes it. One about a frozen
    # file waits for the end of the review, and a notice until its account is enabled.
    is_closed = File.trashed_at.is_null(False) | File.frozen_at.is_null(False)
    closed = File.select(File.id).where(File.id == Mail.file, is_closed)
    disabled = Account.select(Account.id).where(Account.id == Mail.account, Account.disabled_at.is_null(False))
    return fn.EXISTS(closed) | fn.EXISTS(disabled)


def mark_sent(store: Store, mail_id: int, now: int) -> None:
    """Store when a mail was sent."""
    store.execute(Mail.update(sent_at=now, next_at=None, error=None).where(Mail.id == mail_id))


def mark_failed(store: Store, mail_id: int, error: str, *, next_at: int | None, failed_at: int | None) -> None:
    """Store the error of an attempt, and either when the next one is due or when the mail failed for good."""
    store.execute(Mail.update(next_at=next_at, failed_at=failed_at, error=error).where(Mail.id == mail_id))


def readdress(store: Store, account_id: int, old: str, new: str, next_at: int | None) -> None:
    """Send the mails of an account to ``old`` that were not sent yet to ``new``; ``next_at`` is when those without a
    next attempt are due. An invitation to read a file keeps the address that its sender entered."""
    query = Mail.update({Mail.recipient: new, Mail.next_at: fn.COALESCE(Mail.next_at, next_at)})
    is_own = (Mail.account == account_id) | (Mail.account.is_null() & Mail.file.is_null())
    store.execute(query.where(Mail.recipient == old, Mail.sent_at.is_null(), Mail.failed_at.is_null(), is_own))


def delete_expired(store: Store, created_by: int) -> int:
    """Delete the mails created by ``created_by`` (ms) that need no further attempt; return how many."""
    return store.execute(Mail.delete().where(Mail.created_at <= created_by, Mail.next_at.is_null()))


def delete_unsent(store: Store, recipient: str) -> None:
    """Delete the mails to ``recipient`` that were not sent and are not about a file or a notice: links of accounts."""
    is_unsent = Mail.sent_at.is_null() & Mail.account.is_null() & Mail.file.is_null()
    store.execute(Mail.delete().where(Mail.recipient == recipient, is_unsent))


def list_newest(store: Store, created_after: int, limit: int) -> list[MailRow]:
    """Return the newest mails, newest first: those created after ``created_after`` (ms) and those still pending."""
    query = _select_mails().where(_is_retained(created_after)).order_by(Mail.id.desc()).limit(limit)
    return [MailRow._make(found) for found in store.fetch_all(query)]


def find(store: Store, uuid: str, created_after: int) -> MailRow | None:
    """Return the mail ``uuid``, or None; of the mails created by ``created_after`` (ms) only pending ones."""
    found = store.fetch_one(_select_mails().where(_is_retained(created_after), Mail.uuid == uuid))
    return MailRow._make(found) if found else None


def _select_mails() -> Any:
    return Mail.select(*(getattr(Mail, name) for name in MailRow._fields))


def _is_retained(created_after: int) -> Any:
    # The job that deletes the others runs once an hour.
    return (Mail.created_at > created_after) | Mail.next_at.is_null(False)


def delete_pending(store: Store, account_id: int, notice: str) -> None:
    """Delete the pending notices of one kind to an account."""
    is_of_kind = (Mail.account == account_id) & (Mail.notice == notice)
    store.execute(Mail.delete().where(is_of_kind, Mail.next_at.is_null(False)))


def get_queue(store: Store) -> QueueState:
    """Return the state of the outbox, read from the index of pending mails, without those that are held."""
    query = Mail.select(fn.COUNT(Mail.id), fn.MIN(Mail.created_at), fn.MIN(Mail.next_at))
    return QueueState._make(store.fetch_all(query.where(Mail.next_at.is_null(False), ~_is_held()))[0])


def count_late(store: Store | DatabaseFile, due_before: int) -> int:
    """Return how many mails were due by ``due_before`` (ms) and are still pending, without those that are held."""
    ((count,),) = store.fetch_all(_SELECT_LATE, (due_before,))
    return int(count)


def count_failed(store: Store | DatabaseFile, failed_after: int) -> int:
    """Return how many mails failed for good after ``failed_after`` (ms)."""
    ((count,),) = store.fetch_all("SELECT COUNT(*) FROM mails WHERE failed_at > ?", (failed_after,))
    return int(count)


def cancel_pending(database: DatabaseFile, now: int) -> None:
    """Store for all pending mails that a restore held them back. Works at every step of the schema."""
    if database.has_table("mails"):
        database.execute(_CANCEL_PENDING, (now,))


def is_muted(store: Store, account_id: int, notice: str) -> bool:
    """Return whether an account gets no notices of one kind: it has switched them off, or it is disabled."""
    is_switched_off = fn.EXISTS(MutedNotice.select(MutedNotice.notice).where(_is_notice(account_id, notice)))
    query = Account.select().where(Account.id == account_id, is_switched_off | Account.disabled_at.is_null(False))
    return bool(query.exists(store.engine))


def list_muted(store: Store, account_id: int) -> list[str]:
    """Return the kinds of notices that an account has switched off."""
    query = MutedNotice.select(MutedNotice.notice).where(MutedNotice.account == account_id)
    return [notice for (notice,) in store.fetch_all(query.order_by(MutedNotice.notice))]


def mute(store: Store, account_id: int, notice: str, now: int) -> None:
    """Turn one kind of notice to an account off; repeating this keeps the first date."""
    store.execute(MutedNotice.insert(account=account_id, notice=notice, muted_at=now).on_conflict_ignore())


def unmute(store: Store, account_id: int, notice: str) -> None:
    """Turn one kind of notice to an account on again."""
    store.execute(MutedNotice.delete().where(_is_notice(account_id, notice)))


def _is_notice(account_id: int, notice: str) -> Any:
    return (MutedNotice.account == account_id) & (MutedNotice.notice == notice)
