"""Import from an allowed host (section Files)."""

from flask import Response

from docshare.contract.wire import present
from docshare.server.api import answers, bodies, represent
from docshare.server.services import imports
from docshare.server.services.callers import Caller
from docshare.server.shell import rt


def create(caller: Caller) -> Response:
    """``POST /files/import``: fetch the PDF and share it; the import result."""
    made = imports.take(rt(), caller, bodies.json_object())
    link = represent.share_url(rt().config.base_url, made.file.short_id)
    result = {"uuid": made.file.uuid, "shortId": made.file.short_id, "shareUrl": link, "palette": made.palette}
    return answers.json(present(result))
