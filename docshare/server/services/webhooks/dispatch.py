"""Send queued deliveries, one attempt at a time: claim in one transaction, send outside of any, record in another.

A claim is a time in the row, by the clock of a shared database. If the process dies before the attempt is recorded, the
claim is released and the attempt is repeated: by the next start, or by another instance on the same database half a
minute later.
"""

from collections.abc import Sequence
from typing import NamedTuple

from docshare.contract.limits import HOUR, SECOND
from docshare.contract.webhooks import DISABLE_AFTER, RETRY_MS, retry_delay
from docshare.server.logs import LOGGER
from docshare.server.rules import deliveries as rules
from docshare.server.rules.deliveries import DeliveryLane, DueDelivery
from docshare.server.runtime import Runtime
from docshare.server.services.operations import mail, unsubscribe
from docshare.server.services.webhooks.send import AttemptOutcome, post_event
from docshare.server.store.identity import directory_id
from docshare.server.store.tables import deliveries, webhooks
from docshare.server.store.tables.deliveries import AttemptRow
from docshare.server.store.tables.deliveries import ClaimedDelivery as ClaimedDelivery

_QUEUE = "deliveries"  # one key for all accounts, because a batch contains deliveries of many
_LEASE_MS = 30 * SECOND  # an attempt takes at most 10 seconds and is recorded at once
_ANY_TIME = 2**63 - 1
_MAX_CLOCK_ERROR_MS = HOUR


class AttemptResult(NamedTuple):
    """The ``outcome`` of an attempt that began at ``at`` (ms)."""

    delivery: ClaimedDelivery
    at: int
    outcome: AttemptOutcome


def claim_due(rt: Runtime, free: int) -> list[ClaimedDelivery]:
    """Claim up to ``free`` due deliveries. Nobody else can claim them until their attempts are recorded."""
    now = rt.clock()
    found = deliveries.list_due(rt.db, now, rules.MAX_PER_WEBHOOK, directory_id(rt.config.data_dir))
    due = [DueDelivery(served_at, next_at, ident, DeliveryLane(*lane)) for served_at, next_at, ident, *lane in found]
    if not due:
        return []
    claimed_at = now - rt.measure_lead()
    with rt.db.write(_QUEUE):
        in_flight = [DeliveryLane._make(lane) for lane in deliveries.list_in_flight(rt.db)]
        picked = rules.select_deliveries(due, in_flight, free)
        claimed = [row.id for row in picked if deliveries.claim(rt.db, row.id, now, claimed_at)]
        return [deliveries.get_claimed(rt.db, delivery_id, claimed_at) for delivery_id in claimed]


def send(rt: Runtime, delivery: ClaimedDelivery) -> AttemptResult:
    """Make the claimed attempt. Never raises, and must not run inside a transaction."""
    at = rt.clock()
    outcome = post_event(
        rt,
        delivery.receiver,
        event=delivery.event,
        body=delivery.body,
        delivery=delivery.uuid,
        attempt=delivery.number,
    )
    if not outcome.is_delivered:
        facts = {
            "delivery": delivery.uuid,
            "attempt": delivery.number,
            "status": outcome.status,
            "error": outcome.error,
        }
        LOGGER.info("delivery failed", extra=facts)
    return AttemptResult(delivery, at, outcome)


def record_attempts(rt: Runtime, sent: Sequence[AttemptResult]) -> None:
    """Store attempts and what follows from each: delivered, retried later, or abandoned, which may disable the webhook.
    A delivery that was deleted with its webhook or its file is skipped."""
    now = rt.clock()
    with rt.db.write(_QUEUE):
        for result in sent:
            _apply_result(rt, result, now)
    for _, _, outcome in sent:
        rt.attempts.add(("delivered" if outcome.is_delivered else "failed",), outcome.latency_ms / SECOND)


def release_claims(rt: Runtime) -> int:
    """Release the claims of processes that ended before they recorded their attempts. Return how many.

    On a database that other processes use, these are the claims older than ``_LEASE_MS``. Otherwise, these are all
    claims, so call this only while nothing is being sent.
    """
    now = rt.clock()
    # Without others, a claim may also seem to be of the future: a machine without a battery starts with an old time.
    claimed_by = now - rt.measure_lead() - _LEASE_MS if rt.db.is_shared else _ANY_TIME
    if not deliveries.has_claims(rt.db, claimed_by):
        return 0
    with rt.db.write():
        released = deliveries.release_claims(rt.db, claimed_by)
        deliveries.abandon_disabled(rt.db, now)
    return released


def reschedule_distant(rt: Runtime) -> int:
    """Make the deliveries due that are scheduled later than any retry is, as after a clock that was ahead has been
    corrected. Return how many.

    A clock that is behind shows retries as late as that, too. They wait for it to be corrected unless it is more than
    an hour behind, because a retry must not be sent early.
    """
    now = rt.clock()
    latest = now + max(RETRY_MS) + _MAX_CLOCK_ERROR_MS
    if not deliveries.has_scheduled_after(rt.db, latest):
        return 0
    with rt.db.write(_QUEUE):
        return deliveries.reschedule_after(rt.db, latest, now)


def _apply_result(rt: Runtime, result: AttemptResult, now: int) -> None:
    delivery, outcome = result.delivery, result.outcome
    found = deliveries.find_claim_state(rt.db, delivery.id, delivery.claimed_at)
    if found is None:
        return
    webhook_id, tries, is_disabled = found
    wait = None if outcome.is_delivered or is_disabled else retry_delay(tries + 1)
    is_abandoned = wait is None and not outcome.is_delivered
    # A failure counts once per abandoned delivery, not per attempt, and not while the webhook is disabled.
    is_counted = is_abandoned and not is_disabled
    deliveries.insert_attempt(
        rt.db, delivery.id, delivery.number, AttemptRow(result.at, outcome.status, outcome.latency_ms, outcome.error)
    )
    deliveries.settle(
        rt.db,
        delivery.id,
        tries=tries + 1,
        next_at=now + wait if wait else None,
        delivered_at=now if outcome.is_delivered else None,
        abandoned_at=now if is_abandoned else None,
    )
    webhooks.record_attempt(
        rt.db,
        webhook_id,
        at=result.at,
        status=outcome.status,
        has_failed=not outcome.is_delivered,
        is_counted=is_counted,
    )
    if is_counted and webhooks.disable(rt.db, webhook_id, DISABLE_AFTER, now):
        _notify_owner(rt, webhook_id)
        deliveries.abandon_disabled(rt.db, now)


def _notify_owner(rt: Runtime, webhook_id: int) -> None:
    uuid, peer, email, account_id = webhooks.get_owner(rt.db, webhook_id)
    LOGGER.warning("webhook disabled", extra={"webhook": uuid})
    mail.enqueue(rt, email, *rules.render_disabled_mail(peer, uuid), notice=(account_id, unsubscribe.WEBHOOKS))
