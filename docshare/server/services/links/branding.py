"""Prepare the branding of a file for its page: the style sheet, the parts in each corner, and the visible expiry."""

import hashlib
from dataclasses import dataclass
from typing import Any

from docshare.server.rules import stylesheet
from docshare.server.services.links.links import Link


@dataclass(frozen=True)
class Branding:
    """The looks of a page. ``css``: the style sheet of the file, empty where its owner changed nothing; ``mark``:
    a digest of that text; ``corners``: the parts in each corner (``tl``, ``tr``, ``bl``, ``br``) from top to bottom:
    ``logo``, ``cta``, ``badge``."""

    css: str
    mark: str
    corners: dict[str, list[str]]


def build_branding(viewer_settings: dict[str, Any]) -> Branding:
    """Return the branding for ``viewer_settings``, which hold every field of every block."""
    css = stylesheet.render_stylesheet(viewer_settings)
    mark = hashlib.sha256(css.encode()).hexdigest()[:16]
    return Branding(css, mark, stylesheet.list_corners(viewer_settings))


def visible_expiry(link: Link) -> int | None:
    """Return when ``link`` expires (ms), or None if it does not expire or the owner hides it."""
    return link.file.delete_at if link.settings["showExpiry"] else None
