"""The public download: a form post, so that previews and scanners, which follow links, do not download."""

from functools import partial

from flask import Blueprint, Response, make_response, redirect

from docshare.contract.limits import MINUTE, RatePolicy
from docshare.contract.problems import Problem
from docshare.server.api import answers
from docshare.server.http.headers import content_disposition
from docshare.server.http.views import client_address, client_country, current_runtime
from docshare.server.rate_limits import network_prefix
from docshare.server.services.links import downloads, guessing
from docshare.server.web import csrf, problem_pages
from docshare.server.web.gates import viewer_cookie
from docshare.server.web.public import require_open_link
from docshare.server.web.sign_in import session_cookie

_ATTEMPTS = 3  # one document may be replaced or changed twice in a row
DOWNLOAD_POLICY = RatePolicy("downloads", 60, MINUTE, "address")

blueprint = Blueprint("downloads", __name__)


@blueprint.post("/<name>/download")
def download(name: str) -> Response:
    """Return the PDF behind the short id or UUID ``name`` as an attachment, trimmed and stamped as its owner set it.

    An error is a page, because a person sends the form. Slugs are not accepted, as for all resources of a page.
    """
    try:
        return _send_copy(name)
    except Problem as problem:
        if problem.extra.get("reason") == problem_pages.GATE_REASON:
            return make_response(redirect(f"/{name}", 303))  # its page shows the gate; the old grants are invalid
        return problem_pages.render_problem_page(problem)


def _send_copy(name: str) -> Response:
    csrf.require_same_site()
    allowance = current_runtime().limits.hit(DOWNLOAD_POLICY, network_prefix(client_address()), DOWNLOAD_POLICY.limit)
    if not allowance.is_allowed:
        retry = {"Retry-After": str(allowance.reset_s)}
        raise Problem("rate_limited", "Too many downloads from your network.", headers=retry, extra={"reason": "busy"})
    copy = _make_copy(name)
    response = answers.file_response(copy.file, copy.size, "application/pdf")
    response.headers["Content-Disposition"] = content_disposition("attachment", copy.name)
    return response


def _make_copy(name: str) -> downloads.DownloadCopy:
    for _ in range(_ATTEMPTS):
        link = require_open_link(current_runtime(), name)
        if link.public_id not in (name, name.lower()):
            break
        viewer = viewer_cookie.read_viewer_token(link)
        try:
            return downloads.download_copy(
                current_runtime(),
                link,
                session_cookie(),
                viewer,
                client_country(),
                client_address(),
                find_again=partial(require_open_link, current_runtime(), name),
            )
        except FileNotFoundError:
            continue  # replaced, deleted, or changed since the link was found
    raise guessing.link_not_found()
