"""Create the schema, and upgrade an older one.

A new database is created from the models of ``tables``, the only description of the schema. A database of an earlier
version of docshare is upgraded with the missing steps; ``PRAGMA user_version`` counts them.

To change the schema: change the model; append a step to ``upgrades/`` and to ``STEPS`` that makes the same change to
an existing database; a test compares a database upgraded by all steps with one that was created from the models. A
step adds tables, columns and indexes; a step of a later release removes those no longer needed, so that two versions
can run side by side during an upgrade. Steps are written for SQLite; ``spell_step`` translates their types. A step for
one of the databases is a ``Statement`` whose other text is empty.
"""

from collections.abc import Iterator
from typing import Any, cast

from peewee import SQL, Field

from docshare.server.logs import LOGGER
from docshare.server.store.database import Store
from docshare.server.store.dialect import Statement
from docshare.server.store.tables import STREAMS, TABLES
from docshare.server.store.upgrades import (
    addresses,
    beginning,
    colleagues,
    counting,
    data_keys,
    designs,
    device_codes,
    listeners,
    mails,
    oauth,
    readers,
    reloads,
    removals,
    restricted_keys,
    sharing,
    sign_in,
    trials,
    webhooks,
)

STEPS: tuple[str | Statement, ...] = (
    beginning.STEP,
    sharing.STEP,
    readers.STEP,
    webhooks.STEP,
    oauth.STEP,
    sign_in.STEP,
    designs.STEP,
    mails.STEP,
    counting.STEP,
    trials.STEP,
    listeners.STEP,
    removals.STEP,
    data_keys.STEP,
    colleagues.STEP,
    restricted_keys.STEP,
    device_codes.STEP,
    reloads.STEP,
    Statement(sqlite="", postgresql=addresses.POSTGRESQL_STEP),
)


class DatabaseTooNew(Exception):
    """The database was written by a later version of docshare."""


def migrate(store: Store) -> None:
    """Create the schema, or upgrade it and log that. Raises DatabaseTooNew."""
    with store.schema_lock():
        version = store.schema_version()
        if version > len(STEPS):
            message = f"database version {version} is newer than this docshare ({len(STEPS)}); upgrade docshare"
            raise DatabaseTooNew(message)
        if version == 0:
            _create(store)
        elif version < len(STEPS):
            upgrade(store, version)
            LOGGER.info("database upgraded", extra={"from": version, "to": len(STEPS)})


def upgrade(store: Store, version: int = 0) -> None:
    """Apply all steps after the first ``version`` steps, one transaction per step."""
    for number, step in enumerate(STEPS[version:], start=version + 1):
        with store.write():
            for statement in store.spell_step(step).split(";\n"):
                if statement.strip():
                    store.execute(statement)
            store.set_schema_version(number)


def _create(store: Store) -> None:
    with store.write():
        for definition in list_definitions(store):
            store.execute(definition)
        store.start_streams(STREAMS)
        store.set_schema_version(len(STEPS))


def list_definitions(store: Store) -> Iterator[str]:
    """Yield the statements that create all tables and indexes in the open database."""
    for model in cast(tuple[Any, ...], TABLES):  # the stubs do not declare the attributes for creating tables
        for field in model._meta.sorted_fields:
            _add_default(field)
        text, _ = model._schema._create_table(safe=False).query()
        yield store.spell_definition(text)
        for index in model._schema._create_indexes(safe=False):
            yield index.query()[0]


def _add_default(field: Field) -> None:
    """Add the default of a field to the schema, for statements that omit its column."""
    if field.default is not None and not field.constraints:
        value = f"'{field.default}'" if isinstance(field.default, str) else str(field.default)
        field.constraints = [SQL(f"DEFAULT {value}")]
