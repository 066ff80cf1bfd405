"""Change the rows that belong to a file or a variant, in whichever table they are.

A file with many readers has millions of rows, so what can be many is changed by a limited number of rows at a time.
"""

from typing import Any

from docshare.server.store.database import Store
from docshare.server.store.tables.deliveries import Delivery
from docshare.server.store.tables.events import ActivityRow
from docshare.server.store.tables.feed import DownloadRow, GateRow, ViewRow
from docshare.server.store.tables.feedback import Annotation, Mark, Note
from docshare.server.store.tables.files import File
from docshare.server.store.tables.hotspots import Hotspot
from docshare.server.store.tables.mail import Mail
from docshare.server.store.tables.readers import Tap, Viewer
from docshare.server.store.tables.rollups import Reader, SessionRow
from docshare.server.store.tables.viewing import ViewSession

STREAM_TABLES = (ViewRow, DownloadRow, GateRow, ActivityRow)
# Tables with many rows a file, in the order in which their rows can be deleted. The rest is deleted with the file.
LARGE_TABLES = (*STREAM_TABLES, SessionRow, Reader, ViewSession, Tap, Viewer, Mail, Delivery)
_ANCHORED_TABLES: dict[str, Any] = {"hotspots": Hotspot, "notes": Note, "marks": Mark, "annotations": Annotation}
_UNATTRIBUTE_CHANGES = {
    "view_sessions": "variant_id = NULL",
    "activity_rows": "variant_id = NULL, data = JSON_REMOVE(data, '$.variantUuid', '$.variantLabel')",
    "deliveries": "variant_id = NULL, body = JSON_REMOVE(body, '$.data.variantUuid', '$.data.variantLabel')",
}
ATTRIBUTED_TABLES = tuple(_UNATTRIBUTE_CHANGES)


def hide_batch(store: Store, model: Any, file_id: int, limit: int) -> int:
    """Hide rows of a file from the stream ``model`` while the file is in the trash; return how many."""
    trashed = File.select(File.id).where(File.id == file_id, File.trashed_at.is_null(False))
    shown = _select_first(model, limit, model.file == trashed, model.hidden == 0)
    return store.execute(model.update(hidden=1).where(model.id.in_(shown)))


def unhide_batch(store: Store, model: Any, file_id: int, limit: int) -> int:
    """Show hidden rows of a file in the stream ``model`` again; return how many."""
    hidden = _select_first(model, limit, model.file == file_id, model.hidden == 1)
    return store.execute(model.update(hidden=0).where(model.id.in_(hidden)))


def delete_batch(store: Store, model: Any, file_id: int, limit: int) -> int:
    """Delete rows of a file from the table of ``model``; return how many."""
    return store.execute(model.delete().where(model.id.in_(_select_first(model, limit, model.file == file_id))))


def _select_first(model: Any, limit: int, *conditions: Any) -> Any:
    return model.select(model.id).where(*conditions).limit(limit)


def unattribute_batch(store: Store, table: str, variant_id: int, limit: int) -> int:
    """Remove the variant from its rows in ``table``; return how many rows were changed."""
    return store.execute(
        f"UPDATE {table} SET {_UNATTRIBUTE_CHANGES[table]} WHERE id IN"  # noqa: S608 - words from above
        f" (SELECT id FROM {table} WHERE variant_id = ? LIMIT {limit})",
        (variant_id,),
    )


def count_anchored(store: Store, table: str, file_id: int) -> int:
    """Return how many rows of ``table`` are anchored to a page of a file."""
    return int(_ANCHORED_TABLES[table].select().where(*_is_anchored(table, file_id)).count(store.engine))


def delete_anchored(store: Store, table: str, file_id: int) -> int:
    """Delete the rows of ``table`` that are anchored to a page of a file; return how many. A note about the whole
    document is not anchored to a page."""
    return store.execute(_ANCHORED_TABLES[table].delete().where(*_is_anchored(table, file_id)))


def _is_anchored(table: str, file_id: int) -> tuple[Any, Any]:
    model = _ANCHORED_TABLES[table]
    return model.file == file_id, model.page.is_null(False)


def set_content_version(store: Store, table: str, file_id: int, version: int) -> None:
    """Move the rows of a file in ``table`` to another version of its content."""
    model = _ANCHORED_TABLES[table]
    store.execute(model.update(content_version=version).where(model.file == file_id))
