"""Check the origin of a form post. Browsers add the cookie to every request, also to those forged by another site.

``Sec-Fetch-Site`` decides if the browser sends it, else ``Origin``. A client that sends neither is not a browser, so
it cannot send the cookies of a person by accident; then the token of the form decides. Pages whose forms are checked
here must be served with ``Referrer-Policy: same-origin``: under ``no-referrer`` browsers send ``Origin: null``.
"""

import hmac

from flask import request

from docshare.contract.problems import Problem
from docshare.server.http.views import current_runtime, is_same_origin

CSRF_FIELD = "csrf"  # name of the form field, and of nothing else


def require_same_origin() -> None:
    """Raise ``forbidden`` unless a page of this server sent the current request."""
    if not is_same_origin(current_runtime(), request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")):
        raise _csrf_problem()


def is_from_own_page() -> bool:
    """Return whether the browser names a page of this server as the sender of the current request."""
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    return site == "same-origin" if site is not None else origin == current_runtime().config.base_url


def require_same_site() -> None:
    """Raise ``forbidden`` unless ``is_from_same_site``."""
    if not is_from_same_site():
        raise _csrf_problem()


def is_from_same_site() -> bool:
    """Return whether no page of another site sent the current form; for forms that do not depend on a cookie.

    Share pages are served with ``Referrer-Policy: no-referrer``, so browsers that send no ``Sec-Fetch-Site`` (old
    ones, and all over plain HTTP) send ``Origin: null``. Others may send that too: they could forge a download and
    nothing else.
    """
    site = request.headers.get("Sec-Fetch-Site")
    origin = request.headers.get("Origin")
    if site is not None:
        return site in ("same-origin", "none")
    return origin in (None, "null", current_runtime().config.base_url)


def require_token(expected: str) -> None:
    """Raise ``forbidden`` unless the current form post contains ``expected``, the CSRF token of its signed-in
    session."""
    given = request.form.get(CSRF_FIELD, "")
    if not hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode()):
        raise _csrf_problem()


def _csrf_problem() -> Problem:
    return Problem(
        "forbidden", "The request was not sent from a page of this server.", hint="Load the page again and repeat."
    )
