"""Secrets the instance made for itself."""

from peewee import BlobField, TextField

from docshare.server.store.tables.base import Row


class InstanceSecret(Row):
    name = TextField(primary_key=True)
    value = BlobField()

    class Meta:
        table_name = "instance_secrets"
