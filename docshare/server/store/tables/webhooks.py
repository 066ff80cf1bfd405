"""Webhooks, and denied views that are not an event yet."""

from typing import Any, NamedTuple

from peewee import JOIN, SQL, BlobField, CompositeKey, ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
from docshare.server.store.database_file import DatabaseFile
from docshare.server.store.tables.accounts import Account
from docshare.server.store.tables.base import Row, SequenceField
from docshare.server.store.tables.files import File
from docshare.server.store.tables.sharing import Variant


class Webhook(Row):
    id = SequenceField()
    uuid = TextField(unique=True)
    account = ForeignKeyField(Account, on_delete="CASCADE", index=False)
    file = ForeignKeyField(File, null=True, on_delete="CASCADE", index=False)  # None: all files of the account
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
    listens_on = TextField(null=True)  # the data directory whose processes reach it; None: any

    class Meta:
        table_name = "webhooks"
        indexes = (
            SQL("CREATE INDEX webhooks_account ON webhooks(account_id, id)"),
            SQL("CREATE INDEX webhooks_file ON webhooks(file_id) WHERE file_id IS NOT NULL"),
        )


class Denial(Row):
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    reason = TextField()
    variant_id = IntegerField()  # 0: not through a variant
    minute = IntegerField()  # since 1970
    count = IntegerField()

    class Meta:
        table_name = "denials"
        primary_key = CompositeKey("file", "reason", "variant_id", "minute")
        without_rowid = True


class DenialRow(NamedTuple):
    """Denials of one minute that are not an event yet. ``variant_uuid`` is None where the variant was deleted."""

    file_id: int
    reason: str
    variant_id: int
    minute: int
    denied: int
    variant_uuid: str | None


# ``tests.benchmarks.webhooks`` runs the next two for every event and every attempt.
# A file without an owner has no receivers. A disabled account must not learn anything about its readers. An unscoped
# webhook receives all events of its account.
_SELECT_RECEIVERS = (
    "SELECT w.id, a.plan FROM files f JOIN accounts a ON a.id = f.owner_id JOIN webhooks w ON w.account_id = a.id "
    "WHERE f.id = ? AND a.disabled_at IS NULL AND (w.file_id IS NULL OR w.file_id = f.id) AND w.disabled_at IS NULL "
    "AND (w.listens_until IS NULL OR w.listens_until > ?) "
    "AND ? IN (JSON_TEXTS(w.events))"
)
_RECORD_ATTEMPT = (
    "UPDATE webhooks SET last_delivery_at = ?, last_status = ?, failure_count = ? * failure_count + ? WHERE id = ?"
)
# A file without an owner has nobody to notify, and a deleted one has no denials.
_ADD_DENIALS = (
    "INSERT INTO denials (file_id, reason, variant_id, minute, count) "
    "SELECT id, ?, ?, ?, ? FROM files WHERE id = ? AND owner_id IS NOT NULL "
    "ON CONFLICT (file_id, reason, variant_id, minute) DO UPDATE SET count = LEAST(denials.count + excluded.count, ?)"
)


def add_denials(
    store: Store, file_id: int, reason: str, variant_id: int, *, minute: int, count: int, max_count: int
) -> None:
    """Add ``count`` denials to those of one minute, up to ``max_count``. ``variant_id`` is 0 without a variant."""
    store.execute(_ADD_DENIALS, (reason, variant_id, minute, count, file_id, max_count))


def list_denials(store: Store, before_minute: int, limit: int) -> list[DenialRow]:
    """Return up to ``limit`` denials of minutes before ``before_minute``, oldest first."""
    key = (Denial.minute, Denial.file, Denial.reason, Denial.variant_id)
    query = (
        Denial.select(Denial.file, Denial.reason, Denial.variant_id, Denial.minute, Denial.count, Variant.uuid)
        .join(Variant, JOIN.LEFT_OUTER, on=Variant.id == Denial.variant_id)
        .where(Denial.minute < before_minute)
    )
    return [DenialRow._make(found) for found in store.fetch_all(query.order_by(*key).limit(limit))]


def delete_denial(store: Store, row: DenialRow) -> None:
    """Delete denials that have become an event."""
    is_of_link = (Denial.file == row.file_id) & (Denial.variant_id == row.variant_id)
    store.execute(Denial.delete().where(is_of_link, Denial.reason == row.reason, Denial.minute == row.minute))


class WebhookRow(NamedTuple):
    """The columns of the Webhook object. Times in milliseconds; ``events`` is JSON as stored; ``file_uuid`` is None for
    all files of the account."""

    id: int
    uuid: str
    url: str
    events: str
    format: str
    created_at: int
    file_id: int | None
    file_uuid: str | None
    failure_count: int
    last_delivery_at: int | None
    last_status: int | None
    disabled_at: int | None


class Receiver(NamedTuple):
    """The columns of a webhook that sending needs: ``secret`` is encrypted by the vault with ``uuid``;
    ``is_listener`` is True for a listener on this machine."""

    uuid: str
    url: str
    format: str
    secret: bytes
    is_listener: bool


def insert(
    store: Store,
    uuid: str,
    account_id: int,
    *,
    file_id: int | None,
    url: str,
    peer: str,
    format: str,
    events: str,
    secret: bytes,
    now: int,
    listens_until: int | None = None,
    listens_on: str | None = None,
) -> None:
    """Store a new webhook. ``events`` is JSON, ``secret`` is sealed; ``listens_until`` (ms) makes it a listener on the
    machine of the data directory ``listens_on``."""
    query = Webhook.insert(
        uuid=uuid,
        account=account_id,
        file=file_id,
        url=url,
        peer=peer,
        format=format,
        events=events,
        secret=secret,
        created_at=now,
        listens_until=listens_until,
        listens_on=listens_on,
    )
    store.execute(query)


def list_owned(store: Store, account_id: int) -> list[WebhookRow]:
    """Return the webhooks of an account without its listeners, newest first."""
    return [WebhookRow._make(found) for found in store.fetch_all(_select_owned(account_id).order_by(Webhook.id.desc()))]


def find_owned(store: Store, account_id: int, uuid: str) -> WebhookRow | None:
    """Return a webhook of an account that is not a listener, or None."""
    found = store.fetch_one(_select_owned(account_id).where(Webhook.uuid == uuid))
    return WebhookRow._make(found) if found else None


def _select_owned(account_id: int) -> Any:
    columns = (File.uuid if name == "file_uuid" else getattr(Webhook, name) for name in WebhookRow._fields)
    return Webhook.select(*columns).join(File, JOIN.LEFT_OUTER).where(_is_owned(account_id))


def _is_owned(account_id: int) -> Any:
    return (Webhook.account == account_id) & Webhook.listens_until.is_null()


def count_owned(store: Store, account_id: int) -> int:
    """Return how many webhooks an account has, without its listeners."""
    return int(Webhook.select().where(_is_owned(account_id)).count(store.engine))


def find_secret(store: Store, webhook_id: int) -> bytes | None:
    """Return the sealed secret of a webhook, or None if the webhook does not exist."""
    found = store.fetch_one(Webhook.select(Webhook.secret).where(Webhook.id == webhook_id))
    return found[0] if found else None


def enable(store: Store, webhook_id: int) -> None:
    """Enable a webhook and reset its failures."""
    store.execute(Webhook.update(disabled_at=None, failure_count=0).where(Webhook.id == webhook_id))


def delete(store: Store, webhook_id: int) -> None:
    """Delete a webhook with its deliveries."""
    store.execute(Webhook.delete().where(Webhook.id == webhook_id))


def count_disabled(store: Store | DatabaseFile) -> int:
    """Return how many webhooks are disabled."""
    ((count,),) = store.fetch_all("SELECT COUNT(*) FROM webhooks WHERE disabled_at IS NOT NULL")
    return int(count)


def list_receivers(store: Store, file_id: int, event: str, now: int) -> list[tuple[int, int]]:
    """Return the id and the owner's plan of every active webhook that is subscribed to ``event`` of a file."""
    return [(found[0], found[1]) for found in store.fetch_all(_SELECT_RECEIVERS, (file_id, now, event))]


def record_attempt(store: Store, webhook_id: int, *, at: int, status: int, has_failed: bool, is_counted: bool) -> None:
    """Store the last attempt; a success resets the failures, and a counted failure increments them."""
    store.execute(_RECORD_ATTEMPT, (at, status, has_failed, is_counted, webhook_id))


def disable(store: Store, webhook_id: int, min_failures: int, now: int) -> bool:
    """Disable a webhook that has reached ``min_failures``. Return whether it was disabled by this call.

    A listener expires by itself, so it is never disabled and nobody is notified.
    """
    has_failed = Webhook.failure_count >= min_failures
    may_be_disabled = Webhook.disabled_at.is_null() & Webhook.listens_until.is_null()
    query = Webhook.update(disabled_at=now).where(Webhook.id == webhook_id, has_failed, may_be_disabled)
    return store.execute(query) > 0


def get_owner(store: Store, webhook_id: int) -> tuple[str, str, str, int]:
    """Return the UUID and the peer of a webhook, and the email and the id of its account."""
    query = Webhook.select(Webhook.uuid, Webhook.peer, Account.email, Account.id).join(Account)
    ((uuid, peer, email, account_id),) = store.fetch_all(query.where(Webhook.id == webhook_id))
    return uuid, peer, email, account_id


def find_listener(store: Store, uuid: str, now: int) -> tuple[Any, ...] | None:
    """Return ``(account_id, file_id, url, format, secret)`` of a listener that has not expired, or None."""
    query = Webhook.select(Webhook.account, Webhook.file, Webhook.url, Webhook.format, Webhook.secret)
    return store.fetch_one(query.where(Webhook.uuid == uuid, Webhook.listens_until > now))


def renew_listener(store: Store, uuid: str, until: int, now: int) -> bool:
    """Extend a listener to ``until``. Return False if it does not exist or has expired."""
    query = Webhook.update(listens_until=until).where(Webhook.uuid == uuid, Webhook.listens_until > now)
    return store.execute(query) > 0


def list_listener_ids(store: Store, uuid: str) -> list[int]:
    """Return the id of the listener with that UUID, expired or not, in a list."""
    query = Webhook.select(Webhook.id).where(Webhook.uuid == uuid, Webhook.listens_until.is_null(False))
    return [ident for (ident,) in store.fetch_all(query)]


def list_expired_listener_ids(store: Store, now: int) -> list[int]:
    """Return the ids of the listeners that have expired."""
    query = Webhook.select(Webhook.id).where(Webhook.listens_until <= now)
    return [ident for (ident,) in store.fetch_all(query)]


def list_secrets(store: Store | DatabaseFile) -> list[tuple[str, bytes]]:
    """Return the UUID and the sealed secret of every webhook."""
    return [(uuid, bytes(secret)) for uuid, secret in store.fetch_all("SELECT uuid, secret FROM webhooks")]


def update_secret(store: Store, uuid: str, sealed: bytes, old: bytes) -> None:
    """Store the secret of a webhook under another master key, unless it has changed from ``old``."""
    store.execute(Webhook.update(secret=sealed).where(Webhook.uuid == uuid, Webhook.secret == old))
