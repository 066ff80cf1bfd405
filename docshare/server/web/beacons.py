"""Reading reports: the token of a share page for its script, and the route that receives the beacons of the script.

A well-formed beacon is answered with 204 whatever its effect, so the response does not reveal how a reader was
classified. All other responses are for the script only: 409 starts its next session, 429 makes it wait, and all
others make it stop.
"""

from urllib.parse import urlsplit

from flask import Blueprint, Response, request

from docshare.contract.limits import MINUTE, RatePolicy
from docshare.contract.problems import Problem
from docshare.server.api import answers
from docshare.server.api.represent import readership as represent_readership
from docshare.server.http.views import client_address, client_country, current_runtime
from docshare.server.rate_limits import network_prefix
from docshare.server.services.accounts import sign_in
from docshare.server.services.files.page_range import ReaderView
from docshare.server.services.links import guessing
from docshare.server.services.links.links import Link
from docshare.server.services.readership import viewing
from docshare.server.services.readership.viewing import BeaconSender, PageFacts
from docshare.server.web.gates import viewer_cookie
from docshare.server.web.sign_in import session_cookie

# A reader sends about thirty per minute, and all readers allowed behind one address can send theirs.
BEACON_POLICY = RatePolicy("beacons", 9000, MINUTE, "address")

_TYPES = frozenset({"application/json", "text/plain"})  # the second is sent by navigator.sendBeacon
_PURPOSE_HEADERS = ("Sec-Purpose", "Purpose", "X-Purpose", "X-Moz")
_PREFETCH_PURPOSES = ("prefetch", "prerender", "preview")
_MAX_HOST_CHARS = 253

blueprint = Blueprint("beacons", __name__)


def issue_page_token(link: Link, shown: ReaderView, viewer_mode: str, *, embedded: bool) -> str:
    """Return the token that the share page of ``link`` passes to ``startReading``; ``shown`` are the pages that its
    reader sees."""
    facts = PageFacts(
        source=_find_source(link, embedded=embedded),
        viewer_mode=viewer_mode,
        referrer=_find_referrer_host(),
        is_prefetched=is_prefetch(),
    )
    return viewing.sign_page_token(current_runtime(), link, shown.window, facts)


def is_prefetch() -> bool:
    """Return whether the browser declares that it loads this ahead of a navigation."""
    purpose = " ".join(request.headers.get(name, "") for name in _PURPOSE_HEADERS).lower()
    return any(word in purpose for word in _PREFETCH_PURPOSES)


def has_global_privacy_control() -> bool:
    """Return whether the browser asks not to be tracked: https://w3c.github.io/gpc/."""
    return request.headers.get("Sec-GPC") == "1"


def _find_source(link: Link, *, embedded: bool) -> str:
    # The link of a variant has this source even inside a frame or from a QR code, so that its readers stay
    # distinguishable.
    if link.variant is not None:
        return "Variant"
    if embedded:
        return "Embed"
    return "QR code" if request.args.get("via") == "qr" else "Direct link"


@blueprint.post("/<name>/beacon")
def record(name: str) -> Response:
    """Record one beacon for the link ``name``.

    Raises what ``viewing.record_beacon`` raises, ``rate_limited`` and ``unsupported_media_type``.
    """
    _check_request()
    guessing.require_link_budget(current_runtime(), client_address())
    viewing.record_beacon(current_runtime(), name, _read_body(), _describe_sender())
    return Response(status=204)


@blueprint.post("/<name>/visit")
def visit(name: str) -> Response:
    """Return what is recorded of the load of the link ``name`` whose token the body has; ``decline`` deletes it first.

    Raises what ``viewing.show_visit`` raises, ``rate_limited`` and ``unsupported_media_type``.
    """
    _check_request()
    guessing.require_link_budget(current_runtime(), client_address())
    found = viewing.show_visit(current_runtime(), name, _read_body(), _describe_sender())
    return answers.json_response(represent_readership.visit_object(found))


def _check_request() -> None:
    allowance = current_runtime().limits.hit(BEACON_POLICY, network_prefix(client_address()), BEACON_POLICY.limit)
    if not allowance.is_allowed:
        retry = {"Retry-After": str(allowance.reset_s)}
        raise Problem("rate_limited", "Too many beacons from your network.", headers=retry)
    # If the browser reports the origin, it must be this server. For other clients the token is sufficient.
    if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
        raise Problem("forbidden", "Beacons are sent by the share page.")
    if request.mimetype not in _TYPES:
        raise Problem("unsupported_media_type", "Send a beacon as JSON.")


def _read_body() -> bytes:
    return request.stream.read(viewing.MAX_BEACON_BYTES + 1)


def _describe_sender() -> BeaconSender:
    return BeaconSender(
        user_agent=request.headers.get("User-Agent", ""),
        address=client_address(),
        country=client_country(),
        account_id=sign_in.find_account_id(current_runtime(), session_cookie()),
        is_prefetch=is_prefetch(),
        opts_out=has_global_privacy_control(),
        find_viewer_token=viewer_cookie.read_viewer_token,
    )


def _find_referrer_host() -> str | None:
    """Return the host of the page that linked here; None if unknown or this server itself."""
    try:
        host = urlsplit(request.headers.get("Referer", "")).hostname
    except ValueError:
        return None
    if not host or len(host) > _MAX_HOST_CHARS or host == urlsplit(current_runtime().config.base_url).hostname:
        return None
    return host if host.isascii() and host.isprintable() else None
