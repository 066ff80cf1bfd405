"""The mails this instance writes: waiting, sent, or given up."""

from peewee import CompositeKey, ForeignKeyField, IntegerField, TextField

from docshare.server.store.tables.accounts import Account
from docshare.server.store.tables.base import Row
from docshare.server.store.tables.files import File


class MutedNotice(Row):
    """A kind of notice that the account has switched off."""

    account = ForeignKeyField(Account)
    notice = TextField()
    muted_at = IntegerField()

    class Meta:
        table_name = "muted_notices"
        primary_key = CompositeKey("account", "notice")


class Mail(Row):
    uuid = TextField(unique=True)
    file = ForeignKeyField(File, null=True)
    recipient = TextField()
    subject = TextField()
    body = TextField()
    created_at = IntegerField()
    attempts = IntegerField(default=0)
    next_at = IntegerField(null=True)  # None: sent or given up
    gathers_until = IntegerField(null=True)  # until when more is written into it; None: it is whole
    sent_at = IntegerField(null=True)
    failed_at = IntegerField(null=True)
    error = TextField(null=True)
    account = ForeignKeyField(Account, null=True)  # whose notice it is; None: it is none
    notice = TextField(null=True)

    class Meta:
        table_name = "mails"
