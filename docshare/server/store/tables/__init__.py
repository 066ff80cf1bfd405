"""The models of all tables, which are the schema, and the functions that read and write them.

One module holds a family of tables: its models, and all statements that write them, of which some are inherited from
``base``. Other modules may read them. Read ``base`` first: the parts that models share, then ``files``. ``migrations``
creates a new database from the models. Imports neither services nor rules.

A statement is a query of peewee. It is text where a benchmark shows that it is hot: building a query takes 66 us (with
a join 170 us) and running it 4 us, which counts for requests of readers, beacons, page images, the feed and the queue
of deliveries. It is also text where the query builder has no word for it: fields of JSON, addresses without case,
recursion. Texts are written in the SQL that ``docshare.server.store.dialect`` spells for SQLite and for PostgreSQL; the
few that differ as a whole have both texts. Functions that take a ``DatabaseFile`` alone run on SQLite only, and on
databases with an earlier schema.
"""

from docshare.server.store.tables.accounts import Account, ApiKey
from docshare.server.store.tables.assets import Asset
from docshare.server.store.tables.deliveries import Attempt, Delivery
from docshare.server.store.tables.designs import Design, DesignUpload
from docshare.server.store.tables.events import ActivityRow
from docshare.server.store.tables.feed import DownloadRow, GateRow, ViewRow
from docshare.server.store.tables.feedback import Annotation, Mark, Note, Receipt
from docshare.server.store.tables.files import File, Revision
from docshare.server.store.tables.hotspots import Hotspot
from docshare.server.store.tables.instance import DataKey, InstanceSecret
from docshare.server.store.tables.mail import Mail, MutedNotice
from docshare.server.store.tables.oauth import OAuthClient, OAuthCode, OAuthGrant, OAuthToken
from docshare.server.store.tables.readers import Grant, ReaderSalt, Tap, Viewer
from docshare.server.store.tables.removals import BlobRemoval
from docshare.server.store.tables.rollups import PageTally, Reader, Readership, SessionRow, Tally, VariantTally
from docshare.server.store.tables.sharing import FileToken, Invite, ShortId, Variant
from docshare.server.store.tables.sign_in import DeviceCode, LoginLink, WebSession
from docshare.server.store.tables.viewing import Beacon, PageReload, SessionPage, ViewSession
from docshare.server.store.tables.webhooks import Denial, Webhook

# In the order of their creation: a table follows those that it refers to.
TABLES = (
    Account,
    ApiKey,
    InstanceSecret,
    ShortId,
    File,
    Revision,
    FileToken,
    Asset,
    Hotspot,
    Variant,
    Invite,
    Viewer,
    ViewSession,
    PageReload,
    SessionPage,
    Beacon,
    ReaderSalt,
    SessionRow,
    Readership,
    Reader,
    Tally,
    PageTally,
    VariantTally,
    ViewRow,
    DownloadRow,
    GateRow,
    ActivityRow,
    Grant,
    Note,
    Mark,
    Annotation,
    Receipt,
    Tap,
    Webhook,
    Delivery,
    Attempt,
    Denial,
    Design,
    DesignUpload,
    LoginLink,
    WebSession,
    OAuthClient,
    OAuthGrant,
    OAuthCode,
    OAuthToken,
    DeviceCode,
    Mail,
    MutedNotice,
    BlobRemoval,
    DataKey,
)

STREAMS = ("view_rows", "download_rows", "gate_rows", "activity_rows", "session_rows", "deliveries")
"""Tables whose rows clients page through by id."""

__all__ = [
    "STREAMS",
    "TABLES",
    "Account",
    "ActivityRow",
    "Annotation",
    "ApiKey",
    "Asset",
    "Attempt",
    "Beacon",
    "BlobRemoval",
    "Delivery",
    "Denial",
    "Design",
    "DesignUpload",
    "DeviceCode",
    "DownloadRow",
    "File",
    "FileToken",
    "GateRow",
    "Grant",
    "Hotspot",
    "InstanceSecret",
    "Invite",
    "LoginLink",
    "Mail",
    "Mark",
    "MutedNotice",
    "Note",
    "OAuthClient",
    "OAuthCode",
    "OAuthGrant",
    "OAuthToken",
    "PageReload",
    "PageTally",
    "Reader",
    "ReaderSalt",
    "Readership",
    "Receipt",
    "Revision",
    "SessionPage",
    "SessionRow",
    "ShortId",
    "Tally",
    "Tap",
    "Variant",
    "VariantTally",
    "ViewRow",
    "ViewSession",
    "Viewer",
    "WebSession",
    "Webhook",
]
