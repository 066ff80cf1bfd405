"""The share page, the same page for framing, and the page images and texts that it loads.

Nothing here writes: a GET of a share page never changes a row. Beacons report what a reader does. Denied views are
counted in memory, see ``gates.denied_attempts``.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from flask import Blueprint, Response, jsonify, make_response, render_template, request
from markupsafe import Markup

from docshare.contract.amounts import format_size
from docshare.contract.problems import Problem
from docshare.contract.viewer import TILES
from docshare.server.api import answers
from docshare.server.http.views import client_address, current_runtime
from docshare.server.pdf.pages import PAGE_WIDTHS, THUMBNAIL_WIDTHS, ImagePart
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import sign_in
from docshare.server.services.files import page_range, sealed_blobs, settings, tenants
from docshare.server.services.files.page_range import ReaderView
from docshare.server.services.files.settings import PageAppearance
from docshare.server.services.links import downloads, entry, guessing, links
from docshare.server.services.links.entry import EntryState
from docshare.server.services.links.links import Link
from docshare.server.services.readership import visits
from docshare.server.web import assets, branding, derived, feedback_facts, headers, problem_pages, scriptless
from docshare.server.web.beacons import has_global_privacy_control, issue_page_token
from docshare.server.web.gates import denied_attempts, gate_page, viewer_cookie
from docshare.server.web.sign_in import session_cookie

MAX_PLACEHOLDERS = 200  # pages in the HTML itself; scripts add the others of longer documents
# A browser may keep the page in memory and show it again on Back; its script then checks whether the link is open.
_RECHECKED = "private, no-cache"
_PAGE_NUMBER = re.compile(r"[1-9][0-9]{0,5}", re.ASCII)
_TILE_NUMBER = re.compile(r"0|[1-9][0-9]{0,3}", re.ASCII)

blueprint = Blueprint("public", __name__)


@dataclass(frozen=True)
class PageElement:
    """One page in the HTML.

    Number, the HTML of its start tag and shape, whether it is part of the chunk of the plain version, whether its image
    is loaded at once, and its text if requested.
    """

    number: int
    start_tag: Markup
    in_chunk: bool
    first: bool
    words: str | None = None


@dataclass(frozen=True)
class DraftPage:
    """An appearance that is not stored, and the address of its style sheet or None."""

    looks: PageAppearance
    stylesheet: str | None


@blueprint.get("/")
def home() -> str:
    """Show the start page: what this is, and the way to sign in; a form for sharing if anonymous uploads are
    allowed."""
    config, holder = current_runtime().config, sign_in.find_signed_in(current_runtime(), session_cookie())
    if not config.anonymous_uploads:
        return render_template("home.html", holder=holder)
    most = config.anonymous_limit
    words = format_size(most)
    return render_template("share.html", base_url=config.base_url, most=most, most_words=words, holder=holder)


@blueprint.get("/<name>")
def share_page(name: str) -> Response:
    """Show the share page of a short id, a UUID or a slug.

    ``?page=`` opens it at a page, and adds the text of the pages around it to the HTML for readers without scripts.
    """
    return _open_share_page(name, find_link, embed=False)


@blueprint.get("/embed/<name>")
def embed_page(name: str) -> Response:
    """Show the share page for framing by any site."""
    return headers.allow_framing(_open_share_page(name, find_embedded_link, embed=True))


@blueprint.get("/<name>/pages/<page>-<width>.jpg")
def page_image(name: str, page: str, width: str) -> Response:
    """Return one page as a JPEG, ``width`` 160, 240, 800 or 1600 pixels wide; ``?v=`` is the version of content and
    window.

    Raises what ``require_open_link`` and ``resolve_page_number`` raise, ``unavailable``, ``unprocessable`` for a
    page that cannot be rendered.
    """
    link = require_open_link(current_runtime(), name)
    if width not in map(str, (*PAGE_WIDTHS, *THUMBNAIL_WIDTHS)):
        raise guessing.link_not_found()
    view = find_view(link)
    return _send_page_image(link, view, resolve_page_number(view, page), int(width))


@blueprint.get("/<name>/tiles/<page>/<grid>/<column>-<row>.jpg")
def page_tile(name: str, page: str, grid: str, column: str, row: str) -> Response:
    """Return one tile of a page as a JPEG, of a ``grid`` of ``rules.tiles.find_tile``; ``?v=`` as for ``page_image``.

    Raises ``not_found`` for a tile that the page does not have; otherwise as ``page_image``.
    """
    link = require_open_link(current_runtime(), name)
    view = find_view(link)
    number = resolve_page_number(view, page)
    if any(_TILE_NUMBER.fullmatch(value) is None for value in (column, row)):
        raise guessing.link_not_found()
    tile = links.find_tile(current_runtime(), link, number, grid, int(column), int(row))
    if tile is None:
        raise guessing.link_not_found()
    return _send_page_image(link, view, number, tile)


def _send_page_image(link: Link, view: ReaderView, number: int, part: ImagePart) -> Response:
    """Return the image ``part`` of the document's page ``number`` with the watermark of this reader."""
    runtime = current_runtime()
    file, blob = link.file, sealed_blobs.open_blob(runtime, link.file.blob)
    asked = (file.uuid, file.content_version, blob, number, part)
    watermark, tenant = view.watermark, tenants.reader_tenant(file, client_address())
    send_part = partial(derived.send_page_part, file.uuid, file.content_version)
    if watermark is not None and watermark.personal:
        stamp = partial(runtime.pages.stamp_image, *asked, watermark.mark, tenant)
        return send_part(lambda: Response(stamp(), content_type="image/jpeg"))
    make = partial(runtime.pages.image, *asked, watermark and watermark.mark, tenant)
    return send_part(lambda: derived.send_derived(make(), "image/jpeg"))


@blueprint.get("/<name>/text/<page>.json")
def page_text(name: str, page: str) -> Response:
    """Return text and links of one page, for the text layer and for searching. Raises as ``page_image``."""
    runtime = current_runtime()
    link = require_open_link(runtime, name)
    view = find_view(link)
    number = resolve_page_number(view, page)
    file, blob = link.file, sealed_blobs.open_blob(runtime, link.file.blob)
    send_part = partial(derived.send_page_part, file.uuid, file.content_version)
    if view.window.covers_all(file.total_pages):
        tenant = tenants.reader_tenant(file, client_address())
        make = partial(runtime.pages.text, file.uuid, file.content_version, blob, number, tenant)
        return send_part(lambda: derived.send_derived(make(), "application/json", compress=_may_compress(link)))
    return send_part(
        lambda: jsonify(page_range.load_page_text(runtime, link, view.window, int(page), client_address()))
    )


@blueprint.get("/<name>/outline.json")
def outline(name: str) -> Response:
    """Return the table of contents, rows of [level from 0, page or None, title]; ``?v=`` as for ``page_image``.

    An entry of a hidden page is omitted. Raises as ``page_image``; ``unprocessable`` if it cannot be read.
    """
    runtime = current_runtime()
    link = require_open_link(runtime, name)
    view = find_view(link)
    resolve_page_number(view, "1")
    make = partial(page_range.load_outline, runtime, link, view.window, client_address())
    response = derived.send_page_part(link.file.uuid, link.file.content_version, lambda: jsonify(make()))
    return answers.compress_response(response) if _may_compress(link) else response


def _may_compress(link: Link) -> bool:
    """Return whether the current request gets the same of ``link`` as everybody else, see ``compression``."""
    return not request.cookies and _is_ungated(link)


def _is_ungated(link: Link) -> bool:
    return not entry.find_requirements(link).kinds


def require_open_link(runtime: Runtime, name: str) -> Link:
    """Return the link ``name``, which the sender of the current request may read.

    All views that send or receive a byte of a document call this, except for the share page itself, which shows the
    gate instead. Raises as ``find_link``, ``gone`` with its reason, ``not_found`` if the page range has no pages any
    more, and ``forbidden`` while a condition is not met.
    """
    link = find_link(runtime, name)
    state = _check_entry(link, opening=False)
    page_range.require_pages(runtime, link, session_cookie())
    if state.missing:
        raise problem_pages.gate_problem()
    return link


def find_embedded_link(runtime: Runtime, name: str) -> Link:
    """Return the link ``name`` for a page inside a frame, which never has a slug. Raises as ``find_link``."""
    return guessing.find_link(runtime, name, client_address(), ids_only=True)


def find_link(runtime: Runtime, name: str) -> Link:
    """Return the link ``name`` in any state. Raises as ``guessing.find_link``."""
    return guessing.find_link(runtime, name, client_address())


def _check_entry(link: Link, *, opening: bool) -> EntryState:
    """Return the conditions of ``link`` that the reader has not met; the owner has met all. Raises ``gone``."""
    # Only checked if necessary: every page image passes here.
    owner = link.file.frozen_at is not None and page_range.is_owner(current_runtime(), link, session_cookie())
    found = entry.check_entry(current_runtime(), link, viewer_cookie.read_viewer_token, opening=opening, owner=owner)
    if found.missing and page_range.is_owner(current_runtime(), link, session_cookie()):
        return replace(found, missing=frozenset())
    return found


def _open_share_page(name: str, find: Callable[[Runtime, str], Link], *, embed: bool) -> Response:
    """Render the share page of the link that ``find`` returns for ``name``, or the page of the problem with it."""
    link = None
    try:
        link = find(current_runtime(), name)
        return _render_share_page(link, name, embed=embed)
    except Problem as problem:
        denied_attempts.record_denial(name, problem)
        return problem_pages.render_problem_page(problem, link=link)


def _render_share_page(link: Link, name: str, *, embed: bool) -> Response:
    """Render the share page of ``link``, or the gate if conditions are not met."""
    state = _check_entry(link, opening=True)
    try:
        # Checked first: nobody should enter a password or an address, or consume a view, for no pages.
        page_range.require_pages(current_runtime(), link, session_cookie())
    except Problem as problem:
        return problem_pages.render_problem_page(problem, status=200, link=link)
    if state.missing:
        return gate_page.render_gate(link, state, name, embed=embed)
    return _render_viewer(link, embed=embed)


def find_view(link: Link) -> ReaderView:
    """Return what the sender of the current request sees of the document."""
    return page_range.resolve_view(current_runtime(), link, session_cookie(), viewer_cookie.read_viewer_token(link))


def resolve_page_number(shown: ReaderView, page: str) -> int:
    """Convert the reader's number of ``page`` to the document's, for the content and window of ``?v=``.

    Raises ``not_found``; a hidden page gets the same response as one that does not exist.
    """
    if _PAGE_NUMBER.fullmatch(page) is None or request.args.get("v") != shown.address_tag:
        raise guessing.link_not_found()
    try:
        return shown.window.to_document_page(int(page))
    except ValueError:
        raise guessing.link_not_found() from None


def render_preview(link: Link, looks: PageAppearance, stylesheet: str | None) -> Response:
    """Render the share page of ``link`` to its owner as if it had the appearance ``looks``.

    Parameters: ``stylesheet`` the address of that appearance as CSS, None if it has none. The page has no token, so
    its script reports no reading, and it loads no analytics.
    """
    kept = {key: block for key, block in looks.viewer_settings.items() if key != "ga4Id"}
    return _render_viewer(link, embed=False, draft=DraftPage(looks._replace(viewer_settings=kept), stylesheet))


def _render_viewer(link: Link, *, embed: bool, draft: DraftPage | None = None) -> Response:
    file, shown = link.file, find_view(link)
    total = shown.window.size
    asked = request.args.get("page", "")
    start = min(int(asked), total) if _PAGE_NUMBER.fullmatch(asked) else 1
    runs = shown.window.trim_runs(links.load_page_sizes(current_runtime(), link))
    chunk = scriptless.PageChunk.containing(start, total)
    words = scriptless.read_page_texts(current_runtime(), link, shown, chunk, client_address()) if asked else {}
    base = f"/{link.public_id}"
    looks = settings.find_appearance(current_runtime(), link) if draft is None else draft.looks
    face = branding.page_branding(link, looks)
    facts = {
        "base": base,
        "version": shown.address_tag,
        "pages": total,
        "sizes": runs,
        "tiles": TILES._asdict(),
        "start": start,
        "token": "" if draft else issue_page_token(link, shown, looks.viewer_mode, embedded=embed),
        "beaconUrl": f"{base}/beacon",
        **({"optedOut": True} if has_global_privacy_control() and visits.offers_choice(link) else {}),
        "viewerMode": looks.viewer_mode,
        "viewerSettings": looks.viewer_settings,
        **branding.describe_expiry(link),
        **feedback_facts.build_feedback_facts(link, shown),
    }
    response = make_response(
        render_template(
            "viewer.html",
            facts=facts,
            name=file.original_name,
            face=face if draft is None else replace(face, stylesheet=draft.stylesheet),
            embed=embed,
            download=downloads.can_download(current_runtime(), link, session_cookie()),
            chunk=chunk,
            leaves=_list_page_elements(runs, chunk, start, words),
            scripts=assets.list_viewer_scripts(looks.viewer_mode, feedback=feedback_facts.needs_feedback_script(facts)),
        )
    )
    if feedback_facts.can_leave_feedback(facts) and draft is None:
        viewer_cookie.set_trial_cookie(response)
    if session_cookie() is None and _is_ungated(link):
        response.headers["Cache-Control"] = _RECHECKED
    if _may_compress(link):
        answers.compress_response(response)
    return headers.allow_analytics(response) if "ga4Id" in looks.viewer_settings else response


def _list_page_elements(
    runs: list[list[float]], chunk: scriptless.PageChunk, start: int, words: dict[int, str]
) -> list[PageElement]:
    """Return the pages in the HTML: all of a short document, those of the plain version of a longer one."""
    leaves = []
    first = 1
    for count, width, height in runs:
        last = first + int(count) - 1
        pages = range(first, last + 1)
        if chunk.total > MAX_PLACEHOLDERS:
            pages = range(max(first, chunk.first), min(last, chunk.last) + 1)
        for page in pages:
            tag = _render_start_tag(page, chunk.total, width, height, page in chunk)
            leaves.append(PageElement(page, tag, page in chunk, page == start, words.get(page)))
        first = last + 1
    return leaves


@lru_cache(maxsize=4096)
def _render_start_tag(number: int, total: int, width: float, height: float, in_chunk: bool) -> Markup:
    """Return the start of a page in the HTML. The same ones are in thousands of share pages, and the template engine
    makes a hundred calls for each."""
    facts = {"number": number, "total": total, "width": width, "height": height, "in_chunk": in_chunk}
    return Markup(render_template("viewer/page_element.html", **facts))  # noqa: S704 - escaped by the template
