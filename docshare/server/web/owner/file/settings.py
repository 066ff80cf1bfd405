"""The settings of a file: a form over the table of settings. ``looks`` has the appearance of its share page."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from flask import Blueprint
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.server.http.views import current_runtime
from docshare.server.web.owner.file import changes, controls, groups
from docshare.server.web.owner.file.controls import Section
from docshare.server.web.owner.file.file_page import OwnedFile, find_owned_file, render_file_page
from docshare.server.web.owner.file.settings_form import show_again, store_changes
from docshare.server.web.owner.form_errors import locate_errors
from docshare.server.web.owner.frame import SignedInOwner, owner_page, resumable_form

blueprint = Blueprint("owner_file_settings", __name__)


@blueprint.get("/files/<name>/settings")
@owner_page
def show(owner: SignedInOwner, name: str) -> AnyResponse:
    """Show ``/files/{id}/settings``. Raises ``not_found``."""
    owned = find_owned_file(owner, name)
    return _render_page(owner, owned, _build_form(owner, owned))


def _refill(owner: SignedInOwner, problem: Problem, name: str) -> AnyResponse:
    return show_again(owner, problem, name, _render_rejected)


@blueprint.post("/files/<name>/settings")
@resumable_form(_refill)
def change(owner: SignedInOwner, name: str) -> AnyResponse:
    """Store the settings changed in the form. Raises ``not_found``; other problems are shown in the form."""
    return store_changes(owner, name, "settings", _render_rejected)


def _build_form(owner: SignedInOwner, owned: OwnedFile) -> tuple[Section, ...]:
    design_tool = current_runtime().config.design_user_jwks_url is not None
    return groups.build_settings_form(owned.file, owner.caller.plan, design_tool=design_tool)


def _render_rejected(
    owner: SignedInOwner,
    owned: OwnedFile,
    sent: Mapping[str, str],
    shown: Mapping[str, str] | None,
    problems: Sequence[Problem],
) -> AnyResponse:
    """Render the form with the values ``sent`` and the ``problems`` beside their controls."""
    sections = _build_form(owner, owned)
    if shown is None:
        return _render_page(owner, owned, sections, problem=problems[0])
    errors = locate_errors(problems, controls.list_named_controls(sections))
    filled = controls.fill_submitted(sections, sent)
    lost = bool(sent.get("password"))
    return _render_page(owner, owned, filled, shown, problems[0], errors=errors, password_lost=lost)


def _render_page(
    owner: SignedInOwner,
    owned: OwnedFile,
    sections: tuple[Section, ...],
    shown: Mapping[str, str] | None = None,
    problem: Problem | None = None,
    **facts: Any,
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
        **facts,
    )
