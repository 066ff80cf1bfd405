"""Deliveries as JSON."""

from typing import Any

from docshare.contract.wire import drop_none, format_instant
from docshare.server.api.represent.resources import format_optional_instant
from docshare.server.services.webhooks.deliveries import AdminDelivery, AttemptRow, DeliveryRow


def delivery_object(row: DeliveryRow) -> dict[str, Any]:
    """Return one delivery with its attempts, oldest first."""
    return drop_none(
        {
            "id": row.id,
            "event": row.event,
            "createdAt": format_instant(row.created_at),
            "state": row.state,
            "nextAttemptAt": format_optional_instant(row.next_at),
            "attempts": [attempt_object(entry) for entry in row.attempts],
        }
    )


def attempt_object(row: AttemptRow) -> dict[str, Any]:
    """Return one attempt; ``status`` 0 means that there was no response."""
    return drop_none(
        {"at": format_instant(row.at), "status": row.status, "latencyMs": row.latency_ms, "error": row.error}
    )


def admin_delivery_row(found: AdminDelivery) -> dict[str, Any]:
    """Return one delivery for ``docshare admin deliveries list``."""
    return {**delivery_object(found.row), "webhook": found.webhook, "url": found.url, "account": found.account}


def admin_delivery_detail(found: AdminDelivery) -> dict[str, Any]:
    """Return one delivery for ``docshare admin deliveries show``.

    It also has the UUID that is sent with every attempt, and the ``body`` in the json format, as it is signed.
    """
    return {**admin_delivery_row(found), "uuid": found.uuid, "body": found.body}
