"""For programs that receive webhooks: is a delivery genuine?"""

from docshare.client.clock import SYSTEM_CLOCK, Clock
from docshare.contract.limits import SECOND
from docshare.contract.signing import REPLAY_WINDOW_MS, Verdict, verify


def verify_signature(
    secret: str,
    body: bytes,
    header: str | None,
    *,
    window: float = REPLAY_WINDOW_MS / SECOND,
    clock: Clock = SYSTEM_CLOCK,
) -> Verdict:
    """Judge a delivery by its ``X-Service-Signature`` (section Authentication 7); never raises.

    Parameters:
        secret: the whole secret of the webhook, with its ``whsec_``.
        body: the raw bytes of the request, before anything has parsed them.
        header: the value of the header; None if the request has none.
        window: seconds that the signing time may lie before or after now.
        clock: replaced in tests.

    The verdict is true only for ``Verdict.GENUINE``; the value of every other one says what is wrong.
    """
    return verify(secret, body, header or "", round(clock.wall() * SECOND), round(window * SECOND))
