"""The caller's own account (section Account record)."""

from flask import Response

from docshare.server.api import answers, represent
from docshare.server.services import files
from docshare.server.services.callers import Caller
from docshare.server.shell import rt


def show(caller: Caller) -> Response:
    """``GET /user``: the account, its plan and what is left of it."""
    return answers.json(represent.account(caller, files.active_count(rt(), caller.account_id)))
