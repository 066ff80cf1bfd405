"""The cookie that identifies the reader of one link: set once they pass a gate or leave feedback, never for reading.

There is one per link, named after the public id of the link, so that no link reveals another. Over TLS it is
partitioned: inside a frame it belongs to that site and this one, and cannot be used for tracking.

A gate page also gives its browser a secret, for an hour: the ticket in its form is only valid together with it, see
``entry``.

Before anything is stored or consumed, a trial cookie that is the same for everybody shows whether the browser stores
such cookies here: some store none, or none in a frame of another site over plain HTTP. The script of a gate inside
a frame tries a cookie of its own, before its reader fills in the form.
"""

from typing import Any

from flask import Response, request
from werkzeug.http import dump_cookie

from docshare.contract.limits import SECOND
from docshare.contract.plans import DAY
from docshare.server.http.views import current_runtime
from docshare.server.services.links import entry
from docshare.server.services.links.links import Link

LIFETIME_MS = 180 * DAY

_TRIAL_COOKIE = "viewer-cookies"
_SCRIPT_COOKIE = "viewer-script"


def read_viewer_token(link: Link) -> str | None:
    """Return the viewer token of the current request for ``link``."""
    return request.cookies.get(_viewer_cookie_name(link))


def set_viewer_token(response: Response, link: Link, token: str | None) -> None:
    """Set the cookie for ``token``; None changes nothing."""
    if token is not None:
        _set_cookie(response, _viewer_cookie_name(link), token, LIFETIME_MS)


def set_gate_secret(response: Response, link: Link) -> None:
    """Set the cookie with the secret to which the tickets of the gate of ``link`` are bound, for an hour from now."""
    _set_cookie(
        response,
        _gate_cookie_name(link),
        entry.browser_secret(current_runtime(), read_gate_secret(link)),
        entry.TICKET_LIFETIME_MS,
    )


def read_gate_secret(link: Link) -> str | None:
    """Return the secret of the current request for the gate of ``link``."""
    return request.cookies.get(_gate_cookie_name(link))


def set_trial_cookie(response: Response) -> None:
    """Set the trial cookie, to find out with the next request whether the browser stores such cookies here.

    It lasts until the browser is closed: a page may be open for days before its reader writes something.
    """
    if not is_accepted():
        _set_cookie(response, _prefix_name(_TRIAL_COOKIE), "1", None)


def is_accepted() -> bool:
    """Return whether the browser stored the cookie of ``set_trial_cookie``."""
    return _prefix_name(_TRIAL_COOKIE) in request.cookies


def render_script_cookie() -> str:
    """Return a trial cookie for ``document.cookie``; a browser that keeps it also stores the others.

    It has their attributes except HttpOnly, which scripts cannot set.
    """
    return dump_cookie(_prefix_name(_SCRIPT_COOKIE), "1", **_shared_attributes())


def _set_cookie(response: Response, name: str, value: str, lifetime_ms: int | None) -> None:
    max_age = lifetime_ms and lifetime_ms // SECOND
    response.set_cookie(name, value, max_age=max_age, httponly=True, **_shared_attributes())


def _shared_attributes() -> dict[str, Any]:
    secure = current_runtime().config.is_secure
    return {"path": "/", "secure": secure, "samesite": "None" if secure else "Lax", "partitioned": secure}


def _viewer_cookie_name(link: Link) -> str:
    return _prefix_name(f"viewer-{link.short_id}")


def _gate_cookie_name(link: Link) -> str:
    return _prefix_name(f"gate-{link.short_id}")


def _prefix_name(name: str) -> str:
    # Browsers accept a name with this prefix only from this host, not from other hosts of its domain.
    return f"__Host-{name}" if current_runtime().config.is_secure else name
