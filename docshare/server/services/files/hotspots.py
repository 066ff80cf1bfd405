"""Place, list and remove hotspots on the pages of a file."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

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
from docshare.server.store.tables import assets as asset_rows
from docshare.server.store.tables import contents
from docshare.server.store.tables import hotspots as hotspot_rows
from docshare.server.store.tables.hotspots import StoredHotspot

AUDIO_KIND = "hotspot-audio"  # kind of assets


@dataclass(frozen=True)
class HotspotRow:
    """A hotspot of the file ``file_uuid``. ``page`` in the page numbers of the person it is listed for; either ``url``
    or ``asset``, the id of a sound, is set; ``created_at`` in milliseconds."""

    uuid: str
    file_uuid: str
    page: int
    rect: Rect
    label: str
    url: str | None
    asset: str | None
    created_at: int


def list_visible(rt: Runtime, link: Link, window: PageWindow) -> list[HotspotRow]:
    """Return the hotspots on the pages of ``window``, in the page numbers of a reader of ``link``.

    They are shown on every plan: a hotspot of the operator is not a setting that a plan could lack.
    """
    found = [(row, window.to_reader_page(row.page)) for row in _list_by_file(rt, link.file.id)]
    return [replace(row, page=page) for row, page in found if page is not None]


def add(rt: Runtime, name: str, args: Mapping[str, str]) -> HotspotRow:
    """Place a hotspot on any account's file ``name`` (UUID or short id); ``rules.parse_hotspot`` reads ``args``.

    Raises ``not_found``, ``bad_request``.
    """
    hotspot = rules.parse_hotspot(args)
    uuid, now = rt.random_uuid(), rt.clock()
    with rt.db.write():
        file_id, total_pages = _get_file(rt, name)
        rules.require_hotspot_fits(hotspot, total_pages=total_pages, hotspots=len(_list_by_file(rt, file_id)))
        sound = None if hotspot.audio is None else _get_audio_id(rt, file_id, hotspot.audio)
        hotspot_rows.insert(
            rt.db,
            uuid,
            file_id,
            page=hotspot.page,
            rect=hotspot.rect.to_json,
            label=hotspot.label,
            url=hotspot.url,
            asset_id=sound,
            now=now,
        )
        return _get_hotspot(rt, uuid)


def list_hotspots(rt: Runtime, name: str) -> list[HotspotRow]:
    """Return the hotspots of the file ``name`` by page. Raises ``not_found``."""
    return _list_by_file(rt, _get_file(rt, name)[0])


def remove(rt: Runtime, uuid: str) -> HotspotRow:
    """Remove the hotspot ``uuid`` with its taps and return it. Raises ``not_found``."""
    with rt.db.write():
        row = _get_hotspot(rt, uuid)
        hotspot_rows.delete(rt.db, row.uuid)
    return row


def list_own(rt: Runtime, caller: Caller, name: str) -> list[HotspotRow]:
    """Return the hotspots of the caller's file ``name`` (UUID or short id) by page. Raises ``not_found``."""
    return _list_by_file(rt, files.get_owned(rt, caller, name).id)


def add_own(rt: Runtime, caller: Caller, name: str, args: Mapping[str, str]) -> HotspotRow:
    """Place a hotspot on the caller's file ``name``. Raises what ``add`` raises, ``not_found`` for other files."""
    return add(rt, files.get_owned(rt, caller, name).uuid, args)


def remove_own(rt: Runtime, caller: Caller, name: str, uuid: str) -> HotspotRow:
    """Remove the hotspot ``uuid`` of the caller's file ``name``. Raises ``not_found``, also for other files."""
    if uuid.lower() not in {row.uuid for row in list_own(rt, caller, name)}:
        raise Problem("not_found", "There is no such hotspot.")
    return remove(rt, uuid)


def describe(row: HotspotRow) -> dict[str, Any]:
    """Build the JSON of a hotspot for ``docshare admin hotspot ... --json``."""
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
    return [_parse_row(found) for found in hotspot_rows.list_of_file(rt.db, file_id)]


def _get_hotspot(rt: Runtime, uuid: str) -> HotspotRow:
    found = hotspot_rows.find(rt.db, uuid.lower()) if is_uuid(uuid) else None
    if found is None:
        raise Problem("not_found", f"There is no hotspot '{uuid}'.", hint="List them: docshare admin hotspot list FILE")
    return _parse_row(found)


def _parse_row(found: StoredHotspot) -> HotspotRow:
    return HotspotRow(**found._asdict() | {"rect": rects.parse_stored_rect(found.rect)})


def _get_file(rt: Runtime, name: str) -> tuple[int, int]:
    key = files.lookup_key(name)
    found = key and contents.find_page_count(rt.db, *key)
    if not found:
        raise files.admin_file_not_found(name)
    return found


def _get_audio_id(rt: Runtime, file_id: int, asset: str) -> int:
    asset_id = asset_rows.find_id(rt.db, file_id, asset, AUDIO_KIND)
    if asset_id is None:
        hint = f"Upload it to this file first: docshare assets add FILE sound.mp3 --kind {AUDIO_KIND}"
        raise Problem("bad_request", f"audio names the asset {asset}, which is not a sound of this file.", hint=hint)
    return asset_id
