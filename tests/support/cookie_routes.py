"""The routes that change something for whoever holds a cookie, and how a page of this server sends to each."""

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
from tests.api.hooks import URL, create, find_everything
from tests.support.app import App, make_app
from tests.support.cast import World
from tests.support.guest import keeps_cookies
from tests.support.images import picture
from tests.support.leaving import EVERYTHING, WRITES, Hand
from tests.support.owner import put, signed_in
from tests.support.pdfs import simple_pdf
from tests.support.reader import DESKTOP, Reader


class Kind(Enum):
    """Who sends to a route: an owner's form with its token, an owner's script with it (JSON or a document), the form of
    a sign-in page, the script or a form of a share page, or its reading report."""

    FORM = auto()
    JSON = auto()
    UPLOAD = auto()
    SIGN_IN = auto()
    READER_JSON = auto()
    READER_FORM = auto()
    BEACON = auto()


@dataclass(frozen=True)
class Sent:
    """One request. ``form``: its fields; ``body``: its JSON; ``more`` of what a test client takes."""

    browser: FlaskClient
    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    form: dict[str, Any] | None = None
    body: dict[str, Any] | None = None
    more: dict[str, Any] = field(default_factory=dict)

    def with_headers(self, headers: dict[str, str]) -> Sent:
        return replace(self, headers=self.headers | headers)

    def with_token(self, token: str | None) -> Sent:
        """With ``token`` where its CSRF token stood; None leaves it out."""
        if self.form is not None and "csrf" in self.form:
            rest = {key: value for key, value in self.form.items() if key != "csrf"}
            return replace(self, form=rest if token is None else rest | {"csrf": token})
        rest = {key: value for key, value in self.headers.items() if key != "X-CSRF-Token"}
        return replace(self, headers=rest if token is None else rest | {"X-CSRF-Token": token})


@dataclass
class Desk:
    """A world with a signed-in owner, Pia, who has a file, and a reader of it. ``token``: of Pia's session, and
    ``other_token`` of another one of hers."""

    world: World
    browser: FlaskClient
    token: str
    other_token: str
    made: dict[str, Any]
    reader: FlaskClient
    app: App

    def send(self, sent: Sent) -> TestResponse:
        more = dict(sent.more)
        if sent.form is not None:
            more["data"] = sent.form
        if sent.body is not None:
            more["json"] = sent.body
        headers = {"User-Agent": DESKTOP} | sent.headers
        return sent.browser.open(sent.path, method=sent.method, headers=headers, buffered=True, **more)

    def file(self, **settings: Any) -> dict[str, Any]:
        """Another file of Pia's."""
        made = self.world.pia.upload()
        if settings:
            put(self.world, made, **settings)
        return made

    def hook(self, kind: str = "file.viewed") -> str:
        """The UUID of a webhook of Pia's, whose receiver nobody finds any more."""
        find_everything(self.world.rt)
        uuid: str = create(self.world.pia, events=[kind])["webhook"]["uuid"]
        self.world.rt.outbound.resolve = lambda host: []
        return uuid


Right = Callable[[Desk], Sent]


@dataclass(frozen=True)
class Row:
    """``right``: the request as it should be; ``takes_body``: whether that has one; ``quiet``: obeying it leaves
    nothing behind here."""

    kind: Kind
    right: Right
    takes_body: bool = True
    quiet: bool = False


def desk_of(world: World) -> Desk:
    find_everything(world.rt)
    browser, other = signed_in(world, world.pia), signed_in(world, world.pia)
    made = world.pia.upload()
    put(world, made, **EVERYTHING, viewerSettings={"cta": {"label": "Book", "url": "https://example.com"}})
    reader = world.app.test_client()
    keeps_cookies(reader)
    return Desk(world, browser, _token(browser), _token(other), made, reader, make_app(world))


def _token(browser: FlaskClient) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', browser.get("/login").text)
    assert found is not None
    return found[1]


def form(path: Callable[[Desk], str] | str, **fields: Any) -> Row:
    """A form of an owner's page, with the names and values of its ``fields``."""

    def right(desk: Desk) -> Sent:
        address = path(desk) if callable(path) else path
        return Sent(desk.browser, "POST", address, form={"csrf": desk.token} | fields)

    return Row(Kind.FORM, right)


def script(method: str, path: Callable[[Desk], str], body: dict[str, Any] | None = None) -> Row:
    """A script of an owner's page."""

    def right(desk: Desk) -> Sent:
        return Sent(desk.browser, method, path(desk), headers={"X-CSRF-Token": desk.token}, body=body)

    return Row(Kind.JSON, right, takes_body=body is not None)


def upload(path: Callable[[Desk], str], content: Callable[[], bytes] = simple_pdf, **fields: str) -> Row:
    """A script of an owner's page that sends a document."""

    def right(desk: Desk) -> Sent:
        sent = {"file": (io.BytesIO(content()), "a.pdf"), **fields}
        return Sent(desk.browser, "POST", path(desk), headers={"X-CSRF-Token": desk.token}, form=sent)

    return Row(Kind.UPLOAD, right)


def _reader(number: int) -> Row:
    """The script of a share page, as ``leaving.WRITES`` has it; it takes back what it has left."""
    method, tail, body = WRITES[number]

    def right(desk: Desk) -> Sent:
        hand, path = Hand(desk.world, desk.made["shortId"], http=desk.reader), tail
        if method == "DELETE":
            left = hand.note() if tail.startswith("notes/") else hand.annotate()
            path = f"{tail.partition('/')[0]}/{left['uuid']}"
        return Sent(desk.reader, method, f"/{desk.made['shortId']}/{path}", body=body)

    return Row(Kind.READER_JSON, right, takes_body=body is not None)


def _enter(prefix: str) -> Row:
    def right(desk: Desk) -> Sent:
        made = desk.file(password="open sesame")
        return Sent(desk.reader, "POST", f"{prefix}/{made['shortId']}/enter", form={"password": "open sesame"})

    return Row(Kind.READER_FORM, right)


def _download(desk: Desk) -> Sent:
    made = desk.file(allowDownload=True)
    return Sent(desk.reader, "POST", f"/{made['shortId']}/download", form={})


def _beacon(desk: Desk) -> Sent:
    reader = Reader(desk.world, desk.made["shortId"], http=desk.reader)
    desk.world.clock.advance(seconds=10)
    return Sent(desk.reader, "POST", reader.facts["beaconUrl"], body=reader.beacon(read={1: 9_000}, input=True))


PASSWORD = "correct horse battery staple"


def with_password(desk: Desk) -> Desk:
    """Pia has a password from now on, set in her browser."""
    sent = {"csrf": desk.token, "password": PASSWORD}
    assert desk.browser.post("/account/password", data=sent).status_code == 303
    return desk


def _enter_by_password(desk: Desk) -> Sent:
    typed = {"email": with_password(desk).world.pia.email, "password": PASSWORD}
    return Sent(desk.world.app.test_client(), "POST", "/login", form=typed)


def _sign_in(desk: Desk) -> Sent:
    url = sign_in.create_link(desk.world.rt, "pia@example.com")
    return Sent(desk.world.app.test_client(), "POST", url.removeprefix(desk.world.rt.config.base_url), form={})


ROWS: dict[str, Row] = {
    "api:session.webhooks.create": script(
        "POST", lambda desk: "/api/webhooks", {"url": URL, "events": ["file.viewed"]}
    ),
    "api:session.webhooks.delete": script("DELETE", lambda desk: f"/api/webhooks/{desk.hook()}"),
    "api:session.webhooks.test": replace(script("POST", lambda desk: f"/api/webhooks/{desk.hook()}/test"), quiet=True),
    "api:session.files.upload": upload(lambda desk: "/api/account/files"),
    "api:session.files.replace": upload(lambda desk: f"/api/account/files/{desk.made['uuid']}/content"),
    "api:session.assets.create": upload(
        lambda desk: f"/api/account/files/{desk.made['uuid']}/assets", picture, kind="logo"
    ),
    "sign_in.enter": Row(Kind.SIGN_IN, _sign_in),
    "sign_in.enter_by_password": Row(Kind.SIGN_IN, _enter_by_password),
    "sign_in.leave": form("/logout"),
    "oauth.decide": form(lambda desk: desk.app.address(), decision="approve"),
    "beacons.take": Row(Kind.BEACON, _beacon),
    "downloads.download": Row(Kind.READER_FORM, _download),
    "gate.enter": _enter(""),
    "gate.enter_embedded": _enter("/embed"),
    "feedback.add_note": _reader(0),
    "feedback.remove_note": _reader(1),
    "feedback.put_mark": _reader(2),
    "feedback.add_annotation": _reader(3),
    "feedback.remove_annotation": _reader(4),
    "feedback.confirm": _reader(5),
    "feedback.tap": _reader(6),
}
"""Endpoint of the application -> its row; those of the owner's pages stand in ``owner_routes``."""

COOKIELESS = {
    "api:public.upload": "/api/files",
    "oauth.token": "/oauth/token",
    "oauth.revoke": "/oauth/revoke",
    "notices.change": "/notices/views.nobody.0",
    "admin": "/_admin",
    "probe": "/healthz",
}
"""Endpoints that change something and look at no cookie -> their address."""
