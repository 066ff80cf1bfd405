"""Read queued deliveries of webhooks, and the activity feed."""

import ipaddress
import json
from typing import Any

from docshare.contract.webhooks import KINDS
from tests.support.outside.receivers import CreatedWebhook, add_webhook
from tests.support.people.cast import Person, World


def create_webhook_for(world: World, *kinds: str, person: Person | None = None, **more: str) -> CreatedWebhook:
    """Create a webhook of ``person`` (by default Pia) for ``kinds`` (by default all) to which the test sends nothing;
    ``more``: further fields of the request."""
    world.rt.outbound.resolve = lambda host: [ipaddress.ip_address("93.184.216.34")]
    return add_webhook(person or world.pia, "https://hook.example/in", *(kinds or KINDS), **more)


def delivery_bodies(world: World) -> list[str]:
    """Return the body of every delivery, in the order they were queued."""
    return [body for (body,) in world.rt.db.fetch_all("SELECT body FROM deliveries ORDER BY id")]


def delivery_envelopes(world: World) -> list[dict[str, Any]]:
    """Return the envelope of every delivery, in the order they were queued."""
    return [json.loads(body) for body in delivery_bodies(world)]


def list_activity(world: World, query: str = "since=1", person: Person | None = None) -> list[dict[str, Any]]:
    """Return one page of the activity feed of ``person`` (by default Pia)."""
    answer = (person or world.pia).get(f"/api/v1/activity?{query}")
    assert answer.status_code == 200, answer.text
    rows: list[dict[str, Any]] = answer.get_json()
    return rows
