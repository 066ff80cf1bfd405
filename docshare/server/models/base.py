"""What every row shares: the one database it lives in."""

from peewee import Model

from docshare.server.db import database


class Row(Model):  # type: ignore[misc]
    class Meta:
        database = database
        legacy_table_names = False
