"""The mails this instance writes: waiting, sent, or given up."""

from peewee import ForeignKeyField, IntegerField, TextField

from docshare.server.models.base import Row
from docshare.server.models.files import File


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

    class Meta:
        table_name = "mails"
