"""Shared by all pages of an owner: the sign-in, the origin check of forms, the frame of the page.

A view is ``def show(owner: SignedInOwner, ...)`` under ``@owner_page``; a form is ``def change(owner: SignedInOwner,
...)`` under ``@owner_form`` and returns ``redirect_with_message(path, words)``. A Problem becomes a separate page, or
a message above the form if the form is rendered again.
"""

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any
from urllib.parse import urlencode

from flask import Response, make_response, redirect, render_template, request
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.problems import Problem
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts import sign_in
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.operations import mail
from docshare.server.web import csrf, problem_pages, sign_in_return
from docshare.server.web.owner.form_errors import FormErrors
from docshare.server.web.sign_in import session_cookie

# The parameters that carry the message of the form before, and the files that it moved to the trash.
_MESSAGE_PARAMETER, _SIGNATURE_PARAMETER, _UNDO_PARAMETER = "done", "by", "undo"
_MAX_MESSAGE_CHARS = 200
_SEPARATOR = "."
_PASSWORD_FIELD = "password"  # noqa: S105 - a name
_NOT_KEPT = frozenset({_PASSWORD_FIELD, csrf.CSRF_FIELD})
_View = Callable[..., AnyResponse]


@dataclass(frozen=True)
class SignedInOwner:
    """The signed-in owner: as a ``caller`` of services, and the ``csrf`` token that their forms must contain."""

    caller: Caller
    csrf: str


def owner_page(view: Callable[..., AnyResponse]) -> Callable[..., AnyResponse]:
    """Wrap ``view``: require a sign-in and return to the page afterwards. Problems become pages."""

    @wraps(view)
    def handle_request(**names: Any) -> AnyResponse:
        owner = find_owner()
        if owner is None:
            return sign_in_return.ask_to_sign_in(request.full_path.rstrip("?"), "This page is for its owner.")
        try:
            return view(owner, **names)
        except Problem as problem:
            return problem_pages.render_problem_page(problem)

    return handle_request


def owner_form(view: Callable[..., AnyResponse]) -> Callable[..., AnyResponse]:
    """Wrap ``view`` for forms: require a sign-in, the same origin, and the token of the session.

    Without them the response is a 403 page and nothing is changed.
    """
    return _wrap_form(view, None)


def resumable_form(refill: Callable[..., AnyResponse]) -> Callable[[_View], _View]:
    """Return a wrapper for forms like ``owner_form`` that keeps the values of a form whose session has ended.

    The 403 page holds the values, except secrets, and sends them again after the sign-in. They are only filled in, by
    ``refill(owner, problem, ...)``, which gets the other arguments of the view and renders the form with ``problem``:
    the token of the new session confirms the change when the owner sends the form once more.
    """
    return partial(_wrap_form, refill=refill)


def _wrap_form(view: _View, refill: _View | None) -> _View:
    @wraps(view)
    def handle_request(**names: Any) -> AnyResponse:
        try:
            csrf.require_same_origin()
            owner = find_owner()
            can_resume = refill is not None and csrf.is_from_own_page()
            if owner is None:
                if can_resume:
                    return _keep_form()
                raise Problem("forbidden", "You are no longer signed in.", hint="Sign in and try again.")
            try:
                csrf.require_token(owner.csrf)
            except Problem:
                if refill is None or not can_resume:
                    raise
                hint = "You signed in again after this form was opened. Check it, and send it again."
                return refill(owner, Problem("forbidden", "Nothing has been saved yet.", hint=hint), **names)
            return view(owner, **names)
        except Problem as problem:
            return problem_pages.render_problem_page(problem)

    return handle_request


def _keep_form() -> Response:
    """Render the page of a form whose session has ended, with the values of the form."""
    values = [pair for pair in request.form.items(multi=True) if pair[0] not in _NOT_KEPT]
    has_password = bool(request.form.get(_PASSWORD_FIELD))
    body = render_template("signed_out.html", action=request.path, values=values, has_password=has_password)
    answer = make_response(body, 403)
    answer.headers["Referrer-Policy"] = "same-origin"  # as for the other pages with forms
    return answer


def find_owner() -> SignedInOwner | None:
    """Return the owner whose session cookie the current request has, or None."""
    cookie = session_cookie()
    caller, holder = sign_in.find_caller(current_runtime(), cookie), sign_in.find_signed_in(current_runtime(), cookie)
    return SignedInOwner(caller, holder.csrf) if caller is not None and holder is not None else None


def render_owner_page(owner: SignedInOwner, template: str, place: str, status: int = 200, **facts: Any) -> Response:
    """Render ``template`` (below ``templates/owner``) in the frame of all owner's pages.

    Parameters: ``place`` the active entry of the navigation: ``files``, ``trash``, ``webhooks`` or ``account``;
    ``facts`` for the template, which also gets ``owner``, ``csrf_field``, and of the form before its ``message`` and
    the files that it moved to the trash (``undo``). The ``problem`` in ``facts`` rejected a form: it is shown above
    the page, or beside the fields that ``errors`` in ``facts`` names. A problem that is ``unauthorized`` is raised: the
    browser was signed out while the form was processed, so it must not get the page.
    """
    problem = facts.get("problem")
    if isinstance(problem, Problem) and problem.code == "unauthorized":
        raise problem
    facts.setdefault("errors", FormErrors(general=problem))
    message = request.args.get(_MESSAGE_PARAMETER, "")[:_MAX_MESSAGE_CHARS]
    undo = request.args.get(_UNDO_PARAMETER, "")
    if not hmac.compare_digest(
        _sign_message(owner, message, undo), request.args.get(_SIGNATURE_PARAMETER, "").encode("utf-8", "replace")
    ):
        message = undo = ""  # a forged URL must not put text on these pages
    body = render_template(
        f"owner/{template}",
        owner=owner,
        place=place,
        csrf_field=csrf.CSRF_FIELD,
        message=message,
        undo=undo.split(_SEPARATOR) if undo else [],
        base_url=current_runtime().config.base_url,
        forwarders=current_runtime().untrusted_proxies.list_recent(current_runtime().clock()),
        trusted=current_runtime().config.trusted_proxies,
        is_unreachable=mail.is_unreachable(current_runtime(), owner.caller.email),
        **facts,
    )
    answer = make_response(body, status)
    if isinstance(problem, Problem):
        answer.headers.update(problem.headers)
    # The forms of these pages are checked by Origin where Sec-Fetch-Site is missing; see ``csrf``.
    answer.headers["Referrer-Policy"] = "same-origin"
    return answer


def redirect_with_message(path: str, words: str, undo: Sequence[str] = ()) -> AnyResponse:
    """Redirect to ``path`` after a form was processed; the page there shows the message ``words``, and a button that
    restores the files ``undo`` (short ids) from the trash."""
    owner = find_owner()
    return redirect(path if owner is None else message_url(owner, path, words, undo), 303)


def message_url(owner: SignedInOwner, path: str, words: str, undo: Sequence[str] = ()) -> str:
    """Return the URL of the page at ``path`` that shows the message ``words`` to ``owner``; ``undo`` as above.

    Scripts also use it, to navigate there after a request that replaced a form.
    """
    words, kept = words[:_MAX_MESSAGE_CHARS], _SEPARATOR.join(undo)
    query = urlencode(
        {
            _MESSAGE_PARAMETER: words,
            **({_UNDO_PARAMETER: kept} if kept else {}),
            _SIGNATURE_PARAMETER: _sign_message(owner, words, kept).decode(),
        }
    )
    return f"{path}{'&' if '?' in path else '?'}{query}"


def _sign_message(owner: SignedInOwner, words: str, undo: str) -> bytes:
    """Return a signature that proves that a form of this session produced ``words`` and ``undo``."""
    return hmac.digest(owner.csrf.encode(), f"{words}\0{undo}".encode("utf-8", "replace"), "sha256")[:12].hex().encode()
