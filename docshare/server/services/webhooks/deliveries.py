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

KEPT_MS = 90 * DAY  # as long as the record of events
_BATCH = 1000  # deleted in one transaction
_LISTED = 500
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
class Anybodys:
    """A delivery as the operator sees it: also its ``uuid``, the UUID and the ``url`` of the ``webhook``, the e-mail
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
_KEPT = "(d.created_at > ? OR d.next_at IS NOT NULL)"  # the job that deletes the others comes once an hour
_OF_WEBHOOK = f"SELECT {_ROW} FROM deliveries d WHERE d.webhook_id = ? AND {_KEPT}"  # noqa: S608 - columns from above
_ONE = f"{_OF_WEBHOOK} AND d.id = ?"
_AFTER = f"{_OF_WEBHOOK} AND d.id > ? ORDER BY d.id LIMIT ?"
_NEWEST = f"{_OF_WEBHOOK} AND d.id > ? ORDER BY d.id DESC LIMIT ?"
_ANY = (
    f"SELECT {_ROW}, d.uuid, w.uuid, w.url, a.email, d.body FROM deliveries d "  # noqa: S608 - columns from above
    f"JOIN webhooks w ON w.id = d.webhook_id JOIN accounts a ON a.id = w.account_id WHERE {_KEPT}"
)
_ANY_ONE = f"{_ANY} AND d.id = ?"
_ANY_NEWEST = f"{_ANY} ORDER BY d.id DESC LIMIT ?"
_STANDING = (
    "SELECT d.next_at IS NOT NULL, w.disabled_at IS NOT NULL, w.uuid "
    "FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id WHERE d.id = ?"
)
# One that is being sent at this moment is let be.
_NOW = "UPDATE deliveries SET next_at = MIN(next_at, ?) WHERE id = ? AND claimed_at IS NULL"
_AGAIN = "UPDATE deliveries SET tries = 0, next_at = ?, delivered_at = NULL, abandoned_at = NULL WHERE id = ?"
_FORGET = (
    "DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE created_at <= ? AND next_at IS NULL LIMIT ?)"
)


def page(rt: Runtime, caller: Caller, webhook: str, *, since: int, limit: int) -> list[DeliveryRow]:
    """The deliveries of the caller's webhook ``webhook`` (its UUID), ``limit`` at most: with an id greater than
    ``since`` in ascending order, or, where that is 0, the newest first. Raises ``not_found``."""
    with rt.db.snapshot():
        owner = webhooks.owned(rt, caller, webhook)
        found = rt.db.rows(_AFTER if since else _NEWEST, (owner.id, _since(rt), since, limit))
    return [_row(columns) for columns in found]


def redeliver(rt: Runtime, caller: Caller, webhook: str, delivery: str) -> DeliveryRow:
    """Begin another round of up to five attempts at ``delivery`` (its id) of the caller's ``webhook`` (its UUID), or
    make the next attempt of one that is queued due now.

    Raises ``not_found``, and ``conflict`` while the webhook is disabled.
    """
    with rt.db.write():
        owner = webhooks.owned(rt, caller, webhook)
        found = rt.db.row(_ONE, (owner.id, _since(rt), _number(delivery)))
        if found is None:
            raise _no_delivery()
        _queue_again(rt, found[0])
        return _row(rt.db.rows(_ONE, (owner.id, _since(rt), found[0]))[0])


def list_all(rt: Runtime) -> list[Anybodys]:
    """The newest 500 deliveries of the instance, newest first."""
    return [_anybodys(found) for found in rt.db.rows(_ANY_NEWEST, (_since(rt), _LISTED))]


def show_any(rt: Runtime, delivery: str) -> Anybodys:
    """The delivery ``delivery`` (its id), whosever it is. Raises ``not_found``."""
    found = rt.db.row(_ANY_ONE, (_since(rt), _number(delivery)))
    if found is None:
        raise _no_delivery()
    return _anybodys(found)


def retry_any(rt: Runtime, delivery: str) -> Anybodys:
    """As ``redeliver``, for the operator: whosever delivery it is."""
    with rt.db.write():
        _queue_again(rt, show_any(rt, delivery).row.id)
        return show_any(rt, delivery)


def forget_old(rt: Runtime) -> int:
    """Delete deliveries that were queued 90 days ago and are settled, with their attempts. Returns how many."""
    until = _since(rt)
    forgotten, batch = 0, _BATCH
    while batch == _BATCH:
        with rt.db.write():
            batch = rt.db.execute(_FORGET, (until, _BATCH))
        forgotten += batch
    return forgotten


def _since(rt: Runtime) -> int:
    """The moment (ms) up to which settled deliveries are forgotten."""
    return rt.clock() - KEPT_MS


def _queue_again(rt: Runtime, ident: int) -> None:
    ((queued, disabled, webhook),) = rt.db.rows(_STANDING, (ident,))
    if queued:
        rt.db.execute(_NOW, (rt.clock(), ident))
        return
    if disabled:
        hint = f"Enable it first: docshare webhooks enable {webhook}"
        raise Problem("conflict", "This webhook is disabled; nothing is sent to it.", hint=hint)
    rt.db.execute(_AGAIN, (rt.clock(), ident))


def _number(text: str) -> int | None:
    """An id as it stands in an address; None for what can be none."""
    return int(text) if _ID.fullmatch(text) else None


def _no_delivery() -> Problem:
    return Problem("not_found", "There is no such delivery.", hint="Check the number; old deliveries are forgotten.")


def _row(found: tuple[Any, ...]) -> DeliveryRow:
    ident, event, created_at, next_at, delivered_at, attempts = found
    tried = [AttemptRow._make(attempt) for attempt in json.loads(attempts)]
    return DeliveryRow(ident, event, created_at, rules.delivery_state(next_at, delivered_at), next_at, tried)


def _anybodys(found: tuple[Any, ...]) -> Anybodys:
    *row, uuid, webhook, url, account, body = found
    return Anybodys(_row(tuple(row)), uuid, webhook, url, account, body)
