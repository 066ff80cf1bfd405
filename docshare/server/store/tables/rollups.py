"""What is added up of a file's counted sessions as each of them ends, so that no report has to look at all of them."""

from peewee import CompositeKey, ForeignKeyField, IntegerField, TextField

from docshare.server.store.tables.base import Row
from docshare.server.store.tables.files import File
from docshare.server.store.tables.sharing import Variant
from docshare.server.store.tables.viewing import ViewSession


class SessionRow(Row):
    file = ForeignKeyField(File)
    session = ForeignKeyField(ViewSession, unique=True)
    started_at = IntegerField()
    time_ms = IntegerField()
    beacons_until = IntegerField(null=True)  # None: its beacons are gone

    class Meta:
        table_name = "session_rows"


class Readership(Row):
    file = ForeignKeyField(File, primary_key=True)
    sessions = IntegerField()
    came_back = IntegerField()
    visitors = IntegerField()
    time_ms = IntegerField()
    turns = IntegerField()
    back_turns = IntegerField()
    completion = IntegerField()  # millionths of what was shown, added up over the sessions

    class Meta:
        table_name = "readerships"


class Reader(Row):
    file = ForeignKeyField(File)
    reader = TextField()
    sessions = IntegerField()  # that have ended; 0 while the first one goes on

    class Meta:
        table_name = "readers"


class Tally(Row):
    file = ForeignKeyField(File)
    kind = TextField()
    label = TextField()
    sessions = IntegerField()

    class Meta:
        table_name = "tallies"
        primary_key = CompositeKey("file", "kind", "label")


class PageTally(Row):
    file = ForeignKeyField(File)
    page = IntegerField()
    time_ms = IntegerField()
    views = IntegerField()
    back_views = IntegerField()

    class Meta:
        table_name = "page_tallies"
        primary_key = CompositeKey("file", "page")


class VariantTally(Row):
    variant = ForeignKeyField(Variant, primary_key=True)
    sessions = IntegerField()
    time_ms = IntegerField()

    class Meta:
        table_name = "variant_tallies"
