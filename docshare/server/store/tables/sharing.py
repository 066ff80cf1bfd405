"""Variants and invites of a link, assets of a file, its hotspots, and the tokens of files without an owner."""

from peewee import ForeignKeyField, IntegerField, TextField

from docshare.server.store.tables.base import Row
from docshare.server.store.tables.files import File


class ShortId(Row):
    short_id = TextField(primary_key=True)

    class Meta:
        table_name = "short_ids"


class Variant(Row):
    uuid = TextField(unique=True)
    short_id = TextField(unique=True)
    file = ForeignKeyField(File)
    label = TextField(null=True)
    overrides = TextField(default="{}")  # JSON: allowDownload, pageRange as they came
    created_at = IntegerField()
    revoked_at = IntegerField(null=True)
    redacted_at = IntegerField(null=True)
    download_warning = TextField(null=True)

    class Meta:
        table_name = "variants"


class Invite(Row):
    uuid = TextField(unique=True)
    short_id = TextField(unique=True)
    file = ForeignKeyField(File)
    email = TextField()
    name = TextField(null=True)
    created_at = IntegerField()
    viewed_at = IntegerField(null=True)

    class Meta:
        table_name = "invites"


class Asset(Row):
    uuid = TextField(unique=True)
    file = ForeignKeyField(File)
    kind = TextField()
    mime_type = TextField()
    size = IntegerField()
    blob = TextField()
    created_at = IntegerField()

    class Meta:
        table_name = "assets"


class Hotspot(Row):
    uuid = TextField(unique=True)
    file = ForeignKeyField(File)
    page = IntegerField()
    rect = TextField()  # JSON: x, y, width, height as fractions of the page
    label = TextField()
    url = TextField(null=True)
    asset = ForeignKeyField(Asset, null=True)
    created_at = IntegerField()

    class Meta:
        table_name = "hotspots"


class FileToken(Row):
    digest = TextField(primary_key=True)
    file = ForeignKeyField(File, null=True)  # None: the file is gone
    kind = TextField()  # manage or claim
    expires_at = IntegerField()

    class Meta:
        table_name = "file_tokens"
