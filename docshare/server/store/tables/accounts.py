"""Accounts and their API keys."""

from peewee import ForeignKeyField, IntegerField, TextField

from docshare.server.store.tables.base import Row


class Account(Row):
    uuid = TextField(unique=True)
    email = TextField(unique=True)
    name = TextField()
    plan = IntegerField()
    created_at = IntegerField()
    password_hash = TextField(null=True)

    class Meta:
        table_name = "accounts"


class ApiKey(Row):
    uuid = TextField(unique=True)
    account = ForeignKeyField(Account, backref="keys")
    name = TextField()
    digest = TextField(unique=True)
    tail = TextField()
    created_at = IntegerField()
    revoked_at = IntegerField(null=True)

    class Meta:
        table_name = "api_keys"
