"""View sessions, the pages seen in them, and the beacons both are computed from."""

from peewee import BlobField, CompositeKey, ForeignKeyField, IntegerField, TextField

from docshare.server.models.base import Row
from docshare.server.models.files import File


class ViewSession(Row):
    uuid = TextField(unique=True)
    file = ForeignKeyField(File)
    content_version = IntegerField()
    reader = TextField()
    klass = TextField(column_name="class")
    reason = TextField(null=True)
    started_at = IntegerField()
    heard_at = IntegerField()
    active_at = IntegerField()
    hidden_at = IntegerField(null=True)
    counted_at = IntegerField(null=True)
    ended_at = IntegerField(null=True)
    time_ms = IntegerField(default=0)
    pages_viewed = IntegerField(default=0)
    furthest_page = IntegerField(default=0)
    turns = IntegerField(default=0)
    back_turns = IntegerField(default=0)
    country = TextField(null=True)
    device = TextField(null=True)
    browser = TextField(null=True)
    source = TextField(null=True)
    referrer = TextField(null=True)
    viewer_mode = TextField(null=True)

    class Meta:
        table_name = "view_sessions"


class SessionPage(Row):
    session = ForeignKeyField(ViewSession, backref="pages")
    page = IntegerField()
    time_ms = IntegerField()
    views = IntegerField()
    back_views = IntegerField()

    class Meta:
        table_name = "session_pages"
        primary_key = CompositeKey("session", "page")


class Beacon(Row):
    session = ForeignKeyField(ViewSession, backref="beacons")
    seq = IntegerField()
    received_at = IntegerField()
    body = TextField()

    class Meta:
        table_name = "beacons"
        primary_key = CompositeKey("session", "seq")


class ReaderSalt(Row):
    file = ForeignKeyField(File, primary_key=True)
    salt = BlobField()
    created_at = IntegerField()

    class Meta:
        table_name = "reader_salts"
