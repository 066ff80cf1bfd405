"""The streams of the event feed, their rows and their cursor rules (sections Event feed row and Events feed)."""

import re
from typing import NamedTuple

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


class Stream(NamedTuple):
    """``plan`` its readers need, the ``largest`` cursor (greater ones are clamped), the row's ``keys`` in order and
    the ``optional`` ones among them, which are absent when there is nothing to show."""

    plan: Plan
    largest: int
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

# Spec gap: an addition with the cursor rules of the gate stream; its gate.completed rows need the gate stream's plan.
ACTIVITY = Stream(Plan.FREE, INT64_MAX, ("id", "event", "timestamp", "data"), frozenset())

# Spec gap: an addition; the counted sessions of one file in the order in which they ended, always ascending.
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
        "pages",
    ),
    frozenset({"country", "email", "name", "inviteUuid", "variantUuid"}),
)

FIRST_ID = 2  # Spec gap: so that since=1 walks the whole history
LIMIT_DEFAULT = 50
LIMIT_MIN = 1
LIMIT_MAX = 100
GATE_REFUSAL = "This feature requires the pro plan or higher"  # the plain text of the 403 below Pro

_NUMBER = re.compile("(-?)0*([0-9]+)")
_LONGEST = len(str(INT64_MAX))


def parse_type(text: str | None) -> str:
    """The stream that the parameter ``type`` names (None: not sent); ``bad_request`` for any other word."""
    name = DEFAULT_STREAM if text is None else text
    if name not in STREAMS:
        raise Problem("bad_request", "type must be one of " + ", ".join(STREAMS) + ".")
    return name


def parse_kinds(text: str | None) -> tuple[str, ...]:
    """The kinds of event that the parameter ``kind`` names, with commas between several (not sent: none, which means
    all); ``bad_request`` for any other word. Spec gap: parameters of the activity feed."""
    from docshare.contract.webhooks import ACTIVITY_KINDS  # here: whoever reads a feed loads this module

    kinds = () if text is None else tuple(dict.fromkeys(text.split(",")))
    if not set(kinds) <= set(ACTIVITY_KINDS):
        raise Problem("bad_request", "kind must be one or several of " + ", ".join(ACTIVITY_KINDS) + ".")
    return kinds


def parse_since(text: str | None, largest: int) -> int:
    """The cursor of ``since``, clamped to ``largest``; 0 ("newest first") when omitted or unparseable.

    Spec gap: a negative number counts as unparseable.
    """
    return min(max(_number(text) or 0, 0), largest)


def parse_limit(text: str | None) -> int:
    """The page size of ``limit``, clamped to 1 to 100; 50 when omitted or unparseable."""
    number = _number(text)
    return LIMIT_DEFAULT if number is None else min(max(number, LIMIT_MIN), LIMIT_MAX)


def _number(text: str | None) -> int | None:
    """A number of ASCII digits; above 64 bits any one that is at least as great. None when it is no number."""
    match = _NUMBER.fullmatch(text or "")
    if match is None:
        return None
    sign, digits = match.groups()
    # Python refuses to read thousands of digits, and beyond 64 bits the value no longer matters.
    size = int(digits) if len(digits) <= _LONGEST else INT64_MAX
    return -size if sign else size
