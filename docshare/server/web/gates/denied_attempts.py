"""Notify the owner of a link that somebody could not open it."""

from flask import request

from docshare.contract.problems import Problem
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts import sign_in
from docshare.server.services.links import denials
from docshare.server.services.links.denials import LinkRequester
from docshare.server.web.beacons import is_prefetch
from docshare.server.web.sign_in import session_cookie


def record_denial(name: str, problem: Problem) -> None:
    """Count that the current request, which opens the link ``name``, was rejected with ``problem``."""
    requester = LinkRequester(
        user_agent=request.headers.get("User-Agent", ""),
        account_id=sign_in.find_account_id(current_runtime(), session_cookie()),
        is_unseen=request.method == "HEAD" or is_prefetch(),
        submits_form=request.method == "POST",
    )
    denials.count_denial(current_runtime(), name, problem, requester)
