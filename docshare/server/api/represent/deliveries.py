"""Deliveries as JSON."""

from typing import Any

from docshare.contract.wire import instant, present
from docshare.server.api.represent.resources import when
from docshare.server.services.webhooks.deliveries import Anybodys, AttemptRow, DeliveryRow


def delivery(row: DeliveryRow) -> dict[str, Any]:
    """One delivery with its attempts, oldest first."""
    return present(
        {
            "id": row.id,
            "event": row.event,
            "createdAt": instant(row.created_at),
            "state": row.state,
            "nextAttemptAt": when(row.next_at),
            "attempts": [attempt(entry) for entry in row.attempts],
        }
    )


def attempt(row: AttemptRow) -> dict[str, Any]:
    """One attempt; ``status`` 0: there was no answer."""
    return present({"at": instant(row.at), "status": row.status, "latencyMs": row.latency_ms, "error": row.error})


def operators(found: Anybodys) -> dict[str, Any]:
    """One delivery as ``docshare admin deliveries list`` shows it."""
    return {**delivery(found.row), "webhook": found.webhook, "url": found.url, "account": found.account}


def operators_whole(found: Anybodys) -> dict[str, Any]:
    """One delivery as ``docshare admin deliveries show`` shows it: also the UUID that goes with every attempt, and the
    ``body`` in the json format, as it is signed."""
    return {**operators(found), "uuid": found.uuid, "body": found.body}
