"""The start page of a signed-in owner."""

from flask import Blueprint, redirect
from werkzeug.wrappers import Response as AnyResponse

from docshare.server.web.owner.frame import SignedInOwner, owner_page

blueprint = Blueprint("owner", __name__)


@blueprint.get("/dashboard")
@owner_page
def land(owner: SignedInOwner) -> AnyResponse:  # noqa: ARG001 - every page is somebody's
    """Redirect to the library."""
    return redirect("/files", 303)
