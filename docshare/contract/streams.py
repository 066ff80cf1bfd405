"""The streams of the event feed: their rows and the rules of their cursors."""

import re
from typing import NamedTuple

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


class Stream(NamedTuple):
    """The required ``plan``, the ``max_cursor`` (greater ones are clamped), and the ``keys`` of a row in order;
    ``optional`` keys are absent if they have no value."""

    plan: Plan
    max_cursor: int
    keys: tuple[str, ...]
    optional: frozenset[str]


STREAMS: dict[str, Stream] = {
    "view": Stream(
        Plan.FREE,
        INT32_MAX,
        ("id", "fileUuid", "fileName", "readAt", "country", "pagesViewed", "timeMs", "type"),
        frozenset({"readAt", "country"}),
    ),
    "download": Stream(
        Plan.FREE,
        INT32_MAX,
        ("id", "fileUuid", "fileName", "readAt", "country", "type"),
        frozenset({"country"}),
    ),
    "gate": Stream(
        Plan.PRO,
        INT64_MAX,
        ("id", "fileUuid", "fileName", "readAt", "type", "fields"),
        frozenset({"fields"}),
    ),
}
DEFAULT_STREAM = "view"

# The cursor rules are those of the gate stream; gate.completed rows require the plan of the gate stream.
ACTIVITY = Stream(Plan.FREE, INT64_MAX, ("id", "event", "timestamp", "data"), frozenset())

# The counted sessions of one file in the order in which they ended, always ascending.
SESSIONS = Stream(
    Plan.PRO,
    INT64_MAX,
    (
        "id",
        "sessionId",
        "startedAt",
        "totalTimeMs",
        "pagesViewed",
        "country",
        "deviceType",
        "browser",
        "returning",
        "email",
        "name",
        "fromInvite",
        "inviteUuid",
        "variantUuid",
        "contentVersion",
        "shownPages",
        "pseudonym",
        "pages",
    ),
    frozenset({"country", "email", "name", "inviteUuid", "variantUuid"}),
)

LIMIT_DEFAULT = 50
LIMIT_MIN = 1
LIMIT_MAX = 100
GATE_PLAN_MESSAGE = "This feature requires the pro plan or higher"  # the 403 response below Pro, as plain text

_NUMBER = re.compile("(-?)0*([0-9]+)")
_MAX_DIGITS = len(str(INT64_MAX))


def parse_type(text: str | None) -> str:
    """Return the stream named by the parameter ``type`` (None: the default); raise ``bad_request`` if unknown."""
    name = DEFAULT_STREAM if text is None else text
    if name not in STREAMS:
        raise Problem("bad_request", "type must be one of " + ", ".join(STREAMS) + ".")
    return name


def parse_kinds(text: str | None) -> tuple[str, ...]:
    """Return the kinds in the comma-separated parameter ``kind`` of the activity feed (None: an empty tuple, which
    means all kinds); raise ``bad_request`` if one is unknown."""
    from docshare.contract.webhooks import ACTIVITY_KINDS  # here, to keep the import of this module fast

    kinds = () if text is None else tuple(dict.fromkeys(text.split(",")))
    if not set(kinds) <= set(ACTIVITY_KINDS):
        raise Problem("bad_request", "kind must be one or more of " + ", ".join(ACTIVITY_KINDS) + ".")
    return kinds


def parse_since(text: str | None, largest: int) -> int:
    """Return the cursor ``since``, clamped to ``largest``; 0 (newest first) if omitted, negative, or malformed."""
    return min(max(_parse_number(text) or 0, 0), largest)


def parse_limit(text: str | None) -> int:
    """Return the page size ``limit``, clamped to 1 to 100; 50 if it is omitted or malformed."""
    number = _parse_number(text)
    return LIMIT_DEFAULT if number is None else min(max(number, LIMIT_MIN), LIMIT_MAX)


def _parse_number(text: str | None) -> int | None:
    """Return a number of ASCII digits, at most ``INT64_MAX``; None if the text is not a number."""
    match = _NUMBER.fullmatch(text or "")
    if match is None:
        return None
    sign, digits = match.groups()
    # Python does not convert thousands of digits, and beyond 64 bits the exact value does not matter.
    size = int(digits) if len(digits) <= _MAX_DIGITS else INT64_MAX
    return -size if sign else size
