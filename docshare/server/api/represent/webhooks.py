"""Convert webhooks to JSON."""

import json
from typing import Any

from docshare.contract.wire import drop_none, format_instant
from docshare.server.api.represent.resources import format_optional_instant
from docshare.server.services.webhooks.send import AttemptOutcome
from docshare.server.services.webhooks.webhooks import WebhookRow


def webhook_object(row: WebhookRow) -> dict[str, Any]:
    """Return the Webhook object as after its creation."""
    return drop_none(
        {
            "uuid": row.uuid,
            "url": row.url,
            "events": json.loads(row.events),
            "format": row.format,
            "active": row.disabled_at is None,
            "createdAt": format_instant(row.created_at),
            "fileUuid": row.file_uuid,
        }
    )


def webhook_with_health(row: WebhookRow) -> dict[str, Any]:
    """Return the Webhook object with the health of its deliveries."""
    health = {
        "failureCount": row.failure_count,
        "lastDeliveryAt": format_optional_instant(row.last_delivery_at),
        "lastStatus": row.last_status,
        "disabledAt": format_optional_instant(row.disabled_at),
    }
    return webhook_object(row) | drop_none(health)


def test_result(outcome: AttemptOutcome) -> dict[str, Any]:
    """Return the result of a test delivery."""
    return {"delivered": outcome.is_delivered, "status": outcome.status, "latencyMs": outcome.latency_ms}
