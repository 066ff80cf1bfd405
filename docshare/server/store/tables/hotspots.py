"""The hotspots of a file."""

from typing import NamedTuple

from peewee import SQL, ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
from docshare.server.store.tables.assets import Asset
from docshare.server.store.tables.base import AnchoredTable, Row
from docshare.server.store.tables.files import File


class Hotspot(AnchoredTable, Row):
    uuid = TextField(unique=True)
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    page = IntegerField()
    rect = TextField()  # JSON: x, y, width, height as fractions of the page
    label = TextField()
    url = TextField(null=True)
    asset = ForeignKeyField(Asset, null=True, on_delete="SET NULL", index=False)
    created_at = IntegerField()

    class Meta:
        table_name = "hotspots"
        indexes = (SQL("CREATE INDEX hotspots_file ON hotspots(file_id, page)"),)


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


# Run for every page of a link, by the benchmark ``viewer``.
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
    query = Hotspot.insert(
        uuid=uuid, file=file_id, page=page, rect=rect, label=label, url=url, asset=asset_id, created_at=now
    )
    store.execute(query)


def delete(store: Store, uuid: str) -> None:
    """Delete a hotspot with its taps."""
    store.execute(Hotspot.delete().where(Hotspot.uuid == uuid))


class HotspotTaps(NamedTuple):
    """The number of taps on a hotspot."""

    uuid: str
    page: int
    label: str
    taps: int


# Part of every report: run by the benchmark ``readership``.
_SELECT_TAPS = """
SELECT h.uuid, h.page, h.label, (SELECT COUNT(*) FROM taps t WHERE t.hotspot_id = h.id
    AND t.tapped_at >= ?2 AND t.tapped_at < ?3)
FROM hotspots h JOIN files f ON f.id = h.file_id WHERE h.file_id = ?1 AND h.page <= f.total_pages ORDER BY h.page, h.id
"""


def count_taps(store: Store, file_id: int, between: tuple[int, int]) -> list[HotspotTaps]:
    """Return the taps ``between`` two instants (ms) on every hotspot of a file's existing pages, by page."""
    return [HotspotTaps._make(found) for found in store.fetch_all(_SELECT_TAPS, (file_id, *between))]


def find_of_file(store: Store, file_id: int, uuid: str) -> tuple[int, int] | None:
    """Return the id and the page of a hotspot of a file, or None."""
    query = Hotspot.select(Hotspot.id, Hotspot.page).where(Hotspot.file == file_id, Hotspot.uuid == uuid)
    found = store.fetch_one(query)
    return (found[0], found[1]) if found else None
