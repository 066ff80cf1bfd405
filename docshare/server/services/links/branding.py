"""What the owner of a file set of its looks, ready for the page: its style sheet, what stands in the corners of the
window, and until when it can be read."""

import hashlib
import json
from typing import Any, NamedTuple

from docshare.server.rules import stylesheet
from docshare.server.services.links.links import Link


class Branding(NamedTuple):
    """``css``: the style sheet of the file, empty where its owner changed nothing; ``mark``: names that text;
    ``corners``: what stands in each (``tl``, ``tr``, ``bl``, ``br``) from above: ``logo``, ``cta``, ``badge``."""

    css: str
    mark: str
    corners: dict[str, list[str]]


def build_branding(viewer_settings: dict[str, Any]) -> Branding:
    """The branding that ``viewer_settings``, every field of every block, ask for."""
    css = stylesheet.render_stylesheet(viewer_settings)
    mark = hashlib.sha256(css.encode()).hexdigest()[:16]
    return Branding(css, mark, stylesheet.list_corners(viewer_settings))


def visible_expiry(link: Link) -> int | None:
    """When ``link`` ends, as far as its readers are told: ms, None where it does not or where the owner hides it."""
    told = json.loads(link.file.settings).get("showExpiry", True)
    return link.file.delete_at if told else None
