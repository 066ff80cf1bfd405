"""The headers that the operator names in the settings. Pure.

A bad one is an error at start: with it, every delivery to a webhook would fail, until the webhooks are disabled.
"""

import re

from docshare.contract.webhooks import ATTEMPT_HEADER, EVENT_HEADER, ID_HEADER

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# Those that deliveries have already.
_TAKEN = frozenset(
    name.lower()
    for name in (
        "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Host", "Transfer-Encoding", "User-Agent",
        ATTEMPT_HEADER, EVENT_HEADER, ID_HEADER,
    )
)  # fmt: skip


def parse_name(text: str) -> str:
    """Return the name of a header. Raises ValueError."""
    if _NAME.fullmatch(text) is None:
        raise ValueError("expected the name of a header, such as X-Service-Signature")
    return text


def parse_signature_name(text: str) -> str:
    """Return the name of the header with the signature of a delivery. Raises ValueError."""
    if parse_name(text).lower() in _TAKEN:
        raise ValueError("deliveries have this header already; choose another name")
    return text


def parse_value(text: str) -> str:
    """Return the value of a header. Raises ValueError for characters that a header cannot contain."""
    try:
        text.encode("latin-1")
    except UnicodeEncodeError as error:
        raise ValueError("expected ASCII, such as Service-Webhooks/1.0") from error
    return text
