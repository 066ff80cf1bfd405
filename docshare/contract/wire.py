"""Values on the wire: instants as RFC 3339, host names in ASCII, and absent keys instead of ``null``."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

from docshare.contract.patterns import Pattern

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400_000  # milliseconds
_INSTANT = Pattern(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9})\d*)?)?([Zz]|[+-]\d\d:?\d\d)", re.ASCII
)


def format_instant(millis: int) -> str:
    """Return ``millis`` (milliseconds since 1970, UTC) as RFC 3339 with milliseconds and ``Z``."""
    days, rest = divmod(millis, _DAY)
    seconds, fraction = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{_format_date(days)}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z"


@lru_cache(maxsize=512)
def _format_date(days: int) -> str:
    """Return the ISO date ``days`` after 1970-01-01. Cached, because a list contains many instants of few days."""
    # Not strftime: its %Y does not pad years before 1000.
    return (_EPOCH + timedelta(days=days)).date().isoformat()


def parse_instant(text: str) -> int | None:
    """Return an RFC 3339 datetime with any offset and fraction as milliseconds since 1970; None if malformed."""
    match = _INSTANT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    # Python has no leap seconds: read one as the second before.
    seconds = 59 if second == "60" else int(second or 0)
    try:
        local = datetime(int(year), int(month), int(day), int(hour), int(minute), seconds, tzinfo=_parse_zone(zone))
        moment = local.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return (moment - _EPOCH) // timedelta(milliseconds=1) + int((fraction or "").ljust(3, "0")[:3])


def _parse_zone(text: str) -> timezone:
    """Return the time zone of ``Z``, ``+hh:mm``, or ``-hhmm``; raise ValueError beyond 23:59."""
    if text in "Zz":
        return UTC
    hours, minutes = int(text[1:3]), int(text[-2:])
    if minutes > 59:
        raise ValueError(text)
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(offset if text[0] == "+" else -offset)


def format_seconds(seconds: int) -> str:
    """Return a duration in at most two units: ``42s``, ``1m 42s``, ``2h 05m``, ``3d 4h``."""
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3_600:
        return f"{seconds // 60}m {seconds % 60:02d}s"
    if seconds < 86_400:
        return f"{seconds // 3_600}h {seconds % 3_600 // 60:02d}m"
    return f"{seconds // 86_400}d {seconds % 86_400 // 3_600}h"


def format_duration(millis: int) -> str:
    """Return a duration in at most two units, as ``format_seconds`` does: below a second ``0s``."""
    return format_seconds(millis // 1_000)


def drop_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``values`` without the keys whose value is None: unset values are absent, never ``null``."""
    return {key: value for key, value in values.items() if value is not None}


def to_ascii_host(host: str) -> str:
    """Return a host name in lower case in the ASCII form of DNS (``xn--...``), which headers of responses require.

    Raises ValueError for a name that cannot be converted without a doubt: the codec maps some letters to others (ß to
    ss), which can result in the name of another host.
    """
    if host.isascii():
        return host
    try:
        encoded = host.encode("idna").decode()
        is_same = encoded.encode().decode("idna") == host
    except UnicodeError:
        is_same = False
    if not is_same:
        raise ValueError("write the host in ASCII, as xn--...")
    return encoded
