"""The invitations to a file: a personal link for one e-mail address each."""

from collections.abc import Mapping

from flask import Blueprint
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.limits import INVITE_NAME_CHARS
from docshare.contract.problems import Problem
from docshare.server.api.represent import resources
from docshare.server.http.views import rt
from docshare.server.services.links import invites
from docshare.server.web.owner.desk import Owner, done, form, page
from docshare.server.web.owner.file.controls import ON
from docshare.server.web.owner.file.paper import Paper, needs, opened, page_of, path_of, typed

blueprint = Blueprint("owner_file_invites", __name__)


@blueprint.get("/files/<name>/invites")
@page
def show(owner: Owner, name: str) -> AnyResponse:
    """``/files/{id}/invites``. Raises ``not_found``."""
    return _page(owner, opened(owner, name))


@blueprint.post("/files/<name>/invites")
@form
def create(owner: Owner, name: str) -> AnyResponse:
    """Invite one address; one that was invited before keeps its link."""
    paper, sent = opened(owner, name), typed()
    body = {"email": sent.get("email", ""), "name": sent.get("name", ""), "mail": sent.get("mail") == ON}
    try:
        row, is_new = invites.create(rt(), owner.caller, paper.row.uuid, body)
    except Problem as problem:
        return _page(owner, paper, problem, sent)
    words = f"{row.email} is invited." if is_new else f"{row.email} was invited before; the link is the same."
    if body["mail"] and rt().config.smtp_url is None:
        words += " No mail server is set up: send the link yourself."
    return done(f"{path_of(paper.row.uuid)}/invites", words)


def _page(
    owner: Owner, paper: Paper, problem: Problem | None = None, sent: Mapping[str, str] | None = None
) -> AnyResponse:
    plan = needs(owner, "invites.list")
    rows = [] if plan else invites.list_invites(rt(), owner.caller, paper.row.uuid)
    shown = [resources.invite(rt().config.base_url, row) for row in rows]
    fields = {"mail": ON} if sent is None else sent
    return page_of(
        owner, paper, "invites", problem, plan=plan, invites=shown, fields=fields, name_chars=INVITE_NAME_CHARS
    )
