"""Files and the revisions of their content."""

from peewee import ForeignKeyField, IntegerField, TextField

from docshare.server.store.tables.accounts import Account
from docshare.server.store.tables.base import Row


class File(Row):
    uuid = TextField(unique=True)
    short_id = TextField(unique=True)
    slug = TextField(unique=True, null=True)
    owner = ForeignKeyField(Account, null=True)
    original_name = TextField()
    size = IntegerField()
    mime_type = TextField()
    total_pages = IntegerField()
    page_sizes = TextField()  # JSON: [[pages, width, height], ...] in points, equal neighbours folded together
    sha256 = TextField()
    blob = TextField()
    content_version = IntegerField()
    created_at = IntegerField()
    updated_at = IntegerField()
    delete_at = IntegerField(null=True)
    trashed_at = IntegerField(null=True)
    purge_at = IntegerField(null=True)
    burned_at = IntegerField(null=True)
    destroyed_at = IntegerField(null=True)  # when the bytes of a burned file went
    view_count = IntegerField(default=0)
    views_consumed = IntegerField(default=0)
    view_limit = IntegerField(null=True)
    password_hash = TextField(null=True)
    notified_at = IntegerField(null=True)  # of the last mail that told of a view
    notified_views = IntegerField(default=0)  # what the view count was then
    frozen_at = IntegerField(null=True)
    download_warning = TextField(null=True)  # why readers cannot download it as the settings say: a word of the rules
    settings = TextField(default="{}")  # JSON: the settings that deviate from their defaults, by wire name

    class Meta:
        table_name = "files"


class Revision(Row):
    file = ForeignKeyField(File, backref="revisions")
    content_version = IntegerField()
    original_name = TextField()
    size = IntegerField()
    total_pages = IntegerField()
    sha256 = TextField()
    created_at = IntegerField()

    class Meta:
        table_name = "revisions"
