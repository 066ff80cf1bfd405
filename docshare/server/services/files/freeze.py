"""Links that the operator freezes while what they show is being reviewed.

Readers get a page of its own and nothing of the document. The owner keeps reading it and its settings, but its design
cannot be published again.
"""

from typing import Any

from docshare.contract.wire import drop_none, format_instant
from docshare.server.runtime import Runtime
from docshare.server.services.files.files import admin_file_not_found
from docshare.server.services.links import links

_FREEZE = "UPDATE files SET frozen_at = COALESCE(frozen_at, ?) WHERE id = ?"
_UNFREEZE = "UPDATE files SET frozen_at = NULL WHERE id = ?"
_SELECT = "SELECT uuid, short_id, original_name, frozen_at FROM files WHERE id = ?"
_SELECT_ALL = (
    "SELECT files.uuid, files.short_id, files.original_name, files.frozen_at, accounts.email FROM files "
    "LEFT JOIN accounts ON accounts.id = files.owner_id WHERE files.frozen_at IS NOT NULL "
    "ORDER BY files.frozen_at DESC, files.id DESC"
)


def freeze(rt: Runtime, name: str) -> dict[str, Any]:
    """Freeze every link of the file that the link ``name`` leads to; one that is frozen stays so since then.

    Whoever reports a link has only seen that: ``name`` is any, also a link name or that of one recipient. Returns what
    ``docshare admin freeze --json`` prints. Raises ``not_found``.
    """
    return _update_frozen(rt, name, _FREEZE, rt.clock())


def unfreeze(rt: Runtime, name: str) -> dict[str, Any]:
    """Open the links again. As ``freeze``."""
    return _update_frozen(rt, name, _UNFREEZE)


def list_frozen(rt: Runtime) -> list[dict[str, Any]]:
    """Every frozen file, the last one first, with the address of its owner."""
    return [_describe(*row) for row in rt.db.rows(_SELECT_ALL)]


def _update_frozen(rt: Runtime, name: str, sql: str, *values: int) -> dict[str, Any]:
    with rt.db.write():
        link = links.resolve(rt, name)
        if link is None:
            raise admin_file_not_found(name)
        rt.db.execute(sql, (*values, link.file.id))
        return _describe(*rt.db.rows(_SELECT, (link.file.id,))[0])


def _describe(
    uuid: str, short_id: str, original_name: str, frozen_at: int | None, email: str | None = None
) -> dict[str, Any]:
    frozen = None if frozen_at is None else format_instant(frozen_at)
    found = {"uuid": uuid, "shortId": short_id, "originalName": original_name, "frozenAt": frozen, "owner": email}
    return drop_none(found)
