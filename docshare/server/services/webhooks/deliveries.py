"""The deliveries of webhooks: list them, show them, queue them again, delete expired ones.

``dispatch`` sends them.
"""

import re
from dataclasses import dataclass

from docshare.contract.plans import DAY
from docshare.contract.problems import Problem
from docshare.server.rules import deliveries as rules
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.operations.batches import run_in_batches
from docshare.server.services.webhooks import webhooks
from docshare.server.store.tables import deliveries as table
from docshare.server.store.tables.deliveries import AdminColumns, StoredDelivery
from docshare.server.store.tables.deliveries import AttemptRow as AttemptRow

RETENTION_MS = 90 * DAY  # as long as the activity record
_BATCH_ROWS = 1000  # deleted in one transaction
_MAX_LISTED = 500
_ID = re.compile("[0-9]{1,18}", re.ASCII)


@dataclass(frozen=True)
class DeliveryRow:
    """One delivery with its attempts, oldest first. Times in ms; ``state`` is one of ``DELIVERY_STATES``; ``next_at``
    is None once the delivery is settled."""

    id: int
    event: str
    created_at: int
    state: str
    next_at: int | None
    attempts: list[AttemptRow]


@dataclass(frozen=True)
class AdminDelivery:
    """A delivery as the operator sees it: also its ``uuid``, the UUID and the ``url`` of the ``webhook``, the email
    address of its ``account``, and the ``body`` that is sent."""

    row: DeliveryRow
    uuid: str
    webhook: str
    url: str
    account: str
    body: str


def fetch_page(rt: Runtime, caller: Caller, webhook: str, *, since: int, limit: int) -> list[DeliveryRow]:
    """Return up to ``limit`` deliveries of the caller's webhook ``webhook`` (its UUID): with an id greater than
    ``since`` in ascending order, or the newest first if ``since`` is 0. Raises ``not_found``."""
    retained_from = _retention_start(rt.clock())
    with rt.db.snapshot():
        owned = webhooks.get_owned(rt, caller, webhook)
        if since:
            found = table.list_after(rt.db, owned.id, retained_from, since, limit)
        else:
            found = table.list_newest(rt.db, owned.id, retained_from, limit)
    return [_build_row(stored) for stored in found]


def redeliver(rt: Runtime, caller: Caller, webhook: str, delivery: str) -> DeliveryRow:
    """Begin another round of up to five attempts at ``delivery`` (its id) of the caller's ``webhook`` (its UUID), or
    make the next attempt due now if the delivery is queued.

    Raises ``not_found``, and ``conflict`` while the webhook is disabled.
    """
    now = rt.clock()
    with rt.db.write(caller.account_id):
        owned = webhooks.get_owned(rt, caller, webhook)
        delivery_id = _get_of_webhook(rt, owned.id, _parse_id(delivery), now).id
        _requeue(rt, delivery_id, now)
        return _build_row(_get_of_webhook(rt, owned.id, delivery_id, now))


def list_for_admin(rt: Runtime) -> list[AdminDelivery]:
    """Return the newest 500 deliveries of the instance, newest first."""
    found = table.list_newest_of_instance(rt.db, _retention_start(rt.clock()), _MAX_LISTED)
    return [_build_admin_delivery(stored, columns) for stored, columns in found]


def get_for_admin(rt: Runtime, delivery: str) -> AdminDelivery:
    """Return the delivery of any account with the id ``delivery``. Raises ``not_found``."""
    return _get_of_any_account(rt, delivery, rt.clock())


def retry_for_admin(rt: Runtime, delivery: str) -> AdminDelivery:
    """Queue a delivery of any account again, as ``redeliver`` does."""
    now = rt.clock()
    with rt.db.write():
        _requeue(rt, _get_of_any_account(rt, delivery, now).row.id, now)
        return _get_of_any_account(rt, delivery, now)


def delete_expired(rt: Runtime) -> int:
    """Delete settled deliveries that were queued 90 days ago, with their attempts. Return how many."""
    until = _retention_start(rt.clock())
    return run_in_batches(rt, _BATCH_ROWS, lambda: table.delete_settled(rt.db, until, _BATCH_ROWS))


def _retention_start(now: int) -> int:
    """Return the time (ms) up to which settled deliveries have expired."""
    return now - RETENTION_MS


def _get_of_webhook(rt: Runtime, webhook_id: int, delivery_id: int | None, now: int) -> StoredDelivery:
    found = table.find_of_webhook(rt.db, webhook_id, _retention_start(now), delivery_id)
    if found is None:
        raise _delivery_not_found()
    return found


def _get_of_any_account(rt: Runtime, delivery: str, now: int) -> AdminDelivery:
    found = table.find(rt.db, _retention_start(now), _parse_id(delivery))
    if found is None:
        raise _delivery_not_found()
    return _build_admin_delivery(*found)


def _requeue(rt: Runtime, delivery_id: int, now: int) -> None:
    state = table.get_state(rt.db, delivery_id)
    if state.is_queued:
        table.make_due(rt.db, delivery_id, now)
        return
    if state.has_disabled_account:
        hint = f"Enable it first: docshare admin account enable {state.account}"
        raise Problem("conflict", "The account is disabled; the server sends nothing to its webhooks.", hint=hint)
    if state.has_disabled_webhook:
        hint = f"Enable it first: docshare webhooks enable {state.webhook}"
        raise Problem("conflict", "This webhook is disabled; the server sends nothing to it.", hint=hint)
    table.restart(rt.db, delivery_id, now)


def _parse_id(text: str) -> int | None:
    """Return the id in a URL path, or None if ``text`` is not an id."""
    return int(text) if _ID.fullmatch(text) else None


def _delivery_not_found() -> Problem:
    return Problem("not_found", "There is no such delivery.", hint="Check the number; old deliveries are deleted.")


def _build_row(stored: StoredDelivery) -> DeliveryRow:
    state = rules.delivery_state(stored.next_at, stored.delivered_at)
    return DeliveryRow(stored.id, stored.event, stored.created_at, state, stored.next_at, stored.attempts)


def _build_admin_delivery(stored: StoredDelivery, columns: AdminColumns) -> AdminDelivery:
    return AdminDelivery(_build_row(stored), *columns)
