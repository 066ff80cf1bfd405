"""Hotspots: places on a page that open an address or play a sound. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from docshare.contract import fields
from docshare.contract.problems import Problem
from docshare.server.rules import rects
from docshare.server.rules.rects import Rect

PER_FILE = 200

_LABEL_CHARS = 100
_LONGEST_NUMBER = 6  # digits


@dataclass(frozen=True)
class Wish:
    """A hotspot as it is asked for: ``page`` of the document, and either ``url`` or ``audio``, the id of an asset."""

    page: int
    rect: Rect
    label: str
    url: str | None
    audio: str | None


def read(args: Mapping[str, str]) -> Wish:
    """The arguments of a command: ``page``, ``rect`` (X,Y,W,H), ``link`` or ``audio``, and if wanted ``label``.

    Raises ``bad_request`` naming the argument. Without a label it is named after where it leads: what is read aloud
    must not be empty.
    """
    link, audio = args.get("link"), args.get("audio")
    if (link is None) == (audio is None):
        raise Problem("bad_request", "A hotspot has either a link or an audio.")
    url = None if link is None else fields.https_url("link", link)
    label = fields.text(0, _LABEL_CHARS)("label", args.get("label", ""))
    return Wish(
        page=_page(args["page"]),
        rect=rects.read_text("rect", args["rect"]),
        label=label or (urlsplit(url).hostname if url else None) or "Sound",
        url=url,
        audio=None if audio is None else fields.asset_id("audio", audio),
    )


def require_fit(wish: Wish, *, total_pages: int, hotspots: int) -> None:
    """Raise ``bad_request`` when the document lacks the page of ``wish``, or has as many ``hotspots`` as it can."""
    if not 1 <= wish.page <= total_pages:
        raise fields.refusal("page", f"a page of the document, 1 to {total_pages}")
    if hotspots >= PER_FILE:
        raise Problem("bad_request", f"The file has {PER_FILE} hotspots, which is the most a file can have.")


def _page(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER):
        raise fields.refusal("page", "a page number")
    return int(text)
