"""How values look on the wire: instants, and "absent is not null" (section Resources and their fields)."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INSTANT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9})\d*)?)?([Zz]|[+-]\d\d:?\d\d)", re.ASCII
)


def instant(millis: int) -> str:
    """Draw ``millis`` (milliseconds since 1970, UTC) as RFC 3339 with milliseconds and ``Z``."""
    moment = _EPOCH + timedelta(milliseconds=millis)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def parse_instant(text: str) -> int | None:
    """Read an RFC 3339 datetime with any offset and fraction; returns milliseconds since 1970, or None."""
    match = _INSTANT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        moment = datetime(int(year), int(month), int(day), int(hour), int(minute), min(int(second or 0), 59), tzinfo=UTC)
        if zone not in "Zz":
            offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
            moment = moment - offset if zone[0] == "+" else moment + offset
    except (ValueError, OverflowError):
        return None
    return (moment - _EPOCH) // timedelta(milliseconds=1) + int((fraction or "").ljust(3, "0")[:3])


def present(values: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the keys whose value is None: a value that is not set is an absent key, never ``null``."""
    return {key: value for key, value in values.items() if value is not None}
