"""The record of everything that happened to an owner's files, one row an event."""

import json
from collections.abc import Mapping
from typing import Any

from docshare.contract.webhooks import KINDS
from docshare.contract.wire import format_instant
from docshare.server.runtime import Runtime
from docshare.server.services.webhooks import queue

_APPEND = (
    "INSERT INTO activity_rows (owner_id, file_id, hidden, variant_id, event, happened_at, data) "
    "SELECT owner_id, id, trashed_at IS NOT NULL, ?, ?, ?, ? FROM files WHERE id = ? AND owner_id IS NOT NULL"
)


def record(
    rt: Runtime,
    file_id: int,
    event: str,
    extras: Mapping[str, Any] | None = None,
    *,
    at: int,
    variant_id: int | None = None,
) -> None:
    """Write down one event and queue it for the webhooks that ask for it, inside the transaction of the fact it tells.
    A file without an owner has nobody to tell.

    Parameters: ``event`` a kind of the specification; ``extras`` the keys of its data beyond ``fileUuid`` and
    ``fileName``; ``at`` when it happened, milliseconds; ``variant_id`` through which link.
    """
    found = rt.db.row("SELECT uuid, original_name FROM files WHERE id = ?", (file_id,))
    if found is None:
        return
    data = {"fileUuid": found[0], "fileName": found[1], **(extras or {})}
    rt.db.execute(_APPEND, (variant_id, event, at, _encode_compact(data), file_id))
    if event in KINDS:
        envelope = _encode_compact({"event": event, "timestamp": format_instant(at), "data": data})
        queue.enqueue_deliveries(rt, file_id, event, envelope, variant_id=variant_id, now=rt.clock())


def _encode_compact(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
