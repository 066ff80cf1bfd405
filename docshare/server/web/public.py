"""The share page, the same page for framing, and the page images and texts that it loads.

Nothing here writes: a GET of a share page, by whomever, changes no row. What a reader does is told by beacons.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from flask import Blueprint, Response, make_response, render_template, request, send_file

from docshare.contract.limits import ADDRESS
from docshare.contract.problems import Problem
from docshare.server.limits import address_key
from docshare.server.pdf.engine import Unrenderable
from docshare.server.pdf.pages import WIDTHS
from docshare.server.runtime import Runtime
from docshare.server.services import links
from docshare.server.services.links import Link
from docshare.server.shell import client_address, rt
from docshare.server.web import assets, headers, plain, troubles
from docshare.server.web.beacons import page_token

VIEWER_MODE = "standard"
PLACEHOLDERS = 200  # pages that stand in the HTML itself; of longer documents, scripts make the others
_PAGE_CACHE = "private, max-age=600"
_NUMBER = re.compile(r"[1-9][0-9]{0,5}", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9-]{1,64}", re.ASCII)

blueprint = Blueprint("public", __name__)


@dataclass(frozen=True)
class Leaf:
    """One page as the HTML knows it: number, size in points, whether it is part of the plain version's chunk, whether
    its image is in the HTML at once, and its words where they were asked for."""

    number: int
    width: float
    height: float
    in_chunk: bool
    first: bool
    words: str | None = None


@blueprint.get("/")
def home() -> str:
    """The address that ``docshare serve`` prints."""
    return render_template("home.html", base_url=rt().config.base_url)


@blueprint.get("/<name>")
def share_page(name: str) -> Response:
    """The share page of a short id, a UUID or a slug. ``?page=`` opens it there, and puts the words of the pages around
    into the HTML for those who read without scripts."""
    try:
        return _viewer(_open(rt(), name), embed=False)
    except Problem as problem:
        return troubles.page(problem)


@blueprint.get("/embed/<name>")
def embed_page(name: str) -> Response:
    """The same page for framing by any site."""
    try:
        link = _open(rt(), name)
        if link.public_id not in (name, name.lower()):
            raise _unknown()  # Spec gap: the page for framing is never built from a slug
        return headers.allow_framing(_viewer(link, embed=True))
    except Problem as problem:
        return headers.allow_framing(troubles.page(problem))


@blueprint.get("/<name>/pages/<page>-<width>.jpg")
def page_image(name: str, page: str, width: str) -> Response:
    """One page as a JPEG, ``width`` 800 or 1600 pixels wide; ``?v=`` is the content version that the reader has open.
    Raises what ``_open`` and ``_page_of`` raise, ``unprocessable`` for a page that cannot be drawn, ``unavailable``."""
    runtime = rt()
    link = _open(runtime, name)
    if width not in map(str, WIDTHS):
        raise _unknown()
    number = _page_of(link, page)
    file, blob = link.file, runtime.blobs.path(link.file.blob)
    make = partial(runtime.pages.image, file.uuid, file.content_version, blob, number, int(width))
    return _page_file(make, "image/jpeg")


@blueprint.get("/<name>/text/<page>.json")
def page_text(name: str, page: str) -> Response:
    """Text and links of one page, for the text layer and for finding. Raises as ``page_image``."""
    runtime = rt()
    link = _open(runtime, name)
    number = _page_of(link, page)
    file, blob = link.file, runtime.blobs.path(link.file.blob)
    make = partial(runtime.pages.text, file.uuid, file.content_version, blob, number)
    return _page_file(make, "application/json")


def _open(runtime: Runtime, name: str) -> Link:
    """The link ``name``, alive. Everything that serves a byte of a document comes through here.

    Raises ``not_found`` (unknown and trashed alike), ``gone`` with its reason, and ``rate_limited`` for an address that
    tried too many unknown links: for known ones too, or the refusal would tell them apart (hardening M1).
    """
    if _NAME.fullmatch(name) is None:
        raise _unknown()  # favicon.ico and its like are no guesses
    limit = runtime.config.address_limit
    key = f"link {address_key(client_address())}"
    allowance = runtime.limits.look(ADDRESS, key, limit)
    if not allowance.allowed:
        retry = {"Retry-After": str(allowance.reset_s)}
        raise Problem("rate_limited", "Too many links that do not exist were tried from here.", headers=retry)
    link = links.resolve(runtime, name)
    if link is None:
        runtime.limits.hit(ADDRESS, key, limit)
        raise _unknown()
    if link.state != "live":
        ended = link.file.burned_at if link.state == "burned" else link.file.delete_at
        raise Problem("gone", "This link is no longer available.", extra={"reason": link.state, "ended": ended})
    return link


def _unknown() -> Problem:
    return Problem("not_found", "There is no such link.")


def _page_of(link: Link, page: str) -> int:
    """The page number ``page`` names, within the document and the version that ``?v=`` names."""
    fits = _NUMBER.fullmatch(page) is not None and int(page) <= link.file.total_pages
    if not fits or request.args.get("v") != str(link.file.content_version):
        raise _unknown()
    return int(page)


def _page_file(make: Callable[[], Path], mimetype: str) -> Response:
    for _ in range(2):
        try:
            response = send_file(make(), mimetype=mimetype)
        except Unrenderable:
            raise Problem("unprocessable", "This page cannot be shown.") from None
        except FileNotFoundError:
            continue  # newer pages pushed it out since it was found, or the file was destroyed
        response.headers["Cache-Control"] = _PAGE_CACHE
        return response
    raise _unknown()


def _viewer(link: Link, *, embed: bool) -> Response:
    file = link.file
    asked = request.args.get("page", "")
    start = min(int(asked), file.total_pages) if _NUMBER.fullmatch(asked) else 1
    runs = links.page_sizes(rt(), link)
    chunk = plain.Chunk.around(start, file.total_pages)
    words = plain.words(rt(), link, chunk) if asked else {}
    base = f"/{link.public_id}"
    facts = {
        "base": base,
        "version": file.content_version,
        "pages": file.total_pages,
        "sizes": runs,
        "start": start,
        "token": page_token(link, VIEWER_MODE, embedded=embed),
        "beaconUrl": f"{base}/beacon",
    }
    return make_response(
        render_template(
            "viewer.html",
            facts=facts,
            name=file.original_name,
            embed=embed,
            chunk=chunk,
            leaves=_leaves(runs, chunk, start, words),
            modules=assets.viewer_modules(),
        )
    )


def _leaves(runs: list[list[float]], chunk: plain.Chunk, start: int, words: dict[int, str]) -> list[Leaf]:
    """The pages that stand in the HTML: all of a short document, of a longer one those of the plain version."""
    leaves = []
    first = 1
    for count, width, height in runs:
        last = first + int(count) - 1
        shown = range(first, last + 1)
        if chunk.total > PLACEHOLDERS:
            shown = range(max(first, chunk.first), min(last, chunk.last) + 1)
        leaves += [Leaf(page, width, height, page in chunk, page == start, words.get(page)) for page in shown]
        first = last + 1
    return leaves
