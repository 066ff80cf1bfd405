"""The personal links of a file: one for each recipient."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.limits import VARIANT_LABEL_CHARS, VARIANTS_PER_FILE
from docshare.contract.problems import Problem
from docshare.server.api.represent import resources
from docshare.server.http.views import rt
from docshare.server.services.links import variants
from docshare.server.services.links.variants import VariantRow
from docshare.server.web.owner.desk import Owner, done, form, page
from docshare.server.web.owner.file import changes
from docshare.server.web.owner.file.paper import Paper, needs, opened, page_of, path_of, require_word, typed

_DOWNLOADS = {"yes": True, "no": False}
_RANGES = ("all", "some")

blueprint = Blueprint("owner_file_links", __name__)


@blueprint.get("/files/<name>/links")
@page
def show(owner: Owner, name: str) -> AnyResponse:
    """``/files/{id}/links``. Raises ``not_found``."""
    return _page(owner, opened(owner, name))


@blueprint.post("/files/<name>/links")
@form
def create(owner: Owner, name: str) -> AnyResponse:
    """Make a link for each line of ``labels``, one without a label where there is none."""
    paper, sent = opened(owner, name), typed()
    waiting = [line.strip() for line in sent.get("labels", "").splitlines() if line.strip()] or [""]
    made = 0
    try:
        wish = _overrides(sent)
        for label in list(waiting):
            variants.create(rt(), owner.caller, paper.row.uuid, {"label": label, "overrides": wish})
            waiting.remove(label)
            made += 1
    except Problem as problem:
        told = f"{_links(made)} made before that; the lines below are still to do." if made else problem.hint
        again = Problem(problem.code, problem.detail, hint=told)
        return _page(owner, paper, again, sent | {"labels": "\n".join(waiting)})
    return done(_place(paper), f"{_links(made)} made.")


@blueprint.get("/files/<name>/links/<variant>")
@page
def show_one(owner: Owner, name: str, variant: str) -> AnyResponse:
    """One link and what can be changed about it. Raises ``not_found``, ``plan_required``."""
    paper = opened(owner, name)
    return _one_page(owner, paper, _one(owner, paper, variant))


@blueprint.post("/files/<name>/links/<variant>")
@form
def change(owner: Owner, name: str, variant: str) -> AnyResponse:
    """Write the label and the overrides of one link."""
    paper, sent = opened(owner, name), typed()
    try:
        body: dict[str, Any] = {"overrides": _overrides(sent)}
        if "label" in sent:  # that of a redacted link is not asked for
            body["label"] = sent["label"].strip()
        variants.update(rt(), owner.caller, paper.row.uuid, variant, body)
    except Problem as problem:
        if problem.code == "not_found":
            raise
        return _one_page(owner, paper, _one(owner, paper, variant), problem, sent)
    return done(_place(paper), "Saved.")


@blueprint.post("/files/<name>/links/<variant>/revoke")
@form
def revoke(owner: Owner, name: str, variant: str) -> AnyResponse:
    """Let the link lead nowhere. Raises ``not_found``."""
    return _set_revoked(owner, name, variant, revoked=True)


@blueprint.post("/files/<name>/links/<variant>/restore")
@form
def restore(owner: Owner, name: str, variant: str) -> AnyResponse:
    """Let a revoked link work again. Raises ``not_found``."""
    return _set_revoked(owner, name, variant, revoked=False)


@blueprint.post("/files/<name>/links/<variant>/redact")
@form
def redact(owner: Owner, name: str, variant: str) -> AnyResponse:
    """Erase the label for good, when that was confirmed. Raises ``not_found``, ``bad_request``."""
    paper = opened(owner, name)
    require_word("redact", typed())
    variants.redact(rt(), owner.caller, paper.row.uuid, variant)
    return done(_place(paper), "The label was erased. The link goes on working.")


@blueprint.post("/files/<name>/links/<variant>/delete")
@form
def delete(owner: Owner, name: str, variant: str) -> AnyResponse:
    """Delete the link for good, when that was confirmed. Raises ``not_found``, ``bad_request``."""
    paper = opened(owner, name)
    require_word("delete", typed())
    variants.delete(rt(), owner.caller, paper.row.uuid, variant)
    return done(_place(paper), "The link was deleted.")


def _set_revoked(owner: Owner, name: str, variant: str, *, revoked: bool) -> AnyResponse:
    paper = opened(owner, name)
    variants.update(rt(), owner.caller, paper.row.uuid, variant, {"revoked": revoked})
    return done(_place(paper), "The link leads nowhere now." if revoked else "The link works again.")


def _overrides(form: Mapping[str, str]) -> dict[str, Any]:
    """What the form sets otherwise than the file does."""
    found: dict[str, Any] = {}
    if form.get("download") in _DOWNLOADS:
        found["allowDownload"] = _DOWNLOADS[form["download"]]
    if form.get("range") in _RANGES:
        ends = (form.get("from", ""), form.get("to", "")) if form["range"] == "some" else ("", "")
        found["pageRange"] = changes.page_range(*ends)
    return found


def _one(owner: Owner, paper: Paper, variant: str) -> VariantRow:
    rows = variants.list_variants(rt(), owner.caller, paper.row.uuid)
    found = next((row for row in rows if row.uuid == variant.lower()), None)
    if found is None:
        raise Problem("not_found", "There is no such link.")
    return found


def _page(
    owner: Owner, paper: Paper, problem: Problem | None = None, sent: Mapping[str, str] | None = None
) -> AnyResponse:
    plan = needs(owner, "variants.list")
    rows = [] if plan else variants.list_variants(rt(), owner.caller, paper.row.uuid)
    shown = [resources.variant(rt().config.base_url, row) for row in rows]
    return page_of(owner, paper, "links", problem, plan=plan, variants=shown, fields=sent or {}, most=VARIANTS_PER_FILE)


def _one_page(
    owner: Owner,
    paper: Paper,
    row: VariantRow,
    problem: Problem | None = None,
    sent: Mapping[str, str] | None = None,
) -> AnyResponse:
    variant = resources.variant(rt().config.base_url, row)
    fields = sent or _as_form(variant)
    return page_of(owner, paper, "link", problem, variant=variant, fields=fields, label_chars=VARIANT_LABEL_CHARS)


def _as_form(variant: Mapping[str, Any]) -> dict[str, str]:
    """The form that would set what ``variant`` has."""
    overrides = variant["overrides"]
    form = {"label": variant.get("label", ""), "download": "", "range": ""}
    if "allowDownload" in overrides:
        form["download"] = "yes" if overrides["allowDownload"] else "no"
    if "pageRange" in overrides:
        window = overrides["pageRange"]
        some = window["to"] > 0
        form |= {"range": "some", "from": str(window["from"]), "to": str(window["to"])} if some else {"range": "all"}
    return form


def _links(count: int) -> str:
    return "1 link was" if count == 1 else f"{count} links were"


def _place(paper: Paper) -> str:
    return f"{path_of(paper.row.uuid)}/links"
