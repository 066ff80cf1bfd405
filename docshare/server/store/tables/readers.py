"""People who read a file and left something of themselves: what they may do, and what they said."""

import json

from peewee import CompositeKey, ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
from docshare.server.store.tables.base import Row
from docshare.server.store.tables.files import File
from docshare.server.store.tables.sharing import Hotspot, Invite, Variant


class Viewer(Row):
    digest = TextField(unique=True)  # SHA-256 of the token in the reader's browser
    file = ForeignKeyField(File)
    variant = ForeignKeyField(Variant, null=True)
    invite = ForeignKeyField(Invite, null=True)
    pseudonym = TextField()
    email = TextField(null=True)
    name = TextField(null=True)
    created_at = IntegerField()
    proofed_at = IntegerField(null=True)  # of the first mark or annotation

    class Meta:
        table_name = "viewers"


class Grant(Row):
    viewer = ForeignKeyField(Viewer)
    kind = TextField()
    content_version = IntegerField()
    seal = TextField()
    granted_at = IntegerField()

    class Meta:
        table_name = "grants"
        primary_key = CompositeKey("viewer", "kind")


class Note(Row):
    uuid = TextField(unique=True)
    file = ForeignKeyField(File)
    page = IntegerField(null=True)  # None: about the whole document
    author = TextField()
    body = TextField()
    public = IntegerField()
    viewer = ForeignKeyField(Viewer, null=True)
    created_at = IntegerField()

    class Meta:
        table_name = "notes"


class Mark(Row):
    viewer = ForeignKeyField(Viewer)
    page = IntegerField()
    file = ForeignKeyField(File)
    content_version = IntegerField()
    mark = TextField()
    marked_at = IntegerField()

    class Meta:
        table_name = "marks"
        primary_key = CompositeKey("viewer", "page")


class Annotation(Row):
    uuid = TextField(unique=True)
    file = ForeignKeyField(File)
    viewer = ForeignKeyField(Viewer)
    content_version = IntegerField()
    page = IntegerField()
    rect = TextField()  # JSON: x, y, width, height as fractions of the page
    note = TextField()
    created_at = IntegerField()

    class Meta:
        table_name = "annotations"


class Receipt(Row):
    viewer = ForeignKeyField(Viewer)
    file = ForeignKeyField(File)
    content_version = IntegerField()
    name = TextField()
    confirmed_at = IntegerField()

    class Meta:
        table_name = "receipts"
        primary_key = CompositeKey("viewer", "content_version")


class Tap(Row):
    file = ForeignKeyField(File)
    hotspot = ForeignKeyField(Hotspot, null=True)  # None: the call to action
    tapped_at = IntegerField()

    class Meta:
        table_name = "taps"


# In one row, so that it can be cached: every page image of a reader who passed the gate asks for it.
_SELECT_GRANTS = (
    "SELECT json_group_array(json_array(kind, content_version, seal, granted_at)) FROM grants WHERE viewer_id = ?"
)
_REPLACE_GRANT = "REPLACE INTO grants (viewer_id, kind, content_version, seal, granted_at) VALUES (?, ?, ?, ?, ?)"


def recall_grants(store: Store, viewer_id: int) -> list[tuple[str, int, str, int]]:
    """Return the grants of a viewer as ``(kind, content_version, seal, granted_at)``."""
    found = store.recall(_SELECT_GRANTS, (viewer_id,))
    return [tuple(row) for row in json.loads(found[0])] if found else []


def replace_grant(store: Store, viewer_id: int, kind: str, content_version: int, seal: str, now: int) -> None:
    """Insert or replace the grant of one kind that a viewer holds."""
    store.execute(_REPLACE_GRANT, (viewer_id, kind, content_version, seal, now))


def set_viewer_email(store: Store, viewer_id: int, email: str | None) -> None:
    """Store the email that a viewer gave."""
    Viewer.update(email=email).where(Viewer.id == viewer_id).execute(store.sqlite)
