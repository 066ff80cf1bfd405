"""Sending what is queued for webhooks, one attempt at a time: claim in one transaction,
send outside of any, book in another.

A claim is a time in the row. When the process dies before it is booked, the next start lets go of it, and the attempt
is made again.
"""

from collections.abc import Sequence
from typing import NamedTuple

from docshare.contract.webhooks import DISABLE_AFTER, retry_delay
from docshare.server.logs import LOGGER
from docshare.server.rules import deliveries as rules
from docshare.server.rules.deliveries import DeliveryLane, DueDelivery
from docshare.server.runtime import Runtime
from docshare.server.services.operations import mail, unsubscribe
from docshare.server.services.webhooks import send as posting
from docshare.server.services.webhooks.send import AttemptOutcome, Receiver


class ClaimedDelivery(NamedTuple):
    """A claimed delivery, ready to be sent: ``claimed_at`` ms; ``uuid`` its own; ``number`` of the attempt, from 1."""

    id: int
    claimed_at: int
    receiver: Receiver
    event: str
    body: str
    uuid: str
    number: int


class AttemptResult(NamedTuple):
    """An attempt that was made at ``at`` (ms), and how it went."""

    letter: ClaimedDelivery
    at: int
    outcome: AttemptOutcome


# The first few that are due of every webhook, so that thousands for one receiver never stand before the others. The
# recursion jumps from webhook to webhook in the index; a plain DISTINCT would walk over all those thousands.
_DUE = f"""
WITH RECURSIVE queued(webhook_id) AS (
    SELECT MIN(webhook_id) FROM deliveries WHERE next_at IS NOT NULL
    UNION ALL
    SELECT (SELECT MIN(webhook_id) FROM deliveries WHERE next_at IS NOT NULL AND webhook_id > queued.webhook_id)
    FROM queued WHERE queued.webhook_id IS NOT NULL
)
SELECT COALESCE(w.last_delivery_at, 0), d.next_at, d.id, w.account_id, w.peer, w.id
FROM queued CROSS JOIN webhooks w ON w.id = queued.webhook_id CROSS JOIN deliveries d ON d.id IN (
    SELECT id FROM deliveries WHERE webhook_id = w.id AND next_at <= ?1 AND claimed_at IS NULL
    ORDER BY next_at, id LIMIT {rules.MAX_PER_WEBHOOK}
)
WHERE w.disabled_at IS NULL AND (w.listens_until IS NULL OR w.listens_until > ?1)
"""  # noqa: S608 - a number from the rules
_IN_FLIGHT = """
SELECT w.account_id, w.peer, w.id FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id
WHERE d.claimed_at IS NOT NULL
"""
_CLAIM = "UPDATE deliveries SET claimed_at = ?1 WHERE id = ?2 AND claimed_at IS NULL AND next_at <= ?1"
_SELECT_CLAIMED = (
    "SELECT d.event, d.body, d.uuid, (SELECT COALESCE(MAX(number), 0) + 1 FROM attempts WHERE delivery_id = d.id), "
    "w.uuid, w.url, w.format, w.secret, w.listens_until IS NOT NULL "
    "FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id WHERE d.id = ?"
)
_SELECT_STATE = (
    "SELECT d.webhook_id, d.tries, w.disabled_at IS NOT NULL "
    "FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id WHERE d.id = ? AND d.claimed_at = ?"
)
_ADD_ATTEMPT = "INSERT INTO attempts (delivery_id, number, at, status, latency_ms, error) VALUES (?, ?, ?, ?, ?, ?)"
_SETTLE = (
    "UPDATE deliveries SET tries = ?, next_at = ?, delivered_at = ?, abandoned_at = ?, claimed_at = NULL WHERE id = ?"
)
_UPDATE_WEBHOOK = (
    "UPDATE webhooks SET last_delivery_at = ?, last_status = ?, failure_count = ? * failure_count + ? WHERE id = ?"
)
# A listener ends by itself; nobody would have to be told.
_DISABLE = (
    "UPDATE webhooks SET disabled_at = ? "
    "WHERE id = ? AND failure_count >= ? AND disabled_at IS NULL AND listens_until IS NULL"
)
_OWNER = "SELECT w.uuid, w.peer, a.email, a.id FROM webhooks w JOIN accounts a ON a.id = w.account_id WHERE w.id = ?"
# What is in flight is settled by whoever sends it.
_ABANDON_DISABLED = (
    "UPDATE deliveries SET next_at = NULL, abandoned_at = ? WHERE next_at IS NOT NULL AND claimed_at IS NULL "
    "AND webhook_id IN (SELECT id FROM webhooks WHERE disabled_at IS NOT NULL)"
)


def claim_due(rt: Runtime, free: int) -> list[ClaimedDelivery]:
    """Claim the deliveries whose turn it is, ``free`` at most: nobody else gets them until they are booked."""
    now = rt.clock()
    found = rt.db.rows(_DUE, (now,))
    due = [DueDelivery(served_at, next_at, ident, DeliveryLane(*lane)) for served_at, next_at, ident, *lane in found]
    if not due:
        return []
    with rt.db.write():
        in_flight = [DeliveryLane._make(found) for found in rt.db.rows(_IN_FLIGHT)]
        picked = rules.select_deliveries(due, in_flight, free)
        return [_load_claimed(rt, row.id, now) for row in picked if rt.db.execute(_CLAIM, (now, row.id))]


def send(rt: Runtime, letter: ClaimedDelivery) -> AttemptResult:
    """Make the attempt that was claimed; never raises, and never inside a transaction."""
    at = rt.clock()
    outcome = posting.post_event(
        rt, letter.receiver, event=letter.event, body=letter.body, delivery=letter.uuid, attempt=letter.number
    )
    if not outcome.delivered:
        facts = {"delivery": letter.uuid, "attempt": letter.number, "status": outcome.status, "error": outcome.error}
        LOGGER.info("delivery failed", extra=facts)
    return AttemptResult(letter, at, outcome)


def record_attempts(rt: Runtime, sent: Sequence[AttemptResult]) -> None:
    """Write down how attempts went and what follows, each in one: delivered, tried again later, or abandoned, and with
    that perhaps a disabled webhook. What is gone meanwhile, with its webhook or its file, needs nothing."""
    now = rt.clock()
    with rt.db.write():
        for one in sent:
            _apply_result(rt, one, now)


def release_claims(rt: Runtime) -> int:
    """Let go of the claims of senders that are no more; returns how many. Only while nothing is being sent."""
    if rt.db.row("SELECT 1 FROM deliveries WHERE claimed_at IS NOT NULL LIMIT 1") is None:
        return 0
    with rt.db.write():
        released = rt.db.execute("UPDATE deliveries SET claimed_at = NULL WHERE claimed_at IS NOT NULL")
        rt.db.execute(_ABANDON_DISABLED, (rt.clock(),))
    return released


def _load_claimed(rt: Runtime, ident: int, now: int) -> ClaimedDelivery:
    ((event, body, uuid, number, *receiver),) = rt.db.rows(_SELECT_CLAIMED, (ident,))
    return ClaimedDelivery(ident, now, Receiver(*receiver), event, body, uuid, number)


def _apply_result(rt: Runtime, sent: AttemptResult, now: int) -> None:
    letter, outcome = sent.letter, sent.outcome
    found = rt.db.row(_SELECT_STATE, (letter.id, letter.claimed_at))
    if found is None:
        return
    webhook_id, tries, disabled = found
    wait = None if outcome.delivered or disabled else retry_delay(tries + 1)
    abandoned = wait is None and not outcome.delivered
    # Counted once per abandoned delivery, not per attempt; what a disabled one drops is not counted.
    counted = abandoned and not disabled
    marks = (now + wait if wait else None, now if outcome.delivered else None, now if abandoned else None)
    rt.db.execute(_ADD_ATTEMPT, (letter.id, letter.number, sent.at, *outcome))
    rt.db.execute(_SETTLE, (tries + 1, *marks, letter.id))
    rt.db.execute(_UPDATE_WEBHOOK, (sent.at, outcome.status, not outcome.delivered, counted, webhook_id))
    if counted and rt.db.execute(_DISABLE, (now, webhook_id, DISABLE_AFTER)):
        _notify_owner(rt, webhook_id)
        rt.db.execute(_ABANDON_DISABLED, (now,))


def _notify_owner(rt: Runtime, webhook_id: int) -> None:
    ((uuid, peer, email, account_id),) = rt.db.rows(_OWNER, (webhook_id,))
    LOGGER.warning("webhook disabled", extra={"webhook": uuid})
    mail.enqueue(rt, email, *rules.render_disabled_mail(peer, uuid), notice=(account_id, unsubscribe.WEBHOOKS))
