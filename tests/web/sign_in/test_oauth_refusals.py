"""Invalid OAuth requests: each fails with the error of the RFC and never redirects to an unregistered address."""

import base64
from typing import Any

import pytest

from tests.support.outside.oauth_app import (
    REDIRECT,
    VERIFIER,
    OAuthApp,
    make_app,
    make_challenge,
    parse_redirect_params,
)
from tests.support.owner.browser import sign_in_browser
from tests.support.people.cast import World

LONG = "x" * 4_000


@pytest.fixture
def app(world: World) -> OAuthApp:
    return make_app(world)


# Errors that are not redirected because the client or its redirect URI is not verified.
PAGE_ERRORS = {
    "no client": {"client_id": None},
    "an unknown client": {"client_id": "nobody"},
    "no redirect URI": {"redirect_uri": None},
    "an empty redirect URI": {"redirect_uri": ""},
    "another host": {"redirect_uri": "https://evil.example.com/callback"},
    "another path": {"redirect_uri": REDIRECT + "/more"},
    "a path below": {"redirect_uri": REDIRECT + "/../x"},
    "another query": {"redirect_uri": REDIRECT + "?x=1"},
    "a fragment": {"redirect_uri": REDIRECT + "#x"},
    "another case": {"redirect_uri": REDIRECT.replace("callback", "Callback")},
    "another scheme": {"redirect_uri": REDIRECT.replace("https", "http")},
    "another port": {"redirect_uri": REDIRECT.replace(".com/", ".com:8443/")},
    "a user name": {"redirect_uri": "https://app.example.com@evil.example.com/callback"},
    "a backslash": {"redirect_uri": "https://app.example.com\\@evil.example.com/callback"},
    "a quote": {"redirect_uri": REDIRECT + '"'},
    "a line break": {"redirect_uri": REDIRECT + "\r\nX-Evil: 1"},
    "a script": {"redirect_uri": "javascript:alert(1)"},
    "an address that is too long": {"redirect_uri": REDIRECT + LONG},
    "a letter beyond ASCII": {"redirect_uri": REDIRECT + "é"},
    "a wrong client with a quote": {"client_id": '"'},
    "a response type with a quote": {"response_type": '"'},
}


@pytest.mark.parametrize("changes", PAGE_ERRORS.values(), ids=PAGE_ERRORS)
def test_an_unverified_redirect_address_is_never_used(app: OAuthApp, changes: dict[str, str | None]) -> None:
    answer = app.owner.get(app.authorize_url(**changes))
    assert answer.status_code == 400
    assert "Location" not in answer.headers
    assert "<form" not in answer.text
    assert answer.content_type.startswith("text/html")


@pytest.mark.parametrize("name", ["client_id", "redirect_uri", "response_type", "scope", "state", "code_challenge"])
def test_a_repeated_parameter_does_not_redirect(app: OAuthApp, name: str) -> None:
    answer = app.owner.get(f"{app.authorize_url()}&{name}=other")
    assert answer.status_code == 400
    assert "Location" not in answer.headers


# Errors that are redirected to the app.
REDIRECTED_ERRORS: dict[str, tuple[dict[str, str | None], str]] = {
    "another response type": ({"response_type": "token"}, "unsupported_response_type"),
    "no response type": ({"response_type": None}, "invalid_request"),
    "an empty response type": ({"response_type": ""}, "invalid_request"),
    "two response types": ({"response_type": "code token"}, "unsupported_response_type"),
    "no scope": ({"scope": None}, "invalid_scope"),
    "an empty scope": ({"scope": " "}, "invalid_scope"),
    "an unknown scope": ({"scope": "files:read files:own"}, "invalid_scope"),
    "a scope in another case": ({"scope": "FILES:READ"}, "invalid_scope"),
    "no challenge": ({"code_challenge": None}, "invalid_request"),
    "no challenge and no method": ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
    "the plain method": ({"code_challenge_method": "plain"}, "invalid_request"),
    "no method, which means plain": ({"code_challenge_method": None}, "invalid_request"),
    "an unknown method": ({"code_challenge_method": "S512"}, "invalid_request"),
    "a short challenge": ({"code_challenge": "x" * 42}, "invalid_request"),
    "a long challenge": ({"code_challenge": "x" * 129}, "invalid_request"),
    "a challenge of other letters": ({"code_challenge": "+" * 43}, "invalid_request"),
}


@pytest.mark.parametrize(("changes", "error"), REDIRECTED_ERRORS.values(), ids=REDIRECTED_ERRORS)
def test_an_invalid_authorization_request_redirects_with_the_error(
    app: OAuthApp, changes: dict[str, str | None], error: str
) -> None:
    answer = app.owner.get(app.authorize_url(**changes))
    assert answer.headers["Location"].startswith(f"{REDIRECT}?")
    found = parse_redirect_params(answer)
    assert (found["error"], found["state"]) == (error, "st4te")
    assert found["iss"] == "http://127.0.0.1:8787"
    assert "code" not in found


# Errors of the token endpoint: form changes, error, status.
TOKEN_ERRORS: dict[str, tuple[dict[str, str | None], str, int]] = {
    "no grant type": ({"grant_type": None}, "invalid_request", 400),
    "an empty grant type": ({"grant_type": ""}, "invalid_request", 400),
    "another grant type": ({"grant_type": "password"}, "unsupported_grant_type", 400),
    "client credentials": ({"grant_type": "client_credentials"}, "unsupported_grant_type", 400),
    "a grant type with a quote": ({"grant_type": '"'}, "invalid_request", 400),
    "no code": ({"code": None}, "invalid_request", 400),
    "an unknown code": ({"code": "x" * 43}, "invalid_grant", 400),
    "no verifier": ({"code_verifier": None}, "invalid_request", 400),
    "a wrong verifier": ({"code_verifier": "x" * 43}, "invalid_grant", 400),
    "the challenge as verifier": ({"code_verifier": make_challenge(VERIFIER)}, "invalid_grant", 400),
    "a short verifier": ({"code_verifier": "x" * 42}, "invalid_request", 400),
    "no redirect URI": ({"redirect_uri": None}, "invalid_grant", 400),
    "another redirect URI": ({"redirect_uri": REDIRECT + "/more"}, "invalid_grant", 400),
    "no client": ({"client_id": None, "client_secret": None}, "invalid_client", 401),
    "an unknown client": ({"client_id": "nobody"}, "invalid_client", 400),
    "no secret": ({"client_secret": None}, "invalid_client", 401),
    "a wrong secret": ({"client_secret": "x" * 43}, "invalid_client", 401),
    "an empty secret": ({"client_secret": ""}, "invalid_client", 401),
    "a secret beyond ASCII": ({"client_secret": "é"}, "invalid_client", 401),
}


@pytest.mark.parametrize(("changes", "error", "status"), TOKEN_ERRORS.values(), ids=TOKEN_ERRORS)
def test_an_invalid_token_request_returns_the_error(
    app: OAuthApp, changes: dict[str, str | None], error: str, status: int
) -> None:
    answer = app.exchange_code(app.create_code(), **changes)
    assert answer.status_code == status
    assert answer.get_json()["error"] == error
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.content_type == "application/json"
    if status == 401:
        assert answer.headers["WWW-Authenticate"].startswith("Basic")


def test_the_code_of_another_client_is_invalid(app: OAuthApp) -> None:
    other = make_app(app.world)
    code = app.create_code()
    assert other.exchange_code(code).get_json()["error"] == "invalid_grant"
    # The code is still valid.
    assert app.exchange_code(code).status_code == 200


def test_the_refresh_token_of_another_client_is_invalid(app: OAuthApp) -> None:
    tokens = app.approve_and_exchange()
    other = make_app(app.world)
    assert other.refresh_token(tokens["refresh_token"]).get_json()["error"] == "invalid_grant"
    assert app.refresh_token(tokens["refresh_token"]).status_code == 200


@pytest.mark.parametrize("token", ["", "x", "ds_rt_" + "0" * 32])
def test_an_unknown_refresh_token_is_invalid(app: OAuthApp, token: str) -> None:
    assert app.refresh_token(token).get_json()["error"] == "invalid_grant"


def test_an_access_token_is_not_accepted_as_a_refresh_token(app: OAuthApp) -> None:
    assert app.refresh_token(app.approve_and_exchange()["access_token"]).get_json()["error"] == "invalid_grant"


def test_a_secret_in_the_query_is_ignored(app: OAuthApp) -> None:
    code = app.create_code()
    form = {"grant_type": "authorization_code", "redirect_uri": REDIRECT, "code_verifier": VERIFIER, "code": code}
    answer = app.http.post(f"/oauth/token?client_id={app.client_id}&client_secret={app.secret}", data=form)
    assert (answer.status_code, answer.get_json()["error"]) == (401, "invalid_client")


def test_a_repeated_parameter_gets_no_token(app: OAuthApp) -> None:
    form: dict[str, Any] = {"grant_type": ["authorization_code", "refresh_token"], "client_id": app.client_id}
    answer = app.http.post("/oauth/token", data=form)
    assert (answer.status_code, answer.get_json()["error"]) == (400, "invalid_request")


def basic_credentials(text: bytes) -> str:
    return f"Basic {base64.b64encode(text).decode()}"


@pytest.mark.parametrize(
    "header",
    [
        "Basic",
        "Basic ",
        "Basic %%%",
        basic_credentials(b"\xff\xfe:\xff"),
        basic_credentials(b":"),
        basic_credentials(b"nobody"),
        "Basic\tQQ ==",
        "Bearer x",
    ],
)
@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/revoke"])
def test_a_malformed_authorization_header_is_an_invalid_client(app: OAuthApp, path: str, header: str) -> None:
    form = {"grant_type": "refresh_token", "refresh_token": "x", "token": "x"}
    answer = app.http.post(path, data=form, headers={"Authorization": header})
    assert (answer.status_code, answer.get_json()["error"]) == (401, "invalid_client")
    assert answer.headers["WWW-Authenticate"].startswith("Basic")


# The secret in the header and the form parameters; "" stands for the correct secret.
DUPLICATE_AUTHENTICATION: dict[str, tuple[str, dict[str, str]]] = {
    "the secret twice": ("", {"client_secret": ""}),
    "a wrong secret in the form": ("", {"client_secret": "x"}),
    "a wrong secret in the header": ("x", {"client_secret": ""}),
    "another client in the form": ("", {"client_id": "docshare-cli"}),
}


@pytest.mark.parametrize(("secret", "form"), DUPLICATE_AUTHENTICATION.values(), ids=DUPLICATE_AUTHENTICATION)
def test_two_authentication_methods_are_rejected_and_the_token_remains_valid(
    app: OAuthApp, secret: str, form: dict[str, str]
) -> None:
    """RFC 6749 allows only one authentication method per request."""
    right, tokens = app.secret or "", app.approve_and_exchange()
    auth = (app.client_id, secret or right)
    sent = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    answer = app.http.post("/oauth/token", data=sent | {k: v or right for k, v in form.items()}, auth=auth)
    assert (answer.status_code, answer.get_json()["error"]) == (400, "invalid_request")
    named = app.http.post("/oauth/token", data=sent | {"client_id": app.client_id}, auth=(app.client_id, right))
    assert named.status_code == 200  # repeating the client id is not a second method


@pytest.mark.parametrize("state", ["x" * 5_000, "a b&c=d#e", "\r\nX-Evil: 1", "é\u202e\x00", "<script>"])
def test_the_state_is_returned_unchanged(app: OAuthApp, state: str) -> None:
    answer = app.decide(state=state)
    assert "X-Evil" not in answer.headers
    assert parse_redirect_params(answer)["state"] == state


@pytest.mark.parametrize("mode", ["fragment", "form_post"])
def test_the_code_is_always_sent_in_the_query(app: OAuthApp, mode: str) -> None:
    assert "#" not in app.decide(response_mode=mode).headers["Location"]


def test_failed_exchanges_do_not_consume_the_code(app: OAuthApp) -> None:
    other, code = make_app(app.world, public=True, redirects=(REDIRECT,)), app.create_code()
    assert app.exchange_code(code, code_verifier="x" * 43).get_json()["error"] == "invalid_grant"
    assert other.exchange_code(code).get_json()["error"] == "invalid_grant"
    assert app.exchange_code(code).status_code == 200


def test_reuse_of_a_code_by_another_client_revokes_nothing(app: OAuthApp) -> None:
    code = app.create_code()
    tokens = app.exchange_code(code).get_json()
    other = make_app(app.world, public=True, redirects=(REDIRECT,))
    assert other.exchange_code(code).get_json()["error"] == "invalid_grant"
    assert app.get("/api/v1/files", tokens["access_token"]).status_code == 200


@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/revoke", "/oauth/device_authorization"])
@pytest.mark.parametrize("sent", [{}, {"client_id": "nobody"}, {"client_id": "nobody", "client_secret": "x"}])
def test_an_unknown_client_is_described_in_words(app: OAuthApp, path: str, sent: dict[str, str]) -> None:
    form = {"grant_type": "refresh_token", "refresh_token": "x", "token": "x", "scope": "files:read"}
    answer = app.http.post(path, data=form | sent)
    assert answer.get_json() == {
        "error": "invalid_client",
        "error_description": "The client is unknown, or its secret is missing or wrong.",
    }


@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/revoke"])
def test_token_and_revocation_endpoints_accept_post_only(app: OAuthApp, path: str) -> None:
    assert app.http.get(path).status_code == 405


def test_a_public_client_that_sends_a_secret_is_rejected(world: World) -> None:
    script = make_app(world, public=True)
    answer = script.exchange_code(script.create_code(), client_secret="x")
    assert answer.get_json()["error"] == "invalid_client"


@pytest.mark.parametrize("redirect", ["http://localhost:5555/callback", "http://127.0.0.1.evil.com/callback"])
def test_only_loopback_ip_addresses_may_vary_the_port(world: World, redirect: str) -> None:
    script = make_app(world, public=True, redirects=("http://127.0.0.1/callback", "http://localhost/callback"))
    assert script.owner.get(script.authorize_url(redirect_uri=redirect)).status_code == 400


# Consent forms that must not count as an approval.


def post_consent(app: OAuthApp, *, token: bool = True, **more: Any) -> Any:
    page = app.owner.get(app.authorize_url()).text
    csrf = page.split('name="csrf" value="')[1].split('"')[0]
    data = {"decision": "approve"} | ({"csrf": csrf} if token else {})
    return app.owner.post(app.authorize_url(), **{"data": data, **more})


def count_codes(app: OAuthApp) -> int:
    return int(app.world.rt.db.fetch_all("SELECT COUNT(*) FROM oauth_codes")[0][0])


@pytest.mark.parametrize(
    "more",
    [
        {"token": False},
        {"headers": {"Sec-Fetch-Site": "cross-site"}},
        {"headers": {"Sec-Fetch-Site": "same-site"}},
        {"headers": {"Sec-Fetch-Site": "none"}},
        {"headers": {"Origin": "https://evil.example.com"}},
        {"headers": {"Origin": "null"}},
        {"data": {"decision": "approve", "csrf": "x" * 40}},
        {"json": {"decision": "approve"}, "data": None},
    ],
    ids=str,
)
def test_a_forged_approval_is_rejected(app: OAuthApp, more: dict[str, Any]) -> None:
    answer = post_consent(app, **more)
    assert answer.status_code == 403
    assert "Location" not in answer.headers
    assert count_codes(app) == 0


def test_a_form_without_a_decision_is_400(app: OAuthApp) -> None:
    page = app.owner.get(app.authorize_url()).text
    csrf = page.split('name="csrf" value="')[1].split('"')[0]
    assert app.owner.post(app.authorize_url(), data={"csrf": csrf}).status_code == 400
    assert count_codes(app) == 0


def test_a_signed_out_user_cannot_approve(app: OAuthApp) -> None:
    answer = app.world.app.test_client().post(app.authorize_url(), data={"decision": "approve"})
    assert answer.status_code == 403
    assert count_codes(app) == 0


def test_the_csrf_token_of_another_session_is_rejected(app: OAuthApp) -> None:
    other = sign_in_browser(app.world, app.world.mal).get(app.authorize_url()).text
    csrf = other.split('name="csrf" value="')[1].split('"')[0]
    assert post_consent(app, data={"decision": "approve", "csrf": csrf}).status_code == 403


def test_opening_the_page_grants_nothing(app: OAuthApp) -> None:
    for method in ("get", "head"):
        assert getattr(app.owner, method)(app.authorize_url() + "&decision=approve").status_code == 200
    assert count_codes(app) == 0


def test_repeated_wrong_secrets_are_rate_limited(app: OAuthApp) -> None:
    for _ in range(60):
        assert app.request_token(grant_type="refresh_token", client_secret="x").status_code == 401
    answer = app.request_token(grant_type="refresh_token", client_secret="x")
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    app.world.clock.advance(seconds=61)
    assert app.approve_and_exchange()["access_token"]
