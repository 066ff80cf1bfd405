"""Assets of a file."""

from flask import Response, request

from docshare.server.api import answers
from docshare.server.api.files import receive_file
from docshare.server.api.represent import resources
from docshare.server.http import uploads
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import assets


def create_asset(caller: Caller, name: str) -> Response:
    """``POST /files/{id}/assets``: store the part ``file`` as an asset of the kind in the part ``kind``."""
    received = receive_file(lambda length: assets.admit(current_runtime(), caller, name, length))
    kind = uploads.read_form(request).fields.get("kind")
    return answers.json_response(resources.asset_object(assets.add(current_runtime(), caller, name, kind, received)))
