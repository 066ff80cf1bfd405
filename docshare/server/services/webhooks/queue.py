"""Queueing deliveries in the transaction of the fact they tell."""

from docshare.contract.plans import Plan
from docshare.contract.webhooks import is_queued
from docshare.server.runtime import Runtime

# A file that nobody owns has no webhooks. An unscoped one receives all events of its account.
_RECEIVERS = (
    "SELECT w.id, a.plan FROM files f JOIN accounts a ON a.id = f.owner_id JOIN webhooks w ON w.account_id = a.id "
    "WHERE f.id = ? AND (w.file_id IS NULL OR w.file_id = f.id) AND w.disabled_at IS NULL "
    "AND (w.listens_until IS NULL OR w.listens_until > ?) "
    "AND EXISTS (SELECT 1 FROM json_each(w.events) WHERE value = ?)"
)
_ADD = (
    "INSERT INTO deliveries (uuid, webhook_id, file_id, variant_id, event, body, created_at, next_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


def enqueue_deliveries(rt: Runtime, file_id: int, event: str, body: str, *, variant_id: int | None, now: int) -> None:
    """Queue ``body``, the envelope of one ``event`` of the file ``file_id``, for every webhook that asks for it.

    Parameters: ``variant_id`` through which link, so that redaction finds it; ``now`` ms, when it is due. Whoever is
    told nothing of their own actions does not come here.
    """
    for webhook_id, plan in rt.db.rows(_RECEIVERS, (file_id, now, event)):
        if is_queued(event, Plan(plan), by_owner=False):
            rt.db.execute(_ADD, (rt.uuid(), webhook_id, file_id, variant_id, event, body, now, now))
