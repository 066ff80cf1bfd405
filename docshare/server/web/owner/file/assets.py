"""The images and sounds of a file. The script of the page uploads them to the routes of the signed-in browser."""

from typing import Any

from flask import Blueprint
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.media import ASSET_KINDS
from docshare.contract.problems import Problem
from docshare.server.http.views import current_runtime
from docshare.server.services.files import assets, settings
from docshare.server.web.owner.file.file_page import file_path, find_owned_file, render_file_page, required_tier
from docshare.server.web.owner.frame import SignedInOwner, message_url, owner_form, owner_page, redirect_with_message

_FORMAT_LABELS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WebP", "audio/mpeg": "MP3"}
_KIND_LABELS = {"logo": "Logo", "background": "Background", "hotspot-audio": "Sound for hotspots"}
# Viewer settings that using an image changes in addition to its id: a visible background has the type 'image'.
_VIEWER_SETTINGS_BY_KIND = {"logo": {}, "background": {"type": "image"}}

blueprint = Blueprint("owner_file_assets", __name__)


@blueprint.get("/files/<name>/assets")
@owner_page
def show(owner: SignedInOwner, name: str) -> AnyResponse:
    """Show ``/files/{id}/assets``. Raises ``not_found``."""
    owned = find_owned_file(owner, name)
    rows = assets.list_assets(current_runtime(), owner.caller, owned.row.uuid)
    kinds = [(kind, _KIND_LABELS.get(kind, kind), ",".join(row.types), row.cap) for kind, row in ASSET_KINDS.items()]
    looks = owned.file["viewerSettings"]
    used = {looks.get(kind, {}).get("assetId") for kind in _VIEWER_SETTINGS_BY_KIND}
    plan = required_tier(owner, "assets.create")
    after = message_url(owner, f"{owned.path}/assets", "The file was uploaded.")
    return render_file_page(
        owner,
        owned,
        "assets",
        plan=plan,
        after=after,
        assets=rows,
        kinds=kinds,
        names=_KIND_LABELS,
        formats=_FORMAT_LABELS,
        used=used,
        uses=_VIEWER_SETTINGS_BY_KIND,
    )


@blueprint.post("/files/<name>/assets/<asset>/use")
@owner_form
def use(owner: SignedInOwner, name: str, asset: str) -> AnyResponse:
    """Use an uploaded image on the share page, for the purpose it was uploaded for.

    Raises ``not_found``, ``plan_required``, ``gone``.
    """
    owned = find_owned_file(owner, name)
    rows = assets.list_assets(current_runtime(), owner.caller, owned.row.uuid)
    row = next((row for row in rows if row.uuid == asset.lower() and row.kind in _VIEWER_SETTINGS_BY_KIND), None)
    if row is None:
        raise Problem("not_found", "There is no such image.")

    def merge(looks: dict[str, Any]) -> dict[str, Any]:
        block = {**looks.get(row.kind, {}), **_VIEWER_SETTINGS_BY_KIND[row.kind], "assetId": row.uuid}
        return {**looks, row.kind: block}

    settings.change_settings(current_runtime(), owner.caller, owned.row.uuid, {}, merge=merge)
    return redirect_with_message(f"{file_path(owned.row.uuid)}/assets", "Readers see it from now on.")
