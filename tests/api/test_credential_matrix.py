"""Every kind of credential at every route under /api, typed by hand."""

import io
import ipaddress
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.contract.scopes import SCOPES
from docshare.server.services.accounts import callers
from docshare.server.services.files import claim
from tests.api.route_table import ALL_ROUTES, UNKNOWN_UUID
from tests.support.documents.images import make_picture
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.design_tool import IMPORT, STATUS, DesignTool, open_design_tool
from tests.support.outside.import_source import NAME
from tests.support.outside.oauth_app import make_app
from tests.support.owner.browser import sign_in_browser
from tests.support.people.anonymous_files import AnonymousFile, share_anonymously
from tests.support.people.cast import World
from tests.support.people.webhooks import URL, create_webhook

COLUMNS = """
  nothing basic   unknown key     all     most    one     refresh manage  expired claimed claim   design  cookie  page
"""
"""The credential of each column.

``all``, ``most``, ``one``: access tokens of an app with every scope, with all but ``profile``, with ``profile`` only.
``manage``, ``expired``, ``claimed``: manage tokens of the requested file; the second is too old, and the third belongs
to a file that has been claimed. ``design``: a user token of the design tool. ``cookie``: a signed-in browser;
``page``: the same with a CSRF token.
"""

TABLE = """
GET    /api/v1
  200     200     200     200     200     200     200     200     200     200     200     200     200     200     200
GET    /api/v1/openapi.json
  200     200     200     200     200     200     200     200     200     200     200     200     200     200     200
POST   /api/files
  200     200     200     200     200     200     200     200     200     200     200     200     200     200     200
GET    /api/files/{uuid}/qr-code
  200     200     200     200     200     200     200     200     200     200     200     200     200     200     200
GET    /api/files/{uuid}/metadata
  200     200     200     200     200     200     200     200     200     200     200     200     200     200     200
POST   /api/v1/files
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
GET    /api/v1/files
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
POST   /api/v1/files/import
  401     401     401     400     400     400     scope   401     401     401     401     401     401     401     401
GET    /api/v1/files/{uuid}
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
DELETE /api/v1/files/{uuid}
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
PUT    /api/v1/files/{uuid}/settings
  401     401     401     200     200     200     scope   401     200     401     404     401     401     401     401
GET    /api/v1/files/{uuid}/content
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
POST   /api/v1/files/{uuid}/content
  401     401     401     200     200     200     scope   401     403     403     403     401     401     401     401
POST   /api/v1/files/{uuid}/restore
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
POST   /api/v1/files/claim
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
GET    /api/v1/files/{uuid}/qr-code
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
POST   /api/v1/files/{uuid}/assets
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
GET    /api/v1/files/{uuid}/variants
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
POST   /api/v1/files/{uuid}/variants
  401     401     401     201     201     201     scope   401     401     401     401     401     401     401     401
PUT    /api/v1/files/{uuid}/variants/{variantUuid}
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
DELETE /api/v1/files/{uuid}/variants/{variantUuid}
  401     401     401     204     204     204     scope   401     401     401     401     401     401     401     401
GET    /api/v1/files/{uuid}/invites
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
POST   /api/v1/files/{uuid}/invites
  401     401     401     201     201     201     scope   401     401     401     401     401     401     401     401
GET    /api/v1/files/{uuid}/readership
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
GET    /api/v1/files/{uuid}/readership/pages
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
GET    /api/v1/files/{uuid}/readership/sessions
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
GET    /api/v1/files/{uuid}/readership/sessions/{sessionId}
  401     401     401     404     404     404     scope   401     401     401     401     401     401     401     401
GET    /api/v1/files/{uuid}/page-marks
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
GET    /api/v1/files/{uuid}/annotations
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
GET    /api/v1/files/{uuid}/feedback
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
GET    /api/v1/events
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
GET    /api/v1/gate-responses
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
GET    /api/v1/activity
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
POST   /api/v1/webhooks
  401     401     401     201     201     201     scope   401     401     401     401     401     401     401     401
GET    /api/v1/webhooks
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
DELETE /api/v1/webhooks/{uuid}
  401     401     401     204     204     204     scope   401     401     401     401     401     401     401     401
POST   /api/v1/webhooks/{uuid}/test
  401     401     401     404     404     404     scope   401     401     401     401     401     401     401     401
POST   /api/v1/webhooks/{uuid}/enable
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
GET    /api/v1/webhooks/{uuid}/deliveries
  401     401     401     200     200     200     scope   401     401     401     401     401     401     401     401
POST   /api/v1/webhooks/{uuid}/deliveries/{id}/redeliver
  401     401     401     404     404     404     scope   401     401     401     401     401     401     401     401
POST   /api/webhooks
  401     401     401     201     201     201     scope   401     401     401     401     401     401     403     201
GET    /api/webhooks
  401     401     401     200     200     200     scope   401     401     401     401     401     401     200     200
DELETE /api/webhooks/{uuid}
  401     401     401     204     204     204     scope   401     401     401     401     401     401     403     204
POST   /api/webhooks/{uuid}/test
  401     401     401     404     404     404     scope   401     401     401     401     401     401     403     404
GET    /api/v1/user
  401     401     401     200     200     scope   200     401     401     401     401     401     401     401     401
GET    /api/v1/keys
  401     401     401     200     403     scope   403     401     401     401     401     401     401     401     401
POST   /api/v1/keys
  401     401     401     201     403     scope   403     401     401     401     401     401     401     401     401
DELETE /api/v1/keys/{uuid}
  401     401     401     204     403     scope   403     401     401     401     401     401     401     401     401
POST   /api/account/files
  401     401     401     401     401     401     401     401     401     401     401     401     401     403     200
POST   /api/account/files/{uuid}/content
  401     401     401     401     401     401     401     401     401     401     401     401     401     403     200
POST   /api/account/files/{uuid}/assets
  401     401     401     401     401     401     401     401     401     401     401     401     401     403     200
POST   /api/v1/design-tool/import
  401     401     401     401     401     401     401     401     401     401     401     401     200     401     401
POST   /api/v1/design-tool/design/status
  401     401     401     401     401     401     401     401     401     401     401     401     200     401     401
"""
"""Each route, and below it the expected status or problem code for the credential of each column."""

CODES = {
    "401": "unauthorized",
    "403": "forbidden",
    "404": "not_found",
    "400": "bad_request",
    "scope": "insufficient_scope",
}

Row = tuple[str, str, dict[str, str]]


def parse_table() -> list[Row]:
    """Parse the table into ``(method, path, {column: expected outcome})``."""
    lines = TABLE.strip().splitlines()
    names = COLUMNS.split()
    return [
        (*head.split(), dict(zip(names, cells.split(), strict=True)))  # type: ignore[misc]
        for head, cells in zip(lines[::2], lines[1::2], strict=True)
    ]


@dataclass
class CredentialHolders:
    """The request headers of each column, and the files that the manage tokens belong to."""

    world: World
    studio: DesignTool
    headers: dict[str, dict[str, str]]
    files: dict[str, AnonymousFile]
    session: Any

    def send_request(self, column: str, method: str, path: str) -> TestResponse:
        """Send a request that is valid except possibly for its credential."""
        names = self.fill_names(column, method, path)
        address = re.sub(r"{(\w+)}", lambda found: names[found[1]], path)
        browser = self.session if column in ("cookie", "page") else self.world.app.test_client()
        sent = REQUEST_BODIES.get((method, path), lambda holders: {})(self)
        return browser.open(address, method=method, headers=self.headers[column], buffered=True, **sent)

    def fill_names(self, column: str, method: str, path: str) -> dict[str, str]:
        """Create the resources that the path refers to: owned by Pia, or the file of the manage token."""
        pia, found = self.world.pia, {"id": "1", "sessionId": UNKNOWN_UUID}
        if "/webhooks/{uuid}" in path:
            unknown = path.endswith("/test")  # of a known webhook would send a request
            return found | {"uuid": UNKNOWN_UUID if unknown else create_webhook(pia)["webhook"]["uuid"]}
        if "/keys/{uuid}" in path:
            return found | {"uuid": pia.post("/api/v1/keys", json=KEY).get_json()["uuid"]}
        if "{uuid}" in path:
            found["uuid"] = self.files[column].uuid if column in self.files else pia.upload()["uuid"]
        if "{variantUuid}" in path:
            owned = pia.upload()["uuid"]
            made = pia.post(f"/api/v1/files/{owned}/variants", json={"label": "Ann"}).get_json()
            found |= {"uuid": owned, "variantUuid": made["uuid"]}
        if path.endswith("/restore") and column not in self.files:
            assert pia.delete(f"/api/v1/files/{found['uuid']}").status_code == 200
        return found


def build_document_form() -> dict[str, Any]:
    return {"data": {"file": (io.BytesIO(simple_pdf()), "a.pdf")}}


def build_logo_form() -> dict[str, Any]:
    return {"data": {"kind": "logo", "file": (io.BytesIO(make_picture()), "a.png")}}


HOOK = {"json": {"url": URL, "events": ["file.viewed"]}}
KEY = {"name": "ci", "scopes": ["files:read"]}
FILE = "/api/v1/files/{uuid}"
REQUEST_BODIES: dict[tuple[str, str], Callable[[CredentialHolders], dict[str, Any]]] = {
    ("POST", "/api/files"): lambda holders: build_document_form(),
    ("POST", "/api/v1/files"): lambda holders: build_document_form(),
    ("POST", f"{FILE}/content"): lambda holders: build_document_form(),
    ("POST", f"{FILE}/assets"): lambda holders: build_logo_form(),
    ("POST", "/api/v1/files/import"): lambda holders: {"json": {}},
    ("POST", "/api/v1/files/claim"): lambda holders: {
        "json": {"claimToken": share_anonymously(holders.world).claim_token}
    },
    ("PUT", f"{FILE}/settings"): lambda holders: {"json": {"viewerMode": "flipbook"}},
    ("POST", f"{FILE}/variants"): lambda holders: {"json": {"label": "Ann"}},
    ("PUT", f"{FILE}/variants/{{variantUuid}}"): lambda holders: {"json": {"label": "Ben"}},
    ("POST", f"{FILE}/invites"): lambda holders: {"json": {"email": "ann@example.com"}},
    ("POST", "/api/account/files"): lambda holders: build_document_form(),
    ("POST", "/api/account/files/{uuid}/content"): lambda holders: build_document_form(),
    ("POST", "/api/account/files/{uuid}/assets"): lambda holders: build_logo_form(),
    ("POST", IMPORT): lambda holders: {
        "json": {"url": holders.studio.source.url(), "designToken": holders.studio.make_design_token()}
    },
    ("POST", STATUS): lambda holders: {"json": {"designToken": holders.studio.make_design_token()}},
    ("POST", "/api/v1/keys"): lambda holders: {"json": KEY},
    ("POST", "/api/v1/webhooks"): lambda holders: HOOK,
    ("POST", "/api/webhooks"): lambda holders: HOOK,
}
"""The body of each request that requires one."""


@pytest.fixture
def design_tool(make: Callable[..., World], cert: Path) -> Iterator[DesignTool]:
    """Run a design tool and an instance that is configured for it; every other name resolves to a public address."""
    with open_design_tool(cert, make, anonymous_uploads=True) as studio:
        here, there = ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("93.184.216.34")
        studio.world.rt.outbound.resolve = lambda host: [here if host == NAME else there]
        yield studio


@pytest.fixture
def credential_holders(design_tool: DesignTool) -> CredentialHolders:
    world = design_tool.world
    expired = share_anonymously(world, days=60)
    world.clock.advance(days=30)
    manage, claimed, unclaimed = share_anonymously(world), share_anonymously(world), share_anonymously(world)
    claim.claim(world.rt, callers.authenticate(world.rt, f"Bearer {world.mal.key}"), claimed.claim_token)
    app, session = make_app(world), sign_in_browser(world, world.pia)
    csrf = re.search(r'name="csrf" value="([^"]+)"', session.get("/login").text)
    assert csrf is not None
    most = app.approve_and_exchange(scope=" ".join(set(SCOPES) - {"profile"}))
    bearers = {
        "unknown": "ds_live_" + "x" * 32,
        "key": world.pia.key,
        "all": app.approve_and_exchange(scope=" ".join(SCOPES))["access_token"],
        "most": most["access_token"],
        "one": app.approve_and_exchange(scope="profile")["access_token"],
        "refresh": most["refresh_token"],
        "manage": manage.manage_token,
        "expired": expired.manage_token,
        "claimed": claimed.manage_token,
        "claim": unclaimed.claim_token,
        "design": design_tool.make_user_token(),
    }
    headers = {column: {"Authorization": f"Bearer {token}"} for column, token in bearers.items()}
    headers |= {"nothing": {}, "basic": {"Authorization": "Basic cGlhOnBpYQ=="}}
    headers |= {"cookie": {}, "page": {"X-CSRF-Token": csrf[1]}}
    return CredentialHolders(
        world, design_tool, headers, {"manage": manage, "expired": expired, "claimed": claimed}, session
    )


def describe_outcome(answer: TestResponse) -> str:
    """Return the table entry for ``answer``."""
    status = str(answer.status_code)
    if answer.status_code < 400:
        return status
    code = answer.get_json()["code"]
    return next(
        (word for word, known in CODES.items() if known == code and word in (status, "scope")), f"{status} {code}"
    )


@pytest.mark.parametrize(
    ("method", "path", "expected"), parse_table(), ids=[" ".join(row[:2]) for row in parse_table()]
)
def test_every_credential_gets_the_expected_outcome(
    credential_holders: CredentialHolders, method: str, path: str, expected: dict[str, str]
) -> None:
    answers = {column: credential_holders.send_request(column, method, path) for column in expected}
    assert {column: describe_outcome(answer) for column, answer in answers.items()} == expected
    for column, answer in answers.items():
        challenge = answer.headers.get("WWW-Authenticate", "")
        assert challenge.startswith("Bearer") == (answer.status_code in (401, 403)), column


def test_the_table_contains_every_route() -> None:
    assert sorted((method, path) for method, path, _ in parse_table()) == sorted(row[:2] for row in ALL_ROUTES)
