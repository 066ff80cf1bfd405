"""One-time sign-in links and the sessions of signed-in owners."""

from peewee import ForeignKeyField, IntegerField, TextField

from docshare.server.store.tables.accounts import Account
from docshare.server.store.tables.base import Row


class LoginLink(Row):
    digest = TextField(primary_key=True)
    account = ForeignKeyField(Account)
    expires_at = IntegerField()
    used_at = IntegerField(null=True)

    class Meta:
        table_name = "login_links"


class WebSession(Row):
    digest = TextField(primary_key=True)
    account = ForeignKeyField(Account)
    csrf = TextField()
    created_at = IntegerField()
    expires_at = IntegerField()

    class Meta:
        table_name = "web_sessions"
