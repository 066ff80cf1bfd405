"""Import from an allowed host (section Files)."""

from flask import Response

from docshare.contract.wire import present
from docshare.server.api import answers, bodies, represent
from docshare.server.services import imports
from docshare.server.services.callers import Caller
from docshare.server.shell import rt


def create(caller: Caller) -> Response:
    """``POST /files/import``: fetch the PDF and share it; the import result. Of a design that was shown by good tokens
    it says whether it was published again."""
    made = imports.take(rt(), caller, bodies.json_object())
    of_design = made.republished is not None
    result = {
        "uuid": made.uuid,
        "shortId": made.short_id,
        "shareUrl": represent.share_url(rt().config.base_url, made.short_id),
        "palette": made.palette,
        "republished": made.republished,
        "contentVersion": made.content_version if of_design else None,
    }
    return answers.json(present(result))
