"""Webhook kinds, formats, the retry schedule, caps and headers (sections Webhook and Events)."""

from typing import NamedTuple

from docshare.contract import fields
from docshare.contract.limits import HOUR, MINUTE, SECOND
from docshare.contract.plans import Plan


class Kind(NamedTuple):
    """One subscribable kind: the sentence of when it ``fires``, the keys of ``data`` that are ``always`` there beside
    ``DATA_KEYS``, those that stand only ``when`` they apply, whether a ``visitor`` causes it (then an acting owner
    does not), and the owner's ``plan`` at event time without which no delivery is queued."""

    fires: str
    always: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    visitor: bool = True
    plan: Plan = Plan.FREE


_VARIANT = ("variantUuid", "variantLabel")

KINDS: dict[str, Kind] = {
    "file.viewed": Kind("a reader has left the document", ("pagesViewed", "timeMs", "sessionId"), _VARIANT),
    "file.downloaded": Kind("a reader downloads the PDF from the share page", when=_VARIANT),
    "gate.completed": Kind("a reader passes the e-mail or form gate", ("source",), ("email", "fields"), plan=Plan.PRO),
    "note.created": Kind("a reader leaves a public note", ("author", "body"), ("pageNumber",)),
    "receipt.confirmed": Kind("a reader marks the document as received", ("name",)),
    "file.burned": Kind("the view limit is used up and the document is destroyed", visitor=False),
    "content.replaced": Kind("the document behind the link is replaced", ("contentVersion",), visitor=False),
    "invite.viewed": Kind("an invitee opens the document for the first time", ("email", "name")),
    "proofing.updated": Kind("a reader makes their first mark or annotation", ("kind", "pageNumber", "viewer")),
}
"""The nine kinds that can be subscribed to."""

TEST_KIND = "webhook.test"  # sent by the test endpoint only
DENIED_KIND = "access.denied"  # Spec gap: an addition, shown in the activity feed only
DENIED_ALWAYS = ("reason", "count")
DENIED_WHEN = ("variantUuid",)
DENIED_REASONS = ("password", "domain", "revoked", "expired", "burned")
ACTIVITY_KINDS: tuple[str, ...] = (*KINDS, DENIED_KIND)

GATE_SOURCES = ("form", "email")  # Spec gap: values of ``source`` in gate.completed
PROOFING_KINDS = ("mark", "annotation")

ENVELOPE_KEYS = ("event", "timestamp", "data")
DATA_KEYS = ("fileUuid", "fileName")

FORMATS = ("json", "slack")
DEFAULT_FORMAT = "json"

WEBHOOK_KEYS = ("uuid", "url", "events", "format", "active", "createdAt", "fileUuid")
WEBHOOK_LIST_KEYS = (*WEBHOOK_KEYS, "failureCount", "lastDeliveryAt", "lastStatus", "disabledAt")
DELIVERY_KEYS = ("id", "event", "createdAt", "state", "nextAttemptAt", "attempts")
DELIVERY_STATES = ("queued", "delivered", "abandoned")
ATTEMPT_KEYS = ("at", "status", "latencyMs", "error")
TEST_RESULT_KEYS = ("delivered", "status", "latencyMs")

SECRET_PREFIX = "whsec_"  # noqa: S105 - the public start of every secret
SECRET_HEX_CHARS = 64

RETRY_MS: tuple[int, ...] = (MINUTE, 10 * MINUTE, HOUR, HOUR)  # the wait after failure 1, 2, 3 and 4
ATTEMPTS = len(RETRY_MS) + 1
TIMEOUT_MS = 10 * SECOND  # of the whole attempt
DISPATCH_MS = 5 * SECOND
DISABLE_AFTER = 20  # consecutive abandoned deliveries
WEBHOOKS_PER_ACCOUNT = 25

# Spec gap: the first two are defaults; a deployment may use its own names.
SIGNATURE_HEADER = "X-Service-Signature"  # json format only
USER_AGENT = "Service-Webhooks/1.0"
CONTENT_TYPE = "application/json"
ID_HEADER = "Webhook-Id"  # the same on every attempt of a delivery
EVENT_HEADER = "Webhook-Event"
ATTEMPT_HEADER = "Webhook-Attempt"


def event_kinds(name: str, value: object) -> list[str]:
    """A list of one or more subscribable kinds, each once, in the order sent; raises ``bad_request`` otherwise."""
    if not isinstance(value, list) or not value:
        raise fields.refusal(name, "a list of one or more event kinds")
    kind = fields.word(*KINDS)
    return list(dict.fromkeys(kind(f"{name}[{at}]", item) for at, item in enumerate(value)))


def is_queued(kind: str, plan: Plan, *, by_owner: bool) -> bool:
    """Whether an event of ``kind`` is queued for the webhooks of an owner who has ``plan`` now.

    ``by_owner``: the acting user is the file's owner (section Webhook event kinds).
    """
    row = KINDS[kind]
    return plan >= row.plan and not (by_owner and row.visitor)


def retry_delay(failures: int) -> int | None:
    """Milliseconds from failure number ``failures`` (1 for the first) to the next attempt; None: abandoned."""
    return RETRY_MS[failures - 1] if failures <= len(RETRY_MS) else None
