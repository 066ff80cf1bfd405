"""The base class of all models, bound to the open database."""

from typing import TYPE_CHECKING, Any

from peewee import Model

from docshare.server.store.database import database


class Row(Model):
    if TYPE_CHECKING:
        id: Any  # peewee adds it where no other key is declared

    class Meta:
        database = database
        legacy_table_names = False
