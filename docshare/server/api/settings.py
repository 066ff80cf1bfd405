"""The settings of a file."""

from flask import Response

from docshare.server.api import answers, bodies
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import settings


def change_settings(caller: Caller, name: str) -> Response:
    """``PUT /files/{id}/settings``: update the settings; 200 with an empty body. An empty request changes nothing."""
    settings.change_settings(current_runtime(), caller, name, bodies.read_json_object())
    return Response(content_type=answers.JSON_TYPE)
