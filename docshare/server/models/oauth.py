"""Registered OAuth clients."""

from peewee import IntegerField, TextField

from docshare.server.models.base import Row


class OAuthClient(Row):
    client_id = TextField(unique=True)
    name = TextField()
    redirect_uris = TextField()  # JSON list
    secret_digest = TextField(null=True)
    created_at = IntegerField()

    class Meta:
        table_name = "oauth_clients"
