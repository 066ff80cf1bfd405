"""Invitations to a file."""

from flask import Response

from docshare.server.api import answers, bodies
from docshare.server.api.represent import resources
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.links import invites


def list_invites(caller: Caller, name: str) -> Response:
    """``GET /files/{id}/invites``: list all invitations, newest first."""
    base_url = current_runtime().config.base_url
    return answers.json_response(
        [resources.invite_object(base_url, row) for row in invites.list_invites(current_runtime(), caller, name)]
    )


def create_invite(caller: Caller, name: str) -> Response:
    """``POST /files/{id}/invites``: return 201 and the new invitation, or 200 and the existing one of that address."""
    row, is_new = invites.create(current_runtime(), caller, name, bodies.read_json_object())
    response = answers.json_response(resources.invite_object(current_runtime().config.base_url, row))
    response.status_code = 201 if is_new else 200
    return response
