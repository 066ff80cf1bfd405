"""The appearance of a share page: a form beside a live preview of the viewer, which shows what is not saved yet.

The preview is the share page itself. Its address contains the changes, with a signature of the session, so that a
forged address cannot show the owner a document with a button of an attacker.
"""

import base64
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, Response, jsonify, request
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.media import ASSET_KINDS
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.server.http.views import current_runtime
from docshare.server.services.files import assets, files, settings
from docshare.server.services.files.settings import PageAppearance
from docshare.server.services.links import branding, links
from docshare.server.web import headers, public
from docshare.server.web.owner.file import changes, controls
from docshare.server.web.owner.file.controls import Section, SettingField
from docshare.server.web.owner.file.file_page import (
    OwnedFile,
    file_path,
    find_owned_file,
    read_form,
    render_file_page,
    required_tier,
)
from docshare.server.web.owner.file.settings_form import show_again, store_changes
from docshare.server.web.owner.form_errors import locate_errors
from docshare.server.web.owner.frame import SignedInOwner, owner_form, owner_page, resumable_form

_PRESET_FIELD = "preset"
_IMAGE_KINDS = ("logo", "background")
_PAIRED_MODES, _FLIPBOOK, _SWIPE = ("flipbook", "magazine"), ("flipbook",), ("swipe",)
_BACKGROUND = "viewerSettings.background"
Condition = tuple[str, tuple[str, ...]]
"""The name of a control, and its values with which a field has an effect; no value: any text."""
CONDITIONS: Mapping[str, Condition] = {
    f"{_BACKGROUND}.color": (f"{_BACKGROUND}.type", ("solid",)),
    f"{_BACKGROUND}.preset": (f"{_BACKGROUND}.type", ("gradient",)),
    f"{_BACKGROUND}.assetId": (f"{_BACKGROUND}.type", ("image",)),
    f"{_BACKGROUND}.fit": (f"{_BACKGROUND}.type", ("image",)),
    f"{_BACKGROUND}.blur": (f"{_BACKGROUND}.type", ("image",)),
    f"{_BACKGROUND}.dim": (f"{_BACKGROUND}.type", ("image",)),
    **{f"viewerSettings.logo.{name}": ("viewerSettings.logo.assetId", ()) for name in ("position", "size", "linkUrl")},
    **{f"viewerSettings.cta.{name}": ("viewerSettings.cta.label", ()) for name in ("style", "color", "position")},
    **{f"viewerSettings.watermarkStyle.{name}": ("watermark", ("on",)) for name in ("opacity", "density")},
    "viewerSettings.page.coverAlone": ("viewerMode", _PAIRED_MODES),
    "viewerSettings.flip.speedMs": ("viewerMode", _FLIPBOOK),
    "viewerSettings.flip.sound": ("viewerMode", _FLIPBOOK),
    "viewerSettings.flip.rtl": ("viewerMode", _FLIPBOOK),
    "viewerSettings.flip.layout": ("viewerMode", _FLIPBOOK),
    "viewerSettings.swipe.autoAdvance": ("viewerMode", _SWIPE),
    "viewerSettings.swipe.intervalMs": ("viewerMode", _SWIPE),
}
"""Field -> its condition. The script of the page hides the others; without it, all are visible."""

blueprint = Blueprint("owner_file_looks", __name__)


@dataclass(frozen=True)
class PresetButton:
    """A preset: the ``values`` that it gives to controls, and whether the form ``is_chosen``: has them all."""

    key: str
    label: str
    values: Mapping[str, str]
    is_chosen: bool


@blueprint.get("/files/<name>/looks")
@owner_page
def show(owner: SignedInOwner, name: str) -> AnyResponse:
    """Show ``/files/{id}/looks``. Raises ``not_found``."""
    owned = find_owned_file(owner, name)
    return _render_page(owner, owned, _build_form(owner, owned))


def _refill(owner: SignedInOwner, problem: Problem, name: str) -> AnyResponse:
    return show_again(owner, problem, name, _render_rejected)


@blueprint.post("/files/<name>/looks")
@resumable_form(_refill)
def change(owner: SignedInOwner, name: str) -> AnyResponse:
    """Store the appearance changed in the form. Raises ``not_found``; other problems are shown at their field."""
    return store_changes(owner, name, "looks", _render_rejected)


@blueprint.post("/files/<name>/looks/preview")
@owner_form
def draft(owner: SignedInOwner, name: str) -> AnyResponse:
    """Check the form and show a preview of it; nothing is stored.

    The response is the page with the submitted values, or for its script JSON: ``preview`` and ``warnings``, or
    ``errors`` by the id of their control and ``message``, why there is no preview. Raises ``not_found``.
    """
    owned, sent = find_owned_file(owner, name), read_form()
    form = _build_form(owner, owned)
    sent |= _read_preset(form, sent.get(_PRESET_FIELD, ""))
    filled = controls.fill_submitted(form, sent)
    by_script = request.accept_mimetypes.best == "application/json"
    shown, body, problems = changes.read_changes(sent, owned.file, owner.caller.plan)
    if not problems:
        try:
            appearance = settings.preview_appearance(current_runtime(), owner.caller, owned.row.uuid, body)
        except Problem as problem:
            problems = [problem]
    if problems:
        if by_script:
            return jsonify(_describe_errors(filled, problems))
        return _render_page(owner, owned, form if shown is None else filled, shown=shown, problems=problems)
    if by_script:
        warnings = settings.list_contrast_warnings(appearance.viewer_settings)
        return jsonify(preview=_preview_url(owner, owned, body), warnings=warnings)
    return _render_page(owner, owned, filled, shown=shown, body=body, appearance=appearance)


@blueprint.get("/files/<name>/looks/preview")
@owner_page
def preview(owner: SignedInOwner, name: str) -> AnyResponse:
    """Show the share page with the changes in the address, to the owner and in a frame of this server only.

    Raises ``not_found``, ``gone`` for a link that has ended, and what a settings write raises.
    """
    row, appearance = _find_preview(owner, name)
    link = links.resolve(current_runtime(), row)
    if link is None:  # it was moved to the trash between the two reads
        raise files.file_not_found()
    has_css = bool(branding.build_branding(appearance.viewer_settings).css)
    query = request.query_string.decode("ascii", "replace")
    address = f"{file_path(row)}/looks/preview.css?{query}" if has_css else None
    return headers.allow_framing_here(public.render_preview(link, appearance, address))


@blueprint.get("/files/<name>/looks/preview.css")
@owner_page
def preview_stylesheet(owner: SignedInOwner, name: str) -> AnyResponse:
    """Return the style sheet of the preview. Raises as ``preview``."""
    row, appearance = _find_preview(owner, name)
    # The style sheet of a file addresses its images relative to the share link.
    css = branding.build_branding(appearance.viewer_settings).css.replace('url("assets/', f'url("/{row}/assets/')
    return Response(css, content_type="text/css; charset=utf-8")


def _find_preview(owner: SignedInOwner, name: str) -> tuple[str, PageAppearance]:
    """Return the UUID of the file, and its appearance with the changes in the address of the request."""
    row, _ = files.show(current_runtime(), owner.caller, name)
    encoded, signature = request.args.get("draft", ""), request.args.get("by", "")
    if encoded and not hmac.compare_digest(_sign_draft(owner, encoded).encode(), signature.encode("utf-8", "replace")):
        raise Problem("forbidden", "This preview is of another session.", hint="Load the page with the form again.")
    body = json.loads(base64.urlsafe_b64decode(encoded)) if encoded else {}
    return row.uuid, settings.preview_appearance(current_runtime(), owner.caller, row.uuid, body)


def _preview_url(owner: SignedInOwner, owned: OwnedFile, body: Mapping[str, Any]) -> str:
    path = f"{owned.path}/looks/preview"
    if not body:
        return path
    encoded = base64.urlsafe_b64encode(json.dumps(body, separators=(",", ":")).encode()).decode()
    return f"{path}?{urlencode({'draft': encoded, 'by': _sign_draft(owner, encoded)})}"


def _sign_draft(owner: SignedInOwner, encoded: str) -> str:
    return hmac.digest(owner.csrf.encode(), f"draft {encoded}".encode(), "sha256")[:12].hex()


def _build_form(owner: SignedInOwner, owned: OwnedFile) -> tuple[Section, ...]:
    rows = assets.list_assets(current_runtime(), owner.caller, owned.row.uuid)
    images = [(row.uuid, f"The uploaded {row.kind}") for row in rows if row.mime_type.startswith("image/")]
    return controls.build_looks_form(owned.file, owner.caller.plan, images)


def _list_fields(form: tuple[Section, ...]) -> list[SettingField]:
    return [field for section in form for field in section.fields]


def _list_preset_values(form: tuple[Section, ...], preset: settings.LooksPreset) -> dict[str, str]:
    """Return the values that ``preset`` gives to the controls of ``form``, except those that cannot be changed."""
    locked = {field.name for field in _list_fields(form) if field.is_locked}
    values = settings.expand_preset(preset)
    return {name: controls.format_value(value) for name, value in values.items() if name not in locked}


def _list_presets(form: tuple[Section, ...]) -> list[PresetButton]:
    """Return the presets that change a control of ``form``, with whether the form has their values."""
    now = controls.list_control_values(form)
    values = {row.key: _list_preset_values(form, row) for row in settings.PRESETS}
    return [
        PresetButton(row.key, row.label, values[row.key], values[row.key].items() <= now.items())
        for row in settings.PRESETS
        if values[row.key]
    ]


def _read_preset(form: tuple[Section, ...], key: str) -> dict[str, str]:
    return next((_list_preset_values(form, row) for row in settings.PRESETS if row.key == key), {})


def _describe_errors(form: tuple[Section, ...], problems: Sequence[Problem]) -> dict[str, Any]:
    errors = locate_errors(problems, controls.list_named_controls(form))
    message = "The preview is waiting for a field to be corrected." if errors.general is None else errors.general.detail
    return {"errors": {error.control: error.words for error in errors.found}, "message": message}


def _render_rejected(
    owner: SignedInOwner,
    owned: OwnedFile,
    sent: Mapping[str, str],
    shown: Mapping[str, str] | None,
    problems: Sequence[Problem],
) -> AnyResponse:
    form = _build_form(owner, owned)
    form = form if shown is None else controls.fill_submitted(form, sent)
    return _render_page(owner, owned, form, shown=shown, problems=problems)


def _render_page(
    owner: SignedInOwner,
    owned: OwnedFile,
    form: tuple[Section, ...],
    *,
    shown: Mapping[str, str] | None = None,
    problems: Sequence[Problem] = (),
    body: Mapping[str, Any] | None = None,
    appearance: PageAppearance | None = None,
) -> AnyResponse:
    """Render the form and the preview.

    Parameters: ``shown`` values of the form when it was first rendered, so that a resubmission still finds the
    changes; ``problems`` why it was rejected; ``body`` and ``appearance`` of an unsaved preview.
    """
    link = links.resolve(current_runtime(), owned.row.uuid)
    if appearance is None and link is not None:
        appearance = settings.find_appearance(current_runtime(), link)
    response = render_file_page(
        owner,
        owned,
        "looks",
        problems[0] if problems else None,
        sections=form,
        shown_field=changes.DISPLAYED_FIELD,
        shown=json.dumps(controls.list_control_values(form) if shown is None else shown),
        above=owner.caller.plan < Plan.PRO,
        conditions=CONDITIONS,
        presets=_list_presets(form),
        preview=_preview_url(owner, owned, body or {}) if owned.state in ("live", "frozen") else None,
        is_draft=bool(body),
        warnings=settings.list_contrast_warnings(appearance.viewer_settings) if appearance else [],
        errors=locate_errors(problems, controls.list_named_controls(form)),
        uploads={} if required_tier(owner, "assets.create") else {kind: ASSET_KINDS[kind] for kind in _IMAGE_KINDS},
    )
    return headers.allow_own_frames(response)
