"""The pages of the application, each with an address on a stage."""

import re
from collections.abc import Callable

from docshare.server.services.accounts import sign_in
from tests.support.owner.routes import OWNER_ROUTES
from tests.support.people.cookie_routes import OwnerAndReader

FindAddress = Callable[[OwnerAndReader], str]


def file_page(tail: str = "", *, prefix: str = "/files") -> FindAddress:
    return lambda pair: f"{prefix}/{pair.uploaded_file['uuid']}{tail}"


def parent_of_form(endpoint: str) -> FindAddress:
    """Return the address of the page that has the form of ``endpoint``."""
    return lambda pair: OWNER_ROUTES[endpoint].build_request(pair).path.rpartition("/")[0]


def find_session(pair: OwnerAndReader) -> str:
    sessions = pair.browser.get(f"/readership/{pair.uploaded_file['uuid']}/sessions").text
    found = re.search(r'href="(/readership/[^"]+/sessions/[^"?#]+)"', sessions)
    assert found is not None
    return found[1]


PAGES: dict[str, FindAddress] = {
    "public.home": lambda pair: "/",
    "public.share_page": lambda pair: f"/{pair.uploaded_file['shortId']}",
    "public.embed_page": lambda pair: f"/embed/{pair.uploaded_file['shortId']}",
    "docs.show_page": lambda pair: "/docs/",
    "sign_in.holder": lambda pair: "/login",
    "sign_in.forgot": lambda pair: "/login/forgot",
    "sign_in.link": lambda pair: sign_in.create_link(pair.world.rt, pair.world.pia.email).removeprefix(
        pair.world.rt.config.base_url
    ),
    "oauth.ask": lambda pair: pair.app.authorize_url(),
    "owner_device.show": lambda pair: "/device",
    "owner_account.show": lambda pair: "/account",
    "owner_library.show": lambda pair: "/files",
    "owner_library.ask": file_page("/delete"),
    "owner_file.show": file_page(),
    "owner_file_assets.show": file_page("/assets"),
    "owner_file_hotspots.show": file_page("/hotspots"),
    "owner_file_hotspots.show_page": file_page("/hotspots/1"),
    "owner_file_invites.show": file_page("/invites"),
    "owner_file_links.show": file_page("/links"),
    "owner_file_links.show_one": lambda pair: OWNER_ROUTES["owner_file_links.change"].build_request(pair).path,
    "owner_file_looks.show": file_page("/looks"),
    "owner_file_replace.show": file_page("/replace"),
    "owner_file_settings.show": file_page("/settings"),
    "owner_trash.show": lambda pair: "/trash",
    "owner_trash.ask": lambda pair: OWNER_ROUTES["owner_trash.delete"].build_request(pair).path,
    "owner_webhooks.index": lambda pair: "/webhooks",
    "owner_webhooks.show": parent_of_form("owner_webhooks.test"),
    "account_readership.show_account": lambda pair: "/readership",
    "report.page": file_page(prefix="/readership"),
    "report_sessions.show_sessions": file_page("/sessions", prefix="/readership"),
    "report.show_session": find_session,
}
"""Endpoint of the application -> the address of its page."""

NO_PAGES = {
    "redirects": {"docs.open_docs", "gate.back", "owner.land"},
    "files and data": {
        "appearance.asset", "appearance.logo", "appearance.stylesheet", "assets.static", "feedback.show",
        "finding.search", "health", "metrics", "oauth.describe_resource", "oauth.describe_server", "oembed.oembed",
        "owner_file_looks.preview_stylesheet", "owner_library.thumbnail", "public.outline", "public.page_image",
        "public.page_text", "public.page_tile", "report.now", "report_sessions.download_sessions",
    },
    "in a frame of the page of looks": {"owner_file_looks.preview"},
    "its address is in emails only": {"notices.show"},
}  # fmt: skip
