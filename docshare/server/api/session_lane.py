"""The signed-in browser as a caller of the session routes.

Browsers add its cookie to every request, also to those forged by another site. So a request that changes something
must prove that a page of this server sent it: by the origin that the browser reports, and by the session's CSRF
token.
"""

import hmac
from collections.abc import Callable

from werkzeug.http import parse_cookie

from docshare.contract.problems import Problem
from docshare.server.http.views import is_same_origin
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import sign_in
from docshare.server.services.accounts.callers import Caller

HeaderOf = Callable[[str], str | None]
"""Returns the request header of that name (in lower case), None if absent."""

CSRF_HEADER = "x-csrf-token"  # forms send the token in a field, but these routes accept JSON


def find_session_caller(rt: Runtime, header: HeaderOf) -> Caller | None:
    """Return the account whose session cookie the request has, or None."""
    return sign_in.find_caller(rt, _read_session_cookie(rt, header))


def find_csrf_problem(rt: Runtime, header: HeaderOf) -> Problem | None:
    """Return ``forbidden`` unless a page of this server sent the request, with the CSRF token of the session."""
    if not is_same_origin(rt, header("sec-fetch-site"), header("origin")):
        return Problem(
            "forbidden", "The request was not sent from a page of this server.", hint="Send it from one of its pages."
        )
    session = sign_in.find_signed_in(rt, _read_session_cookie(rt, header))
    given = (header(CSRF_HEADER) or "").encode("utf-8", "replace")
    if session is None or not hmac.compare_digest(given, session.csrf.encode()):
        hint = "Send the token of the session as X-CSRF-Token, or use an API key."
        return Problem("forbidden", "The request requires the CSRF token of the session.", hint=hint)
    return None


def _read_session_cookie(rt: Runtime, header: HeaderOf) -> str | None:
    return parse_cookie(header("cookie")).get(sign_in.cookie_name(rt))
