"""Rows: columns and keys, no behaviour. The schema itself stands in ``migrations.py``."""

from docshare.server.models.accounts import Account, ApiKey
from docshare.server.models.feed import ActivityRow, DownloadRow, GateRow, ViewRow
from docshare.server.models.files import File, Revision
from docshare.server.models.instance import InstanceSecret
from docshare.server.models.mail import Mail
from docshare.server.models.oauth import OAuthClient
from docshare.server.models.readers import Annotation, Grant, Mark, Note, Receipt, Tap, Viewer
from docshare.server.models.rollups import PageTally, Reader, Readership, SessionRow, Tally, VariantTally
from docshare.server.models.sharing import Asset, FileToken, Hotspot, Invite, ShortId, Variant
from docshare.server.models.sign_in import LoginLink, WebSession
from docshare.server.models.viewing import Beacon, ReaderSalt, SessionPage, ViewSession
from docshare.server.models.webhooks import Attempt, Delivery, Denial, Webhook

TABLES = (
    Account,
    ActivityRow,
    Annotation,
    ApiKey,
    Asset,
    Attempt,
    Beacon,
    Delivery,
    Denial,
    DownloadRow,
    File,
    FileToken,
    GateRow,
    Grant,
    Hotspot,
    InstanceSecret,
    Invite,
    LoginLink,
    Mail,
    Mark,
    Note,
    OAuthClient,
    PageTally,
    Reader,
    ReaderSalt,
    Readership,
    Receipt,
    Revision,
    SessionPage,
    SessionRow,
    ShortId,
    Tally,
    Tap,
    Variant,
    VariantTally,
    ViewRow,
    ViewSession,
    Viewer,
    WebSession,
    Webhook,
)

__all__ = [
    "TABLES",
    "Account",
    "ActivityRow",
    "Annotation",
    "ApiKey",
    "Asset",
    "Attempt",
    "Beacon",
    "Delivery",
    "Denial",
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
    "Note",
    "OAuthClient",
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
