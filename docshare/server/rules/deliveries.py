"""Deliveries to webhooks: their order, their state, and the mail about a disabled webhook. Pure."""

import heapq
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from docshare.contract.webhooks import DISABLE_AFTER

# Maximum deliveries in flight, so that receivers that hang cannot occupy all senders, nor one receiver all those of
# its host: many services have one path per customer on the same host.
MAX_PER_WEBHOOK = 3
MAX_PER_PEER = 12
MAX_PER_ACCOUNT = 16
_CAPS = (MAX_PER_ACCOUNT, MAX_PER_PEER, MAX_PER_WEBHOOK)


class DeliveryLane(NamedTuple):
    """The keys of the concurrency caps: the account, the ``peer`` (host:port) that it sends to, and the webhook."""

    account_id: int
    peer: str
    webhook_id: int


class DueDelivery(NamedTuple):
    """A delivery that has been due since ``next_at`` (ms); ``served_at``: when its webhook last had one, 0 if never."""

    served_at: int
    next_at: int
    id: int
    lane: DeliveryLane


def select_deliveries(due: Iterable[DueDelivery], in_flight: Iterable[DeliveryLane], free: int) -> list[DueDelivery]:
    """Select at most ``free`` deliveries that do not exceed the concurrency caps.

    Order: the account with the fewest ``in_flight``, then the peer with the fewest, then the webhook with the fewest,
    then the webhook that was served least recently.
    """
    accounts: Counter[int] = Counter()
    peers: Counter[str] = Counter()
    webhooks: Counter[int] = Counter()

    def load(lane: DeliveryLane) -> tuple[int, int, int]:
        return accounts[lane.account_id], peers[lane.peer], webhooks[lane.webhook_id]

    def take(lane: DeliveryLane) -> None:
        accounts[lane.account_id] += 1
        peers[lane.peer] += 1
        webhooks[lane.webhook_id] += 1

    for lane in in_flight:
        take(lane)
    queue = [(load(row.lane), row) for row in due]
    heapq.heapify(queue)
    picked: list[DueDelivery] = []
    while queue and len(picked) < free:
        known, row = heapq.heappop(queue)
        now = load(row.lane)
        if any(held >= most for held, most in zip(now, _CAPS, strict=True)):
            continue
        if now != known:  # the load of the lane has grown since it was queued
            heapq.heappush(queue, (now, row))
            continue
        take(row.lane)
        picked.append(row)
    return picked


def delivery_state(next_at: int | None, delivered_at: int | None) -> str:
    """Return the state of a delivery, one of ``DELIVERY_STATES``."""
    if next_at is not None:
        return "queued"
    return "abandoned" if delivered_at is None else "delivered"


def render_disabled_mail(peer: str, uuid: str) -> tuple[str, str]:
    """Return subject and text of the mail about the disabled webhook ``uuid``, which sent to ``peer`` (host:port).

    The mail omits the rest of the address, which may contain a secret of the receiver.
    """
    host = peer.rpartition(":")[0]
    body = (
        f"The server has disabled your webhook to {host}: it could not deliver the last {DISABLE_AFTER} events, each\n"
        "in five attempts. It has dropped the queued deliveries and sends no more events.\n\n"
        f"    Webhook: {uuid}\n\n"
        "See what went wrong:\n\n"
        f"    docshare webhooks deliveries {uuid}\n\n"
        "Once the receiver answers again, enable the webhook:\n\n"
        f"    docshare webhooks enable {uuid}\n\n"
        "Dropped events are kept for 90 days; the same list has their numbers, and each can be sent again:\n\n"
        f"    docshare webhooks redeliver {uuid} NUMBER\n"
    )
    return f"Your webhook to {host} has been disabled", body
