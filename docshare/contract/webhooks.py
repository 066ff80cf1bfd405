"""Webhook kinds, formats, the retry schedule, limits, and headers.

**Failures.** A delivery whose attempt fails is retried after the delays of ``RETRY_MS``. The fifth failure abandons it
and adds one to the failures of its webhook; a success of any delivery resets them. The 20th abandoned delivery in a row
disables the webhook: its queued deliveries are abandoned too, and the owner gets a mail. Enabling the webhook does not
send them; each can be sent again by itself. ``services/webhooks/dispatch`` carries this out.
"""

from typing import NamedTuple

from docshare.contract import fields
from docshare.contract.limits import HOUR, MINUTE, SECOND
from docshare.contract.plans import Plan


class WebhookKind(NamedTuple):
    """One subscribable kind: its ``title`` for people; when it fires, as a clause (``trigger_text``); the keys of
    ``data`` besides ``DATA_KEYS`` that are always present, or present when they apply; whether only a visitor causes
    it, not the signed-in owner; and the ``plan`` that the owner must have at the time of the event for a delivery to be
    queued."""

    title: str
    trigger_text: str
    required_keys: tuple[str, ...] = ()
    optional_keys: tuple[str, ...] = ()
    is_visitor_event: bool = True
    plan: Plan = Plan.FREE


_VARIANT_KEYS = ("variantUuid", "variantLabel")

KINDS: dict[str, WebhookKind] = {
    "file.viewed": WebhookKind(
        "Document viewed",
        "a reader finishes reading the document",
        ("pagesViewed", "timeMs", "sessionId"),
        _VARIANT_KEYS,
    ),
    "file.downloaded": WebhookKind(
        "Document downloaded", "a reader downloads the PDF from the share page", optional_keys=_VARIANT_KEYS
    ),
    "gate.completed": WebhookKind(
        "Gate completed", "a reader passes the email or form gate", ("source",), ("email", "fields"), plan=Plan.PRO
    ),
    "note.created": WebhookKind("New note", "a reader leaves a public note", ("author", "body"), ("pageNumber",)),
    "receipt.confirmed": WebhookKind("Receipt confirmed", "a reader marks the document as received", ("name",)),
    "file.burned": WebhookKind(
        "View limit reached, document deleted",
        "the view limit is reached and the document is deleted",
        is_visitor_event=False,
    ),
    "content.replaced": WebhookKind(
        "Document replaced", "the document behind the link is replaced", ("contentVersion",), is_visitor_event=False
    ),
    "invite.viewed": WebhookKind(
        "Invitation opened", "an invitee opens the document for the first time", ("email", "name")
    ),
    "proofing.updated": WebhookKind(
        "Proofing started", "a reader makes their first mark or annotation", ("kind", "pageNumber", "viewer")
    ),
}
"""The nine kinds that webhooks can subscribe to."""

TEST_KIND = "webhook.test"  # sent by webhooks.test only
_TEST_TITLE = "Test delivery"
DENIED_KIND = "access.denied"  # in the activity feed only
DENIED_REQUIRED_KEYS = ("reason", "count")
DENIED_OPTIONAL_KEYS = ("variantUuid",)
DENIED_REASONS = ("password", "domain", "revoked", "expired", "burned")
ACTIVITY_KINDS: tuple[str, ...] = (*KINDS, DENIED_KIND)


def name_kind(kind: str) -> str:
    """Return the name of a kind for people; the kind itself if it has none."""
    return _TEST_TITLE if kind == TEST_KIND else KINDS[kind].title if kind in KINDS else kind


GATE_SOURCES = ("form", "email")  # values of ``source`` in gate.completed
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

SECRET_PREFIX = "whsec_"  # noqa: S105 - the public prefix of every secret
SECRET_HEX_CHARS = 64

RETRY_MS: tuple[int, ...] = (MINUTE, 10 * MINUTE, HOUR, HOUR)  # the delay after failures 1, 2, 3, and 4
MAX_ATTEMPTS = len(RETRY_MS) + 1  # after that many failures the delivery is abandoned
TIMEOUT_MS = 10 * SECOND  # of the whole attempt
DISABLE_AFTER = 20  # consecutive abandoned deliveries of one webhook
WEBHOOKS_PER_ACCOUNT = 25

# The first two are defaults, which an operator can change.
SIGNATURE_HEADER = "X-Service-Signature"  # json format only
USER_AGENT = "Service-Webhooks/1.0"
CONTENT_TYPE = "application/json"
ID_HEADER = "Webhook-Id"  # the same on every attempt of a delivery
EVENT_HEADER = "Webhook-Event"
ATTEMPT_HEADER = "Webhook-Attempt"


def parse_event_kinds(name: str, value: object) -> list[str]:
    """Return a list of one or more distinct kinds in the order sent; raise ``bad_request`` for anything else."""
    if not isinstance(value, list) or not value:
        raise fields.field_problem(name, "a list of one or more event kinds")
    kind = fields.word_parser(*KINDS)
    return list(dict.fromkeys(kind(f"{name}[{at}]", item) for at, item in enumerate(value)))


def is_queued(kind: str, plan: Plan, *, by_owner: bool) -> bool:
    """Return whether an event of ``kind`` is queued for the webhooks of an owner who is on ``plan`` now.

    ``by_owner``: the owner of the file caused the event.
    """
    row = KINDS[kind]
    return plan >= row.plan and not (by_owner and row.is_visitor_event)


def retry_delay(failures: int) -> int | None:
    """Return the milliseconds from failure number ``failures`` (1: the first) to the next attempt; None: abandon."""
    return RETRY_MS[failures - 1] if failures <= len(RETRY_MS) else None
