"""The invitations to a file: one personal link for each email address."""

from collections.abc import Mapping

from flask import Blueprint
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.limits import INVITE_NAME_CHARS
from docshare.contract.problems import Problem
from docshare.server.api.represent import resources
from docshare.server.http.views import current_runtime
from docshare.server.services.links import invites
from docshare.server.web.owner.file.controls import CHECKED
from docshare.server.web.owner.file.file_page import (
    OwnedFile,
    file_path,
    find_owned_file,
    read_form,
    render_file_page,
    required_tier,
)
from docshare.server.web.owner.form_errors import locate_errors
from docshare.server.web.owner.frame import SignedInOwner, owner_page, redirect_with_message, resumable_form

blueprint = Blueprint("owner_file_invites", __name__)

_CONTROLS = {"email": ("email", "Email address"), "name": ("name", "Name")}


@blueprint.get("/files/<name>/invites")
@owner_page
def show(owner: SignedInOwner, name: str) -> AnyResponse:
    """Show ``/files/{id}/invites``. Raises ``not_found``."""
    return _render_page(owner, find_owned_file(owner, name))


def _refill(owner: SignedInOwner, problem: Problem, name: str) -> AnyResponse:
    return _render_page(owner, find_owned_file(owner, name), problem, read_form())


@blueprint.post("/files/<name>/invites")
@resumable_form(_refill)
def create(owner: SignedInOwner, name: str) -> AnyResponse:
    """Invite one address; an address that was invited before keeps its link."""
    owned, sent = find_owned_file(owner, name), read_form()
    body = {"email": sent.get("email", ""), "name": sent.get("name", ""), "mail": sent.get("mail") == CHECKED}
    try:
        row, is_new = invites.create(current_runtime(), owner.caller, owned.row.uuid, body)
    except Problem as problem:
        return _render_page(owner, owned, problem, sent)
    words = f"{row.email} is invited." if is_new else f"{row.email} was invited before; the link is the same."
    if body["mail"] and current_runtime().config.smtp_url is None:
        words += " No mail server is set up: send the link yourself."
    return redirect_with_message(f"{file_path(owned.row.uuid)}/invites", words)


def _render_page(
    owner: SignedInOwner, owned: OwnedFile, problem: Problem | None = None, sent: Mapping[str, str] | None = None
) -> AnyResponse:
    plan = required_tier(owner, "invites.list")
    rows = [] if plan else invites.list_invites(current_runtime(), owner.caller, owned.row.uuid)
    shown = [resources.invite_object(current_runtime().config.base_url, row) for row in rows]
    fields = {"mail": CHECKED} if sent is None else sent
    return render_file_page(
        owner,
        owned,
        "invites",
        problem,
        errors=locate_errors(problem, _CONTROLS),
        plan=plan,
        invites=shown,
        fields=fields,
        name_chars=INVITE_NAME_CHARS,
    )
