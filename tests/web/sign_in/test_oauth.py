"""OAuth 2.0 with PKCE: consent, codes, tokens, refreshing and revocation."""

import re
from typing import Any

import pytest
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata

from docshare.contract.problems import Problem
from docshare.server.services.accounts import callers, sign_in
from docshare.server.services.oauth import clients, grants
from docshare.server.workers.jobs import JOBS
from tests.support.engines.database import dump_database
from tests.support.outside.oauth_app import REDIRECT, VERIFIER, OAuthApp, make_app, parse_redirect_params
from tests.support.owner.browser import sign_in_browser
from tests.support.people.cast import BASE_URL, INVALID_TOKEN, World


@pytest.fixture
def app(world: World) -> OAuthApp:
    return make_app(world)


@pytest.fixture
def script(world: World) -> OAuthApp:
    """Return a public client."""
    return make_app(world, public=True, redirects=("http://127.0.0.1/callback",))


def assert_oauth_error(answer: Any, error: str, status: int = 400) -> None:
    assert (answer.status_code, answer.get_json()["error"]) == (status, error)
    assert answer.headers["Cache-Control"] == "no-store"


def test_the_consent_page_names_the_app_the_account_and_the_scopes(app: OAuthApp) -> None:
    page = app.owner.get(app.authorize_url(scope="profile files:read"))
    assert page.status_code == 200
    assert "Sales &lt;dashboard&gt;" in page.text
    assert "pia@example.com" in page.text
    assert "app.example.com" in page.text
    assert re.findall(r"<code>([a-z:]+)</code>", page.text) == ["files:read", "profile"]
    assert re.findall(r'name="decision" value="(\w+)"', page.text) == ["deny", "approve"]
    policy = page.headers["Content-Security-Policy"]
    assert "form-action 'self' https://app.example.com;" in policy
    assert "frame-ancestors 'none'" in policy
    assert page.headers["Referrer-Policy"] == "same-origin"


def test_an_approval_redirects_with_code_state_and_issuer(app: OAuthApp) -> None:
    answer = app.decide()
    assert answer.headers["Location"].startswith(f"{REDIRECT}?")
    found = parse_redirect_params(answer)
    assert set(found) == {"code", "state", "iss"}
    assert (found["state"], found["iss"]) == ("st4te", BASE_URL)


def test_a_denial_redirects_with_access_denied(app: OAuthApp) -> None:
    found = parse_redirect_params(app.decide("deny"))
    assert (found["error"], found["state"], found["iss"]) == ("access_denied", "st4te", BASE_URL)
    assert "code" not in found


def test_a_code_is_exchanged_for_tokens_with_the_granted_scopes(app: OAuthApp) -> None:
    app.world.pia.upload()
    answer = app.exchange_code(app.create_code())
    assert answer.headers["Cache-Control"] == "no-store"
    tokens = answer.get_json()
    assert set(tokens) == {"access_token", "token_type", "expires_in", "refresh_token", "scope"}
    assert (tokens["token_type"], tokens["expires_in"]) == ("Bearer", 3600)
    assert tokens["scope"] == "files:read readership:read"
    assert re.fullmatch("ds_at_[0-9A-Za-z]{32,}", tokens["access_token"])
    assert re.fullmatch("ds_rt_[0-9A-Za-z]{32,}", tokens["refresh_token"])
    assert len(app.get("/api/v1/files", tokens["access_token"]).get_json()) == 1
    missing = app.get("/api/v1/user", tokens["access_token"])
    assert (missing.status_code, missing.get_json()["code"]) == (403, "insufficient_scope")


def test_a_browser_app_can_read_its_tokens(script: OAuthApp) -> None:
    code = script.create_code(redirect_uri="http://127.0.0.1/callback")
    for answer in (script.exchange_code(code, redirect_uri="http://127.0.0.1/callback"), script.exchange_code("x")):
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in answer.headers


CORS_ROUTES = {
    "/oauth/token": "POST",
    "/oauth/revoke": "POST",
    "/oauth/device_authorization": "POST",
    "/oembed": "GET",
    "/.well-known/oauth-authorization-server": "GET",
    "/.well-known/oauth-protected-resource": "GET",
}


@pytest.mark.parametrize("path", CORS_ROUTES)
def test_a_preflight_allows_every_origin_without_cookies(world: World, path: str) -> None:
    asked = {"Origin": "https://app.example.com", "Access-Control-Request-Method": CORS_ROUTES[path]}
    answer = world.http.options(path, headers={**asked, "Access-Control-Request-Headers": "authorization,x-other"})
    assert answer.status_code == 200
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert CORS_ROUTES[path] in answer.headers["Access-Control-Allow-Methods"].split(", ")
    assert {"Authorization", "*"} <= set(answer.headers["Access-Control-Allow-Headers"].split(", "))
    assert "Access-Control-Allow-Credentials" not in answer.headers


@pytest.mark.parametrize("path", CORS_ROUTES)
def test_errors_have_cors_headers_too(make: Any, path: str) -> None:
    world = make(address_limit=1, rate_limit=1)
    for method in (CORS_ROUTES[path], CORS_ROUTES[path], "DELETE"):
        answer = world.http.open(path, method=method, headers={"Origin": "https://app.example.com"})
        assert answer.headers["Access-Control-Allow-Origin"] == "*", answer.status
        assert "Retry-After" in answer.headers["Access-Control-Expose-Headers"]


def test_other_routes_have_no_cors_headers(app: OAuthApp) -> None:
    made = app.world.pia.upload()
    asked = {"Origin": "https://app.example.com", "Access-Control-Request-Method": "GET"}
    for path in (
        "/",
        "/login",
        "/oauth/authorize",
        f"/{made['shortId']}",
        "/api/v1/user",
        "/api/v1/files",
        "/api/files",
    ):
        for method in ("OPTIONS", "GET", "POST"):
            for http, headers in ((app.owner, asked), (app.http, {**asked, **app.world.pia.headers})):
                answer = http.open(path, method=method, headers=headers)
                assert not [name for name in dict(answer.headers) if name.lower().startswith("access-control-")]


def test_only_digests_of_credentials_are_stored(app: OAuthApp) -> None:
    code = app.create_code()
    tokens = app.exchange_code(code).get_json()
    dump = "\n".join(dump_database(app.world))
    for secret in (code, tokens["access_token"], tokens["refresh_token"], app.secret, VERIFIER):
        assert secret not in dump


def test_a_refresh_token_is_not_accepted_by_the_api(app: OAuthApp) -> None:
    assert app.get("/api/v1/files", app.approve_and_exchange()["refresh_token"]).status_code == 401


def test_a_public_client_needs_no_secret_and_may_use_any_loopback_port(script: OAuthApp) -> None:
    tokens = script.approve_and_exchange(redirect_uri="http://127.0.0.1:53211/callback")
    assert script.get("/api/v1/files", tokens["access_token"]).status_code == 200


def test_a_client_may_send_its_secret_with_basic_authentication(app: OAuthApp) -> None:
    code, secret = app.create_code(), app.secret
    assert secret is not None
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": REDIRECT,
        "code_verifier": VERIFIER,
    }
    answer = app.http.post("/oauth/token", data=form, auth=(app.client_id, secret))
    assert answer.status_code == 200


def test_a_signed_out_user_must_sign_in_and_returns_once(app: OAuthApp) -> None:
    http = app.world.app.test_client()
    address = app.authorize_url()
    asked = http.get(address)
    assert asked.status_code == 403
    assert "Sales &lt;dashboard&gt;" in asked.text
    for expected in (address, "/files"):
        link = sign_in.create_link(app.world.rt, "pia@example.com").removeprefix(BASE_URL)
        assert http.post(link).headers["Location"] == expected


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example.com",
        "/\\evil.example.com",
        "https://evil.example.com",
        "/oauth/authorize",
        "/readership/x\\y",
        "/accounts.evil",
        "/readership/" + "x" * 3_990,
        "/login",
        "",
    ],
)
def test_signing_in_does_not_redirect_to_another_path(world: World, path: str) -> None:
    http = world.app.test_client()
    http.set_cookie("docshare_next", path, path="/login")
    link = sign_in.create_link(world.rt, "pia@example.com").removeprefix(BASE_URL)
    assert http.post(link).headers["Location"] == "/files"


def test_a_code_expires_after_a_minute(app: OAuthApp) -> None:
    late = app.create_code()
    app.world.clock.advance(seconds=59.999)
    assert app.exchange_code(app.create_code()).status_code == 200
    app.world.clock.advance(seconds=0.001)
    assert_oauth_error(app.exchange_code(late), "invalid_grant")


def test_reusing_a_code_revokes_its_grant(app: OAuthApp) -> None:
    code = app.create_code()
    tokens = app.exchange_code(code).get_json()
    assert_oauth_error(app.exchange_code(code), "invalid_grant")
    assert app.get("/api/v1/files", tokens["access_token"]).status_code == 401
    assert_oauth_error(app.refresh_token(tokens["refresh_token"]), "invalid_grant")


def test_a_wrong_verifier_is_an_invalid_grant(app: OAuthApp) -> None:
    assert_oauth_error(app.exchange_code(app.create_code(), code_verifier="x" * 43), "invalid_grant")


def test_refreshing_issues_a_new_pair_and_the_old_access_token_remains_valid(app: OAuthApp) -> None:
    first = app.approve_and_exchange()
    answer = app.refresh_token(first["refresh_token"])
    assert answer.status_code == 200
    second = answer.get_json()
    assert second["scope"] == "files:read readership:read"
    assert {first["access_token"], first["refresh_token"]}.isdisjoint(second.values())
    for tokens in (first, second):
        assert app.get("/api/v1/files", tokens["access_token"]).status_code == 200


def test_an_access_token_expires_after_an_hour(app: OAuthApp) -> None:
    token = app.approve_and_exchange()["access_token"]
    app.world.clock.advance(seconds=3599.999)
    assert app.get("/api/v1/files", token).status_code == 200
    app.world.clock.advance(seconds=0.001)
    answer = app.get("/api/v1/files", token)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == INVALID_TOKEN


def test_refreshing_can_narrow_the_scopes_but_not_widen_them(app: OAuthApp) -> None:
    first = app.approve_and_exchange()
    narrow = app.refresh_token(first["refresh_token"], scope="files:read").get_json()
    assert narrow["scope"] == "files:read"
    assert app.get("/api/v1/events", narrow["access_token"]).status_code == 403
    assert_oauth_error(app.refresh_token(narrow["refresh_token"], scope="files:read files:write"), "invalid_scope")
    # The grant itself was not narrowed, and the rejected request did not consume the token.
    assert app.refresh_token(narrow["refresh_token"]).get_json()["scope"] == "files:read readership:read"


def test_reusing_a_refresh_token_within_ten_seconds_does_not_revoke_the_grant(app: OAuthApp) -> None:
    first = app.approve_and_exchange()
    second = app.refresh_token(first["refresh_token"]).get_json()
    app.world.clock.advance(seconds=10)
    assert_oauth_error(app.refresh_token(first["refresh_token"]), "invalid_grant")
    assert app.get("/api/v1/files", second["access_token"]).status_code == 200
    assert app.refresh_token(second["refresh_token"]).status_code == 200


def test_reusing_a_refresh_token_after_ten_seconds_revokes_the_grant(app: OAuthApp) -> None:
    first = app.approve_and_exchange()
    second = app.refresh_token(first["refresh_token"]).get_json()
    app.world.clock.advance(seconds=10.001)
    assert_oauth_error(app.refresh_token(first["refresh_token"]), "invalid_grant")
    assert app.get("/api/v1/files", second["access_token"]).status_code == 401
    assert_oauth_error(app.refresh_token(second["refresh_token"]), "invalid_grant")


def test_a_grant_expires_90_days_after_the_approval(app: OAuthApp) -> None:
    tokens = app.approve_and_exchange()
    for _ in range(89):
        app.world.clock.advance(days=1)
        tokens = app.refresh_token(tokens["refresh_token"]).get_json()
    app.world.clock.advance(days=1, seconds=-60)
    tokens = app.refresh_token(tokens["refresh_token"]).get_json()
    assert tokens["expires_in"] == 60
    app.world.clock.advance(seconds=60)
    assert_oauth_error(app.refresh_token(tokens["refresh_token"]), "invalid_grant")
    assert app.get("/api/v1/files", tokens["access_token"]).status_code == 401


def revoke_token(app: OAuthApp, token: str, **form: str) -> Any:
    sent = {"token": token, "client_id": app.client_id, "client_secret": app.secret or "", **form}
    return app.http.post("/oauth/revoke", data=sent)


def test_revoking_a_refresh_token_revokes_the_grant(app: OAuthApp) -> None:
    tokens = app.approve_and_exchange()
    assert revoke_token(app, tokens["refresh_token"], token_type_hint="refresh_token").status_code == 200
    assert app.get("/api/v1/files", tokens["access_token"]).status_code == 401
    assert_oauth_error(app.refresh_token(tokens["refresh_token"]), "invalid_grant")


def test_revoking_an_access_token_revokes_only_that_token(app: OAuthApp) -> None:
    tokens = app.approve_and_exchange()
    assert revoke_token(app, tokens["access_token"]).status_code == 200
    assert app.get("/api/v1/files", tokens["access_token"]).status_code == 401
    assert app.refresh_token(tokens["refresh_token"]).status_code == 200


@pytest.mark.parametrize("hint", ["id_token", "urn:example:other", "", "access_token", "\u20ac"])
@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_an_unknown_or_wrong_token_type_hint_is_ignored(app: OAuthApp, kind: str, hint: str) -> None:
    """RFC 7009 allows a server to ignore the hint."""
    tokens = app.approve_and_exchange()
    answer = revoke_token(app, tokens[kind], token_type_hint=hint)
    assert (answer.status_code, answer.get_json()) == (200, {})
    assert app.get("/api/v1/files", tokens["access_token"]).status_code == 401


def test_revoking_an_empty_token_is_an_invalid_request(app: OAuthApp) -> None:
    assert_oauth_error(revoke_token(app, ""), "invalid_request")


def test_revoking_an_unknown_token_succeeds(app: OAuthApp) -> None:
    assert revoke_token(app, "ds_at_" + "0" * 32).status_code == 200


def test_an_app_cannot_revoke_the_token_of_another(app: OAuthApp) -> None:
    tokens = app.approve_and_exchange()
    other = make_app(app.world)
    assert revoke_token(other, tokens["refresh_token"]).status_code == 400
    assert app.refresh_token(tokens["refresh_token"]).status_code == 200


def test_an_account_can_list_and_revoke_its_apps(app: OAuthApp) -> None:
    world = app.world
    tokens = app.approve_and_exchange()
    pia = world.rt.db.fetch_all("SELECT id FROM accounts WHERE email = 'pia@example.com'")[0][0]
    mal = world.rt.db.fetch_all("SELECT id FROM accounts WHERE email = 'mal@example.com'")[0][0]
    (granted,) = grants.list_apps(world.rt, pia)
    assert granted["name"] == "Sales <dashboard>"
    assert granted["scopes"] == ["files:read", "readership:read"]
    assert grants.list_apps(world.rt, mal) == []
    assert not grants.revoke_app(world.rt, mal, granted["uuid"])
    assert app.get("/api/v1/files", tokens["access_token"]).status_code == 200
    assert grants.revoke_app(world.rt, pia, granted["uuid"])
    assert app.get("/api/v1/files", tokens["access_token"]).status_code == 401
    assert grants.list_apps(world.rt, pia) == []


def test_an_upload_is_rejected_if_its_grant_was_revoked_meanwhile(app: OAuthApp) -> None:
    token = app.approve_and_exchange(scope="files:write")["access_token"]
    caller = callers.authenticate(app.world.rt, f"Bearer {token}")
    assert callers.recheck_caller(app.world.rt, caller).plan == caller.plan
    revoke_token(app, token)
    with pytest.raises(Problem, match="revoked in the meantime"):
        callers.recheck_caller(app.world.rt, caller)


def test_removing_a_client_revokes_its_grants(app: OAuthApp) -> None:
    tokens = app.approve_and_exchange()
    clients.remove(app.world.rt, app.client_id)
    assert app.get("/api/v1/files", tokens["access_token"]).status_code == 401
    assert app.owner.get(app.authorize_url()).status_code == 400


def test_the_cleanup_job_deletes_only_expired_grants(app: OAuthApp) -> None:
    world = app.world
    app.create_code()
    old = app.approve_and_exchange()
    world.clock.advance(days=80)
    app.owner = sign_in_browser(world, world.pia)  # a session expires after 30 days
    fresh = app.approve_and_exchange()
    (forget,) = (job.run for job in JOBS if job.name == "delete expired grants")
    world.clock.advance(days=20)
    assert forget(world.rt) > 0
    assert world.rt.db.fetch_all("SELECT COUNT(*) FROM oauth_grants") == [(1,)]
    assert_oauth_error(app.refresh_token(old["refresh_token"]), "invalid_grant")
    assert app.refresh_token(fresh["refresh_token"]).status_code == 200


def test_the_metadata_documents_describe_the_server(world: World) -> None:
    server = world.http.get("/.well-known/oauth-authorization-server").get_json()
    assert server["issuer"] == BASE_URL
    assert server["authorization_endpoint"] == f"{BASE_URL}/oauth/authorize"
    assert server["token_endpoint"] == f"{BASE_URL}/oauth/token"
    assert server["revocation_endpoint"] == f"{BASE_URL}/oauth/revoke"
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["authorization_response_iss_parameter_supported"] is True
    assert "none" in server["token_endpoint_auth_methods_supported"]
    AuthorizationServerMetadata({**server, "issuer": "https://docs.example.com"}).validate_issuer()
    resource = world.http.get("/.well-known/oauth-protected-resource").get_json()
    assert resource["resource"] == BASE_URL
    assert resource["authorization_servers"] == [BASE_URL]
    named = world.http.get("/api/v1").get_json()["authentication"]["oauth"]
    assert [world.http.get(address.removeprefix(BASE_URL)).status_code for address in named.values()] == [200, 200]


def test_grants_of_two_accounts_are_separate(app: OAuthApp) -> None:
    other = OAuthApp(app.world, sign_in_browser(app.world, app.world.bea), app.client_id, app.secret)
    app.world.pia.upload()
    assert len(app.get("/api/v1/files", app.approve_and_exchange()["access_token"]).get_json()) == 1
    assert other.get("/api/v1/files", other.approve_and_exchange()["access_token"]).get_json() == []
