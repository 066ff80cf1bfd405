"""The style sheet, the images and the sounds of a share page, for its readers only."""

import os

from flask import Blueprint, Response, request

from docshare.contract.problems import Problem
from docshare.server.api import answers
from docshare.server.http.views import current_runtime
from docshare.server.services.files import assets, settings
from docshare.server.services.links import branding, sender
from docshare.server.web.public import find_link, require_open_link

# Even if a browser treated one as a document, it could not run or load anything.
_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
_CACHE = "private, max-age=600"

blueprint = Blueprint("appearance", __name__)


@blueprint.get("/<name>/style.css")
def stylesheet(name: str) -> Response:
    """Return the appearance of the file behind the link ``name`` as CSS; ``?v=`` is the version that the page
    expects.

    Raises what ``require_open_link`` raises. Another version than the expected one is never cached: the settings or
    the owner's plan changed in the meantime.
    """
    link = require_open_link(current_runtime(), name)
    brand = branding.build_branding(settings.find_appearance(current_runtime(), link).viewer_settings)
    response = Response(brand.css, content_type="text/css; charset=utf-8")
    if request.args.get("v") == brand.mark:
        response.headers["Cache-Control"] = _CACHE
    return response


@blueprint.get("/<name>/assets/<asset_id>")
def asset(name: str, asset_id: str) -> Response:
    """Return one asset of the file behind the link ``name``. Raises as ``require_open_link``, and ``not_found``."""
    return _send_asset(
        assets.find_served(current_runtime(), require_open_link(current_runtime(), name), asset_id), asset_id
    )


@blueprint.get("/<name>/logo")
def logo(name: str) -> Response:
    """Return the logo of the sender of the link ``name``, also before the gate and after the link has ended.

    Raises as ``find_link``, and ``not_found`` for a link without a logo or whose sender is hidden.
    """
    link = find_link(current_runtime(), name)
    return _send_asset(sender.find_logo(current_runtime(), link), None)


def _send_asset(found: assets.ServedAsset | None, tag: str | None) -> Response:
    """Return the asset ``found`` with the entity tag ``tag``. Raises ``not_found``."""
    try:
        if found is None:
            raise FileNotFoundError
        source = found.path.open()
    except FileNotFoundError:  # unknown, or replaced since it was found
        raise Problem("not_found", "There is no such link.") from None
    size = source.seek(0, os.SEEK_END)
    source.seek(0)
    response = answers.file_response(source, size, found.mime_type)
    if tag is not None:
        response.set_etag(tag.lower())  # the bytes of an asset never change
    response.make_conditional(request, accept_ranges=True, complete_length=size)  # players of sounds request ranges
    response.headers["Content-Security-Policy"] = _POLICY
    response.headers["Cache-Control"] = _CACHE
    return response
