"""The pictures and sounds of a file. Their bytes go to the routes of the signed-in browser, by the page's script."""

from flask import Blueprint
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.media import ASSET_KINDS
from docshare.contract.problems import Problem
from docshare.server.http.views import rt
from docshare.server.services.files import assets, settings
from docshare.server.web.owner.desk import Owner, done, form, page, saying
from docshare.server.web.owner.file.paper import needs, opened, page_of, path_of

_KINDS = {"logo": "Logo", "background": "Background", "hotspot-audio": "Sound for hotspots"}
# What using an image sets besides naming it: a background that is shown is of the kind 'image'.
_USES = {"logo": {}, "background": {"type": "image"}}

blueprint = Blueprint("owner_file_assets", __name__)


@blueprint.get("/files/<name>/assets")
@page
def show(owner: Owner, name: str) -> AnyResponse:
    """``/files/{id}/assets``. Raises ``not_found``."""
    paper = opened(owner, name)
    rows = assets.list_assets(rt(), owner.caller, paper.row.uuid)
    kinds = [(kind, _KINDS.get(kind, kind), ",".join(row.types), row.cap) for kind, row in ASSET_KINDS.items()]
    looks = paper.file["viewerSettings"]
    used = {looks.get(kind, {}).get("assetId") for kind in _USES}
    plan = needs(owner, "assets.create")
    after = saying(owner, f"{paper.path}/assets", "It was uploaded.")
    return page_of(
        owner, paper, "assets", plan=plan, after=after, assets=rows, kinds=kinds, names=_KINDS, used=used, uses=_USES
    )


@blueprint.post("/files/<name>/assets/<asset>/use")
@form
def use(owner: Owner, name: str, asset: str) -> AnyResponse:
    """Show an uploaded image on the share page, as what it was uploaded for. Raises ``not_found``, ``plan_required``,
    ``gone``."""
    paper = opened(owner, name)
    rows = assets.list_assets(rt(), owner.caller, paper.row.uuid)
    row = next((row for row in rows if row.uuid == asset.lower() and row.kind in _USES), None)
    if row is None:
        raise Problem("not_found", "There is no such image.")
    looks = paper.file["viewerSettings"]
    block = {**looks.get(row.kind, {}), **_USES[row.kind], "assetId": row.uuid}
    settings.change(rt(), owner.caller, paper.row.uuid, {"viewerSettings": {**looks, row.kind: block}})
    return done(f"{path_of(paper.row.uuid)}/assets", "Readers see it from now on.")
