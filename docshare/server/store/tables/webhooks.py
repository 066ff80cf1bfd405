"""Webhooks, what is sent to them and how that went, and refused attempts that wait to be told."""

from typing import NamedTuple

from peewee import BlobField, CompositeKey, ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
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


class DenialRow(NamedTuple):
    """Denials of one minute that are not an event yet. ``variant_uuid`` is None where the variant was deleted."""

    file_id: int
    reason: str
    variant_id: int
    minute: int
    denied: int
    variant_uuid: str | None


# A file without an owner has nobody to report to, and one that was deleted meanwhile has no denials.
_ADD_DENIALS = (
    "INSERT INTO denials (file_id, reason, variant_id, minute, count) "
    "SELECT id, ?, ?, ?, ? FROM files WHERE id = ? AND owner_id IS NOT NULL "
    "ON CONFLICT DO UPDATE SET count = MIN(count + excluded.count, ?)"
)
_SELECT_DENIALS = (
    "SELECT d.file_id, d.reason, d.variant_id, d.minute, d.count, v.uuid FROM denials d "
    "LEFT JOIN variants v ON v.id = d.variant_id WHERE d.minute < ? ORDER BY d.minute LIMIT ?"
)
_DELETE_DENIAL = "DELETE FROM denials WHERE file_id = ? AND reason = ? AND variant_id = ? AND minute = ?"


def erase_variant_label(store: Store, variant_id: int) -> None:
    """Erase the label of a variant from the stored and pending payloads.

    A redacted body differs from that of the first attempt; every attempt signs the body that it sends.
    """
    store.execute(
        "UPDATE deliveries SET body = json_remove(body, '$.data.variantLabel') WHERE variant_id = ?", (variant_id,)
    )


def add_denials(
    store: Store, file_id: int, reason: str, variant_id: int, *, minute: int, count: int, max_count: int
) -> None:
    """Add ``count`` denials to those of one minute, up to ``max_count``. ``variant_id`` is 0 without a variant."""
    store.execute(_ADD_DENIALS, (reason, variant_id, minute, count, file_id, max_count))


def list_denials(store: Store, before_minute: int, limit: int) -> list[DenialRow]:
    """Return up to ``limit`` denials of minutes before ``before_minute``, oldest first."""
    return [DenialRow._make(found) for found in store.rows(_SELECT_DENIALS, (before_minute, limit))]


def delete_denial(store: Store, row: DenialRow) -> None:
    """Delete denials that have become an event."""
    store.execute(_DELETE_DENIAL, (row.file_id, row.reason, row.variant_id, row.minute))
