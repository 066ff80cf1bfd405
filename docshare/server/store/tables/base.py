"""The base class of all models, bound to the open database, and what several of their modules share."""

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from peewee import SQL, AutoField, Context, Model, NodeList, PostgresqlDatabase, TextField

from docshare.server.store.database import Store, database


class Row(Model):
    if TYPE_CHECKING:
        id: Any  # peewee adds it where no other key is declared

    class Meta:
        database = database
        legacy_table_names = False


class BatchedTable:
    """The statements for a table with many rows of a file, which are changed by a limited number of rows at a time.

    A model lists it before ``Row``. ``UNATTRIBUTE``: the assignments that remove the variant from a row.
    """

    UNATTRIBUTE: ClassVar[str]

    @classmethod
    def delete_batch(cls: Any, store: Store, file_id: int, limit: int) -> int:
        """Delete rows of a file; return how many."""
        return store.execute(cls.delete().where(cls.id.in_(cls.select_first(limit, cls.file == file_id))))

    @classmethod
    def unattribute_batch(cls: Any, store: Store, variant_id: int, limit: int) -> int:
        """Remove the variant from its rows; return how many were changed."""
        table = cls._meta.table_name
        return store.execute(
            f"UPDATE {table} SET {cls.UNATTRIBUTE} WHERE id IN"  # noqa: S608 - words of the models
            f" (SELECT id FROM {table} WHERE variant_id = ? LIMIT {limit})",
            (variant_id,),
        )

    @classmethod
    def select_first(cls: Any, limit: int, *conditions: Any) -> Any:
        """Return the query for the ids of some rows."""
        return cls.select(cls.id).where(*conditions).limit(limit)


class AnchoredTable:
    """The statements for a table whose rows are anchored to a page of a file. A model lists it before ``Row``."""

    @classmethod
    def count_anchored(cls: Any, store: Store, file_id: int) -> int:
        """Return how many rows are anchored to a page of a file."""
        return int(cls.select().where(*cls.is_anchored(file_id)).count(store.engine))

    @classmethod
    def delete_anchored(cls: Any, store: Store, file_id: int) -> int:
        """Delete the rows that are anchored to a page of a file; return how many. A note about the whole document is
        not anchored to a page."""
        return store.execute(cls.delete().where(*cls.is_anchored(file_id)))

    @classmethod
    def set_content_version(cls: Any, store: Store, file_id: int, version: int) -> None:
        """Move the rows of a file to another version of its content."""
        store.execute(cls.update(content_version=version).where(cls.file == file_id))

    @classmethod
    def is_anchored(cls: Any, file_id: int) -> tuple[Any, Any]:
        """Return the conditions for a row that is anchored to a page of a file."""
        return cls.file == file_id, cls.page.is_null(False)


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
