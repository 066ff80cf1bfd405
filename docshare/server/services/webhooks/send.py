"""Make one attempt to deliver an event to a webhook: a signed POST to its receiver."""

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

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
from docshare.server.store.tables.webhooks import Receiver

_MAX_RESPONSE_BYTES = 64 * 1024
_NO_RESPONSE = 0
_SUCCESS = range(200, 300)  # Any 2xx counts as delivered.
_SECRET_UNREADABLE = "The server cannot decrypt the secret of this webhook; create the webhook again."  # noqa: S105
_INTERNAL_FAILURE = "This server could not send the event."


@dataclass(frozen=True)
class AttemptOutcome:
    """The outcome of one attempt: ``status`` of the response, 0 if there was none; ``latency_ms`` of the whole attempt;
    ``error`` is one sentence for the owner, None if the event was delivered."""

    status: int
    latency_ms: int
    error: str | None

    @property
    def is_delivered(self) -> bool:
        """Return whether the receiver accepted the event."""
        return self.error is None


def post_event(
    rt: Runtime, receiver: Receiver, *, event: str, body: str, delivery: str, attempt: int
) -> AttemptOutcome:
    """Send ``body``, the envelope of one ``event``, to ``receiver`` once. Never raises, and must not run inside a
    transaction, because it takes up to ten seconds.

    Parameters: ``delivery`` is the UUID that all attempts share; ``attempt`` counts them from 1. Every attempt sends
    the same body with a new signature. The URL rules are checked before every attempt.
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
    except Exception:  # noqa: BLE001 - an unexpected error must not keep the attempt from being counted
        LOGGER.exception("delivery not sent", extra={"delivery": delivery})
        error = _INTERNAL_FAILURE
    return AttemptOutcome(status, round((time.monotonic() - began) * SECOND), error)


def _send_request(rt: Runtime, receiver: Receiver, body: str, names: dict[str, str]) -> int:
    """Return the status of the response. Raises Problem, OutboundError."""
    target, permit = destination.vet_target(rt, receiver.url, listener=receiver.is_listener)
    headers = {"Content-Type": CONTENT_TYPE, "User-Agent": rt.config.webhook_user_agent, **names}
    if receiver.format == "slack":
        content = _encode_json(slack.render_message(json.loads(body), rt.config.base_url))
    else:
        content = body.encode()
        headers[rt.config.signature_header] = sign(_open_secret(rt, receiver), content, rt.clock())
    with rt.outbound.exchange(
        OutboundRequest(target, "POST", headers, content), permit, deadline_s=TIMEOUT_MS / SECOND
    ) as response:
        # Only the status matters. The body is read up to a limit so that the receiver does not see a broken connection.
        with suppress(OutboundError):
            response.read_head(_MAX_RESPONSE_BYTES)
        return response.status


def _open_secret(rt: Runtime, receiver: Receiver) -> str:
    try:
        return rt.vault.open(receiver.secret, receiver.uuid)
    except ValueError as error:
        raise Problem("internal", _SECRET_UNREADABLE) from error


def _encode_json(message: dict[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
