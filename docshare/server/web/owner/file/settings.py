"""The settings of a file and the looks of its share page: two forms over the one table of settings."""

import json
from collections.abc import Callable, Mapping

from flask import Blueprint
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.server.http.views import rt
from docshare.server.services.files import assets, settings
from docshare.server.web.owner.desk import Owner, done, form, page
from docshare.server.web.owner.file import changes, controls
from docshare.server.web.owner.file.controls import Section
from docshare.server.web.owner.file.paper import Paper, opened, page_of, path_of, typed

_SHOWN = "shown"  # the hidden field that keeps what the form showed

blueprint = Blueprint("owner_file_settings", __name__)


@blueprint.get("/files/<name>/settings")
@page
def show(owner: Owner, name: str) -> AnyResponse:
    """``/files/{id}/settings``. Raises ``not_found``."""
    paper = opened(owner, name)
    return _page(owner, paper, "settings", _settings(owner, paper))


@blueprint.post("/files/<name>/settings")
@form
def change(owner: Owner, name: str) -> AnyResponse:
    """Write what was changed in the form. Raises ``not_found``; other refusals are said above the form."""
    return _change(owner, name, "settings", _settings)


@blueprint.get("/files/<name>/looks")
@page
def show_looks(owner: Owner, name: str) -> AnyResponse:
    """``/files/{id}/looks``. Raises ``not_found``."""
    paper = opened(owner, name)
    return _page(owner, paper, "looks", _looks(owner, paper))


@blueprint.post("/files/<name>/looks")
@form
def change_looks(owner: Owner, name: str) -> AnyResponse:
    """As ``change``, for the looks."""
    return _change(owner, name, "looks", _looks)


def _settings(owner: Owner, paper: Paper) -> tuple[Section, ...]:
    design_tool = rt().config.design_user_jwks_url is not None
    return controls.settings(paper.file, owner.caller.plan, design_tool=design_tool)


def _looks(owner: Owner, paper: Paper) -> tuple[Section, ...]:
    rows = assets.list_assets(rt(), owner.caller, paper.row.uuid)
    images = [(row.uuid, f"the uploaded {row.kind}") for row in rows if row.mime_type.startswith("image/")]
    return controls.looks(paper.file, owner.caller.plan, images)


def _change(owner: Owner, name: str, tab: str, draw: Callable[[Owner, Paper], tuple[Section, ...]]) -> AnyResponse:
    paper, sent = opened(owner, name), typed()
    shown: dict[str, str] | None = None
    try:
        shown = changes.read_values(sent.get(_SHOWN, ""))
        settings.change(rt(), owner.caller, paper.row.uuid, changes.body(shown, sent, paper.file))
    except Problem as problem:
        sections = draw(owner, paper) if shown is None else controls.retyped(draw(owner, paper), sent)
        return _page(owner, paper, tab, sections, shown, problem)
    return done(f"{path_of(paper.row.uuid)}/{tab}", "Saved.")


def _page(
    owner: Owner,
    paper: Paper,
    tab: str,
    sections: tuple[Section, ...],
    shown: Mapping[str, str] | None = None,
    problem: Problem | None = None,
) -> AnyResponse:
    """The form; ``shown`` what it showed when it was drawn first, so that a second try still says what was changed."""
    kept = json.dumps(controls.values(sections) if shown is None else shown)
    above = owner.caller.plan < Plan.PRO
    return page_of(owner, paper, tab, problem, sections=sections, shown_field=_SHOWN, shown=kept, above=above)
