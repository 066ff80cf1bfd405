"""Deliveries to webhooks and their attempts."""

import json
from typing import Any, NamedTuple

from peewee import SQL, CompositeKey, ForeignKeyField, IntegerField, TextField, fn

from docshare.server.store.database import Store
from docshare.server.store.database_file import DatabaseFile
from docshare.server.store.dialect import Statement
from docshare.server.store.tables.accounts import Account
from docshare.server.store.tables.base import BatchedTable, QueueState, Row, SequenceField
from docshare.server.store.tables.files import File
from docshare.server.store.tables.sharing import Variant
from docshare.server.store.tables.webhooks import Receiver, Webhook


class Delivery(BatchedTable, Row):
    UNATTRIBUTE = "variant_id = NULL, body = JSON_REMOVE(body, '$.data.variantUuid', '$.data.variantLabel')"
    id = SequenceField()
    uuid = TextField(unique=True)
    webhook = ForeignKeyField(Webhook, on_delete="CASCADE", index=False)
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    variant = ForeignKeyField(Variant, null=True, on_delete="SET NULL", index=False)
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
        indexes = (
            SQL("CREATE INDEX deliveries_claimed ON deliveries(claimed_at) WHERE claimed_at IS NOT NULL"),
            SQL("CREATE INDEX deliveries_due ON deliveries(webhook_id, next_at) WHERE next_at IS NOT NULL"),
            SQL("CREATE INDEX deliveries_file ON deliveries(file_id)"),
            SQL("CREATE INDEX deliveries_old ON deliveries(created_at)"),
            SQL("CREATE INDEX deliveries_variant ON deliveries(variant_id) WHERE variant_id IS NOT NULL"),
            SQL("CREATE INDEX deliveries_webhook ON deliveries(webhook_id, id)"),
        )


class Attempt(Row):
    delivery = ForeignKeyField(Delivery, on_delete="CASCADE", index=False)
    number = IntegerField()
    at = IntegerField()
    status = IntegerField()  # 0: there was no response
    latency_ms = IntegerField()
    error = TextField(null=True)

    class Meta:
        table_name = "attempts"
        primary_key = CompositeKey("delivery", "number")
        without_rowid = True


class AttemptRow(NamedTuple):
    """One attempt: when (ms), the status of the response or 0, how long it took, and what failed."""

    at: int
    status: int
    latency_ms: int
    error: str | None


class StoredDelivery(NamedTuple):
    """The columns of one delivery that its owner sees, with its attempts, oldest first. Times in ms."""

    id: int
    event: str
    created_at: int
    next_at: int | None
    delivered_at: int | None
    attempts: list[AttemptRow]


class AdminColumns(NamedTuple):
    """The part of a delivery that only the operator sees: its UUID, the UUID and URL of the webhook, the email address
    of the account, and the body."""

    uuid: str
    webhook: str
    url: str
    account: str
    body: str


class ClaimedDelivery(NamedTuple):
    """A claimed delivery, ready to be sent: ``claimed_at`` in ms, ``number`` of the attempt, from 1."""

    id: int
    claimed_at: int
    receiver: Receiver
    event: str
    body: str
    uuid: str
    number: int


_ATTEMPTS = (
    "(SELECT JSON_ARRAYAGG(JSON_ARRAY(at, status, latency_ms, error) ORDER BY number) FROM "
    "(SELECT * FROM attempts WHERE delivery_id = d.id ORDER BY number) attempts)"
)
_ROW = f"d.id, d.event, d.created_at, d.next_at, d.delivered_at, {_ATTEMPTS}"
_IS_RETAINED = "(d.created_at > ? OR d.next_at IS NOT NULL)"  # the job that deletes the others runs once an hour
_OF_WEBHOOK = f"SELECT {_ROW} FROM deliveries d WHERE d.webhook_id = ? AND {_IS_RETAINED}"  # noqa: S608 - columns from above
_ONE = f"{_OF_WEBHOOK} AND d.id = ?"
_AFTER = f"{_OF_WEBHOOK} AND d.id > ? ORDER BY d.id LIMIT ?"
_NEWEST = f"{_OF_WEBHOOK} AND d.id > ? ORDER BY d.id DESC LIMIT ?"
CHANNEL = "deliveries"
"""Wakes the dispatchers that listen to it when deliveries are queued."""

_SELECT_ANY = (
    f"SELECT {_ROW}, d.uuid, w.uuid, w.url, a.email, d.body FROM deliveries d "  # noqa: S608 - columns from above
    f"JOIN webhooks w ON w.id = d.webhook_id JOIN accounts a ON a.id = w.account_id WHERE {_IS_RETAINED}"
)
_SELECT_ANY_BY_ID = f"{_SELECT_ANY} AND d.id = ?"
_SELECT_ANY_NEWEST = f"{_SELECT_ANY} ORDER BY d.id DESC LIMIT ?"
# A delivery that is being sent at this moment keeps its time.
_MAKE_DUE = "UPDATE deliveries SET next_at = LEAST(next_at, ?) WHERE id = ? AND claimed_at IS NULL"
# ``tests.benchmarks.webhooks`` runs these for every delivery, from here to ``_SETTLE``.
_INSERT = (
    "INSERT INTO deliveries (uuid, webhook_id, file_id, variant_id, event, body, created_at, next_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
# The first few due deliveries of every webhook, so that thousands for one receiver never delay the others. The
# recursion jumps from webhook to webhook in the index; a plain DISTINCT would scan all those thousands.
_DUE = """
WITH RECURSIVE queued(webhook_id) AS (
    SELECT MIN(webhook_id) FROM deliveries WHERE next_at IS NOT NULL
    UNION ALL
    SELECT (SELECT MIN(webhook_id) FROM deliveries WHERE next_at IS NOT NULL AND webhook_id > queued.webhook_id)
    FROM queued WHERE queued.webhook_id IS NOT NULL
)
SELECT COALESCE(w.last_delivery_at, 0), d.next_at, d.id, w.account_id, w.peer, w.id
FROM queued FIRST JOIN webhooks w ON w.id = queued.webhook_id FIRST JOIN deliveries d ON d.id IN (
    SELECT id FROM deliveries WHERE webhook_id = w.id AND next_at <= ?1 AND claimed_at IS NULL
    ORDER BY next_at, id LIMIT ?2
)
WHERE w.disabled_at IS NULL AND (w.listens_until IS NULL OR w.listens_until > ?1)
    AND (w.listens_on IS NULL OR w.listens_on = ?3)
"""
_IN_FLIGHT = """
SELECT w.account_id, w.peer, w.id FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id
WHERE d.claimed_at IS NOT NULL
"""
# A row that another instance is claiming at this moment is passed over and not waited for.
_CLAIM = Statement(
    sqlite="UPDATE deliveries SET claimed_at = ?3 WHERE id = ?2 AND claimed_at IS NULL AND next_at <= ?1",
    postgresql="UPDATE deliveries SET claimed_at = ?3 WHERE id = (SELECT id FROM deliveries WHERE id = ?2 "
    "AND claimed_at IS NULL AND next_at <= ?1 FOR UPDATE SKIP LOCKED)",
)
_SELECT_CLAIMED = (
    "SELECT d.event, d.body, d.uuid, (SELECT COALESCE(MAX(number), 0) + 1 FROM attempts WHERE delivery_id = d.id), "
    "w.uuid, w.url, w.format, w.secret, w.listens_until IS NOT NULL "
    "FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id WHERE d.id = ?"
)
_SELECT_CLAIM_STATE = (
    "SELECT d.webhook_id, d.tries, COALESCE(w.disabled_at, a.disabled_at) IS NOT NULL "
    "FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id JOIN accounts a ON a.id = w.account_id "
    "WHERE d.id = ? AND d.claimed_at = ?"
)
_INSERT_ATTEMPT = "INSERT INTO attempts (delivery_id, number, at, status, latency_ms, error) VALUES (?, ?, ?, ?, ?, ?)"
_SETTLE = (
    "UPDATE deliveries SET tries = ?, next_at = ?, delivered_at = ?, abandoned_at = ?, claimed_at = NULL WHERE id = ?"
)
_SELECT_LATE = (
    "SELECT COUNT(*) FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id "
    "WHERE d.next_at <= ? AND w.disabled_at IS NULL"
)
_SELECT_ABANDONED = "SELECT COUNT(*) FROM deliveries WHERE created_at > ? AND abandoned_at > ?"


def list_after(store: Store, webhook_id: int, retained_from: int, since: int, limit: int) -> list[StoredDelivery]:
    """Return up to ``limit`` deliveries of a webhook with an id greater than ``since``, in ascending order."""
    return [_parse_row(found) for found in store.fetch_all(_AFTER, (webhook_id, retained_from, since, limit))]


def list_newest(store: Store, webhook_id: int, retained_from: int, limit: int) -> list[StoredDelivery]:
    """Return the newest ``limit`` deliveries of a webhook, newest first."""
    return [_parse_row(found) for found in store.fetch_all(_NEWEST, (webhook_id, retained_from, 0, limit))]


def find_of_webhook(
    store: Store, webhook_id: int, retained_from: int, delivery_id: int | None
) -> StoredDelivery | None:
    """Return one delivery of a webhook, or None."""
    found = store.fetch_one(_ONE, (webhook_id, retained_from, delivery_id))
    return _parse_row(found) if found else None


def list_newest_of_instance(store: Store, retained_from: int, limit: int) -> list[tuple[StoredDelivery, AdminColumns]]:
    """Return the newest ``limit`` deliveries of all accounts, newest first."""
    return [_parse_admin_row(found) for found in store.fetch_all(_SELECT_ANY_NEWEST, (retained_from, limit))]


def find(store: Store, retained_from: int, delivery_id: int | None) -> tuple[StoredDelivery, AdminColumns] | None:
    """Return the delivery with that id of any account, or None."""
    found = store.fetch_one(_SELECT_ANY_BY_ID, (retained_from, delivery_id))
    return _parse_admin_row(found) if found else None


class DeliveryState(NamedTuple):
    """Whether a delivery is queued, and whether its webhook or its account is disabled; ``webhook`` is the UUID of the
    webhook, ``account`` the email address of the account."""

    is_queued: bool
    has_disabled_webhook: bool
    has_disabled_account: bool
    webhook: str
    account: str


def get_state(store: Store, delivery_id: int) -> DeliveryState:
    """Return the state of a delivery."""
    states = (each.is_null(False) for each in (Delivery.next_at, Webhook.disabled_at, Account.disabled_at))
    query = Delivery.select(*states, Webhook.uuid, Account.email).join(Webhook).join(Account)
    return DeliveryState._make(store.fetch_all(query.where(Delivery.id == delivery_id))[0])


def make_due(store: Store, delivery_id: int, now: int) -> None:
    """Make the next attempt of a queued delivery due now, unless it is being sent."""
    store.execute(_MAKE_DUE, (now, delivery_id))


def restart(store: Store, delivery_id: int, now: int) -> None:
    """Begin another round of attempts, due now."""
    query = Delivery.update(tries=0, next_at=now, delivered_at=None, abandoned_at=None)
    store.execute(query.where(Delivery.id == delivery_id))


def delete_settled(store: Store, created_by: int, limit: int) -> int:
    """Delete up to ``limit`` settled deliveries created at or before ``created_by``. Return how many."""
    settled = Delivery.select(Delivery.id).where(Delivery.created_at <= created_by, Delivery.next_at.is_null())
    return store.execute(Delivery.delete().where(Delivery.id.in_(settled.limit(limit))))


def insert(
    store: Store, uuid: str, webhook_id: int, *, file_id: int, variant_id: int | None, event: str, body: str, now: int
) -> None:
    """Queue a delivery that is due now, and wake the dispatchers."""
    store.execute(_INSERT, (uuid, webhook_id, file_id, variant_id, event, body, now, now))
    store.notify(CHANNEL)


def list_due(store: Store, now: int, max_per_webhook: int, directory: str) -> list[tuple[Any, ...]]:
    """Return the first due deliveries of every webhook as ``(last_delivery_at, next_at, id, account_id, peer,
    webhook_id)``. Skip listeners on other machines than that of ``directory``."""
    return store.fetch_all(_DUE, (now, max_per_webhook, directory))


def list_in_flight(store: Store) -> list[tuple[Any, ...]]:
    """Return ``(account_id, peer, webhook_id)`` of every claimed delivery."""
    return store.fetch_all(_IN_FLIGHT)


def claim(store: Store, delivery_id: int, now: int, claimed_at: int) -> bool:
    """Claim a delivery that is due ``now`` for sending. Return False if it is claimed or not due any more."""
    return store.execute(_CLAIM, (now, delivery_id, claimed_at)) > 0


def get_claimed(store: Store, delivery_id: int, claimed_at: int) -> ClaimedDelivery:
    """Return the delivery that was claimed at ``claimed_at``, with its receiver."""
    ((event, body, uuid, number, *receiver),) = store.fetch_all(_SELECT_CLAIMED, (delivery_id,))
    return ClaimedDelivery(delivery_id, claimed_at, Receiver(*receiver), event, body, uuid, number)


def find_claim_state(store: Store, delivery_id: int, claimed_at: int) -> tuple[int, int, bool] | None:
    """Return the webhook, the number of attempts of this round and whether the webhook or its account is disabled;
    None if the claim does not exist any more."""
    found = store.fetch_one(_SELECT_CLAIM_STATE, (delivery_id, claimed_at))
    return (found[0], found[1], bool(found[2])) if found else None


def insert_attempt(store: Store, delivery_id: int, number: int, attempt: AttemptRow) -> None:
    """Store one attempt."""
    store.execute(_INSERT_ATTEMPT, (delivery_id, number, *attempt))


def settle(
    store: Store,
    delivery_id: int,
    *,
    tries: int,
    next_at: int | None,
    delivered_at: int | None,
    abandoned_at: int | None,
) -> None:
    """Release the claim and store the result of the attempt."""
    store.execute(_SETTLE, (tries, next_at, delivered_at, abandoned_at, delivery_id))


def abandon_disabled(store: Store, now: int) -> None:
    """Abandon the queued deliveries of disabled webhooks and accounts, except those that are being sent."""
    is_disabled = Webhook.disabled_at.is_null(False) | Account.disabled_at.is_null(False)
    disabled = Webhook.select(Webhook.id).join(Account).where(is_disabled)
    query = Delivery.update(next_at=None, abandoned_at=now).where(Delivery.next_at.is_null(False))
    # The sender of a claimed delivery settles it.
    store.execute(query.where(Delivery.claimed_at.is_null(), Delivery.webhook.in_(disabled)))


def has_claims(store: Store, claimed_by: int) -> bool:
    """Return whether any delivery was claimed at or before ``claimed_by`` (ms)."""
    return bool(Delivery.select().where(Delivery.claimed_at <= claimed_by).exists(store.engine))


def release_claims(store: Store, claimed_by: int) -> int:
    """Release the claims of ``claimed_by`` (ms) and earlier. Return how many there were."""
    return store.execute(Delivery.update(claimed_at=None).where(Delivery.claimed_at <= claimed_by))


def has_scheduled_after(store: Store, latest: int) -> bool:
    """Return whether any delivery is scheduled after ``latest`` (ms)."""
    return bool(Delivery.select().where(Delivery.next_at > latest).exists(store.engine))


def reschedule_after(store: Store, latest: int, now: int) -> int:
    """Make the deliveries due at ``now`` that are scheduled after ``latest`` (ms). Return how many."""
    return store.execute(Delivery.update(next_at=now).where(Delivery.next_at > latest, Delivery.claimed_at.is_null()))


def list_ids_of_event(store: Store, after_id: int, file_id: int, event: str, body: str) -> list[int]:
    """Return the ids, greater than ``after_id``, of the deliveries of one event of a file, in ascending order."""
    query = Delivery.select(Delivery.id).where(Delivery.id > after_id, Delivery.file == file_id)
    query = query.where(Delivery.event == event, Delivery.body == body).order_by(Delivery.id)
    return [ident for (ident,) in store.fetch_all(query)]


def delete_of_event(store: Store, file_id: int, event: str, body: str) -> None:
    """Delete the deliveries of one event of a file."""
    store.execute(Delivery.delete().where(Delivery.file == file_id, Delivery.event == event, Delivery.body == body))


def get_queue(store: Store) -> QueueState:
    """Return the state of the queue, read from the index of pending deliveries, without those to a disabled webhook:
    they wait for its owner, not for the server."""
    query = Webhook.select(fn.COUNT(1), fn.MIN(Delivery.created_at), fn.MIN(Delivery.next_at)).join(Delivery)
    query = query.where(Delivery.next_at.is_null(False), Webhook.disabled_at.is_null())
    return QueueState._make(store.fetch_all(query)[0])


def count_late(store: Store | DatabaseFile, due_before: int) -> int:
    """Return how many deliveries to enabled webhooks were due by ``due_before`` (ms) and are still pending."""
    ((count,),) = store.fetch_all(_SELECT_LATE, (due_before,))
    return int(count)


def count_abandoned(store: Store | DatabaseFile, created_after: int, abandoned_after: int) -> int:
    """Return how many deliveries were abandoned after ``abandoned_after`` (ms). Only those created after
    ``created_after`` (ms) are counted, which the index finds."""
    ((count,),) = store.fetch_all(_SELECT_ABANDONED, (created_after, abandoned_after))
    return int(count)


def cancel_pending(database: DatabaseFile, now: int) -> None:
    """Abandon all pending deliveries. Works at every step of the schema."""
    if database.has_table("deliveries"):
        database.execute(
            "UPDATE deliveries SET next_at = NULL, claimed_at = NULL, abandoned_at = ? WHERE next_at IS NOT NULL",
            (now,),
        )


def list_with_invalid_body(database: DatabaseFile) -> list[str]:
    """Return the UUIDs of the deliveries whose body is not JSON."""
    return [uuid for (uuid,) in database.fetch_all("SELECT uuid FROM deliveries WHERE NOT json_valid(body)")]


def _parse_row(found: tuple[Any, ...]) -> StoredDelivery:
    stored = StoredDelivery._make(found)
    return stored._replace(attempts=[AttemptRow._make(attempt) for attempt in json.loads(found[-1])])


def _parse_admin_row(found: tuple[Any, ...]) -> tuple[StoredDelivery, AdminColumns]:
    width = len(StoredDelivery._fields)
    return _parse_row(found[:width]), AdminColumns._make(found[width:])


def erase_variant_label(store: Store, variant_id: int) -> None:
    """Erase the label of a variant from the stored and pending payloads.

    A redacted body differs from that of the first attempt; every attempt signs the body that it sends.
    """
    store.execute(
        "UPDATE deliveries SET body = JSON_REMOVE(body, '$.data.variantLabel') WHERE variant_id = ?", (variant_id,)
    )


def delete_batch_of_webhook(store: Store, webhook_id: int, limit: int) -> int:
    """Delete deliveries of a webhook; return how many."""
    batch = Delivery.select(Delivery.id).where(Delivery.webhook == webhook_id).limit(limit)
    return store.execute(Delivery.delete().where(Delivery.id.in_(batch)))
