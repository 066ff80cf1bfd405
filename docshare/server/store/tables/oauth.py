"""Registered OAuth clients, what accounts have granted to them, and the tokens that stand for it."""

from peewee import ForeignKeyField, IntegerField, TextField

from docshare.server.store.tables.accounts import Account
from docshare.server.store.tables.base import Row


class OAuthClient(Row):
    client_id = TextField(unique=True)
    name = TextField()
    redirect_uris = TextField()  # JSON list
    secret_digest = TextField(null=True)  # None: a public client
    created_at = IntegerField()

    class Meta:
        table_name = "oauth_clients"


class OAuthGrant(Row):
    uuid = TextField(unique=True)
    account = ForeignKeyField(Account)
    client = ForeignKeyField(OAuthClient)
    scopes = TextField()  # separated by spaces
    created_at = IntegerField()
    expires_at = IntegerField()
    used_at = IntegerField()  # when tokens were last handed out
    revoked_at = IntegerField(null=True)

    class Meta:
        table_name = "oauth_grants"


class OAuthCode(Row):
    digest = TextField(primary_key=True)
    account = ForeignKeyField(Account)
    client = ForeignKeyField(OAuthClient)
    redirect_uri = TextField()
    scopes = TextField()
    challenge = TextField()  # S256
    expires_at = IntegerField()
    grant = ForeignKeyField(OAuthGrant, null=True)  # what it was exchanged for; None: not yet

    class Meta:
        table_name = "oauth_codes"


class OAuthToken(Row):
    digest = TextField(primary_key=True)
    kind = TextField()  # "access" or "refresh"
    grant = ForeignKeyField(OAuthGrant)
    scopes = TextField()
    created_at = IntegerField()
    expires_at = IntegerField()
    rotated_at = IntegerField(null=True)  # of a refresh token that was exchanged

    class Meta:
        table_name = "oauth_tokens"
