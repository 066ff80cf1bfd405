"""Sign-in by OAuth 2.0 as a public client: with PKCE, or by a code on another device (RFC 6749, 7636, 8414, 8628)."""

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from docshare.client.address import parse_origin
from docshare.client.errors import NotAnApi, Refused
from docshare.client.http.call import Call
from docshare.client.http.resource import Resource
from docshare.client.http.whole_body import FormBody
from docshare.contract.scopes import DEVICE_GRANT_TYPE
from docshare.contract.wire import to_ascii_host

_METADATA = "/.well-known/oauth-authorization-server"
_REVOKE_SECONDS = 5.0
_DEFAULT_INTERVAL = 5  # seconds between two polls; RFC 8628, 3.2
_DEFAULT_LIFETIME = 3600  # seconds; if the server does not send expires_in


class IssuedTokens(NamedTuple):
    """Tokens of a server: ``refresh`` is None if the server sends none, ``expires_in`` is in seconds, ``scopes`` are
    separated by spaces."""

    access: str
    refresh: str | None
    expires_in: int
    scopes: str

    def __repr__(self) -> str:
        return f"IssuedTokens(expires_in={self.expires_in}, scopes={self.scopes!r})"


class DeviceLogin(NamedTuple):
    """A login that a person allows on another device: there, ``page`` asks for ``user_code``, and ``page_with_code``
    has it already. ``expires_in`` and ``interval``, the least time between two polls, are in seconds."""

    device_code: str
    user_code: str
    page: str
    page_with_code: str
    expires_in: int
    interval: int


class AuthorizationServer(NamedTuple):
    """The addresses of an authorization server, all of one origin; ``revoke`` and ``device`` None where it has none."""

    issuer: str
    authorize: str
    token: str
    revoke: str | None
    has_issuer_parameter: bool
    device: str | None = None

    def consent_address(self, client_id: str, redirect_uri: str, scopes: str, state: str, verifier: str) -> str:
        """Return the address of the consent page; it contains the SHA-256 of ``verifier``, not ``verifier`` itself."""
        digest = hashlib.sha256(verifier.encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": redirect_uri,
            "scope": scopes,
            "state": state,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        return f"{self.authorize}{'&' if urlsplit(self.authorize).query else '?'}{urlencode(asked)}"


class OAuth(Resource):
    """``client.oauth``. Needs no credential.

    Example::

        print(client.oauth.server().authorize)
    """

    def metadata(self) -> dict[str, Any]:
        """Return ``GET /.well-known/oauth-authorization-server`` unchanged. Problems: not_found if the server has no
        OAuth."""
        return self._transport.json_object(Call("GET", _METADATA, root=""))

    def server(self) -> AuthorizationServer:
        """Return the OAuth endpoints of the server. Problems: not_found if it has none. Raise ``NotAnApi`` if they are
        malformed or belong to another origin, to which secrets would be sent."""
        metadata = self.metadata()
        home = self._transport.address.origin
        places = [metadata.get(f"{name}_endpoint") for name in ("authorization", "token")]
        revoke, device = metadata.get("revocation_endpoint"), metadata.get("device_authorization_endpoint")
        issuer = metadata.get("issuer")
        # RFC 8414, 3.3: with the name of another issuer, a server could present a response of that issuer as its own.
        for place in (issuer, *places, *(place for place in (revoke, device) if place is not None)):
            if not isinstance(place, str) or not is_same_origin(place, home):
                raise NotAnApi(f"{home} returned a sign-in address of another server", method="GET", path=_METADATA)
        sends_issuer = metadata.get("authorization_response_iss_parameter_supported") is True
        return AuthorizationServer(str(issuer), str(places[0]), str(places[1]), revoke, sends_issuer, device)

    def exchange(
        self, server: AuthorizationServer, client_id: str, code: str, redirect_uri: str, verifier: str
    ) -> IssuedTokens:
        """Exchange a ``code`` for tokens. Problems: bad_request (with the reason of the server), unauthorized."""
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        return self._request_tokens(server, {**form, "client_id": client_id, "code_verifier": verifier}, "")

    def begin_device_login(self, server: AuthorizationServer, client_id: str, scopes: str) -> DeviceLogin:
        """Begin a login on another device; ``server.device`` must not be None. Problems: as ``exchange``. Raise
        ``NotAnApi`` if the response is malformed or its page belongs to another origin."""
        assert server.device is not None
        found = self._send(server.device, {"client_id": client_id, "scope": scopes})
        home, page = self._transport.address.origin, found.get("verification_uri")
        complete = found.get("verification_uri_complete", page)
        texts = [found.get("device_code"), found.get("user_code"), page, complete]
        seconds = [found.get("expires_in"), found.get("interval", _DEFAULT_INTERVAL)]
        if not all(isinstance(text, str) for text in texts) or not all(isinstance(value, int) for value in seconds):
            raise NotAnApi(f"{home} did not return a device code", method="POST", path="/oauth/device_authorization")
        if not (is_same_origin(str(page), home) and is_same_origin(str(complete), home)):
            raise NotAnApi(
                f"{home} returned a sign-in address of another server",
                method="POST",
                path="/oauth/device_authorization",
            )
        return DeviceLogin(*map(str, texts), *map(int, seconds))  # type: ignore[arg-type]

    def poll_device_login(self, server: AuthorizationServer, client_id: str, device_code: str) -> IssuedTokens:
        """Return the tokens of an allowed login. Problems: bad_request, with the error of RFC 8628 as its extra
        ``error``: ``authorization_pending``, ``slow_down``, ``access_denied``, ``expired_token``."""
        form = {"grant_type": DEVICE_GRANT_TYPE, "device_code": device_code, "client_id": client_id}
        return self._request_tokens(server, form, "")

    def refresh(self, server: AuthorizationServer, client_id: str, refresh_token: str) -> IssuedTokens:
        """Exchange a refresh token for new tokens; it is invalid afterwards. Problems: as ``exchange``."""
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token, "client_id": client_id}
        return self._request_tokens(server, form, refresh_token)

    def revoke(self, server: AuthorizationServer, client_id: str, token: str) -> None:
        """Revoke a token; a refresh token with all tokens of its grant. Problems: as ``exchange``."""
        if server.revoke is not None:
            self._send(server.revoke, {"token": token, "client_id": client_id}, read_timeout=_REVOKE_SECONDS)

    def _request_tokens(
        self, server: AuthorizationServer, form: Mapping[str, str], refresh_before: str
    ) -> IssuedTokens:
        response = self._send(server.token, form)
        access, lifetime = response.get("access_token"), response.get("expires_in", _DEFAULT_LIFETIME)
        if not isinstance(access, str) or not isinstance(lifetime, int):
            origin = self._transport.address.origin
            raise NotAnApi(f"{origin} did not return an access token", method="POST", path="/oauth/token")
        refresh = response.get("refresh_token", refresh_before)  # a server that does not rotate sends none
        return IssuedTokens(access, str(refresh) if refresh else None, lifetime, str(response.get("scope", "")))

    def _send(self, url: str, form: Mapping[str, str], read_timeout: float | None = None) -> dict[str, Any]:
        # The base address may have a path.
        path = url.removeprefix(self._transport.address.base)
        if path == url:
            path = url.removeprefix(self._transport.address.origin)
        # Not retried once it may have arrived: reusing a code or a refresh token revokes the grant.
        call = Call("POST", path, body=FormBody(form), root="", is_repeatable=False, read_timeout=read_timeout)
        try:
            return self._transport.json_object(call)
        except Refused as refusal:
            said = refusal.extra.get("error_description") or refusal.extra.get("error")
            if isinstance(said, str) and said:
                refusal.detail = said
            raise


def is_same_origin(url: str, origin: str) -> bool:
    """Return whether ``url`` has the ``origin`` of a base address. A server writes its host in the ASCII form of DNS,
    also where the base address has the other form."""
    host = urlsplit(origin).hostname or ""
    try:
        written = origin.replace(host, to_ascii_host(host))
    except ValueError:  # it has no such form
        written = origin
    return parse_origin(url) in (origin, written)
