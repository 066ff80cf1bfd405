"""What was sent to webhooks and how that went, as their owner sees it, and sending it again.

How deliveries are made stands in ``dispatching``.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from docshare.contract.plans import DAY
from docshare.contract.problems import Problem
from docshare.server.rules import deliveries as rules
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.webhooks import webhooks

RETENTION_MS = 90 * DAY  # as long as the record of events
_BATCH_ROWS = 1000  # deleted in one transaction
_MAX_LISTED = 500
_ID = re.compile("[0-9]{1,18}", re.ASCII)


class AttemptRow(NamedTuple):
    """One attempt: when (ms), the status that was answered or 0, how long it took, and what went wrong."""

    at: int
    status: int
    latency_ms: int
    error: str | None


@dataclass(frozen=True)
class DeliveryRow:
    """One delivery with its attempts, oldest first. Times in ms; ``state`` a word of ``DELIVERY_STATES``; ``next_at``
    None once nothing more is tried."""

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


_ATTEMPTS = (
    "(SELECT json_group_array(json_array(at, status, latency_ms, error)) FROM "
    "(SELECT * FROM attempts WHERE delivery_id = d.id ORDER BY number))"
)
_ROW = f"d.id, d.event, d.created_at, d.next_at, d.delivered_at, {_ATTEMPTS}"
_IS_RETAINED = "(d.created_at > ? OR d.next_at IS NOT NULL)"  # the job that deletes the others comes once an hour
_OF_WEBHOOK = f"SELECT {_ROW} FROM deliveries d WHERE d.webhook_id = ? AND {_IS_RETAINED}"  # noqa: S608 - columns from above
_ONE = f"{_OF_WEBHOOK} AND d.id = ?"
_AFTER = f"{_OF_WEBHOOK} AND d.id > ? ORDER BY d.id LIMIT ?"
_NEWEST = f"{_OF_WEBHOOK} AND d.id > ? ORDER BY d.id DESC LIMIT ?"
_SELECT_ANY = (
    f"SELECT {_ROW}, d.uuid, w.uuid, w.url, a.email, d.body FROM deliveries d "  # noqa: S608 - columns from above
    f"JOIN webhooks w ON w.id = d.webhook_id JOIN accounts a ON a.id = w.account_id WHERE {_IS_RETAINED}"
)
_SELECT_ANY_BY_ID = f"{_SELECT_ANY} AND d.id = ?"
_SELECT_ANY_NEWEST = f"{_SELECT_ANY} ORDER BY d.id DESC LIMIT ?"
_SELECT_STATE = (
    "SELECT d.next_at IS NOT NULL, w.disabled_at IS NOT NULL, w.uuid "
    "FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id WHERE d.id = ?"
)
# One that is being sent at this moment is let be.
_MAKE_DUE = "UPDATE deliveries SET next_at = MIN(next_at, ?) WHERE id = ? AND claimed_at IS NULL"
_RESTART = "UPDATE deliveries SET tries = 0, next_at = ?, delivered_at = NULL, abandoned_at = NULL WHERE id = ?"
_DELETE_EXPIRED = (
    "DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE created_at <= ? AND next_at IS NULL LIMIT ?)"
)


def fetch_page(rt: Runtime, caller: Caller, webhook: str, *, since: int, limit: int) -> list[DeliveryRow]:
    """The deliveries of the caller's webhook ``webhook`` (its UUID), ``limit`` at most: with an id greater than
    ``since`` in ascending order, or, where that is 0, the newest first. Raises ``not_found``."""
    with rt.db.snapshot():
        owner = webhooks.get_owned(rt, caller, webhook)
        found = rt.db.rows(_AFTER if since else _NEWEST, (owner.id, _retention_start(rt), since, limit))
    return [_parse_row(columns) for columns in found]


def redeliver(rt: Runtime, caller: Caller, webhook: str, delivery: str) -> DeliveryRow:
    """Begin another round of up to five attempts at ``delivery`` (its id) of the caller's ``webhook`` (its UUID), or
    make the next attempt of one that is queued due now.

    Raises ``not_found``, and ``conflict`` while the webhook is disabled.
    """
    with rt.db.write():
        owner = webhooks.get_owned(rt, caller, webhook)
        found = rt.db.row(_ONE, (owner.id, _retention_start(rt), _parse_id(delivery)))
        if found is None:
            raise _delivery_not_found()
        _requeue(rt, found[0])
        return _parse_row(rt.db.rows(_ONE, (owner.id, _retention_start(rt), found[0]))[0])


def list_all(rt: Runtime) -> list[AdminDelivery]:
    """The newest 500 deliveries of the instance, newest first."""
    return [_parse_admin_row(found) for found in rt.db.rows(_SELECT_ANY_NEWEST, (_retention_start(rt), _MAX_LISTED))]


def show_any(rt: Runtime, delivery: str) -> AdminDelivery:
    """The delivery ``delivery`` (its id), whosever it is. Raises ``not_found``."""
    found = rt.db.row(_SELECT_ANY_BY_ID, (_retention_start(rt), _parse_id(delivery)))
    if found is None:
        raise _delivery_not_found()
    return _parse_admin_row(found)


def retry_any(rt: Runtime, delivery: str) -> AdminDelivery:
    """As ``redeliver``, for the operator: whosever delivery it is."""
    with rt.db.write():
        _requeue(rt, show_any(rt, delivery).row.id)
        return show_any(rt, delivery)


def delete_expired(rt: Runtime) -> int:
    """Delete deliveries that were queued 90 days ago and are settled, with their attempts. Returns how many."""
    until = _retention_start(rt)
    forgotten, batch = 0, _BATCH_ROWS
    while batch == _BATCH_ROWS:
        with rt.db.write():
            batch = rt.db.execute(_DELETE_EXPIRED, (until, _BATCH_ROWS))
        forgotten += batch
    return forgotten


def _retention_start(rt: Runtime) -> int:
    """The moment (ms) up to which settled deliveries are forgotten."""
    return rt.clock() - RETENTION_MS


def _requeue(rt: Runtime, ident: int) -> None:
    ((queued, disabled, webhook),) = rt.db.rows(_SELECT_STATE, (ident,))
    if queued:
        rt.db.execute(_MAKE_DUE, (rt.clock(), ident))
        return
    if disabled:
        hint = f"Enable it first: docshare webhooks enable {webhook}"
        raise Problem("conflict", "This webhook is disabled; nothing is sent to it.", hint=hint)
    rt.db.execute(_RESTART, (rt.clock(), ident))


def _parse_id(text: str) -> int | None:
    """An id as it stands in an address; None for what can be none."""
    return int(text) if _ID.fullmatch(text) else None


def _delivery_not_found() -> Problem:
    return Problem("not_found", "There is no such delivery.", hint="Check the number; old deliveries are forgotten.")


def _parse_row(found: tuple[Any, ...]) -> DeliveryRow:
    ident, event, created_at, next_at, delivered_at, attempts = found
    tried = [AttemptRow._make(attempt) for attempt in json.loads(attempts)]
    return DeliveryRow(ident, event, created_at, rules.delivery_state(next_at, delivered_at), next_at, tried)


def _parse_admin_row(found: tuple[Any, ...]) -> AdminDelivery:
    *row, uuid, webhook, url, account, body = found
    return AdminDelivery(_parse_row(tuple(row)), uuid, webhook, url, account, body)
