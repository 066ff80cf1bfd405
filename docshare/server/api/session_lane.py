"""The signed-in browser as a caller of the session routes.

Its cookie goes along with every request, also with those that another site made up, so what changes something must
prove that a page of this server asked for it: by where the browser says it comes from, and by the session's CSRF token.
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
"""The value of the request's header of that name (in lower case), None where it has none."""

CSRF_HEADER = "x-csrf-token"  # forms send the token in a field, but these routes accept JSON


def find_session_caller(rt: Runtime, header: HeaderOf) -> Caller | None:
    """The account whose session cookie the request carries; None for nobody."""
    return sign_in.find_caller(rt, _read_session_cookie(rt, header))


def find_csrf_problem(rt: Runtime, header: HeaderOf) -> Problem | None:
    """``forbidden``, unless a page of this server sent the request with the token of the session whose cookie it
    carries."""
    if not is_same_origin(rt, header("sec-fetch-site"), header("origin")):
        return Problem("forbidden", "This was not sent from a page of this server.", hint="Send it from there.")
    session = sign_in.find_signed_in(rt, _read_session_cookie(rt, header))
    given = (header(CSRF_HEADER) or "").encode("utf-8", "replace")
    if session is None or not hmac.compare_digest(given, session.csrf.encode()):
        hint = "Send the token of the session as X-CSRF-Token, or use an API key."
        return Problem("forbidden", "This needs the CSRF token of the session.", hint=hint)
    return None


def _read_session_cookie(rt: Runtime, header: HeaderOf) -> str | None:
    return parse_cookie(header("cookie")).get(sign_in.cookie_name(rt))
