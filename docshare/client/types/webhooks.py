"""Webhooks and their deliveries."""

from typing import Literal, NotRequired, TypedDict

from docshare.client.types.events import EventKind


class Webhook(TypedDict):
    """A webhook without its secret."""

    uuid: str
    url: str
    events: list[EventKind]
    format: Literal["json", "slack"]
    active: bool
    createdAt: str
    fileUuid: NotRequired[str]
    failureCount: NotRequired[int]
    lastDeliveryAt: NotRequired[str]
    lastStatus: NotRequired[int]
    disabledAt: NotRequired[str]


class CreatedWebhook(TypedDict):
    """A new webhook; ``secret`` is returned only once."""

    webhook: Webhook
    secret: str
    recovered: NotRequired[bool]


class DeliveryAttempt(TypedDict):
    """One attempt of a delivery."""

    at: str
    status: int
    latencyMs: int
    error: NotRequired[str]


class Delivery(TypedDict):
    """A delivery and its attempts."""

    id: int
    event: EventKind
    createdAt: str
    state: Literal["queued", "delivered", "abandoned"]
    nextAttemptAt: NotRequired[str]
    attempts: list[DeliveryAttempt]


class WebhookTest(TypedDict):
    """The result of a test delivery."""

    delivered: bool
    status: int
    latencyMs: int
