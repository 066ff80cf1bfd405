"""The cookie by which the reader of one link is known again: set once they leave something, never for reading alone.

One for each link, named after what the reader came by, so that no link tells of another. Where TLS allows it is
partitioned: inside a frame it belongs to that site and this one, and follows nobody around.
"""

from flask import Response, request

from docshare.contract.limits import SECOND
from docshare.contract.plans import DAY
from docshare.server.services.links import Link
from docshare.server.shell import rt

LIFETIME_MS = 180 * DAY


def held(link: Link) -> str | None:
    """The token that the running request brought for ``link``."""
    return request.cookies.get(_name(link))


def keep(response: Response, link: Link, token: str | None) -> None:
    """Hand ``token`` to the browser; None changes nothing."""
    if token is None:
        return
    secure = rt().config.secure
    response.set_cookie(
        _name(link),
        token,
        max_age=LIFETIME_MS // SECOND,
        path="/",
        secure=secure,
        httponly=True,
        samesite="None" if secure else "Lax",
        partitioned=secure,
    )


def _name(link: Link) -> str:
    return f"viewer-{link.short_id}"
