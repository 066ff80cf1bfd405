"""What a share link tells anybody: ``GET /api/files/{id}/metadata`` (section Errors)."""

from flask import Response

from docshare.server.api import answers, represent
from docshare.server.services import public
from docshare.server.shell import rt


def metadata(name: str) -> Response:
    """``GET /api/files/{id}/metadata``: the public facts of a link; 410 with why and since when for a dead one."""
    told = public.metadata(rt(), name)
    if told.alive:
        return answers.json(represent.public_metadata(rt().config.base_url, told))
    response = answers.json(represent.dead_link(told))
    response.status_code = 410
    return response
