"""People who read a file and left something of themselves: what they may do, and what they said."""

from peewee import CompositeKey, ForeignKeyField, IntegerField, TextField

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
