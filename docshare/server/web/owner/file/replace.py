"""Replace the document behind a link. The script of the page uploads it to the route of the signed-in browser."""

from flask import Blueprint
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.plans import PLAN_LIMITS
from docshare.server.http.views import current_runtime
from docshare.server.services.files import replace
from docshare.server.web.owner.file.file_page import find_owned_file, render_file_page, required_tier
from docshare.server.web.owner.frame import SignedInOwner, message_url, owner_page

blueprint = Blueprint("owner_file_replace", __name__)


@blueprint.get("/files/<name>/replace")
@owner_page
def show(owner: SignedInOwner, name: str) -> AnyResponse:
    """Show ``/files/{id}/replace`` with the hotspots and the feedback, which may not fit a new document.

    Raises ``not_found``.
    """
    owned = find_owned_file(owner, name)
    anchors = replace.count_anchors(current_runtime(), owner.caller, owned.row.uuid)
    plan = required_tier(owner, "files.replace")
    most = PLAN_LIMITS[owner.caller.plan].stored_bytes
    after = message_url(owner, owned.path, "The document was replaced; its link stays the same.")
    return render_file_page(owner, owned, "replace", plan=plan, anchors=anchors._asdict(), most=most, after=after)
