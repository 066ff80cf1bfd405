"""Hotspots: areas of a page that open a link or play a sound. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from docshare.contract import fields
from docshare.contract.problems import Problem
from docshare.server.rules import rects
from docshare.server.rules.rects import Rect

MAX_HOTSPOTS_PER_FILE = 200

_LABEL_CHARS = 100
_MAX_DIGITS = 6  # digits


@dataclass(frozen=True)
class HotspotInput:
    """A hotspot as requested: ``page`` of the document, and either ``url`` or ``audio``, the id of an asset."""

    page: int
    rect: Rect
    label: str
    url: str | None
    audio: str | None


def parse_hotspot(args: Mapping[str, str]) -> HotspotInput:
    """Parse the arguments of a command: ``page``, ``rect`` (X,Y,W,H), ``link`` or ``audio``, and optionally
    ``label``.

    Raises ``bad_request`` naming the argument. The default label is derived from the target, because screen readers
    need a label that is not empty.
    """
    link, audio = args.get("link"), args.get("audio")
    if (link is None) == (audio is None):
        raise Problem("bad_request", "A hotspot must have either a link or a sound.")
    url = None if link is None else fields.parse_https_url("link", link)
    label = fields.text_parser(0, _LABEL_CHARS)("label", args.get("label", ""))
    return HotspotInput(
        page=_parse_page(args["page"]),
        rect=rects.parse_rect_text("rect", args["rect"]),
        label=label or (urlsplit(url).hostname if url else None) or "Sound",
        url=url,
        audio=None if audio is None else fields.parse_asset_id("audio", audio),
    )


def require_hotspot_fits(hotspot: HotspotInput, *, total_pages: int, hotspots: int) -> None:
    """Raise ``bad_request`` if the document does not have the page, or has the maximum number of ``hotspots``."""
    if not 1 <= hotspot.page <= total_pages:
        raise fields.field_problem("page", f"a page of the document, 1 to {total_pages}")
    if hotspots >= MAX_HOTSPOTS_PER_FILE:
        raise Problem("bad_request", f"The file has {MAX_HOTSPOTS_PER_FILE} hotspots, the maximum for a file.")


def _parse_page(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS):
        raise fields.field_problem("page", "a page number")
    return int(text)
