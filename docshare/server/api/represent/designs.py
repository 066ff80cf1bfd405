"""A design as JSON for the design tool."""

from typing import Any

from docshare.contract.wire import drop_none
from docshare.server.api.represent.resources import share_url
from docshare.server.services.designs.publish import DesignStatus


def qr_url(base_url: str, short_id: str) -> str:
    """Return the public URL of the QR code of a link."""
    return f"{base_url}/api/files/{short_id}/qr-code"


def design_status(base_url: str, status: DesignStatus) -> dict[str, Any]:
    """Return the design status. Keys of the link are absent for a design without one."""
    link, owner = status.link, status.is_owner
    known: dict[str, Any] = {
        "claimed": link is not None and link.is_claimed,
        "connectedAccountIsOwner": owner,
        "publishedByOther": status.is_shared_by_other,
    }
    if link is not None:
        known |= {
            "contentVersion": link.content_version,
            "viewCount": link.view_count if status.is_disclosed else None,
            "uuid": link.uuid if status.is_disclosed else None,
            "shortId": link.short_id if status.is_disclosed else None,
            "shareUrl": share_url(base_url, link.short_id),
            "qrUrl": qr_url(base_url, link.short_id),
            "claimToken": status.claim_token,
        }
    return drop_none(known)
