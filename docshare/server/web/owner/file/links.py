"""The personal links of a file: one for each recipient."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from flask import Blueprint
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.amounts import format_plural
from docshare.contract.limits import VARIANT_LABEL_CHARS, VARIANTS_PER_FILE
from docshare.contract.problems import Problem
from docshare.server.api.represent import resources
from docshare.server.http.views import current_runtime
from docshare.server.services.links import variants
from docshare.server.services.links.variants import VariantRow
from docshare.server.web.owner.file import changes
from docshare.server.web.owner.file.file_page import (
    OwnedFile,
    file_path,
    find_owned_file,
    read_form,
    render_file_page,
    require_confirmation,
    required_tier,
)
from docshare.server.web.owner.form_errors import locate_errors
from docshare.server.web.owner.frame import (
    SignedInOwner,
    owner_form,
    owner_page,
    redirect_with_message,
    resumable_form,
)

_DOWNLOAD_CHOICES = {"yes": True, "no": False}
_RANGE_CHOICES = ("all", "some")
_CONTROLS = {
    "label": ("label", "Label"),
    "overrides.allowDownload": ("download", "Download"),
    "overrides.pageRange": ("from", "From page"),
}
_OVERRIDE_CONTROLS = {"allowDownload": ("download",), "pageRange": ("range", "from", "to")}

blueprint = Blueprint("owner_file_links", __name__)


@blueprint.get("/files/<name>/links")
@owner_page
def show(owner: SignedInOwner, name: str) -> AnyResponse:
    """Show ``/files/{id}/links``. Raises ``not_found``."""
    return _render_page(owner, find_owned_file(owner, name))


def _refill_new(owner: SignedInOwner, problem: Problem, name: str) -> AnyResponse:
    return _render_page(owner, find_owned_file(owner, name), problem, read_form())


@blueprint.post("/files/<name>/links")
@resumable_form(_refill_new)
def create(owner: SignedInOwner, name: str) -> AnyResponse:
    """Create a link for each line of ``labels``, or one link without a label if there are none."""
    owned, sent = find_owned_file(owner, name), read_form()
    waiting = [line.strip() for line in sent.get("labels", "").splitlines() if line.strip()] or [""]
    count = 0
    try:
        overrides = _parse_overrides(sent)
        for label in list(waiting):
            variants.create(current_runtime(), owner.caller, owned.row.uuid, {"label": label, "overrides": overrides})
            waiting.remove(label)
            count += 1
    except Problem as problem:
        hint = (
            f"{format_plural(count, 'link was', 'links were')} created. The lines below were not processed."
            if count
            else problem.hint
        )
        again = Problem(problem.code, problem.detail, hint=hint, field="" if count else problem.field)
        return _render_page(owner, owned, again, sent | {"labels": "\n".join(waiting)})
    return redirect_with_message(_links_path(owned), f"{format_plural(count, 'link was', 'links were')} created.")


@blueprint.get("/files/<name>/links/<variant>")
@owner_page
def show_one(owner: SignedInOwner, name: str, variant: str) -> AnyResponse:
    """Show one link and its editable settings. Raises ``not_found``, ``plan_required``."""
    owned = find_owned_file(owner, name)
    return _render_variant_page(owner, owned, _find_variant(owner, owned, variant))


def _refill_one(owner: SignedInOwner, problem: Problem, name: str, variant: str) -> AnyResponse:
    owned = find_owned_file(owner, name)
    return _render_variant_page(owner, owned, _find_variant(owner, owned, variant), problem, read_form())


@blueprint.post("/files/<name>/links/<variant>")
@resumable_form(_refill_one)
def change(owner: SignedInOwner, name: str, variant: str) -> AnyResponse:
    """Update what the form changed of the label and the overrides of one link."""
    owned, sent = find_owned_file(owner, name), read_form()
    row = _find_variant(owner, owned, variant)
    try:
        shown = changes.parse_displayed_values(sent.get(changes.DISPLAYED_FIELD, ""))
    except Problem as problem:
        return _render_variant_page(owner, owned, row, problem)
    try:
        body, merge = _build_update(shown, sent)
        variants.update(current_runtime(), owner.caller, owned.row.uuid, variant, body, merge=merge)
    except Problem as problem:
        if problem.code == "not_found":
            raise
        return _render_variant_page(owner, owned, _find_variant(owner, owned, variant), problem, sent)
    return redirect_with_message(_links_path(owned), "Saved.")


@blueprint.post("/files/<name>/links/<variant>/revoke")
@owner_form
def revoke(owner: SignedInOwner, name: str, variant: str) -> AnyResponse:
    """Revoke the link. Raises ``not_found``."""
    return _set_revoked(owner, name, variant, revoked=True)


@blueprint.post("/files/<name>/links/<variant>/restore")
@owner_form
def restore(owner: SignedInOwner, name: str, variant: str) -> AnyResponse:
    """Restore a revoked link. Raises ``not_found``."""
    return _set_revoked(owner, name, variant, revoked=False)


@blueprint.post("/files/<name>/links/<variant>/redact")
@owner_form
def redact(owner: SignedInOwner, name: str, variant: str) -> AnyResponse:
    """Erase the label permanently, if that was confirmed. Raises ``not_found``."""
    owned = find_owned_file(owner, name)
    try:
        require_confirmation("erase", read_form())
    except Problem as problem:
        return _render_variant_page(owner, owned, _find_variant(owner, owned, variant), problem)
    variants.redact(current_runtime(), owner.caller, owned.row.uuid, variant)
    return redirect_with_message(_links_path(owned), "The label was erased. The link keeps working.")


@blueprint.post("/files/<name>/links/<variant>/delete")
@owner_form
def delete(owner: SignedInOwner, name: str, variant: str) -> AnyResponse:
    """Delete the link permanently, if that was confirmed. Raises ``not_found``."""
    owned = find_owned_file(owner, name)
    try:
        require_confirmation("delete", read_form())
    except Problem as problem:
        return _render_variant_page(owner, owned, _find_variant(owner, owned, variant), problem)
    variants.delete(current_runtime(), owner.caller, owned.row.uuid, variant)
    return redirect_with_message(_links_path(owned), "The link was deleted.")


def _set_revoked(owner: SignedInOwner, name: str, variant: str, *, revoked: bool) -> AnyResponse:
    owned = find_owned_file(owner, name)
    variants.update(current_runtime(), owner.caller, owned.row.uuid, variant, {"revoked": revoked})
    return redirect_with_message(_links_path(owned), "The link is revoked." if revoked else "The link works again.")


def _build_update(
    shown: Mapping[str, str], form: Mapping[str, str]
) -> tuple[dict[str, Any], Callable[[dict[str, Any]], dict[str, Any]] | None]:
    """Return the arguments ``body`` and ``merge`` of an update: what ``form`` changes of the values ``shown`` when it
    was rendered.

    The API replaces all overrides, so a form that was opened earlier would lift a restriction set since then.
    """
    changed = {name for name, value in shown.items() if form.get(name, "") != value}
    body = {"label": form.get("label", "").strip()} if "label" in changed else {}
    edited = [key for key, controls in _OVERRIDE_CONTROLS.items() if not changed.isdisjoint(controls)]
    wanted = _parse_overrides(form)

    def merge(stored: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in stored.items() if key not in edited}
        return kept | {key: wanted[key] for key in edited if key in wanted}

    return body, merge if edited else None


def _parse_overrides(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of the form that differ from those of the file."""
    found: dict[str, Any] = {}
    if form.get("download") in _DOWNLOAD_CHOICES:
        found["allowDownload"] = _DOWNLOAD_CHOICES[form["download"]]
    if form.get("range") in _RANGE_CHOICES:
        ends = (form.get("from", ""), form.get("to", "")) if form["range"] == "some" else ("", "")
        found["pageRange"] = changes.parse_page_range(*ends)
    return found


def _find_variant(owner: SignedInOwner, owned: OwnedFile, variant: str) -> VariantRow:
    rows = variants.list_variants(current_runtime(), owner.caller, owned.row.uuid)
    found = next((row for row in rows if row.uuid == variant.lower()), None)
    if found is None:
        raise Problem("not_found", "There is no such link.")
    return found


def _render_page(
    owner: SignedInOwner, owned: OwnedFile, problem: Problem | None = None, sent: Mapping[str, str] | None = None
) -> AnyResponse:
    plan = required_tier(owner, "variants.list")
    rows = [] if plan else variants.list_variants(current_runtime(), owner.caller, owned.row.uuid)
    shown = [resources.variant_object(current_runtime().config.base_url, row) for row in rows]
    return render_file_page(
        owner,
        owned,
        "links",
        problem,
        errors=locate_errors(problem, _CONTROLS | {"label": ("labels", "Recipients")}),
        plan=plan,
        variants=shown,
        fields=sent or {},
        most=VARIANTS_PER_FILE,
    )


def _render_variant_page(
    owner: SignedInOwner,
    owned: OwnedFile,
    row: VariantRow,
    problem: Problem | None = None,
    sent: Mapping[str, str] | None = None,
) -> AnyResponse:
    variant = resources.variant_object(current_runtime().config.base_url, row)
    stored = _build_form_values(variant)
    fields = sent or stored
    return render_file_page(
        owner,
        owned,
        "link",
        problem,
        errors=locate_errors(problem, _CONTROLS),
        variant=variant,
        fields=fields,
        shown_field=changes.DISPLAYED_FIELD,
        shown=fields.get(changes.DISPLAYED_FIELD, json.dumps(stored)),
        label_chars=VARIANT_LABEL_CHARS,
    )


def _build_form_values(variant: Mapping[str, Any]) -> dict[str, str]:
    """Return the form values that match the current overrides of ``variant``."""
    overrides = variant["overrides"]
    form = {"label": variant.get("label", ""), "download": "", "range": "", "from": "", "to": ""}
    if "allowDownload" in overrides:
        form["download"] = "yes" if overrides["allowDownload"] else "no"
    if "pageRange" in overrides:
        window = overrides["pageRange"]
        some = window["to"] > 0
        form |= {"range": "some", "from": str(window["from"]), "to": str(window["to"])} if some else {"range": "all"}
    return form


def _links_path(owned: OwnedFile) -> str:
    return f"{file_path(owned.row.uuid)}/links"
