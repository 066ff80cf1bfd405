"""Webhooks, what is sent to them and how that went, and refused attempts that wait to be told."""

from peewee import BlobField, CompositeKey, ForeignKeyField, IntegerField, TextField

from docshare.server.store.tables.accounts import Account
from docshare.server.store.tables.base import Row
from docshare.server.store.tables.files import File
from docshare.server.store.tables.sharing import Variant


class Webhook(Row):
    uuid = TextField(unique=True)
    account = ForeignKeyField(Account)
    file = ForeignKeyField(File, null=True)  # None: all files of the account
    url = TextField()
    peer = TextField()  # host:port
    format = TextField()
    events = TextField()  # JSON array of kinds
    secret = BlobField()  # sealed by the vault, about the UUID
    created_at = IntegerField()
    failure_count = IntegerField(default=0)  # abandoned deliveries in a row
    last_delivery_at = IntegerField(null=True)
    last_status = IntegerField(null=True)
    disabled_at = IntegerField(null=True)
    listens_until = IntegerField(null=True)  # of a listener on this machine; None: an ordinary webhook

    class Meta:
        table_name = "webhooks"


class Delivery(Row):
    uuid = TextField(unique=True)
    webhook = ForeignKeyField(Webhook)
    file = ForeignKeyField(File)
    variant = ForeignKeyField(Variant, null=True)
    event = TextField()
    body = TextField()  # JSON, the envelope
    created_at = IntegerField()
    tries = IntegerField(default=0)  # attempts of this round
    next_at = IntegerField(null=True)  # None: delivered or abandoned
    claimed_at = IntegerField(null=True)
    delivered_at = IntegerField(null=True)
    abandoned_at = IntegerField(null=True)

    class Meta:
        table_name = "deliveries"


class Attempt(Row):
    delivery = ForeignKeyField(Delivery)
    number = IntegerField()
    at = IntegerField()
    status = IntegerField()  # 0: there was no answer
    latency_ms = IntegerField()
    error = TextField(null=True)

    class Meta:
        table_name = "attempts"
        primary_key = CompositeKey("delivery", "number")


class Denial(Row):
    file = ForeignKeyField(File)
    reason = TextField()
    variant_id = IntegerField()  # 0: not through a variant
    minute = IntegerField()  # since 1970
    count = IntegerField()

    class Meta:
        table_name = "denials"
        primary_key = CompositeKey("file", "reason", "variant_id", "minute")
