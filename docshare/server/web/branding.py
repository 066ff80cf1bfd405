"""The appearance of a share page as set by its owner: the URL of its style sheet, corners, and the expiry."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from docshare.contract.plans import DAY
from docshare.contract.wire import format_instant
from docshare.server.http.views import current_runtime
from docshare.server.services.files.settings import PageAppearance
from docshare.server.services.links import branding
from docshare.server.services.links.links import Link

EXPIRY_CORNER = "bl"  # corner of the pill with the expiry; the badge is usually in another one


@dataclass(frozen=True)
class PageBranding:
    """The appearance of a page.

    The URL of the ``stylesheet`` or None; ``corners`` that are not empty; ``logo_name`` for screen readers, None if
    the logo is decorative; ``last_day``: for readers without scripts, the end of a link that ends within a day.
    """

    stylesheet: str | None
    corners: dict[str, list[str]]
    logo_name: str | None
    last_day: str | None


def page_branding(link: Link, looks: PageAppearance) -> PageBranding:
    """Return the current appearance of the share page of ``link``."""
    brand = branding.build_branding(looks.viewer_settings)
    address = f"/{link.public_id}/style.css?v={brand.mark}" if brand.css else None
    ends = branding.visible_expiry(link)
    corners = {corner: [*pieces] for corner, pieces in brand.corners.items()}
    if ends is not None:
        corners[EXPIRY_CORNER].insert(0, "expiry")
    last_day = format_instant(ends) if ends is not None and ends - current_runtime().clock() < DAY else None
    return PageBranding(
        stylesheet=address,
        corners={corner: pieces for corner, pieces in corners.items() if pieces},
        logo_name=urlsplit(looks.viewer_settings["logo"].get("linkUrl", "")).hostname,
        last_day=last_day,
    )


def describe_expiry(link: Link) -> dict[str, Any]:
    """Return the facts about the expiry of ``link`` for the script: ``expiresAt`` and, because clocks of readers are
    wrong, the current time; empty if readers must not know about it."""
    ends = branding.visible_expiry(link)
    if ends is None:
        return {}
    return {"expiresAt": format_instant(ends), "servedAt": format_instant(current_runtime().clock())}
