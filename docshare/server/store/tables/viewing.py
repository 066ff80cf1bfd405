"""View sessions, the pages seen in them, and the beacons both are computed from."""

from peewee import BlobField, CompositeKey, ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
from docshare.server.store.tables.base import Row
from docshare.server.store.tables.files import File
from docshare.server.store.tables.readers import Viewer
from docshare.server.store.tables.sharing import Invite, Variant


class ViewSession(Row):
    uuid = TextField(unique=True)
    opening = TextField()  # the load of the page it belongs to: the nonce of its token
    part = IntegerField()  # which session of that load it is, from 0
    file = ForeignKeyField(File)
    content_version = IntegerField()
    total_pages = IntegerField()
    reader = TextField()
    klass = TextField(column_name="class")
    reason = TextField()
    prefetched = IntegerField()
    earliest_at = IntegerField()  # when the page was served or the load's session before it ended
    started_at = IntegerField()
    first_at = IntegerField(null=True)  # arrival of the first beacon; None of sessions before it was kept
    heard_at = IntegerField()
    active_at = IntegerField()
    last_seq = IntegerField()
    hidden_at = IntegerField(null=True)
    closed_at = IntegerField(null=True)
    input_at = IntegerField(null=True)
    counted_at = IntegerField(null=True)
    ended_at = IntegerField(null=True)
    visible_ms = IntegerField()
    time_ms = IntegerField()
    pages_viewed = IntegerField(default=0)
    furthest_page = IntegerField(default=0)
    turns = IntegerField()
    back_turns = IntegerField()
    country = TextField(null=True)
    device = TextField()
    browser = TextField()
    source = TextField()
    referrer = TextField(null=True)
    viewer_mode = TextField()
    variant = ForeignKeyField(Variant, null=True)
    viewer = ForeignKeyField(Viewer, null=True)
    invite = ForeignKeyField(Invite, null=True)
    email = TextField(null=True)  # of its reader, as it was known when the session began
    name = TextField(null=True)
    shown_pages = IntegerField(default=0)  # how many pages of the document its reader could see
    came_back = IntegerField(default=0)  # whether an earlier session of the same reader was counted

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
    body = TextField()  # JSON: what was sent, without the token
    accepted = TextField()  # JSON: [[page, ms, views, back], ...], what of it was believed

    class Meta:
        table_name = "beacons"
        primary_key = CompositeKey("session", "seq")


class ReaderSalt(Row):
    file = ForeignKeyField(File, primary_key=True)
    salt = BlobField()
    created_at = IntegerField()

    class Meta:
        table_name = "reader_salts"


def find_session_reader(store: Store, session_id: int) -> tuple[bool, str | None, str | None] | None:
    """Return whether a session came through a variant, its country and the email of its reader; or None."""
    found = store.row("SELECT variant_id IS NOT NULL, country, email FROM view_sessions WHERE id = ?", (session_id,))
    return (bool(found[0]), found[1], found[2]) if found else None
