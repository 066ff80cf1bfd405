"""Queue deliveries in the transaction that stores their event."""

from docshare.contract.plans import Plan
from docshare.contract.webhooks import is_queued
from docshare.server.runtime import Runtime
from docshare.server.store.tables import deliveries, webhooks


def enqueue_deliveries(rt: Runtime, file_id: int, event: str, body: str, *, variant_id: int | None, now: int) -> None:
    """Queue ``body``, the envelope of one ``event`` of the file ``file_id``, for every webhook subscribed to it.

    Parameters: ``variant_id`` of the link that caused the event, so that a redaction finds the delivery; ``now`` in ms,
    when the delivery is due. Callers skip events that the owner caused and is not notified of.
    """
    for webhook_id, plan in webhooks.list_receivers(rt.db, file_id, event, now):
        if is_queued(event, Plan(plan), by_owner=False):
            uuid = rt.random_uuid()
            deliveries.insert(
                rt.db, uuid, webhook_id, file_id=file_id, variant_id=variant_id, event=event, body=body, now=now
            )


def delete_deliveries(rt: Runtime, file_id: int, event: str, body: str) -> None:
    """Delete the deliveries of ``body``, the envelope of one ``event`` of the file ``file_id``, in the caller's
    transaction."""
    deliveries.delete_of_event(rt.db, file_id, event, body)
