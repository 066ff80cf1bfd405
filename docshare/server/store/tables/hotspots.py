"""Read and store the hotspots of a file."""

from typing import NamedTuple

from docshare.server.store.database import Store
from docshare.server.store.tables.sharing import Hotspot


class StoredHotspot(NamedTuple):
    """A hotspot as stored. ``rect`` is JSON; ``asset`` is the UUID of its sound or None; ``created_at`` in
    milliseconds."""

    uuid: str
    file_uuid: str
    page: int
    rect: str
    label: str
    url: str | None
    asset: str | None
    created_at: int


_SELECT = (
    "SELECT h.uuid, f.uuid, h.page, h.rect, h.label, h.url, a.uuid, h.created_at FROM hotspots h "
    "JOIN files f ON f.id = h.file_id LEFT JOIN assets a ON a.id = h.asset_id"
)


def list_of_file(store: Store, file_id: int) -> list[StoredHotspot]:
    """Return the hotspots of a file by page."""
    found = store.fetch_all(f"{_SELECT} WHERE h.file_id = ? ORDER BY h.page, h.id", (file_id,))
    return [StoredHotspot._make(row) for row in found]


def find(store: Store, uuid: str) -> StoredHotspot | None:
    """Return the hotspot ``uuid``, or None."""
    found = store.fetch_one(f"{_SELECT} WHERE h.uuid = ?", (uuid,))
    return StoredHotspot._make(found) if found else None


def insert(
    store: Store,
    uuid: str,
    file_id: int,
    *,
    page: int,
    rect: str,
    label: str,
    url: str | None,
    asset_id: int | None,
    now: int,
) -> None:
    """Insert a hotspot. ``rect`` is JSON."""
    Hotspot.insert(
        uuid=uuid, file=file_id, page=page, rect=rect, label=label, url=url, asset=asset_id, created_at=now
    ).execute(store.engine)


def delete(store: Store, uuid: str) -> None:
    """Delete a hotspot with its taps."""
    store.execute("DELETE FROM hotspots WHERE uuid = ?", (uuid,))
