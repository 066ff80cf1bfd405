"""Freeze links while the operator reviews a file.

Readers get a notice instead of the document. The owner can read the file and its settings, but the design tool cannot
publish its design again.
"""

from typing import Any

from docshare.contract.wire import drop_none, format_instant
from docshare.server.runtime import Runtime
from docshare.server.services.files.files import admin_file_not_found
from docshare.server.services.links import links
from docshare.server.store.tables import files as file_rows
from docshare.server.store.tables.files import FrozenFile


def freeze(rt: Runtime, name: str) -> dict[str, Any]:
    """Freeze all links of the file behind the link ``name``; freezing it again keeps the first date.

    The person who reports a link knows only that link, so ``name`` may also be a slug or a recipient's link. Returns
    the JSON of ``docshare admin freeze --json``. Raises ``not_found``.
    """
    now = rt.clock()
    with rt.db.write():
        file_id = _get_file_id(rt, name)
        file_rows.freeze(rt.db, file_id, now)
        return _describe(file_rows.get_frozen(rt.db, file_id))


def unfreeze(rt: Runtime, name: str) -> dict[str, Any]:
    """Open the links again. Parameters, result and errors are those of ``freeze``."""
    with rt.db.write():
        file_id = _get_file_id(rt, name)
        file_rows.unfreeze(rt.db, file_id)
        return _describe(file_rows.get_frozen(rt.db, file_id))


def list_frozen(rt: Runtime) -> list[dict[str, Any]]:
    """Return all frozen files, the one that was frozen last first, each with the email of its owner."""
    return [_describe(row) for row in file_rows.list_frozen(rt.db)]


def _get_file_id(rt: Runtime, name: str) -> int:
    link = links.resolve(rt, name)
    if link is None:
        raise admin_file_not_found(name)
    return link.file.id


def _describe(row: FrozenFile) -> dict[str, Any]:
    return drop_none(
        {
            "uuid": row.uuid,
            "shortId": row.short_id,
            "originalName": row.original_name,
            "frozenAt": None if row.frozen_at is None else format_instant(row.frozen_at),
            "owner": row.owner,
        }
    )
