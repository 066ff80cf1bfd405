"""The page to return to after signing in: stored in a cookie of this browser, and only within this site."""

import re

from flask import Response, make_response, render_template, request
from werkzeug.wrappers import Response as AnyResponse

from docshare.server.http.views import current_runtime

_COOKIE = "docshare_next"
_SECONDS = 15 * 60  # a sign-in link works for ten minutes
# Pages that require a sign-in. One slash: two would begin the name of another host.
_RETURN_PATHS = re.compile(
    r"/(oauth/authorize\?|(?:account|device|files|readership|trash|webhooks|dashboard|docs)(?![^/?]))[!-~]*"
)
_MAX_PATH_CHARS = 4_000


def ask_to_sign_in(path: str, why: str) -> Response:
    """Return the page that asks to sign in and then returns to ``path`` (with its query); ``why`` is a sentence."""
    answer = make_response(render_template("sign_in_first.html", why=why), 403)
    if is_return_path(path):
        answer.set_cookie(
            _COOKIE,
            path,
            max_age=_SECONDS,
            path="/login",
            secure=current_runtime().config.is_secure,
            httponly=True,
            samesite="Lax",
        )
    return answer


def return_path(otherwise: str) -> str:
    """Return the path to redirect the current request to, ``otherwise`` if none was requested."""
    path = request.cookies.get(_COOKIE, "")
    return path if is_return_path(path) else otherwise


def clear_return_path(answer: AnyResponse) -> None:
    """Delete the cookie, so that it is used only once."""
    if _COOKIE in request.cookies:
        answer.delete_cookie(
            _COOKIE, path="/login", secure=current_runtime().config.is_secure, httponly=True, samesite="Lax"
        )


def is_return_path(path: str) -> bool:
    """Return whether ``path`` is a page of this site that requires a sign-in."""
    return len(path) <= _MAX_PATH_CHARS and "\\" not in path and _RETURN_PATHS.fullmatch(path) is not None
