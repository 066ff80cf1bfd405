"""Send deliveries without the threads of the dispatcher."""

from __future__ import annotations

from docshare.server.runtime import Runtime
from docshare.server.services.webhooks import dispatch
from docshare.server.workers.dispatcher import MAX_SENDERS


def deliver_due(rt: Runtime) -> int:
    """Send all deliveries that are due now, one after the other in this thread; return how many."""
    count = 0
    while deliveries := dispatch.claim_due(rt, MAX_SENDERS):
        dispatch.record_attempts(rt, [dispatch.send(rt, delivery) for delivery in deliveries])
        count += len(deliveries)
    return count
