"""The three streams of the event feed; a row is appended once its event is complete."""

from peewee import ForeignKeyField, IntegerField, TextField

from docshare.server.models.base import Row
from docshare.server.models.files import File


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
