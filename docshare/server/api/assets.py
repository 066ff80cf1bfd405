"""Assets of a file (section Files)."""

from flask import Response, request

from docshare.server import uploads
from docshare.server.api import answers, represent
from docshare.server.api.files import received_file
from docshare.server.services import assets
from docshare.server.services.callers import Caller
from docshare.server.shell import rt


def create(caller: Caller, name: str) -> Response:
    """``POST /files/{id}/assets``: store the part ``file`` as what the part ``kind`` says."""
    received = received_file(lambda length: assets.admit(rt(), caller, name, length))
    kind = uploads.received(request).fields.get("kind")
    return answers.json(represent.asset(assets.add(rt(), caller, name, kind, received)))
