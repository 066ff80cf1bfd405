"""The three streams of the event feed and the record of all events; a row is appended once its event is complete."""

from peewee import ForeignKeyField, IntegerField, TextField

from docshare.server.store.tables.base import Row
from docshare.server.store.tables.files import File
from docshare.server.store.tables.sharing import Variant


class ViewRow(Row):
    owner_id = IntegerField()
    file = ForeignKeyField(File)
    hidden = IntegerField(default=0)
    read_at = IntegerField(null=True)
    country = TextField(null=True)
    pages_viewed = IntegerField()
    time_ms = IntegerField()

    class Meta:
        table_name = "view_rows"


class DownloadRow(Row):
    owner_id = IntegerField()
    file = ForeignKeyField(File)
    hidden = IntegerField(default=0)
    read_at = IntegerField(null=True)
    country = TextField(null=True)

    class Meta:
        table_name = "download_rows"


class GateRow(Row):
    owner_id = IntegerField()
    file = ForeignKeyField(File)
    hidden = IntegerField(default=0)
    read_at = IntegerField(null=True)
    fields = TextField(null=True)

    class Meta:
        table_name = "gate_rows"


class ActivityRow(Row):
    owner_id = IntegerField()
    file = ForeignKeyField(File)
    hidden = IntegerField(default=0)
    variant = ForeignKeyField(Variant, null=True)
    event = TextField()
    happened_at = IntegerField()
    data = TextField()  # JSON: the data of the event as it goes out, redaction rewrites it

    class Meta:
        table_name = "activity_rows"
