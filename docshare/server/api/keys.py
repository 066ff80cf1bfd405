"""The API keys of the caller's account."""

from flask import Response

from docshare.server.api import answers, bodies
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts import keys
from docshare.server.services.accounts.callers import Caller


def list_keys(caller: Caller) -> Response:
    """``GET /keys``: list the keys that were not revoked, newest first."""
    return answers.json_response(keys.list_active(current_runtime(), caller))


def create_key(caller: Caller) -> Response:
    """``POST /keys``: return 201 and the new restricted key; only this response contains it."""
    keys.require_full_access(caller)
    row, key = keys.create(current_runtime(), caller, keys.parse_key(bodies.read_json_object()))
    response = answers.json_response({**row, "key": key})
    response.status_code = 201
    return response


def revoke_key(caller: Caller, uuid: str) -> Response:
    """``DELETE /keys/{uuid}``: revoke a key; 204, also for one that was revoked before."""
    keys.revoke(current_runtime(), caller, uuid)
    return Response(status=204)
