"""The base class of all models, bound to the open database, and what several of their modules share."""

from typing import TYPE_CHECKING, Any, NamedTuple

from peewee import SQL, AutoField, Context, Model, NodeList, PostgresqlDatabase, TextField

from docshare.server.store.database import database


class Row(Model):
    if TYPE_CHECKING:
        id: Any  # peewee adds it where no other key is declared

    class Meta:
        database = database
        legacy_table_names = False


class SequenceField(AutoField):
    """An id that is never used again, even after its row was deleted."""

    def ddl(self, ctx: Context) -> NodeList:
        """Return the definition of the column."""
        column = super().ddl(ctx)
        # PostgreSQL never uses a number of a sequence twice.
        return column if is_postgresql() else NodeList((column, SQL("AUTOINCREMENT")))


class NocaseField(TextField):
    """A text that is compared without regard to the case of ASCII letters.

    Statements and indexes spell it ``NOCASE(column)``: the collation of the column in PostgreSQL, by which earlier
    releases compared, ignores the case of all letters.
    """

    def ddl(self, ctx: Context) -> NodeList:
        """Return the definition of the column."""
        return NodeList((super().ddl(ctx), SQL("COLLATE nocase")))


class QueueState(NamedTuple):
    """How many rows are pending, when (ms) the oldest was created, and when the first is or was due; None if empty."""

    length: int
    oldest_at: int | None
    due_at: int | None


def is_postgresql() -> bool:
    """Return whether the open database is PostgreSQL."""
    return isinstance(database.obj, PostgresqlDatabase)
