"""``client.oauth``: what a server may say of itself before anything secret is sent to it."""

from __future__ import annotations

from typing import Any

import pytest

from docshare.client import Client
from docshare.client.errors import NotAnApi
from tests.support.fake_api import FakeApi

METADATA = "/.well-known/oauth-authorization-server"
ELSEWHERE = "https://honest.example"


def make_metadata(api: FakeApi, **changes: Any) -> dict[str, Any]:
    """Return the metadata of ``api``; None leaves an entry out."""
    whole = {
        "issuer": api.url,
        "authorization_endpoint": f"{api.url}/oauth/authorize",
        "token_endpoint": f"{api.url}/oauth/token",
        "revocation_endpoint": f"{api.url}/oauth/revoke",
        "authorization_response_iss_parameter_supported": True,
    }
    return {name: value for name, value in {**whole, **changes}.items() if value is not None}


def test_a_server_that_speaks_of_itself_is_taken_at_its_word(api: FakeApi, client: Client) -> None:
    api.on("GET", METADATA, make_metadata(api))
    server = client.oauth.server()
    assert (server.issuer, server.token, server.has_issuer_parameter) == (api.url, f"{api.url}/oauth/token", True)


def test_a_server_without_revocation_has_none(api: FakeApi, client: Client) -> None:
    api.on("GET", METADATA, make_metadata(api, revocation_endpoint=None))
    assert client.oauth.server().revoke is None


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": ELSEWHERE},
        {"issuer": None},
        {"issuer": 7},
        {"authorization_endpoint": f"{ELSEWHERE}/oauth/authorize"},
        {"authorization_endpoint": None},
        {"token_endpoint": f"{ELSEWHERE}/oauth/token"},
        {"token_endpoint": ["x"]},
        {"revocation_endpoint": f"{ELSEWHERE}/oauth/revoke"},
    ],
    ids=str,
)
def test_a_server_that_speaks_of_another_is_left(api: FakeApi, client: Client, changes: dict[str, Any]) -> None:
    """RFC 8414, 3.3, and RFC 9207: under the name of another issuer it could have a code of that one sent to itself."""
    api.on("GET", METADATA, make_metadata(api, **changes))
    with pytest.raises(NotAnApi, match="another server"):
        client.oauth.server()
