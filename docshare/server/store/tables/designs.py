"""Which design of the design tool a file shows, and what its users have published lately."""

from peewee import ForeignKeyField, IntegerField, TextField

from docshare.server.store.tables.base import Row
from docshare.server.store.tables.files import File


class Design(Row):
    file = ForeignKeyField(File, primary_key=True)
    design_user = TextField()
    design = TextField()
    bound_at = IntegerField()
    expires_at = IntegerField(null=True)  # what the publishing set

    class Meta:
        table_name = "designs"


class DesignUpload(Row):
    design_user = TextField()
    uploaded_at = IntegerField()

    class Meta:
        table_name = "design_uploads"
