"""The caller's own account."""

from flask import Response

from docshare.server.api import answers
from docshare.server.api.represent import resources as represent
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import files


def show_account(caller: Caller) -> Response:
    """``GET /user``: return the account, its plan and its remaining quota."""
    return answers.json_response(
        represent.account_record(caller, files.count_active(current_runtime(), caller.account_id))
    )
