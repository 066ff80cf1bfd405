"""``GET /oembed``: describe how other sites can embed a share link in their pages (oEmbed 1.0, ``rich``)."""

import re
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

from flask import Blueprint, Response, render_template, request

from docshare.contract.limits import REQUESTS
from docshare.contract.problems import Problem
from docshare.contract.wire import drop_none, to_ascii_host
from docshare.server.api import answers
from docshare.server.http.views import client_address, current_runtime
from docshare.server.pdf.pages import PAGE_WIDTHS
from docshare.server.rate_limits import network_prefix
from docshare.server.runtime import Runtime
from docshare.server.services.files import page_range
from docshare.server.services.links import links, public
from docshare.server.services.links.links import Link
from docshare.server.services.links.public import PublicMetadata
from docshare.server.web.public import find_embedded_link, find_link

PROVIDER = "docshare"
NEUTRAL_TITLE = "Shared document"
_WIDTH, _HEIGHT = 800, 600  # pixels of the frame, unless the other site has less room
_MAX_HEIGHT = 3200  # pixels of a thumbnail; taller pages have none
_PIXELS = re.compile(r"[1-9][0-9]{0,5}", re.ASCII)
_DEFAULT_PORTS = {"http": 80, "https": 443}

blueprint = Blueprint("oembed", __name__)


@blueprint.get("/oembed")
def oembed() -> Response:
    """Return the oEmbed document of a share link.

    Query: ``url`` of a share link of this instance by UUID, short id or slug, or of its embed page; ``maxwidth`` and
    ``maxheight`` in pixels (anything else is ignored); ``format`` only ``json``. Raises ``bad_request`` without
    ``url``, ``not_implemented`` for another format, ``rate_limited``, and ``not_found`` for other addresses and for
    links that are unknown, revoked or dead, so that these cannot be distinguished.
    """
    runtime = current_runtime()
    _require_rate_limit(runtime)
    if request.args.get("format", "json") != "json":
        raise Problem("not_implemented", "Only format=json is supported.")
    address = request.args.get("url")
    if not address:
        raise Problem("bad_request", "The parameter 'url' is required: a share link.")
    link = _resolve_address(runtime, address)
    metadata = public.build_metadata(link)
    if not metadata.is_alive:
        raise _unknown_link_problem()
    return answers.json_response(
        _build_document(runtime, metadata, _read_pixels("maxwidth"), _read_pixels("maxheight"))
    )


def oembed_url(base: str) -> str:
    """Return the address of the oEmbed document for the share page at ``base`` (never a slug)."""
    base_url = current_runtime().config.base_url
    return f"{base_url}/oembed?format=json&url={quote(base_url + base, safe='')}"


def _require_rate_limit(runtime: Runtime) -> None:
    """Limit the requests of one address as under /api. Raises ``rate_limited``."""
    key = f"oembed {network_prefix(client_address())}"
    allowance = runtime.limits.hit(REQUESTS, key, runtime.config.rate_limit)
    if not allowance.is_allowed:
        raise Problem("rate_limited", "Too many requests.", headers={"Retry-After": str(allowance.reset_s)})


def _build_document(
    runtime: Runtime, metadata: PublicMetadata, max_width: int | None, max_height: int | None
) -> dict[str, Any]:
    base_url, link = runtime.config.base_url, metadata.link
    title = NEUTRAL_TITLE if metadata.is_name_hidden else link.file.original_name
    width, height = min(_WIDTH, max_width or _WIDTH), min(_HEIGHT, max_height or _HEIGHT)
    frame = f"{base_url}/embed/{link.public_id}"
    thumbnail, wide, tall = _find_thumbnail(runtime, metadata, max_width, max_height) or (None, None, None)
    return drop_none(
        {
            "version": "1.0",
            "type": "rich",
            "title": title,
            "provider_name": PROVIDER,
            "provider_url": base_url,
            "html": render_template("frame.html", address=frame, title=title, width=width, height=height).strip(),
            "width": width,
            "height": height,
            "thumbnail_url": thumbnail,
            "thumbnail_width": wide,
            "thumbnail_height": tall,
        }
    )


def _find_thumbnail(
    runtime: Runtime, metadata: PublicMetadata, max_width: int | None, max_height: int | None
) -> tuple[str, int, int] | None:
    """Return URL and size of the first page that readers see; None if the link has conditions or the image is too
    large."""
    link, width = metadata.link, PAGE_WIDTHS[0]
    if metadata.has_requirements or not metadata.pages or width > (max_width or width):
        return None
    sight = page_range.resolve_view(runtime, link, None)
    runs = sight.window.trim_runs(links.load_page_sizes(runtime, link))
    if not runs:  # the document was deleted since the link was found
        return None
    _, page_width, page_height = runs[0]
    height = max(1, round(page_height * width / page_width)) if page_width else _MAX_HEIGHT + 1
    if height > min(_MAX_HEIGHT, max_height or _MAX_HEIGHT):
        return None
    return f"{runtime.config.base_url}/{link.public_id}/pages/1-{width}.jpg?v={sight.address_tag}", width, height


def _resolve_address(runtime: Runtime, address: str) -> Link:
    """Return the link of the share page or embed page of this instance at ``address``, with or without a trailing
    slash.

    Raises as ``public.find_link``, and ``not_found`` for any other address.
    """
    try:
        theirs = urlsplit(address)
        same = _parse_origin(theirs) == _parse_origin(urlsplit(runtime.config.base_url))
    except ValueError:  # a malformed host or port, or a host that cannot be written in ASCII
        raise _unknown_link_problem() from None
    folder, _, name = theirs.path.removesuffix("/").rpartition("/")
    if not same or "@" in theirs.netloc or folder not in ("", "/embed"):
        raise _unknown_link_problem()
    return find_embedded_link(runtime, name) if folder else find_link(runtime, name)


def _parse_origin(parts: SplitResult) -> tuple[str, str, int | None]:
    return parts.scheme, to_ascii_host(parts.hostname or ""), parts.port or _DEFAULT_PORTS.get(parts.scheme)


def _read_pixels(name: str) -> int | None:
    value = request.args.get(name, "")
    return int(value) if _PIXELS.fullmatch(value) else None


def _unknown_link_problem() -> Problem:
    return Problem("not_found", "There is no such link.")
