"""Which tables have rows of a file or a variant that are changed together.

Each model inherits the statements for it from ``base``, or from ``feed`` if its rows appear in a stream.
"""

from docshare.server.store.tables.base import AnchoredTable
from docshare.server.store.tables.deliveries import Delivery
from docshare.server.store.tables.events import ActivityRow
from docshare.server.store.tables.feed import DownloadRow, GateRow, ViewRow
from docshare.server.store.tables.feedback import Annotation, Mark, Note
from docshare.server.store.tables.hotspots import Hotspot
from docshare.server.store.tables.mail import Mail
from docshare.server.store.tables.readers import Tap, Viewer
from docshare.server.store.tables.rollups import Reader, SessionRow
from docshare.server.store.tables.viewing import ViewSession

STREAM_TABLES = (ViewRow, DownloadRow, GateRow, ActivityRow)
# Tables with many rows a file, in the order in which their rows can be deleted. The rest is deleted with the file.
LARGE_TABLES = (*STREAM_TABLES, SessionRow, Reader, ViewSession, Tap, Viewer, Mail, Delivery)
ATTRIBUTED_TABLES = (ViewSession, ActivityRow, Delivery)
ANCHORED_TABLES: dict[str, type[AnchoredTable]] = {
    "hotspots": Hotspot,
    "notes": Note,
    "marks": Mark,
    "annotations": Annotation,
}
