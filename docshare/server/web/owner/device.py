"""The page on which a person enters the code of a program without a browser, and allows or denies its access."""

from flask import Blueprint, Response, make_response, render_template, request
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.problems import Problem
from docshare.contract.scopes import SCOPES
from docshare.server.http.views import client_address, current_runtime
from docshare.server.services.oauth import devices
from docshare.server.web import csrf, public, sign_in_return
from docshare.server.web.owner.frame import SignedInOwner, find_owner, resumable_form

_MAX_CODE_CHARS = 40  # characters of a typed code that are displayed again
_APPROVE, _DENY = "approve", "deny"

blueprint = Blueprint("owner_device", __name__)


@blueprint.get("/device")
def show() -> AnyResponse:
    """Show the form for the code, filled in from the query. It is checked only when the form is sent.

    A visitor without a code gets the share page of a file that had this custom link before it was reserved.
    """
    owner = find_owner()
    if owner is None:
        if not request.args and (shared := public.share_page("device")).status_code != 404:
            return shared
        path = request.full_path.rstrip("?")
        return sign_in_return.ask_to_sign_in(path, "A program wants to access your docshare account.")
    return _render_page(owner, code=request.args.get("user_code", ""))


def _refill(owner: SignedInOwner, problem: Problem) -> AnyResponse:
    return _render_page(owner, code=request.form.get("user_code", ""), problem=problem)


@blueprint.post("/device")
@resumable_form(_refill)
def enter(owner: SignedInOwner) -> AnyResponse:
    """Show which program requests what, or store the decision. 404 for a code that is wrong, expired or used; 429 after
    too many wrong codes."""
    runtime, code, decision = current_runtime(), request.form.get("user_code", ""), request.form.get("decision")
    try:
        code, login = devices.find_by_user_code(runtime, owner.caller, code, client_address())
        if decision not in (_APPROVE, _DENY):
            scopes = {scope: SCOPES[scope] for scope in login.scopes.split()}
            minutes = (runtime.clock() - login.created_at) // 60_000
            return _render_page(owner, code=code, login=login, scopes=scopes, minutes=minutes)
        devices.decide(runtime, owner.caller, login, is_approved=decision == _APPROVE)
    except Problem as problem:
        if problem.code == "unauthorized":
            raise  # the browser was signed out meanwhile
        return _render_page(owner, code=code, problem=problem)
    return _render_page(owner, app=login.client_name, decision=decision)


def _render_page(owner: SignedInOwner, *, code: str = "", problem: Problem | None = None, **facts: object) -> Response:
    page = render_template(
        "device.html",
        owner=owner,
        csrf_field=csrf.CSRF_FIELD,
        code=code[:_MAX_CODE_CHARS],
        problem=problem,
        **facts,
    )
    answer = make_response(page, problem.status if problem else 200)
    if problem:
        answer.headers.update(problem.headers)
    # The form is checked by Origin where Sec-Fetch-Site is missing; see ``csrf``.
    answer.headers["Referrer-Policy"] = "same-origin"
    return answer
