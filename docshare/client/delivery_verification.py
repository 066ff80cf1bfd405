"""Verification of webhook deliveries, for programs that receive them."""

import json
from typing import TYPE_CHECKING, cast

from docshare.client.errors import BadSignature
from docshare.client.http.clock import SYSTEM_CLOCK, Clock
from docshare.contract.limits import SECOND
from docshare.contract.signing import REPLAY_WINDOW_MS, SignatureVerdict, verify

if TYPE_CHECKING:
    from docshare.client.types.events import WebhookEvent


def parse_event(
    secret: str,
    body: bytes,
    header: str | None,
    *,
    window: float = REPLAY_WINDOW_MS / SECOND,
    clock: Clock = SYSTEM_CLOCK,
) -> "WebhookEvent":
    """Verify a delivery and return its event, which a type checker narrows by ``event``. Parameters as
    ``verify_signature``. Raise ``BadSignature`` if the delivery is not genuine.

    Example::

        event = docshare.parse_event(secret, request.get_data(), request.headers.get("X-Service-Signature"))
        if event["event"] == "file.viewed":
            print(event["data"]["timeMs"])
    """
    verdict = verify_signature(secret, body, header, window=window, clock=clock)
    if not verdict:
        raise BadSignature(f"the delivery is not genuine: {verdict.value}")
    return cast("WebhookEvent", json.loads(body))


def verify_signature(
    secret: str,
    body: bytes,
    header: str | None,
    *,
    window: float = REPLAY_WINDOW_MS / SECOND,
    clock: Clock = SYSTEM_CLOCK,
) -> SignatureVerdict:
    """Verify the ``X-Service-Signature`` of a delivery and return the verdict; never raise.

    Parameters:
        secret: the whole secret of the webhook, including ``whsec_``.
        body: the raw bytes of the request, before any parsing.
        header: the value of the header; None if the request has none.
        window: maximum distance of the signing time from now, in seconds.
        clock: replaced in tests.

    Only ``Verdict.GENUINE`` is true; the value of every other verdict is the reason.

    Example::

        if not docshare.verify_signature(secret, request.get_data(), request.headers.get("X-Service-Signature")):
            raise SystemExit("not genuine")
    """
    return verify(secret, body, header or "", round(clock.wall() * SECOND), round(window * SECOND))
