"""Registered OAuth clients, the grants of accounts, and their tokens."""

from typing import Any, NamedTuple

from peewee import SQL, ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
from docshare.server.store.database_file import DatabaseFile
from docshare.server.store.tables.accounts import Account, AccountRow
from docshare.server.store.tables.base import Row, SequenceField


class OAuthClient(Row):
    client_id = TextField(unique=True)
    name = TextField()
    redirect_uris = TextField()  # JSON list
    secret_digest = TextField(null=True)  # None: a public client
    created_at = IntegerField()

    class Meta:
        table_name = "oauth_clients"


class OAuthGrant(Row):
    id = SequenceField()
    uuid = TextField(unique=True)
    account = ForeignKeyField(Account, on_delete="CASCADE", index=False)
    client = ForeignKeyField(OAuthClient, on_delete="CASCADE", index=False)
    scopes = TextField()  # separated by spaces
    created_at = IntegerField()
    expires_at = IntegerField()
    used_at = IntegerField()  # when tokens were last handed out
    revoked_at = IntegerField(null=True)

    class Meta:
        table_name = "oauth_grants"
        indexes = (
            SQL("CREATE INDEX oauth_grants_account ON oauth_grants(account_id, id)"),
            SQL("CREATE INDEX oauth_grants_client ON oauth_grants(client_id)"),
        )


class OAuthCode(Row):
    digest = TextField(primary_key=True)
    account = ForeignKeyField(Account, on_delete="CASCADE", index=False)
    client = ForeignKeyField(OAuthClient, on_delete="CASCADE", index=False)
    redirect_uri = TextField()
    scopes = TextField()
    challenge = TextField()  # S256
    expires_at = IntegerField()
    # what it was exchanged for; None: not yet
    grant = ForeignKeyField(OAuthGrant, null=True, on_delete="CASCADE", index=False)

    class Meta:
        table_name = "oauth_codes"
        without_rowid = True
        indexes = (
            SQL("CREATE INDEX oauth_codes_account ON oauth_codes(account_id)"),
            SQL("CREATE INDEX oauth_codes_client ON oauth_codes(client_id)"),
            SQL("CREATE INDEX oauth_codes_grant ON oauth_codes(grant_id) WHERE grant_id IS NOT NULL"),
        )


class OAuthToken(Row):
    digest = TextField(primary_key=True)
    kind = TextField()  # "access" or "refresh"
    grant = ForeignKeyField(OAuthGrant, on_delete="CASCADE", index=False)
    scopes = TextField()
    created_at = IntegerField()
    expires_at = IntegerField()
    rotated_at = IntegerField(null=True)  # of a refresh token that was exchanged

    class Meta:
        table_name = "oauth_tokens"
        without_rowid = True
        indexes = (SQL("CREATE INDEX oauth_tokens_grant ON oauth_tokens(grant_id)"),)


class ClientRow(NamedTuple):
    """A registered app. ``redirect_uris`` is JSON as stored; ``secret_digest`` is None for a public client."""

    id: int
    client_id: str
    name: str
    redirect_uris: str
    secret_digest: str | None
    created_at: int


class AuthorizationCode(NamedTuple):
    """An authorization code. ``scopes`` are separated by spaces; ``challenge`` is S256; ``grant_id`` is None until the
    code is exchanged."""

    digest: str
    account_id: int
    client_id: int
    redirect_uri: str
    scopes: str
    challenge: str
    expires_at: int
    grant_id: int | None


class GrantToken(NamedTuple):
    """A token. ``grant_scopes`` and ``grant_ends`` (ms) are those of its grant; ``disabled_at`` is not None if its
    account is disabled: then it grants no access, but can be revoked."""

    digest: str
    kind: str
    grant_id: int
    client_id: int
    grant_scopes: str
    grant_ends: int
    rotated_at: int | None
    disabled_at: int | None


class AppRow(NamedTuple):
    """A grant as its account sees it: what it allows which client. Times in milliseconds."""

    uuid: str
    name: str
    client_id: str
    scopes: str
    created_at: int
    used_at: int
    expires_at: int


# Run for every request of an app, by the benchmark ``oauth_refresh``.
_SELECT_ACCOUNT = """
SELECT a.id, a.uuid, a.email, a.name, a.plan, a.created_at, t.scopes, t.expires_at
FROM oauth_tokens t JOIN oauth_grants g ON g.id = t.grant_id JOIN accounts a ON a.id = g.account_id
WHERE t.digest = ? AND t.kind = 'access' AND g.revoked_at IS NULL AND a.disabled_at IS NULL
"""


def find_client(store: Store, client_id: str) -> ClientRow | None:
    """Return the client ``client_id``, or None."""
    found = store.fetch_one(_select_clients().where(OAuthClient.client_id == client_id))
    return ClientRow._make(found) if found else None


def list_clients(store: Store) -> list[ClientRow]:
    """Return all clients, oldest first."""
    return [ClientRow._make(found) for found in store.fetch_all(_select_clients().order_by(OAuthClient.id))]


def _select_clients() -> Any:
    return OAuthClient.select(*(getattr(OAuthClient, name) for name in ClientRow._fields))


def insert_client(
    store: Store, client_id: str, name: str, redirect_uris: str, secret_digest: str | None, now: int
) -> None:
    """Insert a client. ``redirect_uris`` is a JSON list."""
    query = OAuthClient.insert(
        client_id=client_id, name=name, redirect_uris=redirect_uris, secret_digest=secret_digest, created_at=now
    )
    store.execute(query)


def delete_client(store: Store, row_id: int) -> None:
    """Delete a client; its grants, codes and tokens go with it."""
    store.execute(OAuthClient.delete().where(OAuthClient.id == row_id))


def insert_code(
    store: Store,
    digest: str,
    account_id: int,
    client_id: int,
    *,
    redirect_uri: str,
    scopes: str,
    challenge: str,
    expires_at: int,
) -> None:
    """Insert an authorization code."""
    query = OAuthCode.insert(
        digest=digest,
        account=account_id,
        client=client_id,
        redirect_uri=redirect_uri,
        scopes=scopes,
        challenge=challenge,
        expires_at=expires_at,
    )
    store.execute(query)


def find_code(store: Store, digest: str) -> AuthorizationCode | None:
    """Return the authorization code with this digest, expired and exchanged ones too, or None."""
    columns = (getattr(OAuthCode, name) for name in AuthorizationCode._fields)
    found = store.fetch_one(OAuthCode.select(*columns).where(OAuthCode.digest == digest))
    return AuthorizationCode._make(found) if found else None


def mark_code_exchanged(store: Store, digest: str, grant_id: int) -> None:
    """Store which grant the code was exchanged for."""
    store.execute(OAuthCode.update(grant=grant_id).where(OAuthCode.digest == digest))


def delete_pending_codes(store: Store, account_id: int) -> None:
    """Delete the codes of an account that were not exchanged yet."""
    store.execute(OAuthCode.delete().where(OAuthCode.account == account_id, OAuthCode.grant.is_null()))


def insert_grant(
    store: Store, uuid: str, account_id: int, client_id: int, scopes: str, *, now: int, expires_at: int
) -> int:
    """Insert a grant that was used ``now``; return its id."""
    return int(
        OAuthGrant.insert(
            uuid=uuid,
            account=account_id,
            client=client_id,
            scopes=scopes,
            created_at=now,
            expires_at=expires_at,
            used_at=now,
        ).execute(store.engine)
    )


def mark_grant_used(store: Store, grant_id: int, now: int) -> bool:
    """Store when tokens of the grant were last issued; return False if it was revoked."""
    query = OAuthGrant.update(used_at=now).where(OAuthGrant.id == grant_id, OAuthGrant.revoked_at.is_null())
    return store.execute(query) > 0


def revoke_grant(store: Store, grant_id: int, now: int) -> None:
    """Revoke a grant; revoking it again keeps the first date."""
    store.execute(OAuthGrant.update(revoked_at=now).where(OAuthGrant.id == grant_id, OAuthGrant.revoked_at.is_null()))


def revoke_grant_of_account(store: Store, account_id: int, uuid: str, now: int) -> bool:
    """Revoke the grant ``uuid`` of an account; return whether it was active."""
    is_active = (OAuthGrant.uuid == uuid) & (OAuthGrant.account == account_id) & OAuthGrant.revoked_at.is_null()
    return store.execute(OAuthGrant.update(revoked_at=now).where(is_active)) > 0


def list_apps(store: Store, account_id: int, now: int) -> list[AppRow]:
    """Return the active grants of an account, newest first."""
    client = (OAuthClient.name, OAuthClient.client_id)
    times = (OAuthGrant.created_at, OAuthGrant.used_at, OAuthGrant.expires_at)
    query = OAuthGrant.select(OAuthGrant.uuid, *client, OAuthGrant.scopes, *times).join(OAuthClient)
    is_active = OAuthGrant.revoked_at.is_null() & (OAuthGrant.expires_at > now)
    query = query.where(OAuthGrant.account == account_id, is_active).order_by(OAuthGrant.id.desc())
    return [AppRow._make(found) for found in store.fetch_all(query)]


def insert_token(
    store: Store, digest: str, kind: str, grant_id: int, scopes: str, *, now: int, expires_at: int
) -> None:
    """Insert a token. ``kind`` is ``access`` or ``refresh``."""
    query = OAuthToken.insert(
        digest=digest, kind=kind, grant=grant_id, scopes=scopes, created_at=now, expires_at=expires_at
    )
    store.execute(query)


def find_token(store: Store, digest: str, now: int) -> GrantToken | None:
    """Return the token with this digest if neither it nor its grant has ended, or None; also that of a disabled
    account."""
    token = (OAuthToken.digest, OAuthToken.kind, OAuthToken.grant)
    grant = (OAuthGrant.client, OAuthGrant.scopes, OAuthGrant.expires_at)
    query = OAuthToken.select(*token, *grant, OAuthToken.rotated_at, Account.disabled_at)
    is_active = (OAuthToken.expires_at > now) & OAuthGrant.revoked_at.is_null() & (OAuthGrant.expires_at > now)
    query = query.join(OAuthGrant).join(Account)
    found = store.fetch_one(query.where(OAuthToken.digest == digest, is_active))
    return GrantToken._make(found) if found else None


def recall_account(store: Store, digest: str) -> tuple[AccountRow, str, int] | None:
    """Return the account of an access token, its scopes and when it expires, or None. Expired tokens are found, those
    of a revoked grant are not."""
    return _split_account(store.fetch_cached(_SELECT_ACCOUNT, (digest,)))


def find_account(store: Store, digest: str) -> tuple[AccountRow, str, int] | None:
    """Return what ``recall_account`` returns, past the cache of the store."""
    return _split_account(store.fetch_one(_SELECT_ACCOUNT, (digest,)))


def _split_account(found: tuple[Any, ...] | None) -> tuple[AccountRow, str, int] | None:
    if found is None:
        return None
    *account, scopes, expires_at = found
    return AccountRow._make(account), scopes, expires_at


def mark_token_rotated(store: Store, digest: str, now: int) -> bool:
    """Store when a refresh token was exchanged; return False if another request exchanged it before."""
    query = OAuthToken.update(rotated_at=now).where(OAuthToken.digest == digest, OAuthToken.rotated_at.is_null())
    return store.execute(query) > 0


def delete_token(store: Store, digest: str) -> None:
    """Delete a token."""
    store.execute(OAuthToken.delete().where(OAuthToken.digest == digest))


def delete_expired(store: Store, now: int, grants_ended_by: int) -> int:
    """Delete expired codes and access tokens, and the grants that ended by ``grants_ended_by`` (ms); return how many
    rows were deleted."""
    has_ended = (OAuthGrant.expires_at <= grants_ended_by) | (OAuthGrant.revoked_at <= grants_ended_by)
    queries = (
        OAuthCode.delete().where(OAuthCode.expires_at <= now, OAuthCode.grant.is_null()),
        OAuthToken.delete().where(OAuthToken.kind == "access", OAuthToken.expires_at <= now),
        OAuthGrant.delete().where(has_ended),
    )
    return sum(map(store.execute, queries))


def delete_all_tokens(database: DatabaseFile) -> None:
    """Delete all tokens and codes of apps; their grants stay. Works at every step of the schema."""
    if database.has_table("oauth_tokens"):
        database.execute("DELETE FROM oauth_tokens")
        database.execute("DELETE FROM oauth_codes")
