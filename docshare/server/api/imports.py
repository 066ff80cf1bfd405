"""Import from an allowed host."""

from flask import Response

from docshare.contract.wire import drop_none
from docshare.server.api import answers, bodies
from docshare.server.api.represent import resources
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import imports


def create_import(caller: Caller) -> Response:
    """``POST /files/import``: fetch the PDF and share it; return the import result.

    For a design with valid tokens the result contains whether it was published again.
    """
    imported = imports.import_document(current_runtime(), caller, bodies.read_json_object())
    of_design = imported.is_republished is not None
    result = {
        "uuid": imported.uuid,
        "shortId": imported.short_id,
        "shareUrl": resources.share_url(current_runtime().config.base_url, imported.short_id),
        "palette": imported.palette,
        "republished": imported.is_republished,
        "contentVersion": imported.content_version if of_design else None,
    }
    return answers.json_response(drop_none(result))
