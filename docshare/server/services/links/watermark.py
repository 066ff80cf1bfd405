"""Build the watermark over the pages of a document, for the viewer and for downloads."""

import hmac
from typing import NamedTuple
from urllib.parse import urlsplit

from docshare.server.pdf.engine import WatermarkText
from docshare.server.rules import viewer_settings
from docshare.server.rules import watermark as rules
from docshare.server.runtime import Runtime
from docshare.server.services.links.links import Link, owner_plan
from docshare.server.services.operations.secrets import instance_secret
from docshare.server.services.readership import viewers

_SECRET = "copy-code-1"  # noqa: S105 - a name


class Watermark(NamedTuple):
    """A watermark. ``mark``: its text and style; ``personal``: it names its reader, so it is not cached."""

    mark: WatermarkText
    personal: bool


def prepare(rt: Runtime) -> None:
    """Create the secret of the codes, so that opening a page stores nothing."""
    instance_secret(rt, _SECRET)


def find_viewer_watermark(rt: Runtime, link: Link, viewer_token: str | None) -> Watermark | None:
    """Return the watermark of ``link`` for the reader whose browser holds ``viewer_token``, or None."""
    return _build_watermark(rt, link, viewer_token, None)


def find_download_watermark(rt: Runtime, link: Link, viewer_token: str | None) -> Watermark | None:
    """Return the watermark for a download by the same reader, with today's date, or None."""
    return _build_watermark(rt, link, viewer_token, rt.clock())


def _build_watermark(rt: Runtime, link: Link, viewer_token: str | None, now: int | None) -> Watermark | None:
    settings = link.settings
    if not settings["watermark"]:
        return None  # the usual case, and checked for every page image
    plan = owner_plan(rt, link)
    if not rules.has_watermark(plan):
        return None
    style = viewer_settings.effective_settings(settings["viewerSettings"], plan)["watermarkStyle"]
    reader = _find_reader_email(rt, link, viewer_token)
    host = urlsplit(rt.config.base_url).hostname or ""
    text = rules.watermark_text(host, _compute_code(rt, link), reader, now)
    return Watermark(WatermarkText(text, style["opacity"], style["density"]), reader is not None)


def _find_reader_email(rt: Runtime, link: Link, viewer_token: str | None) -> str | None:
    """Return the address that the reader gave, or else the one that their personal link was sent to."""
    viewer = viewers.find(rt, link, viewer_token)
    if viewer is not None and viewer.email is not None:
        return viewer.email
    return link.invite and link.invite.email


def _compute_code(rt: Runtime, link: Link) -> str:
    uuid = (link.variant or link.invite or link.file).uuid
    return hmac.digest(instance_secret(rt, _SECRET), uuid.encode(), "sha256")[:4].hex().upper()
