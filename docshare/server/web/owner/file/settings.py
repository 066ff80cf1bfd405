"""The settings of a file: a form over the table of settings. ``looks`` has the appearance of its share page."""

import json
from collections.abc import Mapping

from flask import Blueprint
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.server.http.views import current_runtime
from docshare.server.services.files import settings
from docshare.server.web.owner.file import changes, controls
from docshare.server.web.owner.file.controls import Section
from docshare.server.web.owner.file.file_page import OwnedFile, file_path, find_owned_file, read_form, render_file_page
from docshare.server.web.owner.frame import SignedInOwner, owner_form, owner_page, redirect_with_message

blueprint = Blueprint("owner_file_settings", __name__)


@blueprint.get("/files/<name>/settings")
@owner_page
def show(owner: SignedInOwner, name: str) -> AnyResponse:
    """Show ``/files/{id}/settings``. Raises ``not_found``."""
    owned = find_owned_file(owner, name)
    return _render_page(owner, owned, _build_form(owner, owned))


@blueprint.post("/files/<name>/settings")
@owner_form
def change(owner: SignedInOwner, name: str) -> AnyResponse:
    """Store the settings changed in the form. Raises ``not_found``; other problems are shown above the form."""
    owned, sent = find_owned_file(owner, name), read_form()
    shown: dict[str, str] | None = None
    try:
        shown = changes.parse_displayed_values(sent.get(changes.DISPLAYED_FIELD, ""))
        settings.change_settings(
            current_runtime(), owner.caller, owned.row.uuid, changes.build_settings_body(shown, sent, owned.file)
        )
    except Problem as problem:
        form = _build_form(owner, owned)
        return _render_page(
            owner, owned, form if shown is None else controls.fill_submitted(form, sent), shown, problem
        )
    return redirect_with_message(f"{file_path(owned.row.uuid)}/settings", "Saved.")


def _build_form(owner: SignedInOwner, owned: OwnedFile) -> tuple[Section, ...]:
    design_tool = current_runtime().config.design_user_jwks_url is not None
    return controls.build_settings_form(owned.file, owner.caller.plan, design_tool=design_tool)


def _render_page(
    owner: SignedInOwner,
    owned: OwnedFile,
    sections: tuple[Section, ...],
    shown: Mapping[str, str] | None = None,
    problem: Problem | None = None,
) -> AnyResponse:
    """Render the form. ``shown``: its values when it was first rendered, so that a resubmission still finds the
    changes."""
    kept = json.dumps(controls.list_control_values(sections) if shown is None else shown)
    above = owner.caller.plan < Plan.PRO
    return render_file_page(
        owner,
        owned,
        "settings",
        problem,
        sections=sections,
        shown_field=changes.DISPLAYED_FIELD,
        shown=kept,
        above=above,
    )
