"""An app that requests access to an account: its requests, and the choices of the owner."""

import base64
import hashlib
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.server.services.oauth import clients
from tests.support.owner.browser import sign_in_browser
from tests.support.people.cast import Person, World

REDIRECT = "https://app.example.com/callback"
VERIFIER = "v" * 20 + "0123456789-._~" + "w" * 30


def make_challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


@dataclass
class OAuthApp:
    """A registered client in ``world``; ``owner``: a browser in which somebody is signed in."""

    world: World
    owner: FlaskClient
    client_id: str
    secret: str | None
    http: FlaskClient = field(init=False)

    def __post_init__(self) -> None:
        self.http = self.world.app.test_client()

    def authorize_url(self, **changes: str | None) -> str:
        """Return the URL to which the app sends the owner; ``changes`` replace parameters, None removes one."""
        asked: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": REDIRECT,
            "scope": "files:read readership:read",
            "state": "st4te",
            "code_challenge": make_challenge(VERIFIER),
            "code_challenge_method": "S256",
        }
        return f"/oauth/authorize?{urlencode({k: v for k, v in {**asked, **changes}.items() if v is not None})}"

    def decide(self, decision: str = "approve", **changes: str | None) -> TestResponse:
        """Open the consent page as the owner and press a button; return the response."""
        address = self.authorize_url(**changes)
        page = self.owner.get(address)
        assert page.status_code == 200, page.text
        found = re.search(r'name="csrf" value="([^"]+)"', page.text)
        assert found is not None
        return self.owner.post(address, data={"csrf": found[1], "decision": decision})

    def create_code(self, **changes: str | None) -> str:
        """Return a new authorization code."""
        return parse_redirect_params(self.decide(**changes))["code"]

    def request_token(self, **form: str | None) -> TestResponse:
        """Send a request of the app to the token endpoint, with its secret in the form if it has one."""
        sent = {"client_id": self.client_id, "client_secret": self.secret, **form}
        return self.http.post("/oauth/token", data={k: v for k, v in sent.items() if v is not None})

    def exchange_code(self, code: str, /, **changes: str | None) -> TestResponse:
        form = {"grant_type": "authorization_code", "redirect_uri": REDIRECT, "code_verifier": VERIFIER, "code": code}
        return self.request_token(**{**form, **changes})

    def refresh_token(self, refresh_token: str, /, **changes: str | None) -> TestResponse:
        return self.request_token(**{"grant_type": "refresh_token", "refresh_token": refresh_token, **changes})

    def approve_and_exchange(self, **changes: str | None) -> dict[str, Any]:
        """Approve as the owner and exchange the code; return the response."""
        answer = self.exchange_code(self.create_code(**changes), redirect_uri=changes.get("redirect_uri", REDIRECT))
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.get_json()
        return found

    def get(self, path: str, access_token: str) -> TestResponse:
        return self.http.get(path, headers={"Authorization": f"Bearer {access_token}"})


def make_app(
    world: World, person: Person | None = None, *, public: bool = False, redirects: tuple[str, ...] = (REDIRECT,)
) -> OAuthApp:
    """Return an app that requests access from ``person`` (Pia unless given)."""
    made = clients.create(world.rt, "Sales <dashboard>", list(redirects), public=public)
    return OAuthApp(world, sign_in_browser(world, person or world.pia), made["clientId"], made.get("clientSecret"))


def parse_redirect_params(response: TestResponse) -> dict[str, str]:
    """Return the parameters that the browser carries back to the app."""
    assert response.status_code == 303, response.text
    found = parse_qs(urlsplit(response.headers["Location"]).query, strict_parsing=True)
    return {name: value for name, (value,) in found.items()}
