"""Hotspots of a file: placed by its owner or the operator, shown to its readers."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from docshare.contract.fields import is_uuid
from docshare.contract.problems import Problem
from docshare.contract.wire import drop_none, format_instant
from docshare.server.rules import hotspots as rules
from docshare.server.rules import rects
from docshare.server.rules.page_window import PageWindow
from docshare.server.rules.rects import Rect
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import files
from docshare.server.services.links.links import Link

AUDIO_KIND = "hotspot-audio"  # kind of assets


class HotspotRow(NamedTuple):
    """One hotspot of the file ``file_uuid``. ``page`` in the numbers of whoever it is drawn for; either ``url`` or
    ``asset``, the id of a sound, is set; ``created_at`` ms."""

    uuid: str
    file_uuid: str
    page: int
    rect: Rect
    label: str
    url: str | None
    asset: str | None
    created_at: int


_SELECT = (
    "SELECT h.uuid, f.uuid, h.page, h.rect, h.label, h.url, a.uuid, h.created_at FROM hotspots h "
    "JOIN files f ON f.id = h.file_id LEFT JOIN assets a ON a.id = h.asset_id"
)
_OF_FILE = f"{_SELECT} WHERE h.file_id = ? ORDER BY h.page, h.id"
_ONE = f"{_SELECT} WHERE h.uuid = ?"
_FILE = {
    column: f"SELECT id, total_pages FROM files WHERE {column} = ? AND trashed_at IS NULL"  # noqa: S608 - two columns
    for column in ("uuid", "short_id")
}
_SELECT_AUDIO = "SELECT id FROM assets WHERE file_id = ? AND uuid = ? AND kind = ?"
_ADD = (
    "INSERT INTO hotspots (uuid, file_id, page, rect, label, url, asset_id, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


def list_visible(rt: Runtime, link: Link, window: PageWindow) -> list[HotspotRow]:
    """The hotspots that a reader of ``link`` meets on the pages of ``window``, in their own page numbers.

    On every plan; what is placed by the operator is no setting that a plan could lack.
    """
    found = [(row, window.of_reader(row.page)) for row in _list_by_file(rt, link.file.id)]
    return [row._replace(page=page) for row, page in found if page is not None]


def add(rt: Runtime, name: str, args: Mapping[str, str]) -> HotspotRow:
    """Place a hotspot on the file ``name`` (UUID or short id), whosever it is, as ``args`` say (see ``rules.read``).

    Raises ``not_found``, ``bad_request``.
    """
    wish = rules.parse_hotspot(args)
    uuid = rt.uuid()
    with rt.db.write():
        file_id, total_pages = _get_file(rt, name)
        rules.require_hotspot_fits(wish, total_pages=total_pages, hotspots=len(_list_by_file(rt, file_id)))
        sound = None if wish.audio is None else _get_audio_id(rt, file_id, wish.audio)
        row = (uuid, file_id, wish.page, wish.rect.stored, wish.label, wish.url, sound, rt.clock())
        rt.db.execute(_ADD, row)
        return _get_hotspot(rt, uuid)


def list_hotspots(rt: Runtime, name: str) -> list[HotspotRow]:
    """The hotspots of the file ``name`` by page. Raises ``not_found``."""
    return _list_by_file(rt, _get_file(rt, name)[0])


def remove(rt: Runtime, uuid: str) -> HotspotRow:
    """Remove the hotspot ``uuid`` and the count of its taps; returns what it was. Raises ``not_found``."""
    with rt.db.write():
        row = _get_hotspot(rt, uuid)
        rt.db.execute("DELETE FROM hotspots WHERE uuid = ?", (row.uuid,))
    return row


def list_own(rt: Runtime, caller: Caller, name: str) -> list[HotspotRow]:
    """The hotspots of the caller's file ``name`` (UUID or short id) by page. Raises ``not_found``."""
    return _list_by_file(rt, files.get_owned(rt, caller, name).id)


def add_own(rt: Runtime, caller: Caller, name: str, args: Mapping[str, str]) -> HotspotRow:
    """As ``add``, to a file of the caller. Raises ``not_found`` for any other.

    Owners place hotspots on their pages, where they could only be placed by the operator.
    """
    return add(rt, files.get_owned(rt, caller, name).uuid, args)


def remove_own(rt: Runtime, caller: Caller, name: str, uuid: str) -> HotspotRow:
    """As ``remove``, from the caller's file ``name``. Raises ``not_found``, for a hotspot of another file too."""
    if uuid.lower() not in {row.uuid for row in list_own(rt, caller, name)}:
        raise Problem("not_found", "There is no such hotspot.")
    return remove(rt, uuid)


def describe(row: HotspotRow) -> dict[str, Any]:
    """What ``docshare admin hotspot ... --json`` prints of a hotspot."""
    return drop_none(
        {
            "uuid": row.uuid,
            "fileUuid": row.file_uuid,
            "page": row.page,
            "rect": row.rect._asdict(),
            "label": row.label,
            "url": row.url,
            "assetId": row.asset,
            "createdAt": format_instant(row.created_at),
        }
    )


def _list_by_file(rt: Runtime, file_id: int) -> list[HotspotRow]:
    return [_parse_row(found) for found in rt.db.rows(_OF_FILE, (file_id,))]


def _get_hotspot(rt: Runtime, uuid: str) -> HotspotRow:
    found = rt.db.row(_ONE, (uuid.lower(),)) if is_uuid(uuid) else None
    if found is None:
        raise Problem("not_found", f"There is no hotspot '{uuid}'.", hint="List them: docshare admin hotspot list FILE")
    return _parse_row(found)


def _parse_row(found: tuple[Any, ...]) -> HotspotRow:
    row = HotspotRow._make(found)
    return row._replace(rect=rects.parse_stored_rect(found[3]))


def _get_file(rt: Runtime, name: str) -> tuple[int, int]:
    key = files.lookup_key(name)
    found = key and rt.db.row(_FILE[key[0]], (key[1],))
    if not found:
        raise files.admin_file_not_found(name)
    return found[0], found[1]


def _get_audio_id(rt: Runtime, file_id: int, asset: str) -> int:
    found = rt.db.row(_SELECT_AUDIO, (file_id, asset, AUDIO_KIND))
    if found is None:
        hint = f"Upload it to this file first: docshare assets add FILE sound.mp3 --kind {AUDIO_KIND}"
        raise Problem("bad_request", f"audio names the asset {asset}, which is no sound of this file.", hint=hint)
    return int(found[0])
