"""The routes that accept a cookie and change something, with the request that a page of this server sends to each."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.server.services.accounts import sign_in
from tests.support.documents.images import make_picture
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.oauth_app import OAuthApp, make_app
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, FEEDBACK_WRITES, FeedbackClient
from tests.support.people.gate_client import set_trial_cookies
from tests.support.people.reader import DESKTOP, FakeReader
from tests.support.people.webhooks import URL, create_webhook, resolve_all_hosts


class SenderKind(Enum):
    """The sender of a request: a form of an owner's page with its CSRF token, a script of such a page with it (JSON or
    a document), the form of a sign-in page, a script or a form of a share page, or its beacon."""

    FORM = auto()
    JSON = auto()
    UPLOAD = auto()
    SIGN_IN = auto()
    READER_JSON = auto()
    READER_FORM = auto()
    BEACON = auto()


@dataclass(frozen=True)
class CookieRequest:
    """One request. ``form``: its fields; ``body``: its JSON; ``more``: further arguments of the test client."""

    browser: FlaskClient
    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    form: dict[str, Any] | None = None
    body: dict[str, Any] | None = None
    more: dict[str, Any] = field(default_factory=dict)

    def with_headers(self, headers: dict[str, str]) -> CookieRequest:
        return replace(self, headers=self.headers | headers)

    def with_token(self, token: str | None) -> CookieRequest:
        """Return the request with another CSRF token; None removes it."""
        if self.form is not None and "csrf" in self.form:
            rest = {key: value for key, value in self.form.items() if key != "csrf"}
            return replace(self, form=rest if token is None else rest | {"csrf": token})
        rest = {key: value for key, value in self.headers.items() if key != "X-CSRF-Token"}
        return replace(self, headers=rest if token is None else rest | {"X-CSRF-Token": token})


@dataclass
class OwnerAndReader:
    """A world in which Pia is signed in and owns a file, and a reader of that file. ``token``: the CSRF token of Pia's
    session; ``other_token``: that of another session of hers."""

    world: World
    browser: FlaskClient
    token: str
    other_token: str
    uploaded_file: dict[str, Any]
    reader: FlaskClient
    app: OAuthApp

    def send(self, sent: CookieRequest) -> TestResponse:
        more = dict(sent.more)
        if sent.form is not None:
            more["data"] = sent.form
        if sent.body is not None:
            more["json"] = sent.body
        headers = {"User-Agent": DESKTOP} | sent.headers
        return sent.browser.open(sent.path, method=sent.method, headers=headers, buffered=True, **more)

    def upload_file(self, **settings: Any) -> dict[str, Any]:
        """Upload another file as Pia."""
        made = self.world.pia.upload()
        if settings:
            put_settings(self.world, made, **settings)
        return made

    def create_webhook(self, kind: str = "file.viewed") -> str:
        """Create a webhook of Pia whose host no longer resolves; return its UUID."""
        resolve_all_hosts(self.world.rt)
        uuid: str = create_webhook(self.world.pia, events=[kind])["webhook"]["uuid"]
        self.world.rt.outbound.resolve = lambda host: []
        return uuid


BuildRequest = Callable[[OwnerAndReader], CookieRequest]


@dataclass(frozen=True)
class CookieRoute:
    """``build_request``: builds a valid request; ``takes_body``: whether that has a body; ``is_quiet``: a success
    changes nothing in the database."""

    kind: SenderKind
    build_request: BuildRequest
    takes_body: bool = True
    is_quiet: bool = False


def make_owner_and_reader(world: World) -> OwnerAndReader:
    resolve_all_hosts(world.rt)
    browser, other = sign_in_browser(world, world.pia), sign_in_browser(world, world.pia)
    made = world.pia.upload()
    put_settings(
        world, made, **ALL_FEEDBACK_SETTINGS, viewerSettings={"cta": {"label": "Book", "url": "https://example.com"}}
    )
    reader = world.app.test_client()
    set_trial_cookies(reader)
    return OwnerAndReader(
        world, browser, _read_csrf_token(browser), _read_csrf_token(other), made, reader, make_app(world)
    )


def _read_csrf_token(browser: FlaskClient) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', browser.get("/login").text)
    assert found is not None
    return found[1]


def form_route(path: Callable[[OwnerAndReader], str] | str, **fields: Any) -> CookieRoute:
    """Return a form of an owner's page, with the names and values of its ``fields``."""

    def right(pair: OwnerAndReader) -> CookieRequest:
        address = path(pair) if callable(path) else path
        return CookieRequest(pair.browser, "POST", address, form={"csrf": pair.token} | fields)

    return CookieRoute(SenderKind.FORM, right)


def script_route(method: str, path: Callable[[OwnerAndReader], str], body: dict[str, Any] | None = None) -> CookieRoute:
    """Return a script of an owner's page."""

    def right(pair: OwnerAndReader) -> CookieRequest:
        return CookieRequest(pair.browser, method, path(pair), headers={"X-CSRF-Token": pair.token}, body=body)

    return CookieRoute(SenderKind.JSON, right, takes_body=body is not None)


def upload_route(
    path: Callable[[OwnerAndReader], str], content: Callable[[], bytes] = simple_pdf, **fields: str
) -> CookieRoute:
    """Return a script of an owner's page that sends a document."""

    def right(pair: OwnerAndReader) -> CookieRequest:
        sent = {"file": (io.BytesIO(content()), "a.pdf"), **fields}
        return CookieRequest(pair.browser, "POST", path(pair), headers={"X-CSRF-Token": pair.token}, form=sent)

    return CookieRoute(SenderKind.UPLOAD, right)


def _reader_route(number: int) -> CookieRoute:
    """Return a request of the script of a share page, a row of ``FEEDBACK_WRITES``; a DELETE first creates what it
    deletes."""
    method, tail, body = FEEDBACK_WRITES[number]

    def right(pair: OwnerAndReader) -> CookieRequest:
        hand, path = FeedbackClient(pair.world, pair.uploaded_file["shortId"], http=pair.reader), tail
        if method == "DELETE":
            left = hand.leave_note() if tail.startswith("notes/") else hand.annotate()
            path = f"{tail.partition('/')[0]}/{left['uuid']}"
        return CookieRequest(pair.reader, method, f"/{pair.uploaded_file['shortId']}/{path}", body=body)

    return CookieRoute(SenderKind.READER_JSON, right, takes_body=body is not None)


def _enter_route(prefix: str) -> CookieRoute:
    def right(pair: OwnerAndReader) -> CookieRequest:
        made = pair.upload_file(password="open sesame")
        return CookieRequest(pair.reader, "POST", f"{prefix}/{made['shortId']}/enter", form={"password": "open sesame"})

    return CookieRoute(SenderKind.READER_FORM, right)


def _build_download(pair: OwnerAndReader) -> CookieRequest:
    made = pair.upload_file(allowDownload=True)
    return CookieRequest(pair.reader, "POST", f"/{made['shortId']}/download", form={})


def _build_beacon(pair: OwnerAndReader) -> CookieRequest:
    reader = FakeReader(pair.world, pair.uploaded_file["shortId"], http=pair.reader)
    pair.world.clock.advance(seconds=10)
    return CookieRequest(
        pair.reader, "POST", reader.facts["beaconUrl"], body=reader.build_beacon(read={1: 9_000}, input=True)
    )


def _build_visit(pair: OwnerAndReader) -> CookieRequest:
    beacon = _build_beacon(pair)
    reader = FakeReader(pair.world, pair.uploaded_file["shortId"], http=pair.reader)
    return replace(beacon, path=f"{reader.facts['base']}/visit", body={"token": reader.token, "decline": True})


PASSWORD = "correct horse battery staple"


def set_password(pair: OwnerAndReader) -> OwnerAndReader:
    """Set a password of Pia in her browser."""
    sent = {"csrf": pair.token, "password": PASSWORD}
    assert pair.browser.post("/account/password", data=sent).status_code == 303
    return pair


def _build_password_sign_in(pair: OwnerAndReader) -> CookieRequest:
    typed = {"email": set_password(pair).world.pia.email, "password": PASSWORD}
    return CookieRequest(pair.world.app.test_client(), "POST", "/login", form=typed)


def _build_sign_in(pair: OwnerAndReader) -> CookieRequest:
    url = sign_in.create_link(pair.world.rt, "pia@example.com")
    return CookieRequest(pair.world.app.test_client(), "POST", url.removeprefix(pair.world.rt.config.base_url), form={})


COOKIE_ROUTES: dict[str, CookieRoute] = {
    "api:session.webhooks.create": script_route(
        "POST", lambda pair: "/api/webhooks", {"url": URL, "events": ["file.viewed"]}
    ),
    "api:session.webhooks.delete": script_route("DELETE", lambda pair: f"/api/webhooks/{pair.create_webhook()}"),
    "api:session.webhooks.test": replace(
        script_route("POST", lambda pair: f"/api/webhooks/{pair.create_webhook()}/test"), is_quiet=True
    ),
    "api:session.files.upload": upload_route(lambda pair: "/api/account/files"),
    "api:session.files.replace": upload_route(lambda pair: f"/api/account/files/{pair.uploaded_file['uuid']}/content"),
    "api:session.assets.create": upload_route(
        lambda pair: f"/api/account/files/{pair.uploaded_file['uuid']}/assets", make_picture, kind="logo"
    ),
    "sign_in.enter": CookieRoute(SenderKind.SIGN_IN, _build_sign_in),
    "sign_in.enter_by_password": CookieRoute(SenderKind.SIGN_IN, _build_password_sign_in),
    "sign_in.leave": form_route("/logout"),
    "oauth.decide": form_route(lambda pair: pair.app.authorize_url(), decision="approve"),
    "beacons.record": CookieRoute(SenderKind.BEACON, _build_beacon),
    "beacons.visit": CookieRoute(SenderKind.BEACON, _build_visit),
    "downloads.download": CookieRoute(SenderKind.READER_FORM, _build_download),
    "gate.enter": _enter_route(""),
    "gate.enter_embedded": _enter_route("/embed"),
    "feedback.add_note": _reader_route(0),
    "feedback.remove_note": _reader_route(1),
    "feedback.put_mark": _reader_route(2),
    "feedback.add_annotation": _reader_route(3),
    "feedback.remove_annotation": _reader_route(4),
    "feedback.confirm": _reader_route(5),
    "feedback.tap": _reader_route(6),
}
"""Endpoint of the application -> its row; the owner's pages are in ``tests.support.owner.routes``."""

COOKIELESS = {
    "api:public.upload": "/api/files",
    "sign_in.request_reset": "/login/forgot",
    "oauth.token": "/oauth/token",
    "oauth.revoke": "/oauth/revoke",
    "oauth.begin_device_login": "/oauth/device_authorization",
    "notices.change": "/notices/views.nobody.0",
    "admin": "/_admin",
    "probe": "/healthz",
}
"""Endpoints that change something and ignore cookies -> their address."""
