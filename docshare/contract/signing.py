"""The signature of webhook deliveries, for the sender and for receivers."""

import hashlib
import hmac
import re
from enum import Enum

from docshare.contract.limits import MINUTE, SECOND

REPLAY_WINDOW_MS = 5 * MINUTE

_HEADER = re.compile("t=([0-9]{1,15}),v1=([0-9a-f]{64})")


class SignatureVerdict(Enum):
    """The result of ``verify``; true only if genuine, otherwise the value is the reason."""

    GENUINE = "The signature is genuine."
    MALFORMED = "The signature header is not of the form t=<digits>,v1=<64 lowercase hex characters>."
    MISMATCH = "The signature does not match: the secret differs, or the body is not the raw bytes that were sent."
    TOO_OLD = "The signature is genuine but too old: a replay, or the clocks differ."
    FROM_THE_FUTURE = "The signature is genuine but from the future: the clocks differ."

    def __bool__(self) -> bool:
        return self is SignatureVerdict.GENUINE


def sign(secret: str, body: bytes, now: int) -> str:
    """Return the header value ``t=<seconds>,v1=<hex>`` for the raw ``body`` sent at ``now`` (milliseconds).

    The key is the whole ``secret`` as UTF-8, including ``whsec_``, not hex-decoded.
    """
    seconds = now // SECOND
    return f"t={seconds},v1={_digest(secret, body, str(seconds))}"


def verify(secret: str, body: bytes, header: str, now: int, window: int = REPLAY_WINDOW_MS) -> SignatureVerdict:
    """Return the verdict on the ``header`` of a delivery with the raw ``body``; never raise.

    ``now`` and ``window`` are milliseconds; the signing time may lie up to ``window`` before or after ``now``.
    """
    match = _HEADER.fullmatch(header)
    if match is None:
        return SignatureVerdict.MALFORMED
    seconds, signature = match.groups()
    # Bytes, because compare_digest raises for text that is not ASCII.
    if not hmac.compare_digest(_digest(secret, body, seconds).encode(), signature.encode()):
        return SignatureVerdict.MISMATCH
    # In whole seconds, like the signing time.
    age = now // SECOND - int(seconds)
    if age * SECOND > window:
        return SignatureVerdict.TOO_OLD
    return SignatureVerdict.FROM_THE_FUTURE if -age * SECOND > window else SignatureVerdict.GENUINE


def _digest(secret: str, body: bytes, seconds: str) -> str:
    # A secret from a command line can contain lone surrogates; then it must not match, rather than raise.
    key = secret.encode("utf-8", "surrogatepass")
    return hmac.new(key, seconds.encode() + b"." + body, hashlib.sha256).hexdigest()
