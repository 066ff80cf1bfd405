"""One attempt to hand an event to a webhook: a signed POST to its receiver, and how that went."""

import json
import time
from contextlib import suppress
from typing import Any, NamedTuple

from docshare.contract import slack
from docshare.contract.limits import SECOND
from docshare.contract.problems import Problem
from docshare.contract.signing import sign
from docshare.contract.webhooks import ATTEMPT_HEADER, CONTENT_TYPE, EVENT_HEADER, ID_HEADER, TIMEOUT_MS
from docshare.server.logs import LOGGER
from docshare.server.outbound.exchange import OutboundRequest
from docshare.server.outbound.failures import OutboundError, OutboundRedirect
from docshare.server.runtime import Runtime
from docshare.server.services.webhooks import destination

_MAX_RESPONSE_BYTES = 64 * 1024
_NO_RESPONSE = 0
_SUCCESS = range(200, 300)  # Any 2xx counts as delivered.
_SECRET_UNREADABLE = "This server can no longer read the secret of this webhook; create the webhook anew."  # noqa: S105
_INTERNAL_FAILURE = "This server could not send the event."


class Receiver(NamedTuple):
    """A webhook as far as sending needs it: ``secret`` sealed by the vault about its ``uuid``; ``listens``: it belongs
    to a listener on this machine, see ``services.listeners``."""

    uuid: str
    url: str
    format: str
    secret: bytes
    listens: bool


class AttemptOutcome(NamedTuple):
    """How one attempt went: ``status`` of the answer, 0 when there was none; ``latency_ms`` of the whole attempt;
    ``error`` one sentence that the owner may read, None when it was delivered."""

    status: int
    latency_ms: int
    error: str | None

    @property
    def delivered(self) -> bool:
        """Whether the receiver has it."""
        return self.error is None


def post_event(
    rt: Runtime, receiver: Receiver, *, event: str, body: str, delivery: str, attempt: int
) -> AttemptOutcome:
    """Send ``body``, the envelope of one ``event``, to ``receiver`` once. Never raises, and never inside a transaction:
    it takes up to ten seconds.

    Parameters: ``delivery`` the UUID that stays the same over all attempts; ``attempt`` their number, from 1. The body
    on the wire is the same on every attempt, the signature is made anew. The URL rules are checked before every
    send.
    """
    began = time.monotonic()
    status, error = _NO_RESPONSE, None
    try:
        names = {ID_HEADER: delivery, EVENT_HEADER: event, ATTEMPT_HEADER: str(attempt)}
        status = _send_request(rt, receiver, body, names)
        if status not in _SUCCESS:
            error = f"The receiver answered with status {status}."
    except OutboundRedirect as redirect:
        status, error = redirect.status, f"The receiver {redirect}."
    except OutboundError as failure:
        error = f"The receiver {failure}."
    except Problem as refusal:
        error = refusal.detail
    except Exception:  # noqa: BLE001 - whatever is wrong with one delivery must not keep it from being counted
        LOGGER.exception("delivery not sent", extra={"delivery": delivery})
        error = _INTERNAL_FAILURE
    return AttemptOutcome(status, round((time.monotonic() - began) * SECOND), error)


def _send_request(rt: Runtime, receiver: Receiver, body: str, names: dict[str, str]) -> int:
    """The status that ``receiver`` answers. Raises Problem, OutboundError."""
    target, permit = destination.vet_target(rt, receiver.url, listener=receiver.listens)
    headers = {"Content-Type": CONTENT_TYPE, "User-Agent": rt.config.webhook_user_agent, **names}
    if receiver.format == "slack":
        content = _encode_json(slack.render_message(json.loads(body), rt.config.base_url))
    else:
        content = body.encode()
        headers[rt.config.signature_header] = sign(_open_secret(rt, receiver), content, rt.clock())
    with rt.outbound.exchange(
        OutboundRequest(target, "POST", headers, content), permit, deadline_s=TIMEOUT_MS / SECOND
    ) as answer:
        # The status is the answer. The rest is heard out, up to a point, so that the receiver sees no broken line.
        with suppress(OutboundError):
            answer.beginning(_MAX_RESPONSE_BYTES)
        return answer.status


def _open_secret(rt: Runtime, receiver: Receiver) -> str:
    try:
        return rt.vault.open(receiver.secret, receiver.uuid)
    except ValueError as error:
        raise Problem("internal", _SECRET_UNREADABLE) from error


def _encode_json(message: dict[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
