"""Pass the gate of a link: a form post, which consumes a view of a view limit."""

from collections.abc import Callable

from flask import Blueprint, Response, make_response, redirect, request

from docshare.contract.limits import MINUTE, RatePolicy
from docshare.contract.problems import Problem
from docshare.server.http import parking
from docshare.server.http.views import client_address, current_runtime
from docshare.server.rate_limits import network_prefix
from docshare.server.runtime import Runtime
from docshare.server.services.files import page_range
from docshare.server.services.links import entry
from docshare.server.services.links.entry import EntrySubmission
from docshare.server.services.links.links import Link
from docshare.server.web import csrf, headers, problem_pages
from docshare.server.web.gates import denied_attempts, gate_page, viewer_cookie
from docshare.server.web.gates.gate_page import FIELD_PREFIX, RejectedForm
from docshare.server.web.public import find_embedded_link, find_link
from docshare.server.web.sign_in import session_cookie

# Each may cost a password hash. The limit allows an office of hundreds behind one address.
ENTRY_POLICY = RatePolicy("entries", 300, 10 * MINUTE, "address")

# Problems that the reader can solve are shown in the form; any other problem is a separate page.
_FORM_PROBLEM_CODES = frozenset({"forbidden", "unprocessable", "conflict", "rate_limited"})

blueprint = Blueprint("gate", __name__)


@blueprint.post("/<name>/enter")
def enter(name: str) -> Response:
    """Process the form of the gate of the share page ``name``, then redirect to that page.

    A rejected form shows the gate again with the problem (403, 409, 422, 429), or a separate page. Forms from a
    browser that stores no cookies are rejected: it would see the gate again.
    """
    return _enter(name, find_link, embed=False)


@blueprint.post("/embed/<name>/enter")
def enter_embedded(name: str) -> Response:
    """Process the form of a gate inside a frame, where more browsers store no cookies."""
    return headers.allow_framing(_enter(name, find_embedded_link, embed=True))


@blueprint.get("/<name>/enter")
@blueprint.get("/embed/<name>/enter")
def back(name: str) -> Response:
    """Redirect a reload of the form URL to the page, which shows the gate again."""
    try:
        embed = request.path.startswith("/embed/")
        (find_embedded_link if embed else find_link)(current_runtime(), name)
        return _redirect_to_page(name, embed=embed)
    except Problem as problem:
        return problem_pages.render_problem_page(problem)


def _enter(name: str, find: Callable[[Runtime, str], Link], *, embed: bool) -> Response:
    link = None
    try:
        if not parking.has_waited():
            _count_request()
        if embed and not csrf.is_from_same_site():
            return _reject_sandboxed(name, find(current_runtime(), name))
        csrf.require_same_site()
        link = find(current_runtime(), name)
        return _submit(name, link, embed=embed)
    except Problem as problem:
        denied_attempts.record_denial(name, problem)
        return problem_pages.render_problem_page(problem, link=link)


def _count_request() -> None:
    allowance = current_runtime().limits.hit(ENTRY_POLICY, network_prefix(client_address()), ENTRY_POLICY.limit)
    if not allowance.is_allowed:
        retry = {"Retry-After": str(allowance.reset_s)}
        raise Problem("rate_limited", "Too many forms from your network.", headers=retry, extra={"reason": "busy"})


def _submit(name: str, link: Link, *, embed: bool) -> Response:
    answer = _redirect_to_page(name, embed=embed)
    if page_range.is_owner(current_runtime(), link, session_cookie()) or not page_range.reader_window(link).size:
        return answer  # to the document, or to the page with the reason; neither consumes a view
    form = request.form
    values = {key.removeprefix(FIELD_PREFIX): value for key, value in form.items() if key.startswith(FIELD_PREFIX)}
    ticket, browser = form.get("ticket", ""), viewer_cookie.read_gate_secret(link) or ""
    offer = EntrySubmission(form.get("password", ""), values, ticket, client_address(), browser)
    try:
        _require_cookies(embed=embed)
        token = entry.admit_viewer(current_runtime(), name, link, viewer_cookie.read_viewer_token(link), offer)
    except Problem as problem:
        if problem.code not in _FORM_PROBLEM_CODES:
            raise
        denied_attempts.record_denial(name, problem)
        return _render_gate_again(name, link, RejectedForm(problem, values), embed=embed)
    viewer_cookie.set_viewer_token(answer, link, token)
    return answer


def _reject_sandboxed(name: str, link: Link) -> Response:
    """Offer a new tab to the reader of a sandboxed frame. Its pages have no cookies and an origin of their own, so
    their forms look like those of other sites."""
    return _render_gate_again(name, link, RejectedForm(_build_cookie_problem()), embed=True)


def _build_cookie_problem() -> Problem:
    return Problem("forbidden", gate_page.COOKIES_BLOCKED, extra={"cornered": True})


def _require_cookies(*, embed: bool) -> None:
    if viewer_cookie.is_accepted():
        return
    if embed:
        raise _build_cookie_problem()
    detail = "Your browser blocks cookies for this site. Allow them and try again."
    raise Problem("forbidden", detail)


def _render_gate_again(name: str, link: Link, attempt: RejectedForm, *, embed: bool) -> Response:
    # The conditions may have just changed, so the link is looked up once more.
    link = find_link(current_runtime(), name)
    state = entry.check_entry(current_runtime(), link, viewer_cookie.read_viewer_token, opening=True)
    return gate_page.render_gate(link, state, name, embed=embed, attempt=attempt)


def _redirect_to_page(name: str, *, embed: bool) -> Response:
    return make_response(redirect(f"{'/embed' if embed else ''}/{name}{gate_page.preserve_query()}", 303))
