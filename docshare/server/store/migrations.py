"""Bringing the schema up to date: ``PRAGMA user_version`` counts the steps that were taken, in this order."""

from docshare.server.store.database import Store
from docshare.server.store.schema import (
    beginning,
    counting,
    designs,
    mails,
    oauth,
    readers,
    sharing,
    sign_in,
    trials,
    webhooks,
)

STEPS: tuple[str, ...] = (
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
)


class DatabaseTooNew(Exception):
    """The database was written by a later version of docshare."""


def migrate(store: Store) -> None:
    """Bring the schema up to date, one transaction a step. Raises ``TooNew``."""
    taken = store.fetch_one("PRAGMA user_version")
    version = int(taken[0]) if taken else 0
    if version > len(STEPS):
        raise DatabaseTooNew(f"database version {version} is newer than this docshare ({len(STEPS)}); upgrade docshare")
    for number, step in enumerate(STEPS[version:], start=version + 1):
        with store.write():
            for statement in step.split(";\n"):
                if statement.strip():
                    store.execute(statement)
            store.execute(f"PRAGMA user_version = {number}")
