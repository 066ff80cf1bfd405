"""What accounts grant to apps: codes, the tokens they are exchanged for, and the end of both.

A grant is one approval. Its refresh token changes with every use; whoever shows one that was used before holds a copy,
so the whole grant ends, unless two requests of one client met within seconds. Only digests of codes and tokens are
kept.
"""

from typing import Any, NamedTuple

from docshare.contract.limits import AUTHORIZATION_CODE_MS
from docshare.contract.scopes import CREDENTIAL_CHARS, LANES, Lane
from docshare.contract.wire import format_instant
from docshare.server.rules.oauth import RefreshTokenState, refresh_token_state
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import digest
from docshare.server.services.oauth.clients import RegisteredClient

_CODE_CHARS = 43  # base62: 256 bits
_ENDED_RETENTION_MS = (
    7 * 24 * 3_600_000
)  # a grant that has ended is remembered so long, for whoever looks for the reason

_ADD_CODE = (
    "INSERT INTO oauth_codes (digest, account_id, client_id, redirect_uri, scopes, challenge, expires_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_CODE = (
    "SELECT digest, account_id, client_id, redirect_uri, scopes, challenge, expires_at, grant_id FROM oauth_codes "
    "WHERE digest = ?"
)
_MARK_CODE_USED = "UPDATE oauth_codes SET grant_id = ? WHERE digest = ?"
_ADD_GRANT = (
    "INSERT INTO oauth_grants (uuid, account_id, client_id, scopes, created_at, expires_at, used_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_ADD_TOKEN = (
    "INSERT INTO oauth_tokens (digest, kind, grant_id, scopes, created_at, expires_at) "  # noqa: S105 - a statement
    "VALUES (?, ?, ?, ?, ?, ?)"
)
_TOKEN = (
    "SELECT t.digest, t.kind, t.grant_id, g.client_id, g.scopes, g.expires_at, t.rotated_at "  # noqa: S105 - a statement
    "FROM oauth_tokens t JOIN oauth_grants g ON g.id = t.grant_id "
    "WHERE t.digest = ? AND t.expires_at > ? AND g.revoked_at IS NULL AND g.expires_at > ?"
)
_ROTATE = "UPDATE oauth_tokens SET rotated_at = ? WHERE digest = ? AND rotated_at IS NULL"
_MARK_GRANT_USED = "UPDATE oauth_grants SET used_at = ? WHERE id = ? AND revoked_at IS NULL"
_REVOKE = "UPDATE oauth_grants SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
_DELETE_BY_DIGEST = "DELETE FROM oauth_tokens WHERE digest = ?"
_APPS = (
    "SELECT g.uuid, c.name, c.client_id, g.scopes, g.created_at, g.used_at, g.expires_at "
    "FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id "
    "WHERE g.account_id = ? AND g.revoked_at IS NULL AND g.expires_at > ? ORDER BY g.id DESC"
)
_REVOKE_APP = "UPDATE oauth_grants SET revoked_at = ? WHERE uuid = ? AND account_id = ? AND revoked_at IS NULL"
_DELETE_EXPIRED = (
    "DELETE FROM oauth_codes WHERE expires_at <= ? AND grant_id IS NULL",
    "DELETE FROM oauth_tokens WHERE kind = 'access' AND expires_at <= ?",
    f"DELETE FROM oauth_grants WHERE MIN(expires_at, IFNULL(revoked_at, expires_at)) <= ? - {_ENDED_RETENTION_MS}",  # noqa: S608 - a number
)


class AuthorizationCode(NamedTuple):
    """An authorization code that can be exchanged; ``scopes`` separated by spaces, ``challenge`` by S256."""

    digest: str
    account_id: int
    client_id: int
    redirect_uri: str
    scopes: str
    challenge: str


class GrantToken(NamedTuple):
    """A token that is known and has not ended; ``grant_scopes`` and ``grant_ends`` (ms) of what it stands for."""

    digest: str
    kind: str
    grant_id: int
    client_id: int
    grant_scopes: str
    grant_ends: int
    rotated_at: int | None


class TokenPair(NamedTuple):
    """New tokens at the one moment they can be seen; ``expires_in`` seconds of the access token."""

    access: str
    refresh: str
    expires_in: int
    scopes: str


def issue_code(
    rt: Runtime, account_id: int, client: RegisteredClient, *, redirect_uri: str, scopes: str, challenge: str
) -> str:
    """A code by which ``client`` gets what the account has just approved: good once, for a minute."""
    code = rt.token(_CODE_CHARS)
    expires_at = rt.clock() + AUTHORIZATION_CODE_MS
    with rt.db.write():
        rt.db.execute(_ADD_CODE, (digest(code), account_id, client.id, redirect_uri, scopes, challenge, expires_at))
    return code


def find_code(rt: Runtime, code: str, client: RegisteredClient) -> AuthorizationCode | None:
    """The code, if ``client`` can exchange it. One that was exchanged before is in two hands, so what it was exchanged
    for ends."""
    found = rt.db.row(_CODE, (digest(code),))
    if found is None:
        return None
    *facts, expires_at, grant_id = found
    known = AuthorizationCode._make(facts)
    if known.client_id != client.id:
        return None
    if grant_id is not None:
        _revoke_grant(rt, grant_id)
        return None
    return known if expires_at > rt.clock() else None


def exchange_code(rt: Runtime, code: AuthorizationCode) -> TokenPair | None:
    """Tokens for ``code``, which is spent by it; None when somebody else was quicker, or its minute is over."""
    now = rt.clock()
    lifetime = LANES[Lane.REFRESH].lifetime_ms
    assert lifetime is not None
    ends = now + lifetime
    with rt.db.write():
        # Asked again: two may hold the code, and whoever comes second ends what the first one got.
        found = rt.db.row(_CODE, (code.digest,))
        *_, expires_at, spent_on = found or (now, None)
        if spent_on is not None:
            rt.db.execute(_REVOKE, (now, spent_on))
        if spent_on is not None or expires_at <= now:
            return None
        rt.db.execute(_ADD_GRANT, (rt.uuid(), code.account_id, code.client_id, code.scopes, now, ends, now))
        ((grant_id,),) = rt.db.rows("SELECT last_insert_rowid()")
        rt.db.execute(_MARK_CODE_USED, (grant_id, code.digest))
        return _create_token_pair(rt, grant_id, code.scopes, code.scopes, ends, now)


def find_refresh_token(rt: Runtime, token: str, client: RegisteredClient) -> GrantToken | None:
    """The refresh token, if ``client`` can exchange it. One that was exchanged more than ten seconds ago ends its
    grant."""
    known = find_token(rt, token)
    if known is None or known.kind != "refresh" or known.client_id != client.id:
        return None
    worth = refresh_token_state(known.rotated_at, rt.clock())
    if worth is RefreshTokenState.STOLEN:
        _revoke_grant(rt, known.grant_id)
    return known if worth is RefreshTokenState.GOOD else None


def refresh_tokens(rt: Runtime, token: GrantToken, scopes: str) -> TokenPair | None:
    """New tokens for the refresh ``token``, which is spent by it; None when somebody else was quicker.

    Parameters: ``scopes`` of the access token, not more than the grant's; the new refresh token stands for all of them.
    """
    now = rt.clock()
    with rt.db.write():
        if not (rt.db.execute(_ROTATE, (now, token.digest)) and rt.db.execute(_MARK_GRANT_USED, (now, token.grant_id))):
            return None
        return _create_token_pair(rt, token.grant_id, scopes, token.grant_scopes, token.grant_ends, now)


def find_token(rt: Runtime, token: str) -> GrantToken | None:
    """The access or refresh token of a grant that stands, or None."""
    now = rt.clock()
    found = rt.db.row(_TOKEN, (digest(token), now, now))
    return GrantToken._make(found) if found else None


def revoke_token(rt: Runtime, token: GrantToken) -> None:
    """End ``token`` (RFC 7009): an access token alone, with a refresh token everything it could still get."""
    if token.kind == "refresh":
        _revoke_grant(rt, token.grant_id)
        return
    with rt.db.write():
        rt.db.execute(_DELETE_BY_DIGEST, (token.digest,))


def list_apps(rt: Runtime, account_id: int) -> list[dict[str, Any]]:
    """What the account has granted and not taken back, newest first."""
    return [
        {
            "uuid": uuid,
            "name": name,
            "clientId": client_id,
            "scopes": scopes.split(),
            "createdAt": format_instant(created_at),
            "lastUsedAt": format_instant(used_at),
            "expiresAt": format_instant(expires_at),
        }
        for uuid, name, client_id, scopes, created_at, used_at, expires_at in rt.db.rows(
            _APPS, (account_id, rt.clock())
        )
    ]


def revoke_app(rt: Runtime, account_id: int, uuid: str) -> bool:
    """Take back what the account granted as ``uuid``; whether there was such a grant."""
    with rt.db.write():
        return rt.db.execute(_REVOKE_APP, (rt.clock(), uuid.lower(), account_id)) > 0


def delete_expired(rt: Runtime) -> int:
    """Remove codes and tokens that have ended, and grants a week after; returns how many."""
    now = rt.clock()
    with rt.db.write():
        return sum(rt.db.execute(statement, (now,)) for statement in _DELETE_EXPIRED)


def _revoke_grant(rt: Runtime, grant_id: int) -> None:
    with rt.db.write():
        rt.db.execute(_REVOKE, (rt.clock(), grant_id))


def _create_token_pair(
    rt: Runtime, grant_id: int, scopes: str, grant_scopes: str, grant_ends: int, now: int
) -> TokenPair:
    """A new pair, in the caller's transaction. No token outlives its grant."""
    row = LANES[Lane.OAUTH]
    assert row.lifetime_ms is not None
    access_ends = min(now + row.lifetime_ms, grant_ends)
    access, fresh = _generate_token(rt, Lane.OAUTH), _generate_token(rt, Lane.REFRESH)
    rt.db.execute(_ADD_TOKEN, (digest(access), "access", grant_id, scopes, now, access_ends))
    rt.db.execute(_ADD_TOKEN, (digest(fresh), "refresh", grant_id, grant_scopes, now, grant_ends))
    return TokenPair(access, fresh, (access_ends - now) // 1_000, scopes)


def _generate_token(rt: Runtime, lane: Lane) -> str:
    return f"{LANES[lane].prefix}{rt.token(CREDENTIAL_CHARS)}"
