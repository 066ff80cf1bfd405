"""The outbox: mails that are pending, sent, or failed."""

from typing import NamedTuple

from peewee import SQL, CompositeKey, ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
from docshare.server.store.database_file import DatabaseFile
from docshare.server.store.tables.accounts import Account
from docshare.server.store.tables.base import QueueState, Row, SequenceField
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


class Mail(Row):
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


_SELECT = f"SELECT {', '.join(MailRow._fields)} FROM mails"  # noqa: S608 - columns from the row
_IS_RETAINED = "(created_at > ? OR next_at IS NOT NULL)"  # the job that deletes the others runs once an hour
_INSERT = (
    "INSERT INTO mails "
    "(uuid, file_id, recipient, subject, body, created_at, next_at, gathers_until, account_id, notice) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_SELECT_GATHERING = "SELECT id, created_at FROM mails WHERE file_id = ? AND recipient = ? AND gathers_until > ?"
_SELECT_QUEUE = "SELECT COUNT(*), MIN(created_at), MIN(next_at) FROM mails WHERE next_at IS NOT NULL"
_CANCEL_PENDING = (
    "UPDATE mails SET next_at = NULL, gathers_until = NULL, failed_at = ?, error = 'held back by a restore' "
    "WHERE next_at IS NOT NULL"
)
_IS_MUTED = (
    "SELECT 1 FROM muted_notices WHERE account_id = ? AND notice = ? "
    "UNION ALL SELECT 1 FROM accounts WHERE id = ? AND disabled_at IS NOT NULL"
)
# A mail about a file in the trash is kept with it: a restore releases it, a purge deletes it.
_FILE_NOT_TRASHED = "NOT EXISTS (SELECT 1 FROM files f WHERE f.id = mails.file_id AND f.trashed_at IS NOT NULL)"
_CLAIM = (
    "UPDATE mails SET attempts = attempts + 1, next_at = ? "  # noqa: S608 - words from above
    f"WHERE id = ? AND attempts = ? AND next_at IS NOT NULL AND {_FILE_NOT_TRASHED}"
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
    row = (uuid, file_id, recipient, subject, body, now, next_at, gathers_until, *(notice or (None, None)))
    store.execute(_INSERT, row)


def find_gathering(store: Store, file_id: int, recipient: str, now: int) -> tuple[int, int] | None:
    """Return the id and the creation time (ms) of the mail about a file that still collects notices, or None."""
    found = store.fetch_one(_SELECT_GATHERING, (file_id, recipient, now))
    return (found[0], found[1]) if found else None


def rewrite(store: Store, mail_id: int, subject: str, body: str) -> None:
    """Replace the subject and the body of a mail."""
    store.execute("UPDATE mails SET subject = ?, body = ? WHERE id = ?", (subject, body, mail_id))


def list_due(store: Store, now: int, limit: int) -> list[MailRow]:
    """Return up to ``limit`` mails that are due, without those about files in the trash."""
    due = store.fetch_all(
        f"{_SELECT} WHERE next_at <= ? AND {_FILE_NOT_TRASHED} ORDER BY next_at LIMIT ?", (now, limit)
    )
    return [MailRow._make(found) for found in due]


def claim(store: Store, row: MailRow, next_at: int | None) -> bool:
    """Count an attempt and store when the next one is due; return False if the mail was changed meanwhile."""
    return store.execute(_CLAIM, (next_at, row.id, row.attempts)) > 0


def mark_sent(store: Store, mail_id: int, now: int) -> None:
    """Store when a mail was sent."""
    store.execute("UPDATE mails SET sent_at = ?, next_at = NULL, error = NULL WHERE id = ?", (now, mail_id))


def mark_failed(store: Store, mail_id: int, error: str, *, next_at: int | None, failed_at: int | None) -> None:
    """Store the error of an attempt, and either when the next one is due or when the mail failed for good."""
    store.execute(
        "UPDATE mails SET next_at = ?, failed_at = ?, error = ? WHERE id = ?", (next_at, failed_at, error, mail_id)
    )


def readdress(store: Store, old: str, new: str, next_at: int | None) -> None:
    """Send the mails to ``old`` that were not sent yet to ``new``; ``next_at`` is when those without a next attempt are
    due."""
    store.execute(
        "UPDATE mails SET recipient = ?, next_at = COALESCE(next_at, ?) "
        "WHERE recipient = ? AND sent_at IS NULL AND failed_at IS NULL",
        (new, next_at, old),
    )


def delete_expired(store: Store, created_by: int) -> int:
    """Delete the mails created by ``created_by`` (ms) that need no further attempt; return how many."""
    return store.execute("DELETE FROM mails WHERE created_at <= ? AND next_at IS NULL", (created_by,))


def list_newest(store: Store, created_after: int, limit: int) -> list[MailRow]:
    """Return the newest mails, newest first: those created after ``created_after`` (ms) and those still pending."""
    rows = store.fetch_all(f"{_SELECT} WHERE {_IS_RETAINED} ORDER BY id DESC LIMIT ?", (created_after, limit))
    return [MailRow._make(found) for found in rows]


def find(store: Store, uuid: str, created_after: int) -> MailRow | None:
    """Return the mail ``uuid``, or None; of the mails created by ``created_after`` (ms) only pending ones."""
    found = store.fetch_one(f"{_SELECT} WHERE {_IS_RETAINED} AND uuid = ?", (created_after, uuid))
    return MailRow._make(found) if found else None


def delete_pending(store: Store, account_id: int, notice: str) -> None:
    """Delete the pending notices of one kind to an account."""
    store.execute("DELETE FROM mails WHERE account_id = ? AND notice = ? AND next_at IS NOT NULL", (account_id, notice))


def get_queue(store: Store) -> QueueState:
    """Return the state of the outbox, read from the index of pending mails."""
    return QueueState._make(store.fetch_all(_SELECT_QUEUE)[0])


def count_late(store: Store | DatabaseFile, due_before: int) -> int:
    """Return how many mails were due by ``due_before`` (ms) and are still pending."""
    ((count,),) = store.fetch_all("SELECT COUNT(*) FROM mails WHERE next_at <= ?", (due_before,))
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
    found = store.fetch_one(_IS_MUTED, (account_id, notice, account_id))
    return found is not None


def list_muted(store: Store, account_id: int) -> list[str]:
    """Return the kinds of notices that an account has switched off."""
    found = store.fetch_all("SELECT notice FROM muted_notices WHERE account_id = ? ORDER BY notice", (account_id,))
    return [notice for (notice,) in found]


def mute(store: Store, account_id: int, notice: str, now: int) -> None:
    """Turn one kind of notice to an account off; repeating this keeps the first date."""
    MutedNotice.insert(account=account_id, notice=notice, muted_at=now).on_conflict_ignore().execute(store.engine)


def unmute(store: Store, account_id: int, notice: str) -> None:
    """Turn one kind of notice to an account on again."""
    is_this = (MutedNotice.account == account_id) & (MutedNotice.notice == notice)
    MutedNotice.delete().where(is_this).execute(store.engine)
