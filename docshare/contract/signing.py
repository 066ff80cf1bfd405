"""The signature of webhook deliveries: one definition for the sender and for receivers (section Authentication 7)."""

import hashlib
import hmac
import re
from enum import Enum

from docshare.contract.limits import MINUTE, SECOND

REPLAY_WINDOW_MS = 5 * MINUTE

_HEADER = re.compile("t=([0-9]{1,15}),v1=([0-9a-f]{64})")


class Verdict(Enum):
    """What ``verify`` found; true only when genuine, and the value says why not."""

    GENUINE = "The signature is genuine."
    MALFORMED = "The signature header is not of the form t=<digits>,v1=<64 lowercase hex characters>."
    MISMATCH = "The signature does not fit: another secret, or the body is not the raw bytes that were sent."
    TOO_OLD = "The signature is genuine but too old: a replay, or the clocks differ."
    FROM_THE_FUTURE = "The signature is genuine but from the future: the clocks differ."

    def __bool__(self) -> bool:
        return self is Verdict.GENUINE


def sign(secret: str, body: bytes, now: int) -> str:
    """The header value for the raw ``body`` sent at ``now`` (milliseconds): ``t=<seconds>,v1=<hex>``.

    The key is the whole ``secret`` with its ``whsec_`` prefix, as UTF-8 and not hex-decoded.
    """
    seconds = now // SECOND
    return f"t={seconds},v1={_digest(secret, body, str(seconds))}"


def verify(secret: str, body: bytes, header: str, now: int, window: int = REPLAY_WINDOW_MS) -> Verdict:
    """Judge the ``header`` that came with the raw ``body``; never raises.

    ``now`` and ``window`` are milliseconds; the signing time may lie up to ``window`` before or after ``now``.
    """
    match = _HEADER.fullmatch(header)
    if match is None:
        return Verdict.MALFORMED
    seconds, signature = match.groups()
    # Bytes, since compare_digest refuses text that is not ASCII.
    if not hmac.compare_digest(_digest(secret, body, seconds).encode(), signature.encode()):
        return Verdict.MISMATCH
    # In whole seconds, as the signing time is.
    age = now // SECOND - int(seconds)
    if age * SECOND > window:
        return Verdict.TOO_OLD
    return Verdict.FROM_THE_FUTURE if -age * SECOND > window else Verdict.GENUINE


def _digest(secret: str, body: bytes, seconds: str) -> str:
    # A secret typed at a shell can hold lone surrogates; it then simply does not fit.
    key = secret.encode("utf-8", "surrogatepass")
    return hmac.new(key, seconds.encode() + b"." + body, hashlib.sha256).hexdigest()
