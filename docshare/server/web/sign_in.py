"""Sign in with a one-time link, or with a password for accounts that have one; accept an invitation, choose a new
password, and confirm a new address.

The page of a link shows a button, so that a mail scanner that follows the link does not use it up.
"""

from flask import Blueprint, Response, make_response, redirect, render_template, request
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.limits import ACCOUNT_PASSWORD_CHARS, PASSWORD_BYTES, SECOND
from docshare.contract.problems import Problem
from docshare.server.http.views import client_address, current_runtime
from docshare.server.services.accounts import invitations, passwords, sign_in
from docshare.server.services.accounts.sign_in import CONFIRMATION, INVITATION, RESET, SIGN_IN, LinkRow
from docshare.server.web import csrf, sign_in_return

blueprint = Blueprint("sign_in", __name__)

_MAX_EMAIL_CHARS = 254  # characters of an address that are displayed again


@blueprint.get("/login")
def holder() -> Response:
    """Show the signed-in account with a button to sign out, or else the ways to sign in."""
    return _render_page(holder=sign_in.find_signed_in(current_runtime(), session_cookie()))


@blueprint.post("/login")
def enter_by_password() -> AnyResponse:
    """Sign in with a password.

    403 for a wrong email or password, or if another site posted the form; 429 after too many wrong passwords.
    """
    email, password = request.form.get("email", ""), request.form.get("password", "")
    try:
        csrf.require_same_origin()
        return _start_session(passwords.sign_in_by_password(current_runtime(), email, password, client_address()))
    except Problem as problem:
        return _render_page(refusal=problem, email_typed=email[:_MAX_EMAIL_CHARS])


@blueprint.get("/login/forgot")
def forgot() -> Response:
    """Show the form that asks for a mail with a link to choose a new password."""
    return _render_page("forgot_password.html", can_mail=current_runtime().mailer.is_configured)


@blueprint.post("/login/forgot")
def request_reset() -> AnyResponse:
    """Mail the link. The page is the same whether the address has an account; 429 after too many requests, 404 if this
    server cannot send mail, 403 if another site posted the form."""
    email = request.form.get("email", "")[:_MAX_EMAIL_CHARS]
    try:
        csrf.require_same_origin()
        invitations.request_reset(current_runtime(), email, client_address())
    except Problem as problem:
        can_mail = current_runtime().mailer.is_configured
        return _render_page("forgot_password.html", can_mail=can_mail, refusal=problem, email_typed=email)
    return _render_page("forgot_password.html", can_mail=True, sent_to=email)


@blueprint.get("/login/<token>")
def link(token: str) -> Response:
    """Show the page of a link; opening it changes nothing. 410 for a link that was used or has expired."""
    try:
        return _render_link_page(sign_in.get_link(current_runtime(), token))
    except Problem as problem:
        return _render_page(problem=problem)


@blueprint.post("/login/<token>")
def enter(token: str) -> AnyResponse:
    """Use the link: sign in, also with a new password, or confirm an address.

    410 for a link that was used or has expired, 400 for a password that is not allowed, 403 if another site posted the
    form.
    """
    runtime = current_runtime()
    try:
        csrf.require_same_origin()
        row = sign_in.get_link(runtime, token)
        if row.kind == CONFIRMATION:
            return _render_page(confirmed=invitations.confirm_email(runtime, token))
        if row.kind == SIGN_IN:
            return _start_session(sign_in.redeem_link(runtime, token))
        try:
            return _start_session(invitations.accept(runtime, token, request.form.get("password", "")))
        except Problem as problem:
            if problem.code != "bad_request":
                raise
            return _render_link_page(row, problem)  # the link was not used
    except Problem as problem:
        return _render_page(problem=problem)


@blueprint.post("/logout")
def leave() -> AnyResponse:
    """Sign out. 403 without the form's token, or if another site posted it."""
    cookie = session_cookie()
    found = sign_in.find_signed_in(current_runtime(), cookie)
    try:
        csrf.require_same_origin()
        if found is not None and cookie is not None:
            csrf.require_token(found.csrf)
            sign_in.sign_out(current_runtime(), cookie)
    except Problem as problem:
        return _render_page(problem=problem)
    answer = redirect("/login", 303)
    answer.delete_cookie(
        _cookie_name(), path="/", secure=current_runtime().config.is_secure, httponly=True, samesite="Lax"
    )
    return answer


def session_cookie() -> str | None:
    """Return the session cookie of the current request, or None."""
    return request.cookies.get(_cookie_name())


def _start_session(cookie: str) -> AnyResponse:
    """Redirect to the page requested before, with the cookie of the new session."""
    answer = redirect(sign_in_return.return_path("/files"), 303)
    sign_in_return.clear_return_path(answer)
    lifetime = sign_in.SESSION_LIFETIME_MS // SECOND
    answer.set_cookie(
        _cookie_name(),
        cookie,
        max_age=lifetime,
        path="/",
        secure=current_runtime().config.is_secure,
        httponly=True,
        samesite="Lax",
    )
    return answer


def _cookie_name() -> str:
    return sign_in.cookie_name(current_runtime())


def _render_link_page(row: LinkRow, refusal: Problem | None = None) -> Response:
    """Render the page of a link that can be used. ``refusal``: why the password was rejected."""
    if row.kind in (INVITATION, RESET):
        facts = {"email": row.email, "is_invitation": row.kind == INVITATION, "least": ACCOUNT_PASSWORD_CHARS}
        return _render_page("new_password.html", refusal=refusal, most=PASSWORD_BYTES, **facts)
    return _render_page(email=row.email, new_email=row.new_email)


def _render_page(template: str = "sign_in.html", **facts: object) -> Response:
    problem = facts.get("problem") or facts.get("refusal")
    answer = make_response(render_template(template, csrf_field=csrf.CSRF_FIELD, **facts))
    if isinstance(problem, Problem):
        answer.status_code = problem.status
        answer.headers.update(problem.headers)
    # The forms of these pages are checked by Origin where Sec-Fetch-Site is missing; see ``csrf``.
    answer.headers["Referrer-Policy"] = "same-origin"
    return answer
