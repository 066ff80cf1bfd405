"""Parse saved events, one JSON object per line: the output of ``webhooks listen --save``, envelopes, or rows of the
activity feed."""

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract.webhooks import DENIED_KIND, ENVELOPE_KEYS
from docshare.contract.wire import parse_instant


@dataclass(frozen=True)
class Event:
    """One event to send again. ``line`` is the line number, ``at`` its time in milliseconds or None, ``id`` the
    delivery id, and ``body`` the raw body. If it is not ``is_verified``, ``webhooks listen`` found its signature
    invalid, and only ``line`` is filled."""

    line: int
    kind: str
    at: int | None
    id: str
    attempt: int
    body: bytes
    is_verified: bool = True

    @property
    def is_sendable(self) -> bool:
        """Return whether webhooks can receive this kind."""
        return self.kind != DENIED_KIND


def parse_events(raw: bytes) -> Iterator[Event]:
    """Yield the events of a file in order, skipping empty lines. Raise Stop (2) with the number of an invalid line."""
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.strip():
            yield _parse_event(number, line.strip())


def _parse_event(number: int, line: bytes) -> Event:
    try:
        row = _parse_object(line)
        if row.get("verified") is False:
            return Event(number, "", None, "", 1, b"", is_verified=False)
        body, time = _extract_body(row, line)
        kind = _parse_object(body).get("event")
    except (ValueError, RecursionError) as error:
        raise _event_error(number, str(error)) from None
    if not isinstance(kind, str) or not kind:
        raise _event_error(number, "the key event is missing")
    return Event(number, kind, parse_instant(str(row.get(time))), _delivery_id(row, body), _attempt_number(row), body)


def _parse_object(text: bytes) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def _extract_body(row: Mapping[str, Any], line: bytes) -> tuple[bytes, str]:
    """Return the bytes to send and the key of the time of the row. A body stored as text is sent unchanged."""
    if "body" in row:
        body = row["body"]
        return (body.encode() if isinstance(body, str) else _format_json(body)), "receivedAt"
    if set(row) == set(ENVELOPE_KEYS):
        return line, "timestamp"
    return _format_json(
        {key: row[key] for key in ENVELOPE_KEYS if key in row}
    ), "timestamp"  # such as a row of the feed


def _delivery_id(row: Mapping[str, Any], body: bytes) -> str:
    """Return the saved delivery id, or one derived from the body so that receivers can detect repeated replays."""
    found = row.get("id")
    return found if isinstance(found, str) and found.isprintable() else str(uuid.uuid5(uuid.NAMESPACE_OID, body.hex()))


def _attempt_number(row: Mapping[str, Any]) -> int:
    found = row.get("attempt")
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 1


def _format_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _event_error(number: int, why: str) -> Stop:
    hint = 'Each line is {"event": .., "timestamp": .., "data": ..}, or a line of webhooks listen --save.'
    return Stop(ExitCode.USAGE, f"line {number} is not an event: {why}", hint=hint, code="local_file")
