"""How a File object is printed, as a row of a list and on its own."""

from collections.abc import Mapping
from typing import Any

from docshare.cli.framework.arguments import base_of
from docshare.cli.framework.context import current_context
from docshare.cli.terminal.output import Column, Spec
from docshare.contract.wire import parse_instant

# Every key that a server may send, in the order of File in openapi.yaml.
FILE_FIELDS = (
    "uuid", "shortId", "slug", "originalName", "size", "mimeType", "createdAt", "deleteAt", "viewCount", "viewerMode",
    "protected", "allowDownload", "requireEmail", "notifyOnView", "contentVersion", "totalPages", "updatedAt",
    "viewsConsumed", "viewerSettings", "askReceipt", "watermark", "showExpiry", "readerChoice", "showSender",
    "commentsEnabled", "commentsAllowPublic", "notifyOnComment", "marksEnabled", "annotationsEnabled",
    "designToolUpdatesEnabled", "viewLimit", "burnedAt", "gateFields", "gateDomains", "pageRange", "pageRangeEmpty",
    "shareUrl", "sha256", "downloadWarning",
)  # fmt: skip

LIVE, EXPIRED, BURNED, GONE = "live", "expired", "burned", "gone"
STATES = (LIVE, EXPIRED, BURNED, GONE)  # of the link of a file


def id_of(file: Mapping[str, Any]) -> str:
    """Return the short id of the file, or its UUID if the server sends no short id."""
    return str(file.get("shortId") or file.get("uuid", ""))


def state_of(file: Mapping[str, Any], now: int) -> str:
    """Return the state of an existing file; ``now`` in milliseconds since 1970."""
    if "burnedAt" in file:
        return BURNED
    ends = parse_instant(str(file.get("deleteAt", "")))
    return EXPIRED if ends is not None and ends <= now else LIVE


def _describe_state(file: Mapping[str, Any]) -> str:
    """Return the words of the last column: what is unusual about the file."""
    expiry = parse_instant(str(file.get("deleteAt", "")))
    words = {
        "burned": "burnedAt" in file,
        "expired": expiry is not None and expiry <= current_context().now(),
        "password": file.get("protected"),
        "gate": file.get("requireEmail"),
        "no download": file.get("allowDownload") is False,
        "no pages shown": file.get("pageRangeEmpty"),
        "page range": "pageRange" in file,
        "view limit": "viewLimit" in file,
    }
    return ", ".join(word for word, holds in words.items() if holds)


def _format_view_limit(file: Mapping[str, Any]) -> str:
    """Return for example ``2 (1 used)``."""
    return f"{file['viewLimit']} ({file.get('viewsConsumed', 0)} used)" if file.get("viewLimit") else ""


def _format_slug_path(file: Mapping[str, Any]) -> str:
    """Return the path of the file's custom link."""
    return f"/{file['slug']}" if file.get("slug") else ""


def _format_slug_link(file: Mapping[str, Any]) -> str:
    """Return the URL of the file's custom link."""
    slug, link = file.get("slug"), file.get("shareUrl")
    return f"{base_of(str(link))}/{slug}" if slug and link else ""


FILE_LIST_SPEC = Spec(
    table=(
        Column("originalName", "NAME", role="bold", flexible=True, link="shareUrl"),
        Column("shortId", "ID", role="id", show=id_of),
        Column("slug", "LINK", role="id", rank=4, flexible=True, show=_format_slug_path, link=_format_slug_link),
        Column("viewCount", "VIEWS", rank=5),
        Column("size", "SIZE", kind="size", rank=2),
        Column("createdAt", "UPLOADED", kind="when", rank=1),
        Column("deleteAt", "EXPIRES", kind="when", rank=6),
        Column("state", "STATE", role="warn", rank=3, flexible=True, show=_describe_state),
    ),
    plain=("shortId", "uuid", "originalName", "size", "viewCount", "createdAt", "deleteAt", "slug"),
    fields=FILE_FIELDS,
    id="shortId",
    empty="no files yet; share one with: docshare upload FILE",
)

FILE_SPEC = Spec(
    table=(
        Column("originalName", "name", role="bold", link="shareUrl"),
        Column("shareUrl", "link", role="id", link="shareUrl"),
        Column("named", "custom link", role="id", show=_format_slug_link, link=_format_slug_link),
        Column("shortId", "short id"),
        Column("uuid", "uuid"),
        Column("slug", "slug"),
        Column("size", "size", kind="size"),
        Column("totalPages", "pages"),
        Column("viewCount", "views"),
        Column("viewLimit", "view limit", show=_format_view_limit),
        Column("createdAt", "uploaded", kind="moment"),
        Column("deleteAt", "expires", kind="moment"),
        Column("burnedAt", "burned", kind="moment"),
        Column("viewerMode", "mode"),
        Column("contentVersion", "version"),
        Column("state", "state", role="warn", show=_describe_state),
        Column("sha256", "sha256", role="dim"),
        Column("downloadWarning", "warning", role="warn"),
    ),
    plain=("uuid", "shortId", "originalName", "shareUrl"),
    fields=(*FILE_FIELDS, "revisions"),
    id="shortId",
)
