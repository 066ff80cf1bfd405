"""The style sheet, the images and the sounds of a share page, for its readers only."""

from flask import Blueprint, Response, request, send_file

from docshare.contract.problems import Problem
from docshare.server.http.views import current_runtime
from docshare.server.services.files import assets, settings
from docshare.server.services.links import branding
from docshare.server.web.public import require_open_link

# Should a browser ever take one for a document, it must be able to do nothing.
_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
_CACHE = "private, max-age=600"

blueprint = Blueprint("appearance", __name__)


@blueprint.get("/<name>/style.css")
def stylesheet(name: str) -> Response:
    """What the owner of the file behind the link ``name`` set of its looks, as CSS; ``?v=`` names the text that the
    page means. Raises what ``open_link`` raises.

    Another text than the page means is never kept: the settings or the owner's plan changed in between.
    """
    link = require_open_link(current_runtime(), name)
    made = branding.build_branding(settings.find_appearance(current_runtime(), link).viewer_settings)
    response = Response(made.css, content_type="text/css; charset=utf-8")
    if request.args.get("v") == made.mark:
        response.headers["Cache-Control"] = _CACHE
    return response


@blueprint.get("/<name>/assets/<asset_id>")
def asset(name: str, asset_id: str) -> Response:
    """One asset of the file behind the link ``name``. Raises what ``open_link`` raises, ``not_found``."""
    found = assets.find_served(current_runtime(), require_open_link(current_runtime(), name), asset_id)
    try:
        if found is None:
            raise FileNotFoundError
        response = send_file(found.path, mimetype=found.mime_type)
    except FileNotFoundError:  # unknown, or replaced since it was found
        raise Problem("not_found", "There is no such link.") from None
    response.headers.remove("Content-Disposition")  # it would name the file in the store
    response.headers["Content-Security-Policy"] = _POLICY
    response.headers["Cache-Control"] = _CACHE
    return response
