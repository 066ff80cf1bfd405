"""``client.oauth``: checks of the server metadata before any secret is sent."""

from __future__ import annotations

from typing import Any

import pytest

from docshare.client import Client
from docshare.client.address import parse_origin
from docshare.client.errors import NotAnApi
from docshare.client.oauth import is_same_origin
from tests.support.outside.fake_api import FakeApi

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


def test_metadata_with_only_own_endpoints_is_accepted(api: FakeApi, client: Client) -> None:
    api.on("GET", METADATA, make_metadata(api))
    server = client.oauth.server()
    assert (server.issuer, server.token, server.has_issuer_parameter) == (api.url, f"{api.url}/oauth/token", True)


def test_revoke_is_none_without_a_revocation_endpoint(api: FakeApi, client: Client) -> None:
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
def test_metadata_with_a_foreign_issuer_or_endpoint_is_rejected(
    api: FakeApi, client: Client, changes: dict[str, Any]
) -> None:
    """Posing as another issuer, a server could receive that issuer's authorization codes (RFC 8414, RFC 9207)."""
    api.on("GET", METADATA, make_metadata(api, **changes))
    with pytest.raises(NotAnApi, match="another server"):
        client.oauth.server()


@pytest.mark.parametrize(
    ("url", "base", "expected"),
    [
        ("https://xn--bcher-kva.example/oauth/token", "https://Bücher.example", True),
        ("https://xn--bcher-kva.example:8443/oauth/token", "https://bücher.example:8443/", True),
        ("https://bücher.example/oauth/token", "https://bücher.example", True),
        ("http://xn--bcher-kva.example/oauth/token", "https://bücher.example", False),
        ("https://xn--bcher-kva.example:8443/oauth/token", "https://bücher.example", False),
        ("https://strasse.example/oauth/token", "https://straße.example", False),
        ("https://bucher.example/oauth/token", "https://bücher.example", False),
        ("https:///oauth/token", "https://bücher.example", False),
    ],
)
def test_a_host_is_the_same_in_the_form_of_dns(url: str, base: str, expected: bool) -> None:
    assert is_same_origin(url, parse_origin(base)) is expected
