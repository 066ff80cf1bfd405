"""Options that take a time: a date, a time of day, or a duration before or after now."""

import re
from datetime import datetime
from typing import NamedTuple

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.text import parse_duration
from docshare.contract.wire import parse_instant

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


class Since(NamedTuple):
    """``--since``: an ``id`` of one stream, or a time ``at`` in milliseconds since 1970."""

    id: int | None = None
    at: int | None = None


def parse_since(text: str, now: int, option: str = "--since") -> Since:
    """Parse ``5123``, ``2h``, ``2026-11-20`` (local midnight) or a full datetime. Raise Stop (2) for anything else."""
    if text.isascii() and text.isdigit():
        return Since(id=int(text))
    if _DATE.fullmatch(text):
        text = _to_local_midnight(text)
    moment = parse_instant(text)
    if moment is not None:
        return Since(at=moment)
    try:
        return Since(at=now - int(parse_duration(text) * 1000))
    except ValueError:
        hint = "Use an id such as 5123, a time ago such as 2h, or a date such as 2026-11-20."
        raise Stop(ExitCode.USAGE, f"{option}: {text!r} is not an id, a duration, or a date", hint=hint) from None


def parse_until(text: str, now: int) -> int:
    """Parse ``--until``: a date, a datetime, the next ``18:30``, or ``2h`` from now. Return milliseconds since 1970."""
    clock = re.fullmatch(r"(\d\d):(\d\d)", text, re.ASCII)
    if clock:
        today = datetime.fromtimestamp(now / 1000).astimezone()
        try:
            moment = today.replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0)
        except ValueError:
            raise Stop(ExitCode.USAGE, f"--until: {text!r} is not a time of day") from None
        at = int(moment.timestamp() * 1000)
        return at if at > now else at + 86_400_000
    stamp = parse_instant(_to_local_midnight(text) if _DATE.fullmatch(text) else text)
    if stamp is not None:
        return stamp
    try:
        return now + int(parse_duration(text) * 1000)
    except ValueError:
        raise Stop(ExitCode.USAGE, f"--until: {text!r} is not a date, a time of day, or a duration") from None


def _to_local_midnight(text: str) -> str:
    try:
        return datetime.fromisoformat(text).astimezone().isoformat()
    except ValueError:
        return text
