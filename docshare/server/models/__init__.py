"""Rows: columns and keys, no behaviour. The schema itself stands in ``migrations.py``."""

from docshare.server.models.accounts import Account, ApiKey
from docshare.server.models.feed import ActivityRow, DownloadRow, GateRow, ViewRow
from docshare.server.models.files import File, Revision
from docshare.server.models.instance import InstanceSecret
from docshare.server.models.oauth import OAuthClient
from docshare.server.models.sharing import Asset, FileToken, Hotspot, Note, ShortId, Variant
from docshare.server.models.sign_in import LoginLink, WebSession
from docshare.server.models.viewing import Beacon, ReaderSalt, SessionPage, ViewSession

TABLES = (
    Account,
    ActivityRow,
    ApiKey,
    Asset,
    Beacon,
    DownloadRow,
    File,
    FileToken,
    GateRow,
    Hotspot,
    InstanceSecret,
    LoginLink,
    Note,
    OAuthClient,
    ReaderSalt,
    Revision,
    SessionPage,
    ShortId,
    Variant,
    ViewRow,
    ViewSession,
    WebSession,
)

__all__ = [
    "TABLES",
    "Account",
    "ActivityRow",
    "ApiKey",
    "Asset",
    "Beacon",
    "DownloadRow",
    "File",
    "FileToken",
    "GateRow",
    "Hotspot",
    "InstanceSecret",
    "LoginLink",
    "Note",
    "OAuthClient",
    "ReaderSalt",
    "Revision",
    "SessionPage",
    "ShortId",
    "Variant",
    "ViewRow",
    "ViewSession",
    "WebSession",
]
