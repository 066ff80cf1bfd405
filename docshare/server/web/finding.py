"""Find in the document: where words occur in the pages that a reader sees."""

from typing import Any

from flask import Blueprint, Response, jsonify, request

from docshare.contract.limits import MINUTE, RatePolicy
from docshare.contract.problems import Problem
from docshare.server.http.views import client_address, current_runtime
from docshare.server.rate_limits import network_prefix
from docshare.server.services.files import finding
from docshare.server.services.files.finding import FoundWords
from docshare.server.services.links import guessing
from docshare.server.web import derived
from docshare.server.web.public import find_view, require_open_link, resolve_page_number

SEARCH_POLICY = RatePolicy("searches", 600, MINUTE, "address")
_NO_STORE = "private, no-store"  # the browser must not store searches on disk

blueprint = Blueprint("finding", __name__)


@blueprint.get("/<name>/search")
def search(name: str) -> Response:
    """Return where the words ``?q=`` occur in the document behind the short id or UUID ``name``.

    ``?v=`` is the version of content and window, as for page texts; ``?from=`` the page to begin at (default: 1), to
    continue a search that could not be finished in one request. An empty ``q`` only prepares the document. Raises what
    ``require_open_link`` and ``resolve_page_number`` raise, ``rate_limited``, and what ``find_words`` raises.
    """
    runtime = current_runtime()
    link = require_open_link(runtime, name)
    if link.public_id not in (name, name.lower()):
        raise guessing.link_not_found()
    view = find_view(link)
    start = request.args.get("from", "1")
    resolve_page_number(view, start)
    allowance = runtime.limits.hit(SEARCH_POLICY, network_prefix(client_address()), SEARCH_POLICY.limit)
    if not allowance.is_allowed:
        retry = {"Retry-After": str(allowance.reset_s)}
        raise Problem("rate_limited", "Too many searches from your network.", headers=retry)
    wanted = request.args.get("q", ""), int(start), client_address()
    response = derived.send_page_part(
        link.file.uuid,
        link.file.content_version,
        lambda: jsonify(_represent(finding.find_words(runtime, link, view.window, *wanted))),
    )
    response.headers["Cache-Control"] = _NO_STORE
    return response


def _represent(found: FoundWords) -> dict[str, Any]:
    """Return the JSON of ``found``: ``pages`` are [page, matches], ``passages`` [page, place on it, before, match,
    after]."""
    return {
        "count": sum(found.counts.values()),
        "pages": list(found.counts.items()),
        "passages": [
            [each.page, each.place, each.passage.before, each.passage.match, each.passage.after]
            for each in found.passages
        ],
        "unread": found.unread,
        "complete": found.next_page is None,
        "next": found.next_page,
    }
