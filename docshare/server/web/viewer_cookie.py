"""The cookie by which the reader of one link is known again: set once they leave something, never for reading alone.

One for each link, named after what the reader came by, so that no link tells of another. Where TLS allows it is
partitioned: inside a frame it belongs to that site and this one, and follows nobody around.

A gate page gives its browser a secret besides, for an hour: the ticket in its form is worth something only together
with it, see ``entry``.

Before anything is taken for it, a trial cookie that is the same for everybody tells whether the browser keeps such
cookies here: some keep none, and none in a frame of another site over plain HTTP.
"""

from flask import Response, request

from docshare.contract.limits import SECOND
from docshare.contract.plans import DAY
from docshare.server.http.views import current_runtime
from docshare.server.services.links import entry
from docshare.server.services.links.links import Link

LIFETIME_MS = 180 * DAY

_TRIAL_COOKIE = "viewer-cookies"


def read_viewer_token(link: Link) -> str | None:
    """The token that the running request brought for ``link``."""
    return request.cookies.get(_viewer_cookie_name(link))


def set_viewer_token(response: Response, link: Link, token: str | None) -> None:
    """Hand ``token`` to the browser; None changes nothing."""
    if token is not None:
        _set_cookie(response, _viewer_cookie_name(link), token, LIFETIME_MS)


def set_gate_secret(response: Response, link: Link) -> None:
    """Hand the browser the secret to which the tickets of the gate of ``link`` are bound, for an hour from now."""
    _set_cookie(
        response,
        _gate_cookie_name(link),
        entry.browser_secret(current_runtime(), read_gate_secret(link)),
        entry.TICKET_LIFETIME_MS,
    )


def read_gate_secret(link: Link) -> str | None:
    """Return the secret of the gate of ``link`` that the running request brought."""
    return request.cookies.get(_gate_cookie_name(link))


def set_trial_cookie(response: Response) -> None:
    """Find out with the next request whether the browser keeps such cookies here. Until the browser is closed: a page
    may be open for days before its reader writes something."""
    if not is_accepted():
        _set_cookie(response, _prefix_name(_TRIAL_COOKIE), "1", None)


def is_accepted() -> bool:
    """Whether the browser kept the cookie that ``try_out`` gave it."""
    return _prefix_name(_TRIAL_COOKIE) in request.cookies


def _set_cookie(response: Response, name: str, value: str, lifetime_ms: int | None) -> None:
    secure = current_runtime().config.is_secure
    response.set_cookie(
        name,
        value,
        max_age=lifetime_ms and lifetime_ms // SECOND,
        path="/",
        secure=secure,
        httponly=True,
        samesite="None" if secure else "Lax",
        partitioned=secure,
    )


def _viewer_cookie_name(link: Link) -> str:
    return _prefix_name(f"viewer-{link.short_id}")


def _gate_cookie_name(link: Link) -> str:
    return _prefix_name(f"gate-{link.short_id}")


def _prefix_name(name: str) -> str:
    # Browsers accept a name with this prefix from this host only, not from other hosts of its domain.
    return f"__Host-{name}" if current_runtime().config.is_secure else name
