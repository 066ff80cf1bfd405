"""The overview page of a file: its link, state and properties."""

from flask import Blueprint, render_template
from werkzeug.wrappers import Response as AnyResponse

from docshare.server.http.views import current_runtime
from docshare.server.web.owner.file.file_page import find_owned_file, page_size, render_file_page
from docshare.server.web.owner.frame import SignedInOwner, owner_page

_FRAME_SIZE = (800, 600)  # pixels, as oEmbed proposes it

blueprint = Blueprint("owner_file", __name__)


@blueprint.get("/files/<name>")
@owner_page
def show(owner: SignedInOwner, name: str) -> AnyResponse:
    """Show ``/files/{id}``. Raises ``not_found``."""
    owned = find_owned_file(owner, name)
    width, height = _FRAME_SIZE
    address = f"{current_runtime().config.base_url}/embed/{owned.row.short_id}"
    frame = render_template(
        "frame.html", address=address, title=owned.row.original_name, width=width, height=height
    ).strip()
    return render_file_page(owner, owned, "overview", frame=frame, shape=page_size(owned, 1))
