"""OAuth 2.0 for apps: the consent page, the endpoints of apps, and the metadata documents."""

from functools import cache
from typing import Any
from urllib.parse import urlsplit

from authlib.oauth2 import OAuth2Error
from flask import Blueprint, Response, jsonify, make_response, render_template, request

from docshare.contract.limits import ADDRESS
from docshare.contract.problems import Problem
from docshare.contract.scopes import DEVICE_GRANT_TYPE, SCOPES
from docshare.server.api import answers
from docshare.server.http.views import client_address, current_runtime
from docshare.server.rate_limits import network_prefix
from docshare.server.services.accounts import sign_in
from docshare.server.web import csrf, headers, problem_pages, sign_in_return
from docshare.server.web.oauth_server import make_server, parse_query_request
from docshare.server.web.sign_in import session_cookie

APPROVE, DENY = "approve", "deny"
# The responses to a program that polls with a valid device code: not failures.
_WAITING = ("authorization_pending", "slow_down")
_REVALIDATE = "public, max-age=0, must-revalidate"

blueprint = Blueprint("oauth", __name__)
_SERVER = make_server()


@blueprint.get("/oauth/authorize")
def ask() -> Response:
    """Show the consent page. 400 for a request that cannot be redirected, 403 without a sign-in."""
    grant = _parse_authorization()
    if isinstance(grant, Response):
        return grant
    holder = sign_in.find_signed_in(current_runtime(), session_cookie())
    client = grant.request.client.row
    if holder is None:
        return sign_in_return.ask_to_sign_in(request.full_path, f"{client.name} wants to access your docshare account.")
    scopes = {scope: SCOPES[scope] for scope in grant.request.scope.split()}
    host = urlsplit(grant.redirect_uri).netloc or grant.redirect_uri.partition(":")[0]
    facts = {"app": client.name, "host": host, "scopes": scopes, "holder": holder, "csrf_field": csrf.CSRF_FIELD}
    return headers.allow_forms_to(_render_page("oauth_consent.html", 200, **facts), grant.redirect_uri)


@blueprint.post("/oauth/authorize")
def decide() -> Response:
    """Handle the decision on the consent page: redirect to the app with a code, or with ``access_denied``."""
    try:
        csrf.require_same_origin()
        holder = sign_in.find_signed_in(current_runtime(), session_cookie())
        caller = sign_in.find_caller(current_runtime(), session_cookie())
        if holder is None or caller is None:
            raise Problem("forbidden", "You are no longer signed in.", hint="Sign in and begin again in the app.")
        csrf.require_token(holder.csrf)
        decision = request.form.get("decision")
        if decision not in (APPROVE, DENY):
            raise Problem("bad_request", "Choose Allow or Deny.", hint="Begin again in the app.")
    except Problem as problem:
        return problem_pages.render_problem_page(problem)
    grant = _parse_authorization()
    if isinstance(grant, Response):
        return grant
    granted = caller if decision == APPROVE else None
    try:
        answer: Response = _SERVER.create_authorization_response(grant.request, grant_user=granted, grant=grant)
    except Problem as problem:  # the browser was signed out meanwhile
        return problem_pages.render_problem_page(problem)
    return answer


@blueprint.post("/oauth/token")
def token() -> Response:
    """Exchange a code or a refresh token for tokens (RFC 6749)."""
    return _respond_to_app(_SERVER.create_token_response)


@blueprint.post("/oauth/revoke")
def revoke() -> Response:
    """Revoke a token (RFC 7009); revoking an unknown one succeeds."""
    return _respond_to_app(lambda: _SERVER.create_endpoint_response("revocation"))


@blueprint.post("/oauth/device_authorization")
def begin_device_login() -> Response:
    """Return the codes for the login of a program without a browser (RFC 8628)."""
    return _respond_to_app(lambda: _SERVER.create_endpoint_response("device_authorization"))


@blueprint.get("/.well-known/oauth-authorization-server")
def describe_server() -> Response:
    """Return the metadata of the authorization server (RFC 8414)."""
    return answers.send_static(_server_metadata(current_runtime().config.base_url), _REVALIDATE)


@blueprint.get("/.well-known/oauth-protected-resource")
def describe_resource() -> Response:
    """Return the metadata of the API as a protected resource (RFC 9728)."""
    return answers.send_static(_resource_metadata(current_runtime().config.base_url), _REVALIDATE)


@cache
def _server_metadata(base_url: str) -> answers.StaticBody:
    methods = ["client_secret_basic", "client_secret_post", "none"]
    return answers.make_static_json(
        {
            "issuer": base_url,
            "authorization_endpoint": f"{base_url}/oauth/authorize",
            "token_endpoint": f"{base_url}/oauth/token",
            "revocation_endpoint": f"{base_url}/oauth/revoke",
            "device_authorization_endpoint": f"{base_url}/oauth/device_authorization",
            "scopes_supported": list(SCOPES),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token", DEVICE_GRANT_TYPE],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": methods,
            "revocation_endpoint_auth_methods_supported": methods,
            "authorization_response_iss_parameter_supported": True,
            "service_documentation": f"{base_url}/api/v1",
        }
    )


@cache
def _resource_metadata(base_url: str) -> answers.StaticBody:
    return answers.make_static_json(
        {
            "resource": base_url,
            "authorization_servers": [base_url],
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
            "resource_name": "docshare",
        }
    )


def _parse_authorization() -> Any:
    """Return the validated authorization request in the query, or the response to an invalid one."""
    try:
        asked = parse_query_request()
        return _SERVER.get_consent_grant(asked)
    except OAuth2Error as error:
        if not error.redirect_uri:
            detail = error.get_error_description() or "The app sent an invalid request."
            hint = "Nothing was granted. Contact the maker of the app."
            return problem_pages.render_problem_page(
                Problem("bad_request", detail, hint=hint, extra={"reason": "oauth"})
            )
        answer = _SERVER.handle_error_response(asked, error)
        _SERVER.execute_hook("after_create_authorization_response", answer)
        return answer


def _respond_to_app(work: Any) -> Response:
    """Return the response of ``work`` to the app; failures are rate-limited, so that secrets cannot be guessed."""
    key = network_prefix(client_address())
    allowance = current_runtime().limits.peek(ADDRESS, key, current_runtime().config.address_limit)
    if not allowance.is_allowed:
        refused = jsonify(error="temporarily_unavailable", error_description="Too many failures. Try again later.")
        refused.status_code = 429
        refused.headers["Retry-After"] = str(allowance.reset_s)
        return refused
    try:
        answer: Response = work()
    except OAuth2Error as error:  # a request rejected before Authlib got it
        answer = _SERVER.handle_error_response(None, error)
    if answer.status_code >= 400 and answer.get_json().get("error") not in _WAITING:
        current_runtime().limits.hit(ADDRESS, key, current_runtime().config.address_limit)
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _render_page(template: str, status: int, **facts: object) -> Response:
    answer = make_response(render_template(template, **facts), status)
    # The form is checked by Origin where Sec-Fetch-Site is missing; see ``csrf``.
    answer.headers["Referrer-Policy"] = "same-origin"
    return answer
