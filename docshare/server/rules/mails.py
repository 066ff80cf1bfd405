"""Mails: when to try again, and what may stand in a header. Pure."""

import re

from docshare.contract.limits import HOUR, MINUTE
from docshare.contract.plans import DAY

# The wait after failure 1, 2, ...: a mail server that is down for a night loses nothing.
RETRY_MS = (MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY)
_SUBJECT_CHARS = 200
_NOT_IN_HEADERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def next_attempt(failures: int, now: int) -> int | None:
    """When a mail that failed ``failures`` times is tried again, in ms; None: never."""
    return now + RETRY_MS[failures - 1] if failures <= len(RETRY_MS) else None


def one_line(text: str) -> str:
    """``text`` as it can stand in a header: no line ends or control characters (hardening M38), also none that an
    encoded word would be decoded to, and not too long."""
    # The library reads "=?utf-8?q?=0D=0A?=" as what it encodes, and writes that into the message.
    line = " ".join(_NOT_IN_HEADERS.sub(" ", text).replace("=?", "= ?").split())
    return line if len(line) <= _SUBJECT_CHARS else line[: _SUBJECT_CHARS - 1] + "\u2026"


def state(attempts: int, next_at: int | None, sent_at: int | None) -> str:
    """``sent``, ``queued``, ``failed`` (given up), or ``kept``: written while no mail server was configured."""
    if sent_at is not None:
        return "sent"
    if next_at is not None:
        return "queued"
    return "failed" if attempts else "kept"
