"""Authlib's authorization server on our rows (RFC 6749, 7636, 7009, 8628 and 9207).

Authlib implements the protocol: required parameters, errors, and which errors can be redirected. This module connects
it to the registered clients and to ``services.oauth``, which issues and revokes tokens.
"""

from collections import defaultdict
from typing import Any

from authlib.consts import default_json_headers
from authlib.oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import (
    InvalidClientError,
    InvalidGrantError,
    InvalidRequestError,
    InvalidScopeError,
    OAuth2Payload,
    OAuth2Request,
    UnsupportedGrantTypeError,
    UnsupportedResponseTypeError,
    grants,
)
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8628 import DeviceAuthorizationEndpoint, DeviceCodeGrant
from authlib.oauth2.rfc9207 import IssuerParameter
from flask import Request, Response, make_response, request
from werkzeug.datastructures import MultiDict

from docshare.contract.limits import DEVICE_CODE_MS, DEVICE_POLL_MS, SECOND, URL_CHARS
from docshare.contract.problems import Problem
from docshare.contract.scopes import DEVICE_GRANT_TYPE, SCOPES, normalize_scopes
from docshare.server.http.views import client_address, current_runtime
from docshare.server.services.oauth import clients, devices
from docshare.server.services.oauth import grants as oauth

_CLIENT_AUTHENTICATION = ["client_secret_basic", "client_secret_post", "none"]
_GRANT_TYPES = ("authorization_code", "refresh_token", DEVICE_GRANT_TYPE)
# Authlib quotes these in its responses, and fails for characters that a response must not contain (RFC 6749, 5.2).
_ECHOED_PARAMETERS = ("response_type", "redirect_uri", "grant_type", "client_id", "scope", "code_challenge_method")
_FORBIDDEN_CHARS = frozenset('"\\')
_DUPLICATE_PARAMETER = "A parameter is sent twice."


class _ClientAdapter:
    """A registered client in the interface of Authlib."""

    def __init__(self, row: clients.RegisteredClient) -> None:
        self.row = row

    def get_client_id(self) -> str:
        return self.row.client_id

    def get_default_redirect_uri(self) -> None:
        """Return None: a client must send its redirect URI."""

    def get_allowed_scope(self, scope: str | None) -> str | None:
        return normalize_scopes(scope)

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return self.row.is_redirect_allowed(redirect_uri)

    def check_client_secret(self, client_secret: str) -> bool:
        return self.row.is_secret(client_secret)

    def check_endpoint_auth_method(self, method: str, _endpoint: str) -> bool:
        return (method == "none") == self.row.is_public

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in _GRANT_TYPES


class _CodeAdapter:
    """An authorization code in the interface of Authlib."""

    code_challenge_method = "S256"

    def __init__(self, row: oauth.AuthorizationCode) -> None:
        self.row = row
        self.code_challenge = row.challenge

    def get_redirect_uri(self) -> str:
        return self.row.redirect_uri

    def get_scope(self) -> str:
        return self.row.scopes


class _TokenAdapter:
    """A token in the interface of Authlib."""

    def __init__(self, row: oauth.GrantToken) -> None:
        self.row = row

    def check_client(self, client: _ClientAdapter) -> bool:
        return self.row.client_id == client.row.id

    def get_scope(self) -> str:
        return self.row.grant_scopes


class _CodeGrant(grants.AuthorizationCodeGrant):  # type: ignore[misc]  # authlib has no types
    TOKEN_ENDPOINT_AUTH_METHODS = _CLIENT_AUTHENTICATION

    def generate_authorization_code(self) -> str:
        asked, payload = self.request, self.request.payload
        return oauth.issue_code(
            current_runtime(),
            asked.user,
            asked.client.row,
            redirect_uri=payload.redirect_uri,
            scopes=asked.scope,
            challenge=payload.data["code_challenge"],
        )

    def save_authorization_code(self, code: str, request: OAuth2Request) -> None:
        """Do nothing: the code was stored when it was created."""

    def query_authorization_code(self, code: str, client: _ClientAdapter) -> _CodeAdapter | None:
        found = oauth.find_code(current_runtime(), code, client.row)
        return _CodeAdapter(found) if found else None

    def create_token_response(self) -> Any:
        tokens = oauth.exchange_code(current_runtime(), self.request.authorization_code.row)
        if tokens is None:
            raise InvalidGrantError("Invalid 'code' in request.")
        return 200, tokens.describe(), self.TOKEN_RESPONSE_HEADER


class _RefreshGrant(grants.RefreshTokenGrant):  # type: ignore[misc]
    TOKEN_ENDPOINT_AUTH_METHODS = _CLIENT_AUTHENTICATION

    def _validate_request_token(self, client: _ClientAdapter) -> _TokenAdapter:
        token = self.request.form.get("refresh_token")
        if token is None:
            raise InvalidRequestError("Missing 'refresh_token' in request.")
        found = oauth.find_refresh_token(current_runtime(), token, client.row)
        if found is None:
            raise InvalidGrantError("Invalid 'refresh_token' in request.")
        return _TokenAdapter(found)

    def create_token_response(self) -> Any:
        token, asked = self.request.refresh_token, self.request.payload.scope
        scopes = normalize_scopes(asked) if asked else token.get_scope()
        if scopes is None:
            raise InvalidScopeError()
        tokens = oauth.refresh_tokens(current_runtime(), token.row, scopes)
        if tokens is None:
            raise InvalidGrantError("Invalid 'refresh_token' in request.")
        return 200, tokens.describe(), self.TOKEN_RESPONSE_HEADER


class _DeviceAdapter:
    """A pending device login in the interface of Authlib."""

    def __init__(self, row: devices.DeviceRow, client: _ClientAdapter) -> None:
        self.row = row
        self._client = client

    def get_client_id(self) -> str:
        return self._client.get_client_id()

    def get_user_code(self) -> "_DeviceAdapter":
        """Return the login itself: Authlib only passes it on, and its user code is not stored."""
        return self

    def is_expired(self) -> bool:
        return self.row.expires_at <= current_runtime().clock()


class _DeviceGrant(DeviceCodeGrant):  # type: ignore[misc]
    TOKEN_ENDPOINT_AUTH_METHODS = _CLIENT_AUTHENTICATION

    def query_device_credential(self, device_code: str) -> _DeviceAdapter:
        client = self.authenticate_token_endpoint_client()
        found = devices.find_login(current_runtime(), device_code, client.row)
        if found is None:
            raise InvalidGrantError("Invalid 'device_code' in request.")
        return _DeviceAdapter(found, client)

    def query_user_grant(self, login: _DeviceAdapter) -> tuple[int | None, bool] | None:
        """Return who decided and whether it was allowed, or None. Authlib raises the errors of RFC 8628."""
        is_decided = login.row.approved_at is not None or login.row.denied_at is not None
        return (login.row.account_id, login.row.approved_at is not None) if is_decided else None

    def should_slow_down(self, login: _DeviceAdapter) -> bool:
        return devices.is_polled_too_soon(current_runtime(), login.row)

    def create_token_response(self) -> Any:
        tokens = devices.exchange(current_runtime(), self.request.credential.row)
        if tokens is None:
            raise InvalidGrantError("Invalid 'device_code' in request.")
        return 200, tokens.describe(), self.TOKEN_RESPONSE_HEADER


class _DeviceAuthorization(DeviceAuthorizationEndpoint):  # type: ignore[misc]
    CLIENT_AUTH_METHODS = _CLIENT_AUTHENTICATION

    def create_endpoint_response(self, request: OAuth2Request) -> Any:
        """Return the codes. Authlib's own method creates them without ``Runtime``, and accepts a missing scope."""
        client = self.authenticate_client(request)
        scopes = normalize_scopes(request.payload.scope)
        if scopes is None:
            raise InvalidScopeError()
        try:
            new = devices.begin(current_runtime(), client.row, scopes, client_address())
        except Problem as problem:
            refusal = {"error": "temporarily_unavailable", "error_description": problem.detail}
            return 429, refusal, [*default_json_headers, *problem.headers.items()]
        if new is None:
            raise InvalidClientError(description="The client was removed.")
        page = f"{current_runtime().config.base_url}/device"
        body = {
            **new._asdict(),
            "verification_uri": page,
            "verification_uri_complete": f"{page}?user_code={new.user_code}",
            "expires_in": DEVICE_CODE_MS // SECOND,
            "interval": DEVICE_POLL_MS // SECOND,
        }
        return 200, body, default_json_headers


class _S256Challenge(CodeChallenge):  # type: ignore[misc]
    """RFC 9700: S256 only, also for clients with a secret."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ("S256",)

    def validate_code_challenge(self, grant: Any, redirect_uri: str) -> None:
        data = grant.request.payload.data
        if not data.get("code_challenge"):
            raise InvalidRequestError("Missing 'code_challenge'")
        if not data.get("code_challenge_method"):
            raise InvalidRequestError("Unsupported 'code_challenge_method'")  # its default would be "plain"
        super().validate_code_challenge(grant, redirect_uri)


class _Revocation(RevocationEndpoint):  # type: ignore[misc]
    CLIENT_AUTH_METHODS = _CLIENT_AUTHENTICATION

    def check_params(self, request: OAuth2Request, _client: _ClientAdapter) -> None:
        """Check the parameters. Authlib's own check rejects an unknown ``token_type_hint``.

        RFC 7009, 2.1: the server may ignore the hint, and every kind of token is found without it.
        """
        if not request.form.get("token"):
            raise InvalidRequestError("Missing 'token' in request.")

    def query_token(self, token_string: str, _hint: str | None) -> _TokenAdapter | None:
        found = oauth.find_token(current_runtime(), token_string)
        return _TokenAdapter(found) if found else None

    def revoke_token(self, token: _TokenAdapter, _request: OAuth2Request) -> None:
        oauth.revoke_token(current_runtime(), token.row)


class _Issuer(IssuerParameter):  # type: ignore[misc]
    def get_issuer(self) -> str:
        return current_runtime().config.base_url


class _Payload(OAuth2Payload):  # type: ignore[misc]
    """The parameters from the one place where they are expected, so that no secret is accepted in a URL."""

    def __init__(self, values: MultiDict[str, str]) -> None:
        self._values = values

    @property
    def data(self) -> MultiDict[str, str]:
        return self._values

    @property
    def datalist(self) -> defaultdict[str, list[str]]:
        return defaultdict(list, self._values.to_dict(flat=False))


class _ParsedRequest(OAuth2Request):  # type: ignore[misc]
    def __init__(self, sent: Request, values: MultiDict[str, str]) -> None:
        super().__init__(method=sent.method, uri=sent.base_url, headers=sent.headers)
        self.payload = _Payload(values)

    @property
    def args(self) -> MultiDict[str, str]:
        return self.payload.data

    @property
    def form(self) -> MultiDict[str, str]:
        return self.payload.data


class DocshareAuthorizationServer(AuthorizationServer):  # type: ignore[misc]
    """The authorization server of the current application. ``asked`` is the request for Authlib."""

    def query_client(self, client_id: str) -> _ClientAdapter | None:
        """Return a client. Authlib calls this."""
        found = clients.find(current_runtime(), client_id)
        return _ClientAdapter(found) if found else None

    def authenticate_client(self, request: OAuth2Request, methods: list[str], endpoint: str = "token") -> Any:
        """Return the client that sent ``request``. Authlib's own method describes an error by a list of its methods."""
        try:
            return super().authenticate_client(request, methods, endpoint)
        except InvalidClientError as error:
            error.description = "The client is unknown, or its secret is missing or wrong."
            raise

    def get_authorization_grant(self, request: OAuth2Request) -> Any:
        """Return the grant. Authlib's own method reports a missing ``response_type`` as an unsupported one."""
        try:
            return super().get_authorization_grant(request)
        except UnsupportedResponseTypeError as error:
            if request.payload.response_type:
                raise
            missing = "Missing 'response_type' in request."
            raise InvalidRequestError(missing, redirect_uri=error.redirect_uri) from None

    def get_token_grant(self, request: OAuth2Request) -> Any:
        """Return the grant. Authlib's own method reports a missing ``grant_type`` as an unsupported one."""
        try:
            return super().get_token_grant(request)
        except UnsupportedGrantTypeError:
            if request.payload.grant_type:
                raise
            raise InvalidRequestError("Missing 'grant_type' in request.") from None

    def create_oauth2_request(self, asked: OAuth2Request | None) -> OAuth2Request:
        """Return the request. Authlib calls this with the argument of its caller."""
        return asked if asked is not None else parse_body_request()

    def handle_response(self, status: int, body: Any, headers: list[tuple[str, str]]) -> Response:
        """Return the response. Authlib calls this."""
        answer = make_response(body, status)
        answer.headers.update(headers)  # Flask has set a Content-Type, and Authlib sets another
        if answer.location:
            answer.status_code = 303  # RFC 9700: a browser must not resend the form of the consent page
        return answer

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Do nothing. Authlib calls this for listeners, of which there are none."""


def make_server() -> DocshareAuthorizationServer:
    """Return the authorization server with all of its endpoints."""
    server = DocshareAuthorizationServer(scopes_supported=list(SCOPES))
    server.register_grant(_CodeGrant, [_S256Challenge(required=True)])
    server.register_grant(_RefreshGrant)
    server.register_grant(_DeviceGrant)
    server.register_endpoint(_Revocation)
    server.register_endpoint(_DeviceAuthorization)
    server.register_extension(_Issuer())
    return server


def parse_query_request() -> OAuth2Request:
    """Return the parameters in the query of the current request. Raises InvalidRequestError as
    ``_validate_parameters``."""
    return _validate_parameters(request.args)


def parse_body_request() -> OAuth2Request:
    """Return the parameters in the form of the current request.

    Raises InvalidRequestError as ``_validate_parameters`` and for a client that uses more than one authentication
    method; InvalidClientError for a header without a client.
    """
    asked = _validate_parameters(request.form)
    scheme, *_ = [*request.headers.get("Authorization", "").split(None, 1), ""]
    if scheme.lower() == "basic":
        _require_one_client_authentication(request.form)
    return asked


def _require_one_client_authentication(form: MultiDict[str, str]) -> None:
    """Raise unless the client uses only one authentication method per request (RFC 6749, 2.3).

    Authlib would use whichever of two is valid, and fails for a header that is not text.
    """
    named = request.authorization
    if named is None or not named.username:
        raise InvalidClientError(status_code=401, description="The Authorization header does not name a client.")
    if "client_secret" in form or form.get("client_id", named.username) != named.username:
        raise InvalidRequestError("The client used more than one authentication method.")


def _validate_parameters(values: MultiDict[str, str]) -> OAuth2Request:
    """Raise InvalidRequestError for parameters that are sent twice (RFC 6749, 3.1 and 3.2) or cannot be quoted.

    The error is never redirected: the redirect URI may be the one that is sent twice.
    """
    if any(len(values.getlist(name)) > 1 for name in values):
        raise InvalidRequestError(_DUPLICATE_PARAMETER)
    for name in _ECHOED_PARAMETERS:
        text = values.get(name, "")
        plain = text.isascii() and text.isprintable() and not _FORBIDDEN_CHARS & set(text)
        if not plain or len(text) > URL_CHARS:
            raise InvalidRequestError(f"Invalid '{name}' in request.")
    return _ParsedRequest(request, values)
