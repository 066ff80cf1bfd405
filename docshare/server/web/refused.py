"""Telling the owner of a link that somebody could not open it."""

from flask import request

from docshare.contract.problems import Problem
from docshare.server.http.views import rt
from docshare.server.services.accounts import sign_in
from docshare.server.services.links import denials
from docshare.server.services.links.denials import Asker
from docshare.server.web.beacons import is_prefetch
from docshare.server.web.sign_in import session_cookie


def record_denial(name: str, problem: Problem) -> None:
    """Count that the running request, which opens the link ``name``, is refused with ``problem``."""
    asker = Asker(
        user_agent=request.headers.get("User-Agent", ""),
        account_id=sign_in.viewer_account(rt(), session_cookie()),
        unread=request.method == "HEAD" or is_prefetch(),
        acts=request.method == "POST",
    )
    denials.refused(rt(), name, problem, asker)
