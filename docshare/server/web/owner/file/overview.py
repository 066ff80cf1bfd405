"""The first page of a file: what it is, how it is shared, how it stands."""

from flask import Blueprint, render_template
from werkzeug.wrappers import Response as AnyResponse

from docshare.server.http.views import rt
from docshare.server.web.owner.desk import Owner, page
from docshare.server.web.owner.file.paper import opened, page_of, page_shape

_FRAME = (800, 600)  # pixels, as oEmbed proposes it

blueprint = Blueprint("owner_file", __name__)


@blueprint.get("/files/<name>")
@page
def show(owner: Owner, name: str) -> AnyResponse:
    """``/files/{id}``. Raises ``not_found``."""
    paper = opened(owner, name)
    width, height = _FRAME
    address = f"{rt().config.base_url}/embed/{paper.row.short_id}"
    frame = render_template(
        "frame.html", address=address, title=paper.row.original_name, width=width, height=height
    ).strip()
    return page_of(owner, paper, "overview", frame=frame, shape=page_shape(paper, 1))
