"""Record everything that happens to an owner's files, one row per event."""

import json
from collections.abc import Mapping
from typing import Any

from docshare.contract.webhooks import KINDS
from docshare.contract.wire import format_instant
from docshare.server.runtime import Runtime
from docshare.server.services.webhooks import queue
from docshare.server.store.tables import events, files


def record(
    rt: Runtime,
    file_id: int,
    event: str,
    extras: Mapping[str, Any] | None = None,
    *,
    at: int,
    variant_id: int | None = None,
) -> None:
    """Store one event and queue it for the webhooks subscribed to it, in the transaction of the change it reports.

    Events of a file without an owner are not stored.

    Parameters: ``event`` one of the specified kinds; ``extras`` the keys of its data other than ``fileUuid`` and
    ``fileName``; ``at`` its time in ms; ``variant_id`` the variant whose link caused it.
    """
    found = files.find_name(rt.db, file_id)
    if found is None:
        return
    data = {"fileUuid": found[0], "fileName": found[1], **(extras or {})}
    events.append(rt.db, file_id, variant_id, event, _encode_compact(data), at)
    if event in KINDS:
        envelope = _build_envelope(event, data, at)
        # ``at`` may be long past, if a session is ended late: a delivery is due, and its attempts count, from now on.
        queue.enqueue_deliveries(rt, file_id, event, envelope, variant_id=variant_id, now=rt.clock())


def retract(rt: Runtime, file_id: int, event: str, *, at: int, email: str) -> None:
    """Delete the event of that kind of the reader ``email`` that happened at ``at`` (ms), and its deliveries, in the
    caller's transaction."""
    for event_id, text in events.list_at(rt.db, file_id, event, at):
        data = json.loads(text)
        if data.get("email") == email:
            events.delete(rt.db, event_id)
            queue.delete_deliveries(rt, file_id, event, _build_envelope(event, data, at))


def _build_envelope(event: str, data: Mapping[str, Any], at: int) -> str:
    return _encode_compact({"event": event, "timestamp": format_instant(at), "data": data})


def _encode_compact(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
