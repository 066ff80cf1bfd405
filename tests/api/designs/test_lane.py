"""Authentication and rate limits of the two routes of the design tool."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.contract.limits import DESIGN_USER
from docshare.server.config import ConfigError, load_config
from tests.api.raw_client import open_listener
from tests.support.engines.rows import count_rows
from tests.support.outside.design_tool import IMPORT, STATUS, DesignTool, open_design_tool
from tests.support.outside.forged_tokens import FORGED_TOKENS
from tests.support.outside.import_source import http_response
from tests.support.outside.jwts import AUDIENCE, ISSUER
from tests.support.people.cast import NO_CREDENTIAL, World

for_both_routes = pytest.mark.parametrize("path", [IMPORT, STATUS])


def send_with_token(studio: DesignTool, path: str, token: str | None) -> TestResponse:
    """Send a request that is valid except possibly for its credential."""
    return studio.send(path, {"url": studio.source.url(), "designToken": studio.make_design_token()}, token)


def assert_unauthorized(studio: DesignTool, answered: TestResponse) -> None:
    assert (answered.status_code, answered.get_json()["code"]) == (401, "unauthorized"), answered.text
    assert answered.headers["WWW-Authenticate"].startswith("Bearer")
    assert count_rows(studio.world, "files") == 0


# --- credentials -----------------------------------------------------------------------------------------------------


@for_both_routes
def test_a_valid_token_is_accepted(design_tool: DesignTool, path: str) -> None:
    for token in (
        design_tool.make_user_token(),
        design_tool.token_maker.sign_token(alg="ES256"),
        design_tool.token_maker.sign_token(sub=None, userId="ada"),
    ):
        assert send_with_token(design_tool, path, token).status_code == 200


@pytest.mark.parametrize("make_token", FORGED_TOKENS.values(), ids=FORGED_TOKENS)
@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
def test_a_forged_token_is_401(design_tool: DesignTool, make_token: Callable[[Any], str]) -> None:
    token = make_token(design_tool.token_maker)
    headers = {"Authorization": f"Bearer {token}".replace("\n", "%0A")}
    body = {"url": design_tool.source.url(), "designToken": design_tool.make_design_token()}
    assert_unauthorized(design_tool, design_tool.world.http.post(IMPORT, json=body, headers=headers))
    assert design_tool.source.connections == 0


@for_both_routes
def test_every_other_credential_is_401(design_tool: DesignTool, path: str) -> None:
    """The routes accept only a user token of the design tool; even a valid API key is 401."""
    made = design_tool.import_design(design=None)
    for token in (
        None,
        design_tool.world.pia.key,
        made["manageToken"],
        made["claimToken"],
        design_tool.make_design_token(),
    ):
        answered = send_with_token(design_tool, path, token)
        assert (answered.status_code, answered.get_json()["code"]) == (401, "unauthorized")
    assert send_with_token(design_tool, path, None).headers["WWW-Authenticate"] == NO_CREDENTIAL


@for_both_routes
@pytest.mark.parametrize("claims", [{"sub": ""}, {"sub": 7}, {"sub": "x" * 256}, {"sub": None}, {"sub": ["ada"]}])
def test_a_token_without_a_valid_user_id_is_401(design_tool: DesignTool, path: str, claims: dict[str, Any]) -> None:
    assert_unauthorized(design_tool, send_with_token(design_tool, path, design_tool.token_maker.sign_token(**claims)))


@for_both_routes
def test_two_authorization_headers_are_401(design_tool: DesignTool, path: str) -> None:
    token = design_tool.make_user_token()
    assert_unauthorized(design_tool, send_with_token(design_tool, path, f"{token}, Bearer {token}"))


def test_a_user_token_is_401_on_other_routes(design_tool: DesignTool) -> None:
    headers = {"Authorization": f"Bearer {design_tool.make_user_token()}"}
    for path in ("/api/v1/files", "/api/v1/user", "/api/v1/events"):
        assert design_tool.world.http.get(path, headers=headers).status_code == 401


# --- the design tool is not configured, or its keys are unavailable --------------------------------------------------


@for_both_routes
def test_a_server_without_a_design_tool_is_503_with_a_hint(world: World, path: str) -> None:
    """The hint names the setting that is missing."""
    answered = world.http.post(path, json={}, headers={"Authorization": "Bearer e30.e30.c2ln"})
    assert (answered.status_code, answered.get_json()["code"]) == (503, "unavailable")
    assert "DOCSHARE_DESIGN_USER_JWKS_URL" in answered.get_json()["hint"]


@for_both_routes
def test_a_server_without_a_design_tool_is_401_for_other_credentials(world: World, path: str) -> None:
    for headers in ({}, world.pia.headers):
        assert world.http.post(path, json={}, headers=headers).status_code == 401


@for_both_routes
def test_keys_that_cannot_be_fetched_are_503(design_tool: DesignTool, path: str) -> None:
    """The response has ``Retry-After``."""
    design_tool.keys.respond = http_response(b"", "500 Broken")
    answered = send_with_token(design_tool, path, design_tool.make_user_token())
    assert (answered.status_code, answered.get_json()["code"]) == (503, "unavailable")
    assert answered.headers["Retry-After"] == "60"
    design_tool.keys.respond = http_response(design_tool.token_maker.build_jwks())
    design_tool.world.clock.advance(seconds=60)
    assert send_with_token(design_tool, path, design_tool.make_user_token()).status_code == 200


# --- rate limits -----------------------------------------------------------------------------------------------------


@for_both_routes
def test_a_user_is_limited_to_sixty_requests_per_minute(design_tool: DesignTool, path: str) -> None:
    limits, clock = design_tool.world.rt.limits, design_tool.world.clock
    first = send_with_token(design_tool, path, design_tool.make_user_token())
    assert first.headers["RateLimit-Policy"] == '"design-user";q=60;w=60'
    assert first.headers["X-RateLimit-Remaining"] == "59"
    for _ in range(59):
        assert limits.hit(DESIGN_USER, "ada", 60).is_allowed
    late = send_with_token(design_tool, path, design_tool.make_user_token())
    assert (late.status_code, late.headers["Retry-After"]) == (429, "60")
    assert send_with_token(design_tool, path, design_tool.make_user_token("bob")).status_code == 200
    clock.advance(seconds=60)
    assert send_with_token(design_tool, path, design_tool.make_user_token()).status_code == 200


def test_an_address_is_limited_across_users(make: Callable[..., World], cert: Path) -> None:
    with open_design_tool(cert, make, design_rate=3) as studio:
        for token in (studio.make_user_token("a"), studio.make_user_token("b"), "not.a.token"):
            send_with_token(studio, STATUS, token)
        late = send_with_token(studio, STATUS, studio.make_user_token("c"))
        assert (late.status_code, late.headers["RateLimit-Policy"]) == (429, '"design-address";q=3;w=60')
        elsewhere = {"REMOTE_ADDR": "198.51.100.9"}
        headers = {"Authorization": f"Bearer {studio.make_user_token('c')}"}
        body = {"designToken": studio.make_design_token()}
        other = studio.world.http.post(STATUS, json=body, headers=headers, environ_overrides=elsewhere)
        assert other.status_code == 200


# --- through the listener --------------------------------------------------------------------------------------------


def test_a_large_body_is_413_without_fetching_keys(design_tool: DesignTool) -> None:
    """Keys are fetched by the application, never by the event loop of the listener."""
    head = {"Authorization": f"Bearer {design_tool.make_user_token()}", "Content-Type": "application/json"}
    with open_listener(design_tool.world) as client:
        reply = client.request("POST", IMPORT, head, b" " * (2 << 20))
        assert reply.status == 413
        assert design_tool.keys.connections == 0
        body = f'{{"designToken": "{design_tool.make_design_token()}"}}'.encode()
        assert client.request("POST", STATUS, head, body).status == 200


# --- settings of the server ------------------------------------------------------------------------------------------

URL = "https://design.example.com/keys"


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"USER_JWKS_URL": URL}, "design_user_issuer"),
        ({"USER_JWKS_URL": URL, "USER_ISSUER": "x"}, "design_user_audience"),
        ({"USER_JWKS_URL": URL, "USER_AUDIENCE": "x"}, "design_user_issuer"),
        ({"TOKEN_JWKS_URL": URL, "TOKEN_ISSUER": "x", "TOKEN_AUDIENCE": "x"}, "design_user_jwks_url"),
    ],
)
def test_a_jwks_url_without_issuer_or_audience_is_a_config_error(
    tmp_path: Path, given: dict[str, str], named: str
) -> None:
    environ = {f"DOCSHARE_DESIGN_{key}": value for key, value in given.items()}
    with pytest.raises(ConfigError, match=named):
        load_config({}, environ, tmp_path, "http://127.0.0.1")


@pytest.mark.parametrize("more", [{}, {"TOKEN_JWKS_URL": URL}, {"TOKEN_AUDIENCE": "designs"}])
def test_settings_of_design_tokens_are_optional(tmp_path: Path, more: dict[str, str]) -> None:
    given = {"USER_JWKS_URL": URL, "USER_ISSUER": ISSUER, "USER_AUDIENCE": AUDIENCE, **more}
    environ = {f"DOCSHARE_DESIGN_{key}": value for key, value in given.items()}
    assert load_config({}, environ, tmp_path, "http://127.0.0.1").design_user_jwks_url == URL
