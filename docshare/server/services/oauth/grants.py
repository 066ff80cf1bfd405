"""Issue authorization codes and exchange them for tokens; refresh and revoke the tokens.

A grant is one approval of one client by one account. Its refresh token changes with every use. A refresh token that is
sent a second time was copied, so the server revokes the whole grant, unless two requests of one client overlapped by
seconds. The server stores only digests of codes and tokens.
"""

from dataclasses import dataclass
from typing import Any

from docshare.contract.limits import AUTHORIZATION_CODE_MS, DEVICE_CODE_MS
from docshare.contract.problems import Problem
from docshare.contract.scopes import CREDENTIAL_CHARS, LANES, Lane
from docshare.contract.wire import format_instant
from docshare.server.rules.oauth import RefreshTokenState, refresh_token_state
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, digest, recheck_caller
from docshare.server.services.oauth.clients import RegisteredClient
from docshare.server.store.tables import oauth, sign_in
from docshare.server.store.tables.oauth import AppRow
from docshare.server.store.tables.oauth import AuthorizationCode as AuthorizationCode
from docshare.server.store.tables.oauth import GrantToken as GrantToken

_CODE_CHARS = 43  # base62: 256 bits
_ENDED_RETENTION_MS = 7 * 24 * 3_600_000  # how long an ended grant is kept for inspection


@dataclass(frozen=True)
class TokenPair:
    """New tokens, shown only now. ``expires_in`` is the lifetime of the access token in seconds."""

    access: str
    refresh: str
    expires_in: int
    scopes: str

    def describe(self) -> dict[str, Any]:
        """Return the response of the token endpoint (RFC 6749, 5.1)."""
        return {
            "access_token": self.access,
            "token_type": "Bearer",
            "expires_in": self.expires_in,
            "refresh_token": self.refresh,
            "scope": self.scopes,
        }


def issue_code(
    rt: Runtime, caller: Caller, client: RegisteredClient, *, redirect_uri: str, scopes: str, challenge: str
) -> str:
    """Return a code that ``client`` can exchange once, within a minute, for what the caller has just approved. Raises
    ``unauthorized`` if the caller was signed out meanwhile, ``bad_request`` if the client was removed."""
    code = rt.random_token(_CODE_CHARS)
    expires_at = rt.clock() + AUTHORIZATION_CODE_MS
    with rt.db.write():
        recheck_caller(rt, caller)
        if oauth.find_client(rt.db, client.client_id) is None:
            raise Problem("bad_request", "The app was removed from this server.", extra={"reason": "oauth"})
        oauth.insert_code(
            rt.db,
            digest(code),
            caller.account_id,
            client.id,
            redirect_uri=redirect_uri,
            scopes=scopes,
            challenge=challenge,
            expires_at=expires_at,
        )
    return code


def find_code(rt: Runtime, code: str, client: RegisteredClient) -> AuthorizationCode | None:
    """Return the code if ``client`` can exchange it, or None.

    A code that was exchanged before has leaked, so the grant it was exchanged for is revoked.
    """
    now = rt.clock()
    known = oauth.find_code(rt.db, digest(code))
    if known is None or known.client_id != client.id:
        return None
    if known.grant_id is not None:
        _revoke_grant(rt, known.grant_id, now)
        return None
    return known if known.expires_at > now else None


def exchange_code(rt: Runtime, code: AuthorizationCode) -> TokenPair | None:
    """Exchange ``code`` for tokens; return None when it has expired or another request exchanged it first."""
    now = rt.clock()
    with rt.db.write():
        # Read again: two clients may hold the code, and the second exchange revokes the grant of the first.
        current = oauth.find_code(rt.db, code.digest)
        if current is None:
            return None
        if current.grant_id is not None:
            oauth.revoke_grant(rt.db, current.grant_id, now)
            return None
        if current.expires_at <= now:
            return None
        grant_id, tokens = create_grant(rt, code.account_id, code.client_id, code.scopes, now)
        oauth.mark_code_exchanged(rt.db, code.digest, grant_id)
        return tokens


def create_grant(rt: Runtime, account_id: int, client_id: int, scopes: str, now: int) -> tuple[int, TokenPair]:
    """Create a grant in the caller's transaction; return its id and its first tokens."""
    lifetime = LANES[Lane.REFRESH].lifetime_ms
    assert lifetime is not None
    ends = now + lifetime
    grant_id = oauth.insert_grant(rt.db, rt.random_uuid(), account_id, client_id, scopes, now=now, expires_at=ends)
    return grant_id, _create_token_pair(rt, grant_id, scopes, scopes, ends, now)


def find_refresh_token(rt: Runtime, token: str, client: RegisteredClient) -> GrantToken | None:
    """Return the refresh token if ``client`` can exchange it, or None, as for a disabled account.

    A token that was exchanged more than ten seconds ago was copied, so its grant is revoked.
    """
    now = rt.clock()
    known = oauth.find_token(rt.db, digest(token), now)
    if known is None or known.kind != "refresh" or known.client_id != client.id:
        return None
    state = refresh_token_state(known.rotated_at, now)
    if state is RefreshTokenState.REUSED:
        _revoke_grant(rt, known.grant_id, now)
    return known if state is RefreshTokenState.VALID and known.disabled_at is None else None


def refresh_tokens(rt: Runtime, token: GrantToken, scopes: str) -> TokenPair | None:
    """Exchange the refresh ``token`` for new tokens; return None when another request exchanged it first.

    Parameters: ``scopes`` of the access token, not more than the grant's; the new refresh token keeps all of them.
    """
    now = rt.clock()
    with rt.db.write():
        is_rotated = oauth.mark_token_rotated(rt.db, token.digest, now)
        if not (is_rotated and oauth.mark_grant_used(rt.db, token.grant_id, now)):
            return None
        return _create_token_pair(rt, token.grant_id, scopes, token.grant_scopes, token.grant_ends, now)


def find_token(rt: Runtime, token: str) -> GrantToken | None:
    """Return the access or refresh token of an active grant, or None. Those of a disabled account are found: they must
    not work again once it is enabled, if they were revoked before."""
    return oauth.find_token(rt.db, digest(token), rt.clock())


def revoke_token(rt: Runtime, token: GrantToken) -> None:
    """Revoke ``token`` (RFC 7009): an access token alone, a refresh token with its whole grant."""
    if token.kind == "refresh":
        _revoke_grant(rt, token.grant_id, rt.clock())
        return
    with rt.db.write():
        oauth.delete_token(rt.db, token.digest)


def list_apps(rt: Runtime, account_id: int) -> list[dict[str, Any]]:
    """Return the active grants of the account, newest first."""
    return [_describe_app(app) for app in oauth.list_apps(rt.db, account_id, rt.clock())]


def revoke_app(rt: Runtime, account_id: int, uuid: str) -> bool:
    """Revoke the grant ``uuid`` of the account; return whether it was active."""
    with rt.db.write():
        return oauth.revoke_grant_of_account(rt.db, account_id, uuid.lower(), rt.clock())


def delete_expired(rt: Runtime) -> int:
    """Delete codes and tokens that have expired, and grants a week after their end; return how many.

    A device code is kept for as long again, so that a program that still polls learns that it expired.
    """
    now = rt.clock()
    with rt.db.write():
        return oauth.delete_expired(rt.db, now, now - _ENDED_RETENTION_MS) + sign_in.delete_expired_device_logins(
            rt.db, now - DEVICE_CODE_MS
        )


def _describe_app(app: AppRow) -> dict[str, Any]:
    return {
        "uuid": app.uuid,
        "name": app.name,
        "clientId": app.client_id,
        "scopes": app.scopes.split(),
        "createdAt": format_instant(app.created_at),
        "lastUsedAt": format_instant(app.used_at),
        "expiresAt": format_instant(app.expires_at),
    }


def _revoke_grant(rt: Runtime, grant_id: int, now: int) -> None:
    with rt.db.write():
        oauth.revoke_grant(rt.db, grant_id, now)


def _create_token_pair(
    rt: Runtime, grant_id: int, scopes: str, grant_scopes: str, grant_ends: int, now: int
) -> TokenPair:
    """Create a new pair in the caller's transaction. No token outlives its grant."""
    row = LANES[Lane.OAUTH]
    assert row.lifetime_ms is not None
    access_ends = min(now + row.lifetime_ms, grant_ends)
    access, refresh = _generate_token(rt, Lane.OAUTH), _generate_token(rt, Lane.REFRESH)
    oauth.insert_token(rt.db, digest(access), "access", grant_id, scopes, now=now, expires_at=access_ends)
    oauth.insert_token(rt.db, digest(refresh), "refresh", grant_id, grant_scopes, now=now, expires_at=grant_ends)
    return TokenPair(access, refresh, (access_ends - now) // 1_000, scopes)


def _generate_token(rt: Runtime, lane: Lane) -> str:
    return f"{LANES[lane].prefix}{rt.random_token(CREDENTIAL_CHARS)}"
