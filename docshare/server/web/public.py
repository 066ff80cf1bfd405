"""The share page, the same page for framing, and the page images and texts that it loads.

Nothing here writes: a GET of a share page, by whomever, changes no row. What a reader does is told by beacons.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from flask import Blueprint, Response, jsonify, make_response, render_template, request

from docshare.contract.limits import ADDRESS
from docshare.contract.problems import Problem
from docshare.server.limits import address_key
from docshare.server.pdf.engine import Unrenderable
from docshare.server.pdf.pages import WIDTHS
from docshare.server.runtime import Runtime
from docshare.server.services import downloads, links, page_range, settings
from docshare.server.services.links import Link
from docshare.server.services.page_range import Sight
from docshare.server.shell import client_address, rt
from docshare.server.web import assets, derived, headers, plain, troubles
from docshare.server.web.beacons import page_token
from docshare.server.web.sign_in import session_cookie

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
        return _viewer(open_link(rt(), name), embed=False)
    except Problem as problem:
        return troubles.page(problem)


@blueprint.get("/embed/<name>")
def embed_page(name: str) -> Response:
    """The same page for framing by any site."""
    try:
        link = open_link(rt(), name)
        if link.public_id not in (name, name.lower()):
            raise _unknown()  # Spec gap: the page for framing is never built from a slug
        return headers.allow_framing(_viewer(link, embed=True))
    except Problem as problem:
        return headers.allow_framing(troubles.page(problem))


@blueprint.get("/<name>/pages/<page>-<width>.jpg")
def page_image(name: str, page: str, width: str) -> Response:
    """One page as a JPEG, ``width`` 800 or 1600 pixels wide; ``?v=`` names content and window that the reader has open.

    Raises what ``open_link`` and ``_page_of`` raise, ``unavailable``, ``unprocessable`` for one that cannot be drawn.
    """
    runtime = rt()
    link = open_link(runtime, name)
    if width not in map(str, WIDTHS):
        raise _unknown()
    shown = _sight(link)
    number = _page_of(shown, page)
    file, blob = link.file, runtime.blobs.path(link.file.blob)
    make = partial(runtime.pages.image, file.uuid, file.content_version, blob, number, int(width), shown.watermark)
    return _page_answer(lambda: derived.answer(make(), "image/jpeg"))


@blueprint.get("/<name>/text/<page>.json")
def page_text(name: str, page: str) -> Response:
    """Text and links of one page, for the text layer and for finding. Raises as ``page_image``."""
    runtime = rt()
    link = open_link(runtime, name)
    shown = _sight(link)
    number = _page_of(shown, page)
    file, blob = link.file, runtime.blobs.path(link.file.blob)
    if shown.window.covers(file.total_pages):
        make = partial(runtime.pages.text, file.uuid, file.content_version, blob, number)
        return _page_answer(lambda: derived.answer(make(), "application/json"))
    return _page_answer(lambda: jsonify(page_range.page_text(runtime, link, shown.window, int(page))))


def open_link(runtime: Runtime, name: str) -> Link:
    """The link ``name``, alive. Everything that serves a byte of a document comes through here.

    Raises as ``found_link``, ``gone`` with its reason, and ``forbidden`` for a locked one.
    """
    link = found_link(runtime, name)
    if link.state == links.LOCKED:
        raise troubles.locked()
    if link.state != "live":
        ended = link.file.burned_at if link.state == "burned" else link.file.delete_at
        raise Problem("gone", "This link is no longer available.", extra={"reason": link.state, "ended": ended})
    return link


def found_link(runtime: Runtime, name: str) -> Link:
    """The link ``name``, whatever its state.

    Raises ``not_found`` (unknown and trashed alike) and ``rate_limited`` for an address that tried too many unknown
    links: for known ones too, or the refusal would tell them apart (hardening M1).
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
    return link


def _unknown() -> Problem:
    return Problem("not_found", "There is no such link.")


def _sight(link: Link) -> Sight:
    return page_range.sight(rt(), link, session_cookie())


def _page_of(shown: Sight, page: str) -> int:
    """The document's number of the page that the reader calls ``page``, of the content and window that ``?v=`` names.
    A hidden page answers as one that the document does not have."""
    if _NUMBER.fullmatch(page) is None or request.args.get("v") != shown.mark:
        raise _unknown()
    try:
        return shown.window.of_document(int(page))
    except ValueError:
        raise _unknown() from None


def _page_answer(make: Callable[[], Response]) -> Response:
    for _ in range(2):
        try:
            response = make()
        except Unrenderable:
            raise Problem("unprocessable", "This page cannot be shown.") from None
        except FileNotFoundError:
            continue  # newer pages pushed it out since it was found, or the file was destroyed
        response.headers["Cache-Control"] = _PAGE_CACHE
        return response
    raise _unknown()


def _viewer(link: Link, *, embed: bool) -> Response:
    file, shown = link.file, _sight(link)
    total = shown.window.size
    asked = request.args.get("page", "")
    start = min(int(asked), total) if _NUMBER.fullmatch(asked) else 1
    runs = shown.window.runs(links.page_sizes(rt(), link))
    chunk = plain.Chunk.around(start, total)
    words = plain.words(rt(), link, shown, chunk) if asked else {}
    base = f"/{link.public_id}"
    looks = settings.looks(rt(), link)
    facts = {
        "base": base,
        "version": shown.mark,
        "pages": total,
        "sizes": runs,
        "start": start,
        "token": page_token(link, shown, VIEWER_MODE, embedded=embed),
        "beaconUrl": f"{base}/beacon",
        "viewerMode": looks.viewer_mode,
        "viewerSettings": looks.viewer_settings,
    }
    return make_response(
        render_template(
            "viewer.html",
            facts=facts,
            name=file.original_name,
            embed=embed,
            download=downloads.offered(rt(), link, session_cookie()),
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
